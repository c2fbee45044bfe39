/* SPDX-License-Identifier: MIT */
/*
 * The machine of a litmus program: CPUs with store buffers on top of the NIC of nic.h, with
 * explicit steps.
 *
 * Every step of every run is known before the run: operation i of thread t is executed once, leaves
 * the store buffer once, and its entry takes each step of its kind once. So a step has a number,
 * and a set of steps is a bit set. A run is an order of steps; a failed rcas skips two of its own
 * (they count as done).
 */
#ifndef BATON_MODEL_MACHINE_H
#define BATON_MODEL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/nic.h"
#include "model/program.h"

enum { BATON_STEPS_MAX = 2048 };

enum baton_step_kind {
    BATON_STEP_EXEC,  /* the CPU executes operation `op`; stores and requests enter the store buffer
                       */
    BATON_STEP_DRAIN, /* the head of the store buffer: a store goes to memory, a request to its pipe
                       */
    BATON_STEP_NIC,   /* `nic` of entry `entry` */
};

struct baton_step {
    enum baton_step_kind kind;
    unsigned thread, op; /* whose operation this is a part of; always known */
    unsigned entry;      /* nic: index into the machine's entries */
    enum baton_nic_step nic;
};

/* The queue pair of a thread towards a node: entries first..first + n - 1 of the machine. */
struct baton_machine_qp {
    unsigned thread, node, first, n;
};

/* Where an operation shows up; -1 where it does not. */
struct baton_machine_op {
    int exec, drain; /* steps */
    int entry;       /* its entry; of a poll: the entry it polls */
    int buffer;      /* word of the state that holds a buffered store's value */
    unsigned
        buffered; /* operations of the thread in program order before this one that are buffered */
    int step[BATON_NIC_STEPS]; /* steps of the entry */
};

struct baton_machine {
    const struct baton_program *program; /* lowered; not owned */
    unsigned variants;
    unsigned n_steps, n_set_words; /* 64 steps to a word */
    struct baton_step *step;
    struct baton_machine_op *op[BATON_THREADS_MAX];
    unsigned n_buffered[BATON_THREADS_MAX]; /* operations that pass the store buffer, and which they
                                               are */
    uint8_t (*buffered)[BATON_OPS_MAX];
    unsigned n_entries;
    struct baton_nic_entry *entry;
    unsigned *entry_qp; /* the queue pair of each entry */
    struct baton_machine_op **entry_op;
    struct baton_machine_qp *qp;
    unsigned n_qps;
    bool stuck; /* some poll has nothing to poll: no run has a final state */

    /*
     * A state is n_words words: memory, registers, buffered stores, values on their way, and the
     * set of done steps; that much (n_key_words) says everything. The bytes behind it say the same
     * in the form that the rules read.
     */
    unsigned n_words, n_key_words;
    unsigned at_reg[BATON_THREADS_MAX], at_value, at_done, at_flags, at_pc, at_drained, at_unit;
};

/* -ENOMEM, or -E2BIG for more than BATON_STEPS_MAX steps. On failure no fini is needed. */
int baton_machine_init(struct baton_machine *m, const struct baton_program *lowered,
                       unsigned variants);
void baton_machine_fini(struct baton_machine *m);

void baton_machine_start(const struct baton_machine *m, int64_t *state);

/* Why a step cannot happen now; until one of these changes, it stays impossible. */
struct baton_machine_blocker {
    enum {
        BATON_BLOCKED_BY_STEP,  /* `step` has to come first */
        BATON_BLOCKED_BY_VALUE, /* a word must change: one of `program->set[set]`, or `loc` when loc
                                   >= 0 */
        BATON_BLOCKED_FOR_EVER, /* an assumption is false, or nothing is there to be polled */
    } by;
    unsigned step;
    int loc;
    unsigned set;
};

static inline bool baton_machine_is_done(const struct baton_machine *m, const int64_t *state,
                                         unsigned step)
{
    return (uint64_t)state[m->at_done + step / 64] >> step % 64 & 1;
}

bool baton_machine_ready(const struct baton_machine *m, int64_t *state, unsigned step,
                         struct baton_machine_blocker *why);
void baton_machine_apply(const struct baton_machine *m, int64_t *state, unsigned step);

/* Every step done? Then `row` (width of the program) can be taken. */
bool baton_machine_is_final(const struct baton_machine *m, const int64_t *state);
void baton_machine_outcome(const struct baton_machine *m, const int64_t *state, int64_t *row);

/* The value of a register or expression in a state. */
int64_t baton_machine_eval(const struct baton_machine *m, const int64_t *state, unsigned thread,
                           const struct baton_expr *expr);

/* The queue pair as nic.h wants it, over the bytes of this state. */
struct baton_nic_qp baton_machine_nic(const struct baton_machine *m, int64_t *state, unsigned qp);

#endif

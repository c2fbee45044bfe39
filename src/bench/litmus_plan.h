/* SPDX-License-Identifier: MIT */
/*
 * A litmus program as threads that litmus_thread.h executes. This header stands between the model and the
 * contract, whose names for operations are the same: it includes neither.
 *
 * Shared variables, and under impl locks, sequentially consistent memory and the global fence, are written out
 * by the model (model/lower.c) before. Under spec a release of an slock has a global fence before it, and each
 * word of the sequentially consistent memory a lock on its node. Nodes count from 0 here.
 */
#ifndef BATON_BENCH_LITMUS_PLAN_H
#define BATON_BENCH_LITMUS_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define LITMUS_REGS_MAX 127u
#define LITMUS_TERMS_MAX 8u
#define LITMUS_NODES_MAX 16u
#define LITMUS_AWAITED_MAX 4u

enum litmus_act {
    LITMUS_STORE, /* loc = a */
    LITMUS_LOAD,  /* reg = loc */
    LITMUS_LET,   /* reg = a */
    LITMUS_CAS,   /* reg = loc, which becomes b if it was a */
    LITMUS_FAA,   /* reg = loc, which grows by a */
    LITMUS_MFENCE,
    LITMUS_ASSUME,    /* a is b, or this is no run */
    LITMUS_PUT,       /* loc = local */
    LITMUS_PUT_VALUE, /* loc = a */
    LITMUS_GET,       /* local = loc */
    LITMUS_RCAS,      /* local = loc, which becomes b if it was a */
    LITMUS_RFAA,      /* local = loc, which grows by a */
    LITMUS_WAIT,      /* id */
    LITMUS_RFENCE,    /* node */
    LITMUS_GFENCE,    /* nodes */
    LITMUS_ACQUIRE,   /* lock */
    LITMUS_RELEASE,   /* lock */
    /* Only in libraries that are written out: */
    LITMUS_AWAIT,     /* until one of awaited[] is a */
    LITMUS_GET_UNTIL, /* gets local from loc, and waits, until it is a */
    /* A poll that nothing answers: no run ends. */
    LITMUS_STUCK
};

/* Constants and registers, added up modulo 2^64. */
struct litmus_sum {
    unsigned n;
    struct {
        int64_t value; /* or the index of the register */
        bool is_reg, negative;
    } term[LITMUS_TERMS_MAX];
};

struct litmus_op {
    enum litmus_act act;
    unsigned reg, loc, local, node, lock;
    uint16_t id; /* 0: none */
    unsigned nodes_n, awaited_n;
    uint16_t nodes[LITMUS_NODES_MAX];
    unsigned awaited[LITMUS_AWAITED_MAX];
    struct litmus_sum a, b;
    unsigned source; /* which operation of the thread as it was written */
};

struct litmus_thread {
    unsigned node; /* from 0 */
    unsigned regs_n, ops_n;
    struct litmus_op *op;
};

struct baton_program;

enum litmus_model {
    LITMUS_PRIMITIVE, /* operations as they are: the model's "tso", which has polls */
    LITMUS_SPEC,      /* libraries by locks that the harness has: the model's "spec" */
    LITMUS_IMPL       /* libraries by their implementations: the model's "impl" */
};

struct litmus_loc {
    unsigned node;
    int64_t init;
    unsigned column; /* of an outcome; LITMUS_HIDDEN: of none */
};

#define LITMUS_HIDDEN UINT32_MAX

struct litmus_shown {
    unsigned n, column; /* the thread's first n registers are columns `column` and on */
};

struct litmus_plan {
    unsigned nodes, threads_n, locs_n, width; /* columns of an outcome, as the model numbers them */
    unsigned locks_n, held_most;              /* spec; how many a thread may hold at a time */
    unsigned *lock_node;                      /* LITMUS_HIDDEN: there is no such lock */
    struct litmus_thread *thread;
    struct litmus_shown *shown;
    struct litmus_loc *loc;
};

/*
 * 0 and a plan. -EOPNOTSUPP with *reason (static storage) when the model does not take the program, or the
 * contract can not express it. -ENOMEM; -E2BIG: it became too large. On failure no fini is needed.
 */
int litmus_plan_init(struct litmus_plan *plan, const struct baton_program *program,
                     enum litmus_model model, const char **reason);
void litmus_plan_fini(struct litmus_plan *plan);

/* Whether some thread does that. */
bool litmus_plan_has(const struct litmus_plan *plan, enum litmus_act act);

/* The row of an outcome: `reg[t]` are the final registers of thread t, `loc` the final values of locations. */
void litmus_plan_row(const struct litmus_plan *plan, const int64_t *const *reg, const int64_t *loc,
                     int64_t *row);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A candidate execution of the axiomatic model, built decision by decision.
 *
 * Every operation of the program is taken apart into its accesses ("parts"), each with a stamp: a get
 * is a NIC remote read and a NIC local write. What the program alone fixes (the kept program order,
 * the order within one operation, the waits) is entered into the two orders of order.h at the start.
 * What an execution may choose is left open and is decided one by one:
 *   - from which write each read takes its value;
 *   - for each pair of accesses that the model wants ordered one way or the other, which way: two
 *     writes to one place (mo), a NIC read and a NIC write that may flush each other (nfo), two atomic
 *     reads towards one node (rao), two acquires of one lock.
 * Each decision adds edges; a decision that closes a cycle is refused, so a dead end is seen as soon as
 * it exists. The state of the decisions is one block of memory that a search saves and restores.
 *
 * Which compare-and-swaps succeed is fixed before ("shape"), because a failed one has no write.
 */
#ifndef BATON_MODEL_CANDIDATE_H
#define BATON_MODEL_CANDIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/order.h"
#include "model/parts.h"
#include "model/program.h"
#include "model/stamps.h"

enum { BATON_SOURCE_INIT = -1, BATON_SOURCE_OPEN = -2 };

enum baton_pair_kind { BATON_PAIR_MO, BATON_PAIR_NFO, BATON_PAIR_RAO, BATON_PAIR_LOCK };
enum baton_pair_state { BATON_PAIR_OPEN, BATON_PAIR_FORWARD, BATON_PAIR_BACKWARD };

struct baton_pair {
    enum baton_pair_kind kind;
    unsigned a, b;
};

/* Why an edge is there. */
enum baton_edge_kind {
    BATON_EDGE_PPO,     /* the stamp table orders the two */
    BATON_EDGE_IPPO,    /* the stamp table orders only their issue */
    BATON_EDGE_ISO,     /* within one operation */
    BATON_EDGE_RF,      /* reads the value that the other wrote */
    BATON_EDGE_RB,      /* reads a value that the other overwrites */
    BATON_EDGE_RB_OWN,  /* the same, against program order: the CPU must see its own store */
    BATON_EDGE_MO,      /* two writes to one place */
    BATON_EDGE_NFO,     /* a NIC read and a NIC write of one queue pair */
    BATON_EDGE_RAO,     /* two RMWs towards one node */
    BATON_EDGE_RAO_END, /* an RMW's write comes before the next RMW's read */
    BATON_EDGE_WAIT,    /* a wait or poll and what it waits for */
    BATON_EDGE_LOCK,    /* a release and a later acquire */
    BATON_EDGE_SC,      /* program order of SC memory */
};

enum { BATON_EDGE_IN_IB = 1, BATON_EDGE_IN_HB = 2 };

struct baton_edge {
    uint16_t from, to;
    uint8_t kind, orders;
};

struct baton_memo {
    uint32_t age;
    bool known;
    int64_t value;
};

struct baton_candidate {
    const struct baton_program *program;
    struct baton_program lowered; /* what `program` points to when it had shared variables */
    struct baton_stamps stamps;

    unsigned n_ops, n_choices; /* operations of all threads; compare-and-swaps among them */
    unsigned first_op[BATON_THREADS_MAX + 1];
    unsigned *first_part; /* per operation, one more at the end */
    uint8_t *succeeds;    /* per operation */

    unsigned n_parts, n_reads, n_pairs, max_parts, max_pairs;
    struct baton_part *part;
    uint16_t *read;        /* parts that read a location */
    uint16_t *write;       /* parts that write, location by location */
    unsigned *first_write; /* per location, one more at the end */
    struct baton_pair *pair;
    uint64_t instant[BATON_ORDER_MAX / 64];
    bool possible; /* false: the shape has no execution, whatever is decided */

    /* The decisions: order.bits, source and decided lie in one block of state_size bytes. */
    void *state;
    size_t state_size;
    struct baton_order order;
    int16_t *source;  /* per part */
    uint8_t *decided; /* per pair, enum baton_pair_state */

    /* Values are worked out when asked for; `age` forgets them after a decision. */
    uint32_t age;
    struct baton_memo *memo; /* per part, then per operation */

    /* When on, every edge is written down, for those who explain. */
    bool logging;
    int log_error;
    struct baton_edge *edge;
    unsigned n_edges, max_edges;
};

/*
 * Takes the program apart. It must outlive the candidate. The library models know locks and SC memory
 * only under BATON_MODEL_SPEC. -EOPNOTSUPP, -E2BIG (more than BATON_ORDER_MAX parts), -ENOMEM.
 */
int baton_candidate_init(struct baton_candidate *c, const struct baton_program *program,
                         enum baton_model model, const struct baton_stamps *stamps);
void baton_candidate_fini(struct baton_candidate *c);

/* Enough room for a copy of the state in any shape. */
size_t baton_candidate_state_max(const struct baton_candidate *c);

/* Starts again: compare-and-swap i (in order of threads and operations) succeeds if bit i is set. */
void baton_candidate_shape(struct baton_candidate *c, uint64_t successes);

/* One decision each; false: it closes a cycle, and the state is of no more use. */
bool baton_candidate_read_from(struct baton_candidate *c, unsigned read, int source);
bool baton_candidate_decide(struct baton_candidate *c, unsigned pair, enum baton_pair_state way);

/* Decides every open pair that only one way is left for; false: some pair has none. */
bool baton_candidate_propagate(struct baton_candidate *c);
/* Whether deciding so would close a cycle at once. */
bool baton_candidate_refuses(const struct baton_candidate *c, unsigned pair,
                             enum baton_pair_state way);

/* The value a part reads or writes; false: not known yet. */
bool baton_candidate_read_value(struct baton_candidate *c, unsigned part, int64_t *value);
bool baton_candidate_write_value(struct baton_candidate *c, unsigned part, int64_t *value);

/* False if a known value contradicts the shape or an assumption of the program. */
bool baton_candidate_values_agree(struct baton_candidate *c);

/* The write to `loc` that is last if `order` is complete enough to tell; -1: none, -2: open. */
int baton_candidate_last_write(const struct baton_candidate *c, unsigned loc);

/*
 * The outcome so far: known[i] says whether row[i] is. Returns whether all are.
 */
bool baton_candidate_outcome(struct baton_candidate *c, int64_t *row, bool *known);

/* The operation that the part belongs to. */
static inline const struct baton_op *baton_candidate_op(const struct baton_candidate *c,
                                                        unsigned part)
{
    return &c->program->thread[c->part[part].thread].op[c->part[part].op];
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Showing that a proposition cannot hold: every way in which an execution could make it hold, as far
 * as its reads and last writes are concerned, and for each way a proof that no order fits.
 *
 * A way is a list of suppositions, those on which the proposition depends first; it ends as soon as it
 * contradicts itself. A proof is a cycle of edges, or, where a pair of accesses may be ordered either
 * way, one proof for each.
 */
#ifndef BATON_MODEL_REFUTE_H
#define BATON_MODEL_REFUTE_H

#include <stdbool.h>

#include "model/candidate.h"
#include "model/engine.h"

/* One step of a cycle. Between two steps a part that is issued and takes effect at one instant may
 * lead from the order of effect to the order of issue, and any part leads back. */
struct baton_cycle_step {
    struct baton_edge edge;
    unsigned index; /* of the edge in the candidate's log */
    bool issue;     /* follows the order of issue, else the order of effect */
};

struct baton_proof {
    int pair;                       /* splits on this pair, or -1: a cycle */
    struct baton_proof *way[2];     /* forward, backward */
    struct baton_cycle_step *cycle; /* null: the program itself has no execution */
    unsigned n_steps;
};

struct baton_supposition {
    bool is_read;
    unsigned read; /* a part, which reads from .. */
    unsigned loc;  /* or a location, whose last write is .. */
    int write;     /* .. this part; BATON_SOURCE_INIT: the initial value */
};

struct baton_refute_ops {
    /* A complete consistent candidate that satisfies the proposition; the search ends. May be null. */
    void (*possible)(void *arg, struct baton_candidate *c);
    /* A refuted way, with its proof (null beyond max_proofs); the candidate has the suppositions applied. May be null. Nonzero
     * ends the search with that value, which
     * must be negative. */
    int (*impossible)(void *arg, struct baton_candidate *c,
                      const struct baton_supposition *supposed, unsigned n,
                      const struct baton_proof *proof);
    /* A way in which the values, as far as they are known, do not satisfy the proposition, whatever
     * the orders say. May be null. */
    void (*unfit)(void *arg, const int64_t *row, const bool *known);
    void *arg;
    unsigned max_proofs; /* further ways come without a proof; 0: all have one */
};

/*
 * Looks at every way to satisfy the proposition of the program (its negation if `negate`). 1: it is
 * possible, 0: it is not, or what a callback returned, or an error as baton_axioms_run gives.
 */
int baton_refute(const struct baton_program *program, enum baton_model model,
                 const struct baton_engine_opts *opts, bool negate,
                 const struct baton_refute_ops *ops);

#endif

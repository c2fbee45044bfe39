/* SPDX-License-Identifier: MIT */
/*
 * Locks of litmus tests as locks of this library: on each node that has some a table, in which every instance of
 * the test has its own; and what a thread needs to hold them.
 */
#ifndef BATON_BENCH_LITMUS_LOCKS_H
#define BATON_BENCH_LITMUS_LOCKS_H

#include <baton/lock.h>

#include "bench/litmus_plan.h"

/* A node's handles. */
struct litmus_tables {
    struct baton_table *table[LITMUS_NODES_MAX]; /* by host; null: it has no locks */
};

/*
 * The own table is made, the others are opened, closed, and at the end, when nobody has one open, the own one. `tag`
 * tells tests apart.
 */
int litmus_tables_make(struct litmus_tables *tables, struct baton_ep *ep,
                       const struct litmus_plan *plan, const char *kind, unsigned batch,
                       unsigned tag);
int litmus_tables_open(struct litmus_tables *tables, struct baton_ep *ep,
                       const struct litmus_plan *plan, unsigned tag, uint64_t patience_ns);
int litmus_tables_close(struct litmus_tables *tables, struct baton_ep *ep, bool own);

/* A thread's part. One waiter for each declared lock, one for whatever word of memory is next. */
struct litmus_holder {
    const struct litmus_tables *tables;
    const struct litmus_plan *plan;
    unsigned batch;
    struct baton_waiter **waiter;
    struct baton_lock *held; /* by each of them */
};

int litmus_holder_open(struct litmus_holder *holder, struct baton_ep *ep,
                       const struct litmus_tables *tables, const struct litmus_plan *plan,
                       unsigned batch);

/* What a failure has left held is released: others may wait for it. */
int litmus_holder_close(struct litmus_holder *holder, struct baton_ep *ep);
int litmus_holder_lock(struct litmus_holder *holder, struct baton_ep *ep, unsigned lock,
                       uint32_t instance, bool acquire);

#endif

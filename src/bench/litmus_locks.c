/* SPDX-License-Identifier: MIT */
/* Locks of litmus tests. */
#include "bench/litmus_locks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* How many locks before `lock` are on its node: its place among an instance's. */
static unsigned rank(const struct litmus_plan *plan, unsigned lock)
{
    unsigned n = 0;
    for (unsigned i = 0; i < lock; i++)
        n += plan->lock_node[i] == plan->lock_node[lock];
    return n;
}

static unsigned locks_on(const struct litmus_plan *plan, unsigned node)
{
    unsigned n = 0;
    for (unsigned i = 0; i < plan->locks_n; i++)
        n += plan->lock_node[i] == node;
    return n;
}

static unsigned own_node(struct baton_ep *ep)
{
    return baton_node_index(baton_ep_node(ep));
}

static void name_of(char name[BATON_NAME_MAX + 1], unsigned tag, unsigned node)
{
    snprintf(name, BATON_NAME_MAX + 1, "litmus.%u.%u", tag, node);
}

int litmus_tables_make(struct litmus_tables *tables, struct baton_ep *ep,
                       const struct litmus_plan *plan, const char *kind, unsigned batch,
                       unsigned tag)
{
    unsigned node = own_node(ep), locks = locks_on(plan, node);
    struct baton_table_opts opts = {
        .size = sizeof(opts), .kind = kind, .count = (uint64_t)locks * batch};
    char name[BATON_NAME_MAX + 1];
    *tables = (struct litmus_tables){0};
    name_of(name, tag, node);
    return locks ? baton_table_create(ep, name, &opts, &tables->table[node]) : 0;
}

int litmus_tables_open(struct litmus_tables *tables, struct baton_ep *ep,
                       const struct litmus_plan *plan, unsigned tag, uint64_t patience_ns)
{
    uint64_t deadline = baton_now(ep) + patience_ns;
    int rc = 0;
    for (unsigned node = 0; node < plan->nodes && !rc; node++) {
        char name[BATON_NAME_MAX + 1];
        if (tables->table[node] || !locks_on(plan, node))
            continue;
        name_of(name, tag, node);
        rc = baton_table_open(ep, name, deadline, &tables->table[node]);
    }
    return rc;
}

int litmus_tables_close(struct litmus_tables *tables, struct baton_ep *ep, bool own)
{
    int rc = 0;
    for (unsigned node = 0; node < LITMUS_NODES_MAX; node++) {
        if (!tables->table[node] || (node == own_node(ep)) != own)
            continue;
        int one = baton_table_close(ep, tables->table[node]);
        rc = rc ? rc : one;
        tables->table[node] = NULL;
    }
    return rc;
}

int litmus_holder_open(struct litmus_holder *h, struct baton_ep *ep,
                       const struct litmus_tables *tables, const struct litmus_plan *plan,
                       unsigned batch)
{
    int rc = 0;
    *h = (struct litmus_holder){.tables = tables, .plan = plan, .batch = batch};
    if (!plan->locks_n)
        return 0;
    h->waiter = calloc(plan->held_most, sizeof(*h->waiter));
    h->held = calloc(plan->held_most, sizeof(*h->held));
    if (!h->waiter || !h->held)
        return -ENOMEM;
    for (unsigned i = 0; i < plan->held_most && !rc; i++)
        rc = baton_waiter_open(ep, &h->waiter[i]);
    return rc;
}

int litmus_holder_close(struct litmus_holder *h, struct baton_ep *ep)
{
    int rc = 0;
    for (unsigned i = 0; h->waiter && h->held && i < h->plan->held_most; i++)
        if (h->waiter[i]) {
            int one = h->waiter[i]->line ? baton_lock_release(&h->held[i], ep, h->waiter[i]) : 0;
            int closed = baton_waiter_close(ep, h->waiter[i]);
            rc = rc ? rc : one ? one : closed;
        }
    free(h->waiter);
    free(h->held);
    h->waiter = NULL;
    h->held = NULL;
    return rc;
}

int litmus_holder_lock(struct litmus_holder *h, struct baton_ep *ep, unsigned lock,
                       uint32_t instance, bool acquire)
{
    const struct litmus_plan *plan = h->plan;
    unsigned last = plan->held_most - 1;
    unsigned with = lock < last ? lock : last;
    struct baton_waiter *waiter = h->waiter[with];
    struct baton_lock handle;
    int rc = baton_table_lock(h->tables->table[plan->lock_node[lock]],
                              (uint64_t)rank(plan, lock) * h->batch + instance, &handle);
    if (rc)
        return rc;
    if (!acquire)
        return baton_lock_release(&handle, ep, waiter);
    rc = baton_lock_acquire(&handle, ep, waiter);
    if (!rc)
        h->held[with] = handle;
    return rc;
}

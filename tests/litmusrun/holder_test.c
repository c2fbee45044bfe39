/* SPDX-License-Identifier: MIT */
/*
 * Shows that a thread of a litmus test that ends in the middle, as when an operation fails, keeps no lock: with every
 * kind, on the lock's node and elsewhere, the next one gets what the last one had.
 */
#include "../plain_check.h"
#include "bench/litmus_locks.h"

enum { NODES = 2, LOCKS = 2, BATCH = 3 };

static void all_held_in_turn(struct baton_ep **ep, struct litmus_tables *tables,
                             const struct litmus_plan *plan)
{
    for (unsigned round = 0; round < 2 * NODES; round++) {
        struct litmus_holder holder;
        unsigned n = round % NODES;
        CHECK(!litmus_holder_open(&holder, ep[n], &tables[n], plan, BATCH));
        for (unsigned lock = 0; lock < LOCKS; lock++)
            CHECK(!litmus_holder_lock(&holder, ep[n], lock, 1, true));
        CHECK(!litmus_holder_close(&holder, ep[n]));
    }
}

int main(void)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    unsigned lock_node[LOCKS] = {0, 1};
    const struct litmus_plan plan = {
        .nodes = NODES, .locks_n = LOCKS, .held_most = LOCKS, .lock_node = lock_node};
    char name[BATON_NAME_MAX + 1];
    struct baton_cluster *cluster;
    struct baton_ep *ep[NODES];
    snprintf(name, sizeof(name), "holder-%ld", (long)getpid());
    opts.name = name;
    opts.nodes = opts.local = NODES;
    CHECK(!baton_cluster_open(&opts, &cluster));
    for (unsigned n = 0; n < NODES; n++)
        CHECK(!baton_ep_open(baton_cluster_node(cluster, n), &ep[n]));
    for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k; k++) {
        struct litmus_tables tables[NODES];
        check_within(60, (*k)->name);
        for (unsigned n = 0; n < NODES; n++)
            CHECK(!litmus_tables_make(&tables[n], ep[n], &plan, (*k)->name, BATCH, 0));
        for (unsigned n = 0; n < NODES; n++)
            CHECK(!litmus_tables_open(&tables[n], ep[n], &plan, 0, 0));
        all_held_in_turn(ep, tables, &plan);
        for (int own = 0; own < 2; own++)
            for (unsigned n = 0; n < NODES; n++)
                CHECK(!litmus_tables_close(&tables[n], ep[n], own));
    }
    for (unsigned n = 0; n < NODES; n++)
        CHECK(!baton_ep_close(ep[n]));
    CHECK(!baton_cluster_close(cluster));
    return 0;
}

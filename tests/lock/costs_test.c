/* SPDX-License-Identifier: MIT */
/*
 * What the kinds cost when nobody else wants the lock, on the endpoint's counters: waited round trips
 * and remote operations of acquire and of release, for a remote thread and for one of the host. The
 * numbers of the kinds' headers are held exactly; they do not depend on time or world.
 */
#include "check.h"

struct cost {
    const char *kind;
    struct {
        unsigned acquire_trips, release_trips, acquire_ops, release_ops;
    } remote, local;
};

static const struct cost costs[] = {
    {"ts", {1, 0, 1, 1}, {1, 0, 1, 1}},
    {"ticket", {1, 0, 2, 1}, {1, 0, 2, 1}},
    {"mcs", {1, 1, 1, 1}, {1, 1, 1, 1}},
    {"alock", {2, 1, 3, 1}, {0, 0, 0, 0}},
};

static uint64_t ops(const struct baton_stats *s)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < BATON_OP_KINDS; i++)
        sum += s->ops[i];
    return sum;
}

static int body(struct baton_ep *ep, unsigned thread, void *arg)
{
    const struct cost *cost = arg;
    bool local = ep->node == 0;
    struct baton_table *table;
    struct baton_lock lock;
    struct baton_waiter *waiter;
    struct baton_stats before, held, after;

    CHECK_RC(baton_table_open(ep, "t", 0, &table), 0);
    CHECK_RC(baton_table_lock(table, 1, &lock), 0);
    CHECK_RC(baton_waiter_open(ep, &waiter), 0);
    /* Three times, as the first round must not be cheaper or dearer than the others. */
    for (unsigned i = 0; i < 3; i++) {
        baton_ep_stats(ep, &before);
        CHECK_RC(baton_lock_acquire(&lock, ep, waiter), 0);
        baton_ep_stats(ep, &held);
        CHECK_RC(baton_lock_release(&lock, ep, waiter), 0);
        baton_ep_stats(ep, &after);
        unsigned got[] = {(unsigned)(held.waited_round_trips - before.waited_round_trips),
                          (unsigned)(after.waited_round_trips - held.waited_round_trips),
                          (unsigned)(ops(&held) - ops(&before)),
                          (unsigned)(ops(&after) - ops(&held))};
        const unsigned wanted[] = {local ? cost->local.acquire_trips : cost->remote.acquire_trips,
                                   local ? cost->local.release_trips : cost->remote.release_trips,
                                   local ? cost->local.acquire_ops : cost->remote.acquire_ops,
                                   local ? cost->local.release_ops : cost->remote.release_ops};
        for (unsigned k = 0; k < 4; k++)
            if (got[k] != wanted[k]) {
                printf("%s, %s thread, round %u: %u+%u round trips, %u+%u operations; stated are "
                       "%u+%u, %u+%u\n",
                       cost->kind, local ? "local" : "remote", i, got[0], got[1], got[2], got[3],
                       wanted[0], wanted[1], wanted[2], wanted[3]);
                return -ERANGE;
            }
    }
    CHECK_RC(baton_waiter_close(ep, waiter), 0);
    return baton_table_close(ep, table);
}

int main(void)
{
    for (unsigned i = 0; i < sizeof costs / sizeof *costs; i++) {
        for (unsigned node = 0; node < 2; node++) {
            struct baton_cluster *cluster = check_step(2, 1, 0);
            struct baton_table_opts opts = check_table(costs[i].kind, 2);
            struct baton_table *table;
            struct baton_ep *ep;
            CHECK_RC(baton_ep_open(baton_cluster_node(cluster, 0), &ep), 0);
            CHECK_RC(baton_table_create(ep, "t", &opts, &table), 0);
            struct baton_team team = {node, 1, body, (void *)&costs[i]};
            CHECK_RC(baton_run(cluster, &team, 1), 0);
            CHECK_RC(baton_table_close(ep, table), 0);
            CHECK_RC(baton_ep_close(ep), 0);
            CHECK_RC(baton_cluster_close(cluster), 0);
        }
    }
    return 0;
}

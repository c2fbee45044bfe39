/* SPDX-License-Identifier: MIT */
/*
 * What farlock, farlock-g and merge cost when nobody competes: waited round trips and remote operations
 * of acquire and release, for a remote thread and for one of the host, as their headers promise. The
 * counters do not depend on time, so the world `step` gives the numbers of every fabric, but for the one
 * put that replaces two where a put's bytes land in order, which step does not promise.
 */
#include <inttypes.h>
#include <stdio.h>

#include <baton/lock.h>

struct cost {
    uint64_t waited, ops;
};

static const struct expected {
    const char *kind;
    const char *setting;
    struct cost acquire, release;
} expected[] = {
    {"farlock", NULL, {3, 7}, {1, 2}},    {"farlock", "chain=off", {7, 7}, {2, 2}},
    {"farlock-g", NULL, {3, 7}, {1, 2}},  {"merge", NULL, {1, 2}, {0, 1}},
    {"merge", "slots=1", {1, 2}, {0, 1}},
};

static int failures;

static struct cost cost_now(struct baton_ep *ep)
{
    struct baton_stats stats;
    struct cost cost = {0, 0};
    baton_ep_stats(ep, &stats);
    cost.waited = stats.waited_round_trips;
    for (unsigned i = 0; i < BATON_OP_KINDS; i++)
        cost.ops += stats.ops[i];
    return cost;
}

static void check(const struct expected *e, const char *who, const char *what, struct cost before,
                  struct cost after, struct cost promised)
{
    struct cost is = {after.waited - before.waited, after.ops - before.ops};
    bool good = is.waited == promised.waited && is.ops == promised.ops;
    failures += !good;
    printf("%-9s %-9s %-6s %s: %" PRIu64 " round trips, %" PRIu64 " operations%s\n", e->kind,
           e->setting ? e->setting : "", who, what, is.waited, is.ops, good ? "" : "  WRONG");
}

/* The second time, when everything has been touched once. */
static int measure(struct baton_ep *ep, unsigned thread, void *arg)
{
    const struct expected *e = arg;
    const struct cost nothing = {0, 0};
    struct baton_table *table;
    struct baton_lock lock;
    struct baton_waiter *waiter;
    int rc = baton_table_open(ep, e->kind, BATON_NEVER, &table);
    if (!rc)
        rc = baton_waiter_open(ep, &waiter);
    if (!rc)
        rc = baton_table_lock(table, 0, &lock);
    for (unsigned i = 0; i < 3 && !rc; i++) {
        struct cost start = cost_now(ep);
        rc = baton_lock_acquire(&lock, ep, waiter);
        struct cost got = cost_now(ep);
        if (!rc)
            rc = baton_lock_release(&lock, ep, waiter);
        struct cost end = cost_now(ep);
        if (i == 0)
            continue;
        check(e, lock.local ? "local" : "remote", "acquire", start, got,
              lock.local ? nothing : e->acquire);
        check(e, lock.local ? "local" : "remote", "release", got, end,
              lock.local ? nothing : e->release);
    }
    if (!rc)
        rc = baton_waiter_close(ep, waiter);
    return rc ? rc : baton_table_close(ep, table);
}

static int run(const struct expected *e)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    struct baton_ep *ep;
    struct baton_table *table;
    uint64_t params[BATON_LOCK_PARAMS_MAX];
    struct baton_table_opts making = {sizeof making, e->kind, 1, params, 0};
    opts.fabric = "step";
    opts.nodes = 2;
    int rc = baton_cluster_open(&opts, &cluster);
    if (rc)
        return rc;
    rc = baton_ep_open(baton_cluster_self(cluster), &ep);
    baton_lock_param_defaults(baton_lock_kind(e->kind), params);
    if (!rc && e->setting)
        rc = baton_lock_param_set(baton_lock_kind(e->kind), params, e->setting);
    if (!rc)
        rc = baton_table_create(ep, e->kind, &making, &table);
    for (unsigned node = 0; node < 2 && !rc; node++) {
        struct baton_team team = {node, 1, measure, (void *)(uintptr_t)e};
        rc = baton_run(cluster, &team, 1);
    }
    if (!rc)
        rc = baton_table_close(ep, table);
    baton_ep_close(ep);
    baton_cluster_close(cluster);
    return rc;
}

int main(void)
{
    for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        int rc = run(&expected[i]);
        if (rc) {
            printf("%s: %s\n", expected[i].kind, baton_strerror(rc));
            failures++;
        }
    }
    printf("%d failures\n", failures);
    return failures != 0;
}

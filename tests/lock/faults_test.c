/* SPDX-License-Identifier: MIT */
/*
 * A failed operation of one thread must not leave the others waiting for ever. Four threads on three
 * nodes, or seven, so that waiters sleep on hints, use one lock in the world `step`; each operation of each
 * kind that a thread posts is made to fail in turn. The thread's calls return errors; after that every other
 * one gets -EOWNERDEAD or -ENOTRECOVERABLE (or has finished before), nobody hangs (-EDEADLK), and after a
 * reinit all is well. Nor does anybody say that the table was closed when what is not there any more is the
 * memory of another waiter.
 */
#include "check.h"

enum { ROUNDS = 4 };

struct run {
    const char *kind;
    uint64_t seed;
    struct baton_fault_rule rule;
    uint64_t failed; /* how many threads saw what */
    uint64_t told;
    uint64_t finished;
};

static int body(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct run *run = arg;
    struct baton_table *table;
    struct baton_lock lock;
    struct baton_waiter *waiter;
    bool victim = ep->node == 1 && thread == 0;
    int rc = 0;

    CHECK_RC(baton_table_open(ep, "t", 0, &table), 0);
    CHECK_RC(baton_table_lock(table, 0, &lock), 0);
    CHECK_RC(baton_waiter_open(ep, &waiter), 0);
    if (victim)
        CHECK_RC(baton_ep_faults(ep, &run->rule, 1), 0);
    for (unsigned i = 0; i < ROUNDS && !rc; i++) {
        rc = baton_lock_acquire(&lock, ep, waiter);
        if (!rc) {
            baton_delay(ep, 1000);
            rc = baton_lock_release(&lock, ep, waiter);
        }
    }
    struct baton_ep_fault fault;
    baton_ep_error(ep, &fault);
    CHECK(rc != -EKEYREJECTED || fault.node == 0);
    int closed = baton_waiter_close(ep, waiter);
    rc = rc ? rc : closed;
    if (!rc) {
        run->finished++;
    } else if (rc == -EOWNERDEAD || rc == -ENOTRECOVERABLE) {
        run->told++;
    } else {
        if (!victim || rc == -EDEADLK)
            printf("%s, operation %d number %" PRIu64 " fails, seed %" PRIu64
                   ": thread %u of node %u: %s\n",
                   run->kind, run->rule.kind, run->rule.nth, run->seed, thread, (unsigned)ep->node,
                   baton_strerror(rc));
        CHECK(victim && rc != -EDEADLK);
        run->failed++;
    }
    /* Another endpoint closes the table, as the fault may still lie ahead of this one. */
    struct baton_ep *other;
    CHECK_RC(baton_ep_open(baton_ep_node(ep), &other), 0);
    CHECK_RC(baton_table_close(other, table), 0);
    CHECK_RC(baton_ep_close(other), 0);
    (void)baton_wait_all(ep);
    return 0;
}

/* Whether the rule's operation was reached. */
static bool run_once(const char *kind, enum baton_op_kind op, uint64_t nth, uint64_t seed, int rc)
{
    struct baton_cluster *cluster = check_step(3, seed, seed & 1 ? BATON_CLUSTER_SWAP : 0);
    struct baton_table_opts opts = check_table(kind, 1);
    struct run run = {.kind = kind, .seed = seed, .rule = {op, nth, rc, 0}};
    struct baton_table *table;
    struct baton_lock lock;
    struct baton_waiter *waiter;
    struct baton_ep *ep;

    CHECK_RC(baton_ep_open(baton_cluster_node(cluster, 0), &ep), 0);
    CHECK_RC(baton_table_create(ep, "t", &opts, &table), 0);
    const unsigned more = seed & 2 ? 3 : 0;
    struct baton_team teams[] = {{0, 1, body, &run}, {1, 2, body, &run}, {2, 1 + more, body, &run}};
    CHECK_RC(baton_run(cluster, teams, 3), 0);
    CHECK(run.failed + run.told + run.finished == 4 + more);

    CHECK_RC(baton_table_reinit(ep, table), 0);
    CHECK_RC(baton_table_lock(table, 0, &lock), 0);
    CHECK_RC(baton_waiter_open(ep, &waiter), 0);
    CHECK_RC(baton_lock_acquire(&lock, ep, waiter), 0);
    CHECK_RC(baton_lock_release(&lock, ep, waiter), 0);
    CHECK_RC(baton_waiter_close(ep, waiter), 0);
    CHECK_RC(baton_table_close(ep, table), 0);
    CHECK_RC(baton_ep_close(ep), 0);
    CHECK_RC(baton_cluster_close(cluster), 0);
    return run.failed || run.told;
}

/* Also those that mean that a peer is not there any more, which it is. */
static const int errors[] = {-EACCES, -EKEYREJECTED, -EHOSTDOWN};
enum { ERRORS = sizeof errors / sizeof errors[0] };

int main(void)
{
    for (const struct baton_lock_ops *const *kind = baton_lock_kinds(); *kind; kind++) {
        unsigned runs = 0, reached = 0;
        for (enum baton_op_kind op = 0; op < BATON_OP_KINDS; op++)
            for (uint64_t nth = 1; nth <= 12; nth++)
                for (uint64_t seed = 1; seed <= 20; seed++, runs++)
                    reached += run_once((*kind)->name, op, nth, seed, errors[seed % ERRORS]);
        printf("%s: %u runs, the fault was felt in %u\n", (*kind)->name, runs, reached);
    }
    return 0;
}

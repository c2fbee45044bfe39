/* SPDX-License-Identifier: MIT */
/*
 * Shows that a release whose put is lost is told so, though it goes on to something else that makes the queue pair
 * towards the host new: here with a kind of lock that does just that, as merge does when it looks late for whom it
 * has to wake. The table is marked, and nobody waits for ever.
 */
#include "check.h"

enum { HOST, FAILS, NODES };
enum { ID = BATON_WID_LOCK };

static int acquire(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *waiter,
                   struct baton_wait *wait)
{
    return 0;
}

static int release(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *waiter)
{
    int rc = baton_put64(ep, lock->line, 1, BATON_WID_UNWAITED);
    int rung = baton_flush(ep);
    baton_get(ep, waiter->result, lock->line, 8, ID);
    int waited = baton_wait(ep, ID);
    return rc ? rc : rung ? rung : waited;
}

static const struct baton_lock_ops looks_late = {
    .size = sizeof looks_late,
    .name = "looks-late",
    .summary = "no lock, but a release",
    .acquire = acquire,
    .release = release,
};

int main(void)
{
    struct baton_cluster *cluster = check_step(NODES, 1, 0);
    struct baton_table_opts opts = check_table(looks_late.name, 1);
    const struct baton_fault_rule rule = {BATON_OP_PUT, 2, -EACCES, 0};
    struct baton_table *made, *opened;
    struct baton_ep *ep[NODES];
    struct baton_lock lock;
    struct baton_waiter *waiter;
    CHECK_RC(baton_lock_register(&looks_late), 0);
    for (unsigned n = 0; n < NODES; n++)
        CHECK_RC(baton_ep_open(baton_cluster_node(cluster, n), &ep[n]), 0);
    CHECK_RC(baton_table_create(ep[HOST], "t", &opts, &made), 0);
    CHECK_RC(baton_table_open(ep[FAILS], "t", 0, &opened), 0);
    CHECK_RC(baton_table_lock(opened, 0, &lock), 0);
    CHECK_RC(baton_waiter_open(ep[FAILS], &waiter), 0);
    CHECK_RC(baton_ep_faults(ep[FAILS], &rule, 1), 0);

    CHECK_RC(baton_lock_acquire(&lock, ep[FAILS], waiter), 0);
    CHECK_RC(baton_lock_release(&lock, ep[FAILS], waiter), 0);
    CHECK_RC(baton_lock_acquire(&lock, ep[FAILS], waiter), 0);
    CHECK_RC(baton_lock_release(&lock, ep[FAILS], waiter), -ECANCELED);
    CHECK_RC(baton_ep_state(ep[FAILS], HOST), 0);
    CHECK_RC(baton_waiter_close(ep[FAILS], waiter), 0);
    CHECK_RC(baton_waiter_open(ep[FAILS], &waiter), 0);
    CHECK_RC(baton_lock_acquire(&lock, ep[FAILS], waiter), -ENOTRECOVERABLE);
    CHECK_RC(baton_waiter_close(ep[FAILS], waiter), 0);
    CHECK_RC(baton_table_close(ep[FAILS], opened), 0);
    CHECK_RC(baton_table_close(ep[HOST], made), 0);
    for (unsigned n = 0; n < NODES; n++)
        CHECK_RC(baton_ep_close(ep[n]), 0);
    CHECK_RC(baton_cluster_close(cluster), 0);
    return 0;
}

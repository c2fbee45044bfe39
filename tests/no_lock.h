/* SPDX-License-Identifier: MIT */
/* A kind of lock that excludes nobody and waits for nothing, to see that this is noticed. */
#ifndef BATON_TESTS_NO_LOCK_H
#define BATON_TESTS_NO_LOCK_H

#include <baton/lock.h>

static int nothing_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                           struct baton_waiter *waiter, struct baton_wait *wait)
{
    return 0;
}

static int nothing_release(const struct baton_lock *lock, struct baton_ep *ep,
                           struct baton_waiter *waiter)
{
    return 0;
}

static const struct baton_lock_ops nothing = {
    .size = sizeof(nothing),
    .name = "wrong-nothing",
    .summary = "excludes nobody",
    .acquire = nothing_acquire,
    .release = nothing_release,
};

#endif

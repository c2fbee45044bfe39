/* SPDX-License-Identifier: MIT */
/*
 * Kinds of lock that are wrong, each in its own way. The conformance suite must find every one of them.
 *
 *     wrong-nothing   excludes nobody
 *     wrong-lifo      excludes, but serves the last comer first, and says that it is fair
 *     wrong-ts        the library's test-and-set lock, which says that it is fair
 *     wrong-ts-door   the same with a doorway that ends
 *
 * The others are the library's kinds with one fence or settle taken out when this program is built.
 */
#include <errno.h>

#include "conformance/suite.h"
#include "lock/ts.h"
#include "../no_lock.h"
#include "wrong_mutants.h"

/*
 * ---- Last come, first served. The word is 0: free, 1: held, else the address of the last waiter, whose
 * word[0] is what was there before, word[1] the grant. Only the holder pops, so nobody pops twice.
 */

enum { BELOW, GRANTED };

static int lifo_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                        struct baton_waiter *waiter, struct baton_wait *wait)
{
    uint64_t guess, seen = 0;
    int rc;
    baton_store(ep, &waiter->word[GRANTED], 0);
    do {
        guess = seen;
        baton_store(ep, &waiter->word[BELOW], guess);
        baton_rcas(ep, waiter->result, lock->line, guess, guess ? waiter->self : 1, BATON_WID_LOCK);
        rc = baton_wait(ep, BATON_WID_LOCK);
        if (rc)
            return rc;
        seen = waiter->result[0];
    } while (seen != guess);
    waiter->committed = 1;
    baton_doorway(ep, waiter);
    if (!guess)
        return 0;
    struct baton_cond granted = baton_until_is(&waiter->word[GRANTED], UINT64_MAX, 1);
    return baton_await(ep, &granted, 1, wait);
}

static int lifo_release(const struct baton_lock *lock, struct baton_ep *ep,
                        struct baton_waiter *waiter)
{
    uint64_t top, seen = 1;
    int rc = baton_settle(ep, lock->host);
    do {
        top = seen;
        uint64_t below = 0;
        if (top != 1) {
            baton_get(ep, waiter->result, top + 8 * BELOW, 8, BATON_WID_LOCK);
            rc = baton_wait(ep, BATON_WID_LOCK);
            if (rc)
                return rc;
            below = waiter->result[0];
        }
        baton_rcas(ep, waiter->result, lock->line, top, below, BATON_WID_LOCK);
        rc = baton_wait(ep, BATON_WID_LOCK);
        if (rc)
            return rc;
        seen = waiter->result[0];
    } while (seen != top);
    if (top != 1)
        baton_put64(ep, top + 8 * GRANTED, 1, 0);
    return baton_flush(ep);
}

static const struct baton_lock_ops lifo = {
    .size = sizeof(struct baton_lock_ops),
    .name = "wrong-lifo",
    .summary = "last come, first served",
    .caps = BATON_LOCK_FCFS,
    .acquire = lifo_acquire,
    .release = lifo_release,
};

/* ---- Unfair, and says otherwise: filled in from the real one before main */

static struct baton_lock_ops unfair, unfair_door;

static int door_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                        struct baton_waiter *waiter, struct baton_wait *wait)
{
    baton_doorway(ep, waiter);
    return baton_lock_ts.acquire(lock, ep, waiter, wait);
}

__attribute__((constructor)) static void fill(void)
{
    unfair = unfair_door = baton_lock_ts;
    unfair.name = "wrong-ts";
    unfair_door.name = "wrong-ts-door";
    unfair.caps = unfair_door.caps = BATON_LOCK_FCFS;
    unfair.try_acquire = unfair_door.try_acquire = NULL;
    unfair_door.acquire = door_acquire;
}

const struct baton_lock_ops *const conf_own_kinds[] = {&nothing, &lifo, &unfair, &unfair_door,
                                                       WRONG_MUTANTS NULL};

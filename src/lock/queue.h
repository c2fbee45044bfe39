/* SPDX-License-Identifier: MIT */
/*
 * What the queue locks have in common: a tail word on the host that names the last waiter by the
 * address of its words, and waiters that link themselves behind their predecessor.
 */
#ifndef BATON_LOCK_QUEUE_H
#define BATON_LOCK_QUEUE_H

#include <errno.h>

#include <baton/lock.h>

#include "lock/ids.h"

/*
 * Leaves the waiter's address in the tail and says what was there. Plain NICs have no swap, so it is
 * a compare-and-swap that takes the value it just returned as its next guess: every failure means
 * that somebody else has moved on. The first guess is the caller's; the free lock is 0. The order of
 * arrival is that of the rcas that win.
 */
static inline int baton_queue_swap(struct baton_ep *ep, struct baton_waiter *waiter,
                                   baton_gptr tail, uint64_t first, uint64_t *before)
{
    uint64_t guess, seen = first;
    waiter->committed = 1;
    do {
        guess = seen;
        int posted = baton_rcas(ep, &waiter->result[0], tail, guess, waiter->self, BATON_ID_LOCK);
        int rc = baton_wait(ep, BATON_ID_LOCK);
        if (posted) /* never reached the queue */
            waiter->committed = 0;
        if (rc)
            return rc;
        seen = waiter->result[0];
    } while (seen != guess);
    *before = seen;
    return 0;
}

/* Takes an empty queue, or nothing: -EBUSY. One round trip. */
static inline int baton_queue_try(struct baton_ep *ep, struct baton_waiter *waiter, baton_gptr tail)
{
    waiter->committed = 1;
    int posted = baton_rcas(ep, &waiter->result[0], tail, 0, waiter->self, BATON_ID_LOCK);
    int rc = baton_wait(ep, BATON_ID_LOCK);
    if (!rc && waiter->result[0])
        rc = -EBUSY;
    if (posted || rc == -EBUSY)
        waiter->committed = 0;
    return rc;
}

/* Takes the waiter out of the queue if nobody is behind it; *alone says whether. One round trip. */
static inline int baton_queue_leave(struct baton_ep *ep, struct baton_waiter *waiter,
                                    baton_gptr tail, bool *alone)
{
    baton_rcas(ep, &waiter->result[0], tail, waiter->self, 0, BATON_ID_LOCK);
    int rc = baton_wait(ep, BATON_ID_LOCK);
    *alone = !rc && waiter->result[0] == waiter->self;
    return rc;
}

/* Waits in a release until the successor has linked itself: `link` is the word that it writes its address to. */
int baton_queue_next(const struct baton_lock *lock, struct baton_ep *ep, const uint64_t *link,
                     uint64_t *next);

/* The words of another waiter of this node, from their address: all of them lie in one arena. */
static inline uint64_t *baton_queue_near(struct baton_waiter *waiter, baton_gptr other)
{
    return waiter->word + (int64_t)(other - waiter->self) / 8;
}

#endif

/* SPDX-License-Identifier: MIT */
/* The queue lock after Mellor-Crummey and Scott; see mcs.h. */
#include "lock/mcs.h"

#include "lock/queue.h"

enum { NEXT, GRANTED };

static unsigned mcs_words(const uint64_t *values, struct baton_words *out, unsigned max)
{
    if (max >= 1)
        out[0] = (struct baton_words){0, 0, 1, BATON_WORD_NIC_RMW, BATON_WORD_ADDRESS};
    return 1;
}

static void mcs_prepare(struct baton_ep *ep, struct baton_waiter *waiter)
{
    baton_store(ep, &waiter->word[NEXT], 0);
    baton_store(ep, &waiter->word[GRANTED], 0);
}

static int mcs_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter, struct baton_wait *wait)
{
    uint64_t before;
    mcs_prepare(ep, waiter);
    int rc = baton_queue_swap(ep, waiter, lock->line, 0, &before);
    if (rc)
        return rc;
    baton_doorway(ep, waiter);
    if (!before)
        return 0;

    /* Waiting for the link costs nothing: nobody grants before it has arrived, and if it can not
     * arrive, this is where that shows. */
    baton_put64(ep, before + NEXT * 8, waiter->self, BATON_ID_LINK);
    rc = baton_wait(ep, BATON_ID_LINK);
    if (rc)
        return rc;
    struct baton_cond granted = baton_until_not(&waiter->word[GRANTED], UINT64_MAX, 0);
    while (!baton_load(ep, &waiter->word[GRANTED])) {
        rc = baton_await(ep, &granted, 1, wait);
        if (rc)
            return rc;
    }
    return 0;
}

static int mcs_try(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *waiter,
                   struct baton_wait *wait)
{
    mcs_prepare(ep, waiter);
    int rc = baton_queue_try(ep, waiter, lock->line);
    if (!rc)
        baton_doorway(ep, waiter);
    return rc;
}

static int mcs_release(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter)
{
    bool alone;
    uint64_t next;
    baton_rfence(ep, lock->host);
    int rc = baton_queue_leave(ep, waiter, lock->line, &alone);
    if (rc || alone)
        return rc;
    rc = baton_queue_next(lock, ep, &waiter->word[NEXT], &next);
    if (rc)
        return rc;
    /* Free, as the failed rcas has proved everything; if it is not, the lock is handed on all the
     * same. */
    rc = baton_settle(ep, lock->host);
    int granted = baton_lock_grant(ep, waiter, next + GRANTED * 8, 1);
    return rc ? rc : granted;
}

const struct baton_lock_ops baton_lock_mcs = {
    .size = sizeof(struct baton_lock_ops),
    .name = "mcs",
    .summary = "queue lock, waits locally; all threads use the NIC",
    .caps = BATON_LOCK_TRY | BATON_LOCK_TRY_EXACT | BATON_LOCK_FCFS,
    .words = mcs_words,
    .acquire = mcs_acquire,
    .try_acquire = mcs_try,
    .release = mcs_release,
};

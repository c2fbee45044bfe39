/* SPDX-License-Identifier: MIT */
/* The asymmetric lock with budgets; see alock.h. */
#include "lock/alock.h"

#include "lock/queue.h"

enum { BUDGET_LOCAL, BUDGET_REMOTE };
enum { REMOTE_TAIL, LOCAL_TAIL, VICTIM };
enum { NEXT, BUDGET };
enum { LOCAL_CLASS = 1, REMOTE_CLASS = 2 };

#define WAITING UINT64_MAX

/* own[0]: my budget while I hold the lock. */

static const struct baton_lock_param params[] = {
    {"budget_local", 20, 1, 1 << 20, false}, /* hand-overs in a row while the other class waits */
    {"budget_remote", 5, 1, 1 << 20, false},
    {0}};

static unsigned alock_words(const uint64_t *values, struct baton_words *out, unsigned max)
{
    if (max >= 2) {
        out[0] =
            (struct baton_words){REMOTE_TAIL * 8, 0, 1, BATON_WORD_NIC_RMW, BATON_WORD_ADDRESS};
        out[1] = (struct baton_words){LOCAL_TAIL * 8, 0, 1, BATON_WORD_CPU_RMW, BATON_WORD_ADDRESS};
    }
    return 2;
}

/* A word of the predecessor or successor is never another thread's to reset once it is in a queue. */
static void alock_prepare(struct baton_ep *ep, struct baton_waiter *waiter)
{
    baton_store(ep, &waiter->word[NEXT], 0);
    baton_store(ep, &waiter->word[BUDGET], WAITING);
}

static int alock_await_budget(struct baton_ep *ep, struct baton_waiter *waiter,
                              struct baton_wait *wait)
{
    struct baton_cond given = baton_until_not(&waiter->word[BUDGET], UINT64_MAX, WAITING);
    while ((waiter->own[0] = baton_load(ep, &waiter->word[BUDGET])) == WAITING) {
        int rc = baton_await(ep, &given, 1, wait);
        if (rc)
            return rc;
    }
    return 0;
}

static int alock_peterson_local(const struct baton_lock *lock, struct baton_ep *ep,
                                struct baton_wait *wait)
{
    const struct baton_cond conds[] = {
        baton_until_is(&lock->local[REMOTE_TAIL], UINT64_MAX, 0),
        baton_until_not(&lock->local[VICTIM], UINT64_MAX, LOCAL_CLASS),
    };
    baton_store(ep, &lock->local[VICTIM], LOCAL_CLASS);
    /* The remote head puts victim and then gets the local tail; one of us must see the other. */
    baton_mfence(ep);
    while (baton_load(ep, &lock->local[REMOTE_TAIL]) &&
           baton_load(ep, &lock->local[VICTIM]) == LOCAL_CLASS) {
        int rc = baton_await(ep, conds, 2, wait);
        if (rc)
            return rc;
    }
    return 0;
}

static int alock_peterson_remote(const struct baton_lock *lock, struct baton_ep *ep,
                                 struct baton_waiter *waiter, struct baton_wait *wait)
{
    /*
     * The tail must be visible before victim, or the local head could see victim change and still
     * find no remote tail; its rcas has been waited for, which says nothing about its write. And
     * victim must be visible before the first look: the other half of the local head's fence.
     */
    baton_order(ep, lock->host);
    baton_put64(ep, lock->line + VICTIM * 8, REMOTE_CLASS, 0);
    baton_order(ep, lock->host);
    for (;;) {
        baton_get(ep, &waiter->result[LOCAL_TAIL], lock->line + LOCAL_TAIL * 8, 16, BATON_ID_LOCK);
        int rc = baton_wait(ep, BATON_ID_LOCK);
        if (rc)
            return rc;
        if (!waiter->result[LOCAL_TAIL] || waiter->result[VICTIM] != REMOTE_CLASS)
            return 0;
        rc = baton_relax(ep, wait);
        if (rc)
            return rc;
    }
}

static int alock_acquire_local(const struct baton_lock *lock, struct baton_ep *ep,
                               struct baton_waiter *waiter, struct baton_wait *wait)
{
    alock_prepare(ep, waiter);
    waiter->committed = 1;
    uint64_t before = baton_swap(ep, &lock->local[LOCAL_TAIL], waiter->self);
    if (before) {
        baton_store(ep, &baton_queue_near(waiter, before)[NEXT], waiter->self);
        int rc = alock_await_budget(ep, waiter, wait);
        if (rc || waiter->own[0])
            return rc;
    }
    waiter->own[0] = lock->params[BUDGET_LOCAL];
    return alock_peterson_local(lock, ep, wait);
}

static int alock_acquire_remote(const struct baton_lock *lock, struct baton_ep *ep,
                                struct baton_waiter *waiter, struct baton_wait *wait)
{
    uint64_t before;
    alock_prepare(ep, waiter);
    int rc = baton_queue_swap(ep, waiter, lock->line + REMOTE_TAIL * 8, 0, &before);
    if (rc)
        return rc;
    if (before) {
        /* As in mcs: the wait is hidden behind the predecessor's section, and shows a failure. */
        baton_put64(ep, before + NEXT * 8, waiter->self, BATON_ID_LINK);
        rc = baton_wait(ep, BATON_ID_LINK);
        if (!rc)
            rc = alock_await_budget(ep, waiter, wait);
        if (rc || waiter->own[0])
            return rc;
    }
    waiter->own[0] = lock->params[BUDGET_REMOTE];
    return alock_peterson_remote(lock, ep, waiter, wait);
}

static int alock_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                         struct baton_waiter *waiter, struct baton_wait *wait)
{
    return lock->local ? alock_acquire_local(lock, ep, waiter, wait)
                       : alock_acquire_remote(lock, ep, waiter, wait);
}

static int alock_try(const struct baton_lock *lock, struct baton_ep *ep,
                     struct baton_waiter *waiter, struct baton_wait *wait)
{
    if (lock->local) {
        if (baton_load(ep, &lock->local[LOCAL_TAIL]) || baton_load(ep, &lock->local[REMOTE_TAIL]))
            return -EBUSY;
    } else {
        baton_get(ep, waiter->result, lock->line, 16, BATON_ID_LOCK);
        int rc = baton_wait(ep, BATON_ID_LOCK);
        if (rc)
            return rc;
        if (waiter->result[LOCAL_TAIL] || waiter->result[REMOTE_TAIL])
            return -EBUSY;
    }
    return alock_acquire(lock, ep, waiter, wait);
}

static int alock_release_local(const struct baton_lock *lock, struct baton_ep *ep,
                               struct baton_waiter *waiter)
{
    uint64_t next;
    /* The next holder does not wait for what this endpoint still has on its way to the host. */
    int settled = baton_settle(ep, lock->host);
    int rung = baton_flush(ep); /* what the section posted elsewhere must not lie here */
    settled = settled ? settled : rung;
    if (baton_cas(ep, &lock->local[LOCAL_TAIL], waiter->self, 0) == waiter->self)
        return settled;
    int rc = baton_queue_next(lock, ep, &waiter->word[NEXT], &next);
    if (rc)
        return rc;
    baton_store(ep, &baton_queue_near(waiter, next)[BUDGET], waiter->own[0] - 1);
    return settled;
}

static int alock_release_remote(const struct baton_lock *lock, struct baton_ep *ep,
                                struct baton_waiter *waiter)
{
    uint64_t next;
    bool alone;
    baton_rfence(ep, lock->host);
    int rc = baton_queue_leave(ep, waiter, lock->line + REMOTE_TAIL * 8, &alone);
    if (rc || alone)
        return rc;
    rc = baton_queue_next(lock, ep, &waiter->word[NEXT], &next);
    if (rc)
        return rc;
    /* Free, as the failed rcas has proved everything; if it is not, the lock is handed on all the
     * same. */
    rc = baton_settle(ep, lock->host);
    int granted = baton_lock_grant(ep, waiter, next + BUDGET * 8, waiter->own[0] - 1);
    return rc ? rc : granted;
}

static int alock_release(const struct baton_lock *lock, struct baton_ep *ep,
                         struct baton_waiter *waiter)
{
    return lock->local ? alock_release_local(lock, ep, waiter)
                       : alock_release_remote(lock, ep, waiter);
}

const struct baton_lock_ops baton_lock_alock = {
    .size = sizeof(struct baton_lock_ops),
    .name = "alock",
    .summary = "two queues and a Peterson lock, with budgets",
    .caps = BATON_LOCK_TRY,
    .params = params,
    .words = alock_words,
    .acquire = alock_acquire,
    .try_acquire = alock_try,
    .release = alock_release,
};

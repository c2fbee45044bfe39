/* SPDX-License-Identifier: MIT */
/* The test-and-set lock; see ts.h. */
#include "lock/ts.h"

#include "lock/queue.h"

enum { PAUSE_LEAST, PAUSE_MOST };

static const struct baton_lock_param params[] = {
    {"pause_least", 200, 0, 1000000, false}, /* ns after the first failure */
    {"pause_most", 6400, 0, 1000000, false}, /* ns after many */
    {0}};

static unsigned ts_words(const uint64_t *values, struct baton_words *out, unsigned max)
{
    if (max >= 1)
        out[0] = (struct baton_words){0, 0, 1, BATON_WORD_NIC_RMW, BATON_WORD_ADDRESS};
    return 1;
}

static int ts_attempt(const struct baton_lock *lock, struct baton_ep *ep,
                      struct baton_waiter *waiter)
{
    return baton_queue_try(ep, waiter, lock->line);
}

static int ts_try(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *waiter,
                  struct baton_wait *wait)
{
    return ts_attempt(lock, ep, waiter);
}

/*
 * Threads that fail together must not come again together, for ever: each has a share of the pause of its own, from
 * a half to the whole. It is always the same one, so an exploration has no more states for it.
 */
static uint64_t own_share(uint64_t pause, const struct baton_waiter *waiter)
{
    const uint64_t part = waiter->self * UINT64_C(0x9e3779b97f4a7c15) >> 54;
    return pause - (pause * part >> 11);
}

static int ts_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                      struct baton_waiter *waiter, struct baton_wait *wait)
{
    uint64_t pause = lock->params[PAUSE_LEAST];
    for (;;) {
        int rc = ts_attempt(lock, ep, waiter);
        if (rc != -EBUSY)
            return rc;
        baton_delay(ep, own_share(pause, waiter));
        rc = baton_relax(ep, wait);
        if (rc)
            return rc;
        pause *= 2;
        if (pause > lock->params[PAUSE_MOST])
            pause = lock->params[PAUSE_MOST];
    }
}

/*
 * A put, which a NIC does faster, while the others' rcas fail and write nothing. Software devices, which also tear
 * words, write back what a failed rcas has read: a put in between would be lost, and the lock held for ever.
 * What the rfaa brings comes when nobody waits for it, so it goes where no kind looks (BATON_WAITER_IDLE).
 */
static int ts_free(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *waiter)
{
    return lock->memory & BATON_LOCK_WHOLE_WORDS
               ? baton_put64(ep, lock->line, 0, BATON_WID_UNWAITED)
               : baton_rfaa(ep, &waiter->result[BATON_WAITER_IDLE], lock->line, 0 - waiter->self,
                            BATON_WID_UNWAITED);
}

static int ts_release(const struct baton_lock *lock, struct baton_ep *ep,
                      struct baton_waiter *waiter)
{
    /* Gets of the section must have read before the word is free; puts are ordered by it as well. */
    baton_rfence(ep, lock->host);
    int rc = ts_free(lock, ep, waiter);
    int rung = baton_flush(ep);
    return rc ? rc : rung;
}

const struct baton_lock_ops baton_lock_ts = {
    .size = sizeof(struct baton_lock_ops),
    .name = "ts",
    .summary = "test and set with back-off; not fair",
    .caps = BATON_LOCK_TRY | BATON_LOCK_TRY_EXACT | BATON_LOCK_DEADLINE,
    .params = params,
    .words = ts_words,
    .acquire = ts_acquire,
    .try_acquire = ts_try,
    .release = ts_release,
};

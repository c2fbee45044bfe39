/* SPDX-License-Identifier: MIT */
/* What waits in queue locks; see queue.h. */
#include "lock/queue.h"

int baton_queue_next(const struct baton_lock *lock, struct baton_ep *ep, const uint64_t *link,
                     uint64_t *next)
{
    struct baton_wait wait;
    const struct baton_cond linked = baton_until_not(link, UINT64_MAX, 0);
    baton_lock_wait_begin(lock, ep, &wait);
    while (!(*next = baton_load(ep, link))) {
        int rc = baton_await(ep, &linked, 1, &wait);
        if (rc)
            return rc;
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* The ticket lock; see ticket.h. */
#include "lock/ticket.h"

#include <errno.h>
#include <string.h>

#include "lock/ids.h"

enum { DISPENSER = 0, SERVING = 8 };

/* own[0]: my ticket. result[0], [1]: what rfaa or rcas and get fetched. */

static unsigned ticket_words(const uint64_t *values, struct baton_words *out, unsigned max)
{
    if (max >= 1)
        out[0] = (struct baton_words){DISPENSER, 0, 1, BATON_WORD_NIC_RMW, BATON_WORD_VALUE};
    return 1;
}

static void ticket_init(const uint64_t *values, uint64_t *words, uint64_t first)
{
    memset(words, 0, 64);
    words[0] = words[1] = first;
}

/* The turn of ticket *drawn + value. */
static struct baton_until ticket_turn(const struct baton_waiter *waiter, const uint64_t *drawn,
                                      uint64_t value)
{
    return (struct baton_until){
        .word = &waiter->result[1], .mask = UINT64_MAX, .value = value, .plus = drawn};
}

static int ticket_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                          struct baton_waiter *waiter, struct baton_wait *wait)
{
    struct baton_until until = ticket_turn(waiter, &waiter->result[0], 0);
    waiter->committed = 1;
    int posted = baton_rfaa(ep, &waiter->result[0], lock->line + DISPENSER, 1, BATON_ID_LOCK);
    baton_get(ep, &waiter->result[1], lock->line + SERVING, 8, BATON_ID_LOCK);
    int rc = baton_wait_until(ep, BATON_ID_LOCK, &until, 1, wait);
    if (posted)
        waiter->committed = 0;
    if (rc)
        return rc;
    uint64_t ticket = waiter->result[0], serving = waiter->result[1];
    waiter->own[0] = ticket;
    baton_doorway(ep, waiter);

    until = ticket_turn(waiter, NULL, ticket);
    while (serving != ticket) {
        baton_turn(ep, waiter, ticket, serving);
        baton_get(ep, &waiter->result[1], lock->line + SERVING, 8, BATON_ID_LOCK);
        rc = baton_wait_until(ep, BATON_ID_LOCK, &until, 1, wait);
        if (rc)
            return rc;
        if (waiter->result[1] != serving) {
            serving = waiter->result[1];
            baton_wait_moved(wait);
            continue;
        }
        wait->ahead = ticket - serving < UINT32_MAX ? (uint32_t)(ticket - serving) : UINT32_MAX;
        baton_knows(ep, waiter, ticket, serving);
        rc = baton_relax(ep, wait);
        if (rc)
            return rc;
    }
    waiter->token = ticket + 1;
    return 0;
}

/* Takes the ticket that is being served, if it has not been given out. */
static int ticket_try(const struct baton_lock *lock, struct baton_ep *ep,
                      struct baton_waiter *waiter, struct baton_wait *wait)
{
    baton_get(ep, &waiter->result[1], lock->line + SERVING, 8, BATON_ID_LOCK);
    int rc = baton_wait(ep, BATON_ID_LOCK);
    if (rc)
        return rc;
    uint64_t ticket = waiter->result[1];
    waiter->committed = 1;
    int posted = baton_rcas(ep, &waiter->result[0], lock->line + DISPENSER, ticket, ticket + 1,
                            BATON_ID_LOCK);
    rc = baton_wait(ep, BATON_ID_LOCK);
    if (!rc && waiter->result[0] != ticket)
        rc = -EBUSY;
    if (posted || rc == -EBUSY)
        waiter->committed = 0;
    if (rc)
        return rc;
    waiter->own[0] = ticket;
    baton_doorway(ep, waiter);
    waiter->token = ticket + 1;
    return 0;
}

static int ticket_release(const struct baton_lock *lock, struct baton_ep *ep,
                          struct baton_waiter *waiter)
{
    /* Gets of the section must have read before the next one enters; puts are ordered by it too. */
    baton_rfence(ep, lock->host);
    int rc = baton_put64(ep, lock->line + SERVING, waiter->own[0] + 1, BATON_WID_UNWAITED);
    int rung = baton_flush(ep);
    return rc ? rc : rung;
}

const struct baton_lock_ops baton_lock_ticket = {
    .size = sizeof(struct baton_lock_ops),
    .name = "ticket",
    .summary = "ticket lock; all threads use the NIC",
    .caps = BATON_LOCK_TRY | BATON_LOCK_TRY_EXACT | BATON_LOCK_FCFS | BATON_LOCK_TOKEN,
    .words = ticket_words,
    .init = ticket_init,
    .acquire = ticket_acquire,
    .try_acquire = ticket_try,
    .release = ticket_release,
};

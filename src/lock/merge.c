/* SPDX-License-Identifier: MIT */
/* The lock that merges two ticket queues by a pure rule; see merge.h and merge_rule.h. */
#include "lock/merge.h"

#include <errno.h>
#include <string.h>

#include "lock/ids.h"
#include "lock/merge_rule.h"

enum { CL, TURN, CR, WORDS };
enum { PRE, POST, WHO, SLOT_WORDS }; /* each N times */

/* own[] from acquire to release */
enum { TURN_AFTER };

/* params[] */
enum { SLOTS };
#define SLOTS_MOST 64

BATON_INLINE uint64_t slot_index(uint64_t slots, unsigned which, uint64_t ticket)
{
    return (slots > 1 ? 8 : WORDS) + which * slots + ticket % slots;
}

BATON_INLINE baton_gptr word_of(const struct baton_lock *lock, uint64_t index)
{
    return lock->line + index * 8;
}

BATON_INLINE void entered(struct baton_waiter *waiter, uint64_t l, uint64_t r, uint64_t turn_after)
{
    waiter->own[TURN_AFTER] = turn_after;
    waiter->token = l + r + 1;
}

/* ---- Threads of the host */

/* Ticket l is taken, after `sight` was seen in cr, and the lock was not free for it. */
static int local_queue(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter, struct baton_wait *wait, uint64_t sight,
                       uint64_t l)
{
    const uint64_t slots = lock->params[SLOTS];
    uint64_t *line = lock->local;
    uint64_t turn, c, served;
    int rc;

    waiter->committed = 1;
    /* The slot is free when its last ticket has been served; seen by an acquire, so that our store
     * comes after all that was decided by what stands there. */
    for (;;) {
        turn = baton_load(ep, &line[TURN]);
        if (l - merge_turn_local(turn, l) < slots)
            break;
        struct baton_cond moved = baton_until_not(&line[TURN], UINT64_MAX, turn);
        rc = baton_await(ep, &moved, 1, wait);
        if (rc)
            return rc;
    }
    /* Loaded after the ticket was taken, so cr and the count of served ones are near each other. */
    c = baton_load(ep, &line[CR]);
    served = merge_turn_remote(turn, c);
    baton_store(ep, &line[slot_index(slots, PRE, l)], merge_slot(l, merge_clamp(sight, served)));

    /* Once the local half stands at l, only the remote half can move before I do. */
    struct baton_cond mine = baton_until_is(&line[TURN], MERGE_LOCAL_MASK, merge_turn(l, 0));
    while ((baton_load(ep, &line[TURN]) & MERGE_LOCAL_MASK) != merge_turn(l, 0)) {
        rc = baton_await(ep, &mine, 1, wait);
        if (rc)
            return rc;
    }

    for (;;) {
        turn = baton_load(ep, &line[TURN]);
        c = baton_load(
            ep, &line[CR]); /* after turn: else a stale look could wait for a remote in vain */
        served = merge_turn_remote(turn, c);
        if (c == served)
            break; /* whoever takes that remote ticket began after I had mine */
        struct baton_cond change[2] = {baton_until_not(&line[TURN], UINT64_MAX, turn)};
        unsigned changes = 1;
        if (sight <= served) {
            const uint64_t *post = &line[slot_index(slots, POST, served)];
            uint64_t seen = baton_load(ep, post);
            if (!merge_slot_is(seen, served))
                change[changes++] = baton_until_is(post, MERGE_TAG_MASK, merge_tag(served));
            else if (merge_local_first(l, sight, served, merge_slot_value(seen, l)))
                break;
        }
        rc = baton_await(ep, change, changes, wait);
        if (rc)
            return rc;
    }
    entered(waiter, l, served, merge_turn(l + 1, served));
    return 0;
}

static inline int local_enter(const struct baton_lock *lock, struct baton_ep *ep,
                              struct baton_waiter *waiter, struct baton_wait *wait, uint64_t sight,
                              uint64_t l)
{
    uint64_t *line = lock->local;
    /* Dekker with a remote's rfaa and its get of cl: if I miss its ticket in cr, it sees mine in cl. Its
     * side is a NIC, and an acquire-release fetch-add is no fence everywhere. */
    baton_mfence_after_rmw(ep);
    baton_doorway(ep, waiter);
    uint64_t turn = baton_load(ep, &line[TURN]); /* acquires what the holders before did */
    uint64_t c = baton_load(ep, &line[CR]);
    if (merge_turn_is(turn, l, c)) {
        entered(waiter, l, c, merge_turn(l + 1, c));
        return 0;
    }
    return local_queue(lock, ep, waiter, wait, sight, l);
}

static inline int local_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                                struct baton_waiter *waiter, struct baton_wait *wait)
{
    uint64_t *line = lock->local;
    /* Before the ticket: who has his remote ticket before I start is then seen, by me and by all
     * local ones behind me. */
    uint64_t sight = baton_load(ep, &line[CR]);
    uint64_t l = baton_faa(ep, &line[CL], 1);
    return local_enter(lock, ep, waiter, wait, sight, l);
}

static inline int local_release(const struct baton_lock *lock, struct baton_ep *ep,
                                struct baton_waiter *waiter)
{
    /* What the section did here by NIC must be complete before a CPU or a get sees the turn. */
    int rc = baton_settle(ep, lock->host);
    /* A release: the data, and my slot, come before it. */
    baton_store(ep, &lock->local[TURN], waiter->own[TURN_AFTER]);
    int rung = baton_flush(ep);
    return rc ? rc : rung;
}

/* ---- Remote threads */

/* result[]: ticket or what a rcas found; cl and turn of the line; pre of the local ticket in question. */
enum { FETCHED, SEEN_CL, SEEN_TURN, SEEN_PRE };

/* Whoever waits for these on the host polls. */
static int remote_poll(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter, uint64_t pre_index)
{
    baton_get(ep, &waiter->result[SEEN_TURN], word_of(lock, TURN), 8, BATON_ID_LOCK);
    if (pre_index)
        baton_get(ep, &waiter->result[SEEN_PRE], word_of(lock, pre_index), 8, BATON_ID_LOCK);
    return baton_wait(ep, BATON_ID_LOCK);
}

/* Ticket r is taken, and the line was fetched behind it. */
static int remote_enter(const struct baton_lock *lock, struct baton_ep *ep,
                        struct baton_waiter *waiter, struct baton_wait *wait, uint64_t r)
{
    const uint64_t slots = lock->params[SLOTS];
    const uint64_t sight = waiter->result[SEEN_CL];
    bool published = false, local_goes = false;
    uint64_t local_seen = 0; /* the local ticket that goes first, if local_goes */
    int rc;

    baton_doorway(ep, waiter);
    for (;;) {
        /* Whole while r waits: the local half is within the number of threads of what r saw. */
        uint64_t turn = waiter->result[SEEN_TURN];
        uint64_t l = merge_turn_local(turn, sight), served = merge_turn_remote(turn, r);
        if (!published && r - served < slots) {
            /* Nobody needs it before I wait or release, which rings. It is before the section's first
             * operation on this queue pair, so the host can tell tickets that have done nothing. */
            baton_put64(ep, word_of(lock, slot_index(slots, POST, r)), merge_slot(r, sight), 0);
            published = true;
        }

        uint64_t pre_index = 0;
        if (served == r) {
            if (l >= sight) { /* taken after I looked, or not taken: behind me */
                entered(waiter, l, r, merge_turn(l, r + 1));
                return 0;
            }
            if (!local_goes || local_seen != l)
                pre_index = slot_index(slots, PRE, l);
        }
        /* Turn and slot together: when the turn has moved on, the slot may belong to a later ticket
         * and will never again show this one. */
        rc = remote_poll(lock, ep, waiter, pre_index);
        if (rc)
            return rc;
        if (waiter->result[SEEN_TURN] != turn) {
            baton_wait_moved(wait);
            continue;
        }
        uint64_t pre = waiter->result[SEEN_PRE];
        if (pre_index && merge_slot_is(pre, l)) {
            if (!merge_local_first(l, merge_slot_value(pre, r), r, sight)) {
                entered(waiter, l, r, merge_turn(l, r + 1));
                return 0;
            }
            local_goes = true;
            local_seen = l;
        }
        /* Every holder ahead costs at least a one-way message: look the more seldom. */
        wait->ahead = (uint32_t)(r - served);
        rc = baton_relax(ep, wait);
        if (rc)
            return rc;
    }
}

/* The rest of the doorway's one round trip, behind the operation that takes the ticket. */
static int remote_look(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter)
{
    /* What cl shows must be later than my ticket; without this a local one may miss it as I miss the
     * local one, and both enter. */
    baton_order(ep, lock->host);
    baton_get(ep, &waiter->result[SEEN_CL], word_of(lock, CL), 16, BATON_ID_LOCK);
    /* Waited for here, before any get of the section: the turn is what covers the data. */
    return baton_wait(ep, BATON_ID_LOCK);
}

static int remote_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                          struct baton_waiter *waiter, struct baton_wait *wait)
{
    /* Once it is posted nobody can tell that it has not happened, whatever the wait says. */
    if (!baton_rfaa(ep, &waiter->result[FETCHED], word_of(lock, CR), 1, BATON_ID_LOCK))
        waiter->committed = 1;
    int rc = remote_look(lock, ep, waiter);
    return rc ? rc : remote_enter(lock, ep, waiter, wait, waiter->result[FETCHED]);
}

static int remote_release(const struct baton_lock *lock, struct baton_ep *ep,
                          struct baton_waiter *waiter)
{
    /* Gets of the section must have read before the next one enters. It orders puts too: the section's,
     * and my slot, which is free for reuse when the turn is seen. */
    baton_rfence(ep, lock->host);
    int rc = baton_put64(ep, word_of(lock, TURN), waiter->own[TURN_AFTER], 0);
    int rung = baton_flush(ep);
    return rc ? rc : rung;
}

/* ---- Try: only if both dispensers stand at the turn */

static int local_try(const struct baton_lock *lock, struct baton_ep *ep,
                     struct baton_waiter *waiter, struct baton_wait *wait)
{
    uint64_t *line = lock->local;
    uint64_t sight = baton_load(ep, &line[CR]);
    uint64_t l = baton_load(ep, &line[CL]);
    if (!merge_turn_is(baton_load(ep, &line[TURN]), l, sight) ||
        baton_cas(ep, &line[CL], l, l + 1) != l)
        return -EBUSY;
    return local_enter(lock, ep, waiter, wait, sight, l);
}

static int remote_try(const struct baton_lock *lock, struct baton_ep *ep,
                      struct baton_waiter *waiter, struct baton_wait *wait)
{
    uint64_t *seen = &waiter->result[SEEN_CL];
    baton_get(ep, seen, word_of(lock, CL), 24, BATON_ID_LOCK);
    int rc = baton_wait(ep, BATON_ID_LOCK);
    if (rc)
        return rc;
    uint64_t r = seen[CR];
    if (!merge_turn_is(seen[TURN], seen[CL], r))
        return -EBUSY;
    if (!baton_rcas(ep, &waiter->result[FETCHED], word_of(lock, CR), r, r + 1, BATON_ID_LOCK))
        waiter->committed = 1;
    rc = remote_look(lock, ep, waiter);
    if (rc)
        return rc;
    if (waiter->result[FETCHED] != r) {
        waiter->committed = 0;
        return -EBUSY;
    }
    return remote_enter(lock, ep, waiter, wait, r);
}

/* ---- The kind */

static size_t merge_line_bytes(const uint64_t *params)
{
    uint64_t words = slot_index(params[SLOTS], SLOT_WORDS, 0);
    return (words * 8 + 63) & ~(size_t)63;
}

static unsigned merge_words(const uint64_t *params, struct baton_words *out, unsigned max)
{
    const struct baton_words words[] = {
        {CL * 8, 0, 1, BATON_WORD_CPU_RMW, BATON_WORD_VALUE},
        {CR * 8, 0, 1, BATON_WORD_NIC_RMW, BATON_WORD_VALUE},
    };
    const unsigned count = sizeof(words) / sizeof(words[0]);
    for (unsigned i = 0; i < count && i < max; i++)
        out[i] = words[i];
    return count;
}

static void merge_init(const uint64_t *params, uint64_t *words, uint64_t first)
{
    const uint64_t slots = params[SLOTS];
    memset(words, 0, merge_line_bytes(params));
    words[CL] = words[CR] = first;
    words[TURN] = merge_turn(first, first);
    if (!first)
        return;
    /* Near 2^44 a zeroed slot would belong to a ticket; as if these had been served, it does not. */
    for (uint64_t t = first; t < first + slots; t++) {
        words[slot_index(slots, PRE, t)] = merge_slot(t - slots, 0);
        words[slot_index(slots, POST, t)] = merge_slot(t - slots, 0);
    }
}

static int merge_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                         struct baton_waiter *waiter, struct baton_wait *wait)
{
    return lock->local ? local_acquire(lock, ep, waiter, wait)
                       : remote_acquire(lock, ep, waiter, wait);
}

static int merge_try(const struct baton_lock *lock, struct baton_ep *ep,
                     struct baton_waiter *waiter, struct baton_wait *wait)
{
    return lock->local ? local_try(lock, ep, waiter, wait) : remote_try(lock, ep, waiter, wait);
}

static int merge_release(const struct baton_lock *lock, struct baton_ep *ep,
                         struct baton_waiter *waiter)
{
    return lock->local ? local_release(lock, ep, waiter) : remote_release(lock, ep, waiter);
}

static const struct baton_lock_param merge_params[] = {
    [SLOTS] = {"slots", 8, 1, SLOTS_MOST, false},
    {0},
};

const struct baton_lock_ops baton_lock_merge = {
    .size = sizeof(struct baton_lock_ops),
    .name = "merge",
    .summary =
        "two ticket queues merged by a rule; one round trip, strictly first come first served",
    .caps = BATON_LOCK_TRY | BATON_LOCK_FCFS | BATON_LOCK_TOKEN,
    .params = merge_params,
    .line_bytes = merge_line_bytes,
    .words = merge_words,
    .init = merge_init,
    .acquire = merge_acquire,
    .try_acquire = merge_try,
    .release = merge_release,
};

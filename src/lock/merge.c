/* SPDX-License-Identifier: MIT */
/* The lock that merges two ticket queues by a pure rule; see merge.h and merge_rule.h. */
#include "lock/merge.h"

#include <errno.h>
#include <string.h>

#include "lock/ids.h"
#include "lock/merge_rule.h"
#include "lock/table.h"

enum { CL, TURN, CR, WORDS };
#define SLOT_WORDS 3 /* of a ticket: pre; post and who */

/* own[] from acquire to release; of a remote holder also its ticket, whether it owes a hint, and whom. */
enum { TURN_AFTER, TICKET, OWES, WHOM };

/*
 * The holder with ticket r wakes ticket r + EARLY. With 2 who is woken has one more holder before him and
 * polls when his turn comes: the hint is not on the way of the hand-over.
 */
#define EARLY 2

/* who: the address of a waiter, and in its low bits whether it will look into the slot EARLY behind. */
#define WHO_HINTS 1u

/* params[] */
enum { SLOTS, BYPASS };
#define SLOTS_MOST 64

BATON_INLINE uint64_t slots_begin(uint64_t slots)
{
    return slots > 1 ? 8 : WORDS;
}

BATON_INLINE uint64_t pre_index(uint64_t slots, uint64_t ticket)
{
    return slots_begin(slots) + ticket % slots;
}

/* who stands behind post, so that one get fetches both. */
BATON_INLINE uint64_t post_index(uint64_t slots, uint64_t ticket)
{
    return slots_begin(slots) + slots + 2 * (ticket % slots);
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
        baton_knows(ep, waiter, l, sight);
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
    baton_store(ep, &line[pre_index(slots, l)], merge_slot(l, merge_clamp(sight, served)));

    /* Once the local half stands at l, only the remote half can move before I do. */
    struct baton_cond mine = baton_until_is(&line[TURN], MERGE_LOCAL_MASK, merge_turn(l, 0));
    baton_knows(ep, waiter, l, sight);
    while ((baton_load(ep, &line[TURN]) & MERGE_LOCAL_MASK) != merge_turn(l, 0)) {
        rc = baton_await(ep, &mine, 1, wait);
        if (rc)
            return rc;
    }

    for (;;) {
        baton_knows(ep, waiter, l, sight);
        turn = baton_load(ep, &line[TURN]);
        c = baton_load(
            ep, &line[CR]); /* after turn: else a stale look could wait for a remote in vain */
        served = merge_turn_remote(turn, c);
        if (turn & MERGE_FLAG)
            break; /* the holder before me has decided */
        if (c == served)
            break; /* whoever takes that remote ticket began after I had mine */
        struct baton_cond change[2] = {baton_until_not(&line[TURN], UINT64_MAX, turn)};
        unsigned changes = 1;
        if (sight <= served) {
            const uint64_t *post = &line[post_index(slots, served)];
            uint64_t seen = baton_load(ep, post);
            if (!merge_slot_is(seen, served)) /* it never is if its owner was let in at once */
                change[changes++] = baton_until_is(post, MERGE_TAG_MASK, merge_tag(served));
            else if (merge_local_first(l, sight, served, merge_slot_value(seen, l)))
                break;
        }
        baton_knows(ep, waiter, l, sight, turn, changes > 1 ? served : UINT64_MAX);
        rc = baton_await(ep, change, changes, wait);
        if (rc)
            return rc;
    }
    entered(waiter, l, served, merge_turn(l + 1, served) | (turn & MERGE_RUN_MASK));
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
    uint64_t *line = lock->local, after = waiter->own[TURN_AFTER];
    if (lock->params[BYPASS])
        after = merge_pass(after, lock->params[BYPASS], baton_load(ep, &line[CL]),
                           baton_load(ep, &line[CR]));
    /* A release: the data, and my slot, come before it. */
    baton_store(ep, &line[TURN], after);
    int rung = baton_flush(ep);
    return rc ? rc : rung;
}

/* ---- Remote threads */

/*
 * result[]: ticket or what a rcas found; cl, turn and cr of the line; pre of the local ticket in question;
 * post and who of a remote ticket, EARLY before mine while I am far, then EARLY behind.
 */
enum { FETCHED, SEEN_CL, SEEN_TURN, SEEN_CR, SEEN_PRE, SEEN_POST, SEEN_WHO };

/* How well a slot is known: its post was seen; it was seen again, and who with it. */
enum { UNSEEN, SEEN, SURE };

/* What a remote thread knows while it waits. */
struct remote_wait {
    uint64_t r;     /* my ticket */
    uint64_t sight; /* what I saw of cl */
    uint64_t local; /* the local ticket that goes before me, if local_goes */
    uint64_t whom;  /* the waiter that I shall wake, when behind is SURE */
    bool published, local_goes, owes;
    int before, behind; /* how well I know the slots EARLY before and behind mine */
};

/*
 * Sleeping. A waiter that is far from its turn sleeps until it is hinted at. What makes sure that the hint
 * comes:
 *
 *   - I have seen that the waiter EARLY before me will hint. It says so in its who, once it knows that a
 *     ticket EARLY behind it is taken; from then on its release owes the hint.
 *   - After that and after my slot is visible, I have seen that it has not had its turn. So its release is
 *     still to come, and finds my slot: it has looked twice while it waited, or looks after its turn.
 *
 * A who that is read with a post of the same ticket may be an older one; who is read again after that post
 * was seen belongs to it.
 */

/* Who is let in without having waited publishes nothing: until its release, who looks for its slot has to wait
 * for the turn anyway. */
static void remote_publish(const struct baton_lock *lock, struct baton_ep *ep,
                           const struct baton_waiter *waiter, struct remote_wait *me)
{
    baton_gptr post = word_of(lock, post_index(lock->params[SLOTS], me->r));
    baton_put64(ep, post + 8, waiter->self | (me->owes ? WHO_HINTS : 0), 0);
    /* Else who belongs to a ticket of long ago where post shows this one. */
    baton_order(ep, lock->host);
    baton_put64(ep, post, merge_slot(me->r, me->sight), 0);
    me->published = true;
}

/* A ticket EARLY behind mine is taken: its owner may sleep when it knows that I know. */
static void remote_owe(const struct baton_lock *lock, struct baton_ep *ep,
                       const struct baton_waiter *waiter, struct remote_wait *me)
{
    const uint64_t slots = lock->params[SLOTS];
    if (me->owes || slots < EARLY + 2 || ep->caps->held_gets ||
        waiter->result[SEEN_CR] - me->r <= EARLY)
        return;
    me->owes = true;
    if (me->published)
        baton_put64(ep, word_of(lock, post_index(slots, me->r) + 1), waiter->self | WHO_HINTS, 0);
}

static void remote_entered(const struct baton_lock *lock, struct baton_waiter *waiter,
                           const struct remote_wait *me, uint64_t l)
{
    uint64_t after = merge_turn(l, me->r + 1);
    /* Local ticket l is taken: what I saw is old, but cl only grows. */
    if (lock->params[BYPASS] && waiter->result[SEEN_CL] > l)
        after |= MERGE_FLAG | (uint64_t)1 << MERGE_RUN_SHIFT;
    waiter->own[TICKET] = me->r;
    waiter->own[OWES] = me->owes && me->published; /* else nobody has been told */
    waiter->own[WHOM] = me->behind == SURE ? me->whom : BATON_NULL;
    entered(waiter, l, me->r, after);
}

/* The slot of the one before or behind was fetched; true when something is known that was not before. */
static bool remote_learn(const struct baton_waiter *waiter, struct remote_wait *me, bool behind)
{
    const uint64_t who = waiter->result[SEEN_WHO];
    int *known = behind ? &me->behind : &me->before;
    if (!merge_slot_is(waiter->result[SEEN_POST], behind ? me->r + EARLY : me->r - EARLY))
        return false;
    if (*known == UNSEEN) {
        *known = SEEN;
        return true;
    }
    if (!behind && !(who & WHO_HINTS))
        return false;
    *known = SURE;
    if (behind)
        me->whom = who & ~(uint64_t)WHO_HINTS;
    return true;
}

/* It is the turn of remote ticket *r, or of `value`, and no local one has been let past it. */
static struct baton_until remote_turn(const struct baton_waiter *waiter, const uint64_t *r,
                                      uint64_t value)
{
    return (struct baton_until){.word = &waiter->result[SEEN_TURN],
                                .mask = MERGE_REMOTE_MASK | MERGE_FLAG,
                                .value = merge_turn(0, value),
                                .plus = r,
                                .shift = MERGE_REMOTE_SHIFT};
}

/* Turn and slots together: when the turn has moved on, the slot may belong to a later ticket and will never
 * again show this one. Index 0: not that one. */
static int remote_poll(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter, uint64_t pre, uint64_t post,
                       const struct baton_until *until, struct baton_wait *wait)
{
    /* cl is looked at for the bypass, cr by who may owe a hint. The fewer words, the fewer moments at which
     * the NIC may read them: an exploration has four times fewer states. */
    const unsigned from = lock->params[BYPASS] ? CL : TURN;
    const unsigned upto = lock->params[SLOTS] < EARLY + 2 ? TURN : CR;
    baton_get(ep, &waiter->result[SEEN_CL + from], word_of(lock, from), 8 * (upto + 1 - from),
              BATON_ID_LOCK);
    if (pre)
        baton_get(ep, &waiter->result[SEEN_PRE], word_of(lock, pre), 8, BATON_ID_LOCK);
    if (post)
        baton_get(ep, &waiter->result[SEEN_POST], word_of(lock, post), 16, BATON_ID_LOCK);
    return baton_wait_until(ep, BATON_ID_LOCK, until, pre ? 2 : 1, wait);
}

/* Sleeps until somebody hints. */
static int remote_sleep(struct baton_ep *ep, struct baton_waiter *waiter, struct baton_wait *wait)
{
    const struct baton_cond come = baton_until_not(&waiter->word[BATON_WAITER_HINT], UINT64_MAX, 0);
    int rc = baton_await(ep, &come, 1, wait);
    baton_wait_moved(wait);
    return rc;
}

/* All that is remembered from one look to the next. */
static inline void remote_knows(const struct baton_lock *lock, struct baton_ep *ep,
                                struct baton_waiter *waiter, const struct remote_wait *me,
                                bool turn)
{
    baton_says(ep, waiter, turn, turn, me->r, me->sight, me->local_goes,
               me->local_goes ? me->local : 0, me->published, me->owes, (unsigned)me->before,
               (unsigned)me->behind, me->behind == SURE ? me->whom : 0, waiter->result[SEEN_TURN],
               waiter->result[SEEN_CR], lock->params[BYPASS] ? waiter->result[SEEN_CL] : 0);
}

/* The lock was not free when the line was fetched. */
static int remote_queue(const struct baton_lock *lock, struct baton_ep *ep,
                        struct baton_waiter *waiter, struct baton_wait *wait,
                        struct remote_wait *me)
{
    const uint64_t slots = lock->params[SLOTS], r = me->r;
    int rc;

    waiter->result[SEEN_CR] = r + 1;
    for (;;) {
        remote_knows(lock, ep, waiter, me, true);
        /* Whole while r waits: the local half is within the number of threads of what r saw. */
        uint64_t turn = waiter->result[SEEN_TURN], pre = 0, post = 0;
        uint64_t l = merge_turn_local(turn, me->sight), served = merge_turn_remote(turn, r);
        if (served == r && !(turn & MERGE_FLAG)) {
            if (l >= me->sight) { /* taken after I looked, or not taken: behind me */
                remote_entered(lock, waiter, me, l);
                return 0;
            }
            if (!me->local_goes || me->local != l)
                pre = pre_index(slots, l);
        }
        remote_owe(lock, ep, waiter, me);
        if (!me->published && r - served < slots) {
            remote_publish(lock, ep, waiter, me);
            /* What I see from now on is later than my slot is visible. */
            baton_order(ep, lock->host);
        }
        const bool far = me->published && r - served > EARLY && !ep->caps->held_gets;
        const bool may_sleep = far && me->before == SURE;
        const bool behind = r - served <= EARLY && me->owes && me->behind != SURE;
        if (may_sleep)
            baton_store(ep, &waiter->word[BATON_WAITER_HINT], 0);
        else if (far || behind)
            post = post_index(slots, behind ? r + EARLY : r - EARLY);

        struct baton_until until[2] = {
            remote_turn(waiter, NULL, r),
            {.word = &waiter->result[SEEN_PRE], .mask = MERGE_TAG_MASK, .value = merge_tag(l)}};
        if (served == r)
            until[0] = (struct baton_until){
                .word = &waiter->result[SEEN_TURN], .mask = UINT64_MAX, .value = turn, .negate = 1};
        rc = remote_poll(lock, ep, waiter, pre, post, until, wait);
        if (rc)
            return rc;
        const bool moved = waiter->result[SEEN_TURN] != turn;
        if (may_sleep && r - merge_turn_remote(waiter->result[SEEN_TURN], r) > EARLY) {
            rc = remote_sleep(ep, waiter, wait);
            if (rc)
                return rc;
            continue;
        }
        bool learned = post && remote_learn(waiter, me, behind);
        if (moved) {
            baton_wait_moved(wait);
            continue;
        }
        uint64_t seen = waiter->result[SEEN_PRE];
        if (pre && merge_slot_is(seen, l)) {
            if (!merge_local_first(l, merge_slot_value(seen, r), r, me->sight)) {
                remote_entered(lock, waiter, me, l);
                return 0;
            }
            me->local_goes = true;
            me->local = l;
        }
        if (learned)
            continue;
        /* Every holder ahead costs at least a one-way message: look the more seldom. */
        wait->ahead = (uint32_t)(r - served);
        remote_knows(lock, ep, waiter, me, false);
        rc = baton_relax(ep, wait);
        if (rc)
            return rc;
    }
}

/* Ticket r is taken, and the line was fetched behind it. */
static int remote_enter(const struct baton_lock *lock, struct baton_ep *ep,
                        struct baton_waiter *waiter, struct baton_wait *wait, uint64_t r)
{
    struct remote_wait me = {.r = r, .sight = waiter->result[SEEN_CL]};
    const uint64_t turn = waiter->result[SEEN_TURN], l = merge_turn_local(turn, me.sight);

    baton_doorway(ep, waiter);
    if (merge_turn_remote(turn, r) == r && l >= me.sight && !(turn & MERGE_FLAG)) {
        remote_entered(lock, waiter, &me, l);
        return 0;
    }
    return remote_queue(lock, ep, waiter, wait, &me);
}

/* The rest of the doorway's one round trip, behind the operation that takes the ticket. */
static void remote_look(const struct baton_lock *lock, struct baton_ep *ep,
                        struct baton_waiter *waiter)
{
    /* What cl shows must be later than my ticket; without this a local one may miss it as I miss the
     * local one, and both enter. */
    baton_order(ep, lock->host);
    baton_get(ep, &waiter->result[SEEN_CL], word_of(lock, CL), 16, BATON_ID_LOCK);
}

static int remote_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                          struct baton_waiter *waiter, struct baton_wait *wait)
{
    const struct baton_until mine = remote_turn(waiter, &waiter->result[FETCHED], 0);
    /* Once it is posted nobody can tell that it has not happened, whatever the wait says. */
    if (!baton_rfaa(ep, &waiter->result[FETCHED], word_of(lock, CR), 1, BATON_ID_LOCK))
        waiter->committed = 1;
    remote_look(lock, ep, waiter);
    /* Waited for here, before any get of the section: the turn is what covers the data. */
    int rc = baton_wait_until(ep, BATON_ID_LOCK, &mine, 1, wait);
    return rc ? rc : remote_enter(lock, ep, waiter, wait, waiter->result[FETCHED]);
}

/* The slot behind was not there when I was let in; who sleeps now and relies on me has it there. */
static int remote_hint_late(const struct baton_lock *lock, struct baton_ep *ep,
                            struct baton_waiter *waiter)
{
    const uint64_t behind = waiter->own[TICKET] + EARLY;
    baton_get(ep, &waiter->result[SEEN_POST],
              word_of(lock, post_index(lock->params[SLOTS], behind)), 16, BATON_ID_LOCK);
    int rc = baton_wait(ep, BATON_ID_LOCK);
    if (rc || !merge_slot_is(waiter->result[SEEN_POST], behind))
        return rc;
    return baton_lock_hint(ep, waiter, waiter->result[SEEN_WHO] & ~(uint64_t)WHO_HINTS);
}

static int remote_release(const struct baton_lock *lock, struct baton_ep *ep,
                          struct baton_waiter *waiter)
{
    /* Gets of the section must have read before the next one enters. It orders puts too: the section's,
     * and my slot, which is free for reuse when the turn is seen. */
    baton_rfence(ep, lock->host);
    int rc = baton_put64(ep, word_of(lock, TURN), waiter->own[TURN_AFTER], BATON_WID_UNWAITED);
    int hinted = baton_lock_hint(ep, waiter, waiter->own[WHOM]);
    if (!hinted && waiter->own[OWES] && !waiter->own[WHOM])
        hinted = remote_hint_late(lock, ep, waiter);
    return rc ? rc : hinted;
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
    remote_look(lock, ep, waiter);
    rc = baton_wait(ep, BATON_ID_LOCK);
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
    uint64_t words = slots_begin(params[SLOTS]) + SLOT_WORDS * params[SLOTS];
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
        words[pre_index(slots, t)] = merge_slot(t - slots, 0);
        words[post_index(slots, t)] = merge_slot(t - slots, 0);
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

static unsigned merge_caps(const uint64_t *params)
{
    unsigned caps = BATON_LOCK_TRY | BATON_LOCK_TOKEN;
    return params[BYPASS] ? caps : caps | BATON_LOCK_FCFS;
}

static const struct baton_lock_param merge_params[] = {
    [SLOTS] = {"slots", 8, 1, SLOTS_MOST, false},
    [BYPASS] = {"bypass", 0, 0, MERGE_RUN_MOST, false},
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
    .caps_with = merge_caps,
};

/* SPDX-License-Identifier: MIT */
/* The fair asymmetric lock with two queues and its groups; see farlock.h. */
#include "lock/farlock.h"

#include <errno.h>
#include <string.h>

#include "lock/queue.h"

enum { REMOTE_TAIL, LOCAL_TAIL, REMOTE_FLAG, VICTIM, LOCAL_FLAG, NEXT_TICKET, CURRENT };
enum { NEXT, READY, PASS, GRANTED, DETACHED };
enum { LOCAL = 1, REMOTE = 2 }; /* values of the victim */

/*
 * own[] from acquire to release: also what the endpoint had lost before, so that a pass may be among what it has
 * lost since. The last two are a hint that outlives them.
 */
enum { TICKET, LAST, LOST, HINT_LINE = 6, HINT_TAIL = 7 };

/* params[] */
enum { CHAIN, GROUP_LOCAL, GROUP_REMOTE };
#define GROUP_MOST 20

#define PASS_HEAD 1
#define PASS_BITS 6
#define TOKEN_BITS 5

/* What a thread has when it may take part: as head a ticket to fetch, as member of a group one. */
struct place {
    unsigned group;  /* most members of a group of my class */
    unsigned shift;  /* bits of the token below the ticket: 0 where groups do not exist */
    uint64_t before; /* predecessor, 0 none */
    uint64_t ticket;
    unsigned left; /* how many more may join my group */
    bool member;   /* the ticket came with the group: who fetched it has waited for its turn */
};

BATON_INLINE uint64_t pass_of(uint64_t ticket, unsigned left)
{
    return ticket << PASS_BITS | (left + 2);
}

BATON_INLINE void place_from(struct place *place, uint64_t pass)
{
    place->member = pass != PASS_HEAD;
    if (place->member) {
        place->ticket = pass >> PASS_BITS;
        place->left = (unsigned)(pass & ((1u << PASS_BITS) - 1)) - 2;
    }
}

BATON_INLINE baton_gptr word_of(baton_gptr words, unsigned index)
{
    return words + index * 8;
}

/* Waits for a word of my own to be written by my neighbour. */
static int await_word(struct baton_ep *ep, const uint64_t *word, struct baton_wait *wait)
{
    struct baton_cond written = baton_until_not(word, UINT64_MAX, 0);
    while (!baton_load(ep, word)) {
        int rc = baton_await(ep, &written, 1, wait);
        if (rc)
            return rc;
    }
    return 0;
}

/* What a neighbour may write as soon as the tail names me; who has no neighbour needs no more. */
BATON_INLINE void prepare(struct baton_ep *ep, struct baton_waiter *waiter)
{
    baton_store(ep, &waiter->word[NEXT], 0);
    baton_store(ep, &waiter->word[READY], 0);
    baton_store(ep, &waiter->word[DETACHED], 0);
}

BATON_INLINE void entered(struct baton_waiter *waiter, const struct place *place, bool last)
{
    waiter->own[TICKET] = place->ticket;
    waiter->own[LAST] = last;
    waiter->token = (place->ticket << place->shift) + (place->group - 1 - place->left) + 1;
}

/* ---- Threads of the host */

/* Without a neighbour a local acquire is a handful of instructions around its fences, and calls would
 * double them: this is put together in one piece, and what waits stands apart. */
#define LOCAL_PATH static inline __attribute__((always_inline))

/* Links me behind my predecessor and waits until I may take part; tells by which pass. */
static int local_follow(struct baton_ep *ep, struct baton_waiter *waiter, uint64_t predecessor,
                        struct baton_wait *wait, uint64_t *pass)
{
    uint64_t *before = baton_queue_near(waiter, predecessor);
    *pass = PASS_HEAD;
    baton_store(ep, &waiter->word[PASS], 0);
    baton_store(ep, &waiter->word[GRANTED], 0);
    baton_store(ep, &before[NEXT], waiter->self);
    /* Dekker with ready and next in local_pass: if I miss that it is ready, it sees me and passes. */
    baton_mfence(ep);
    if (!baton_load(ep, &before[READY])) {
        int rc = await_word(ep, &waiter->word[PASS], wait);
        if (rc)
            return rc;
        *pass = baton_load(ep, &waiter->word[PASS]);
    }
    baton_store(ep, &before[DETACHED], 1);
    return 0;
}

/* Until the remote head has its ticket, or gives way. */
static int local_give_way(const uint64_t *line, struct baton_ep *ep, struct baton_wait *wait)
{
    const struct baton_cond way[2] = {baton_until_is(&line[REMOTE_FLAG], UINT64_MAX, 0),
                                      baton_until_not(&line[VICTIM], UINT64_MAX, LOCAL)};
    while (baton_load(ep, &line[REMOTE_FLAG]) && baton_load(ep, &line[VICTIM]) == LOCAL) {
        int rc = baton_await(ep, way, 2, wait);
        if (rc)
            return rc;
    }
    return 0;
}

/* The load that sees my turn acquires what the holders before did. */
static int local_await_turn(const uint64_t *line, struct baton_ep *ep, struct baton_wait *wait,
                            uint64_t ticket)
{
    const struct baton_cond turn = baton_until_is(&line[CURRENT], UINT64_MAX, ticket);
    while (baton_load(ep, &line[CURRENT]) != ticket) {
        int rc = baton_await(ep, &turn, 1, wait);
        if (rc)
            return rc;
    }
    return 0;
}

/* Peterson's algorithm against the remote head. */
LOCAL_PATH int local_compete(uint64_t *line, struct baton_ep *ep, struct baton_wait *wait)
{
    baton_store(ep, &line[LOCAL_FLAG], 1);
    baton_store(ep, &line[VICTIM], LOCAL); /* a release: nobody sees it before the flag */
    /* Dekker with the remote head's flag put and its get of mine; its partner is a NIC. */
    baton_mfence(ep);
    return baton_load(ep, &line[REMOTE_FLAG]) ? local_give_way(line, ep, wait) : 0;
}

/* Gives the place in the competition to my successor. Returns whether I am the last of my group. */
LOCAL_PATH bool local_pass(uint64_t *line, struct baton_ep *ep, struct baton_waiter *waiter,
                           const struct place *place)
{
    uint64_t next;
    if (place->left && (next = baton_load(ep, &waiter->word[NEXT]))) {
        baton_store(ep, &baton_queue_near(waiter, next)[PASS],
                    pass_of(place->ticket, place->left - 1));
        return false;
    }
    /* A release: the next ticket is stored before anybody sees the flag down. */
    baton_store(ep, &line[LOCAL_FLAG], 0);
    baton_store(ep, &waiter->word[READY], 1);
    /* Dekker with link and ready in local_follow: one of us sees the other. */
    baton_mfence(ep);
    next = baton_load(ep, &waiter->word[NEXT]);
    if (next)
        baton_store(ep, &baton_queue_near(waiter, next)[PASS], PASS_HEAD);
    return true;
}

LOCAL_PATH int local_enter(const struct baton_lock *lock, struct baton_ep *ep,
                           struct baton_waiter *waiter, struct baton_wait *wait, struct place place)
{
    uint64_t *line = lock->local;
    int rc;
    waiter->committed = 1;
    if (place.before) {
        uint64_t pass;
        rc = local_follow(ep, waiter, place.before, wait, &pass);
        if (rc)
            return rc;
        if (place.group > 1) /* else every pass says: become head */
            place_from(&place, pass);
    }
    if (!place.member) {
        rc = local_compete(line, ep, wait);
        if (rc)
            return rc;
        /* Peterson excludes every other writer, the NIC too. */
        place.ticket = baton_load(ep, &line[NEXT_TICKET]);
        place.left = place.group - 1;
        baton_store(ep, &line[NEXT_TICKET], place.ticket + 1);
    }
    bool last = local_pass(line, ep, waiter, &place);
    baton_doorway(ep, waiter);

    if (place.before && (rc = await_word(ep, &waiter->word[GRANTED], wait)))
        return rc;
    if (!place.member && baton_load(ep, &line[CURRENT]) != place.ticket &&
        (rc = local_await_turn(line, ep, wait, place.ticket)))
        return rc;
    entered(waiter, &place, last);
    return 0;
}

LOCAL_PATH int local_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                             struct baton_waiter *waiter, struct baton_wait *wait, unsigned group,
                             unsigned shift)
{
    struct place place = {.group = group, .shift = shift};
    prepare(ep, waiter);
    place.before = baton_swap(ep, &lock->local[LOCAL_TAIL], waiter->self);
    return local_enter(lock, ep, waiter, wait, place);
}

static int local_try(const struct baton_lock *lock, struct baton_ep *ep,
                     struct baton_waiter *waiter, struct baton_wait *wait, unsigned group,
                     unsigned shift)
{
    const struct place place = {.group = group, .shift = shift};
    uint64_t *line = lock->local;
    if (baton_load(ep, &line[REMOTE_TAIL]) || baton_load(ep, &line[LOCAL_TAIL]))
        return -EBUSY;
    prepare(ep, waiter);
    if (baton_cas(ep, &line[LOCAL_TAIL], 0, waiter->self))
        return -EBUSY;
    return local_enter(lock, ep, waiter, wait, place);
}

/* Somebody is behind me: lets him go on, once he no longer uses my words. */
static int local_grant(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter)
{
    if (!baton_load(ep, &waiter->word[DETACHED])) {
        struct baton_wait wait;
        baton_lock_wait_begin(lock, ep, &wait);
        int rc = await_word(ep, &waiter->word[DETACHED], &wait);
        if (rc)
            return rc;
    }
    uint64_t next = baton_load(ep, &waiter->word[NEXT]);
    baton_store(ep, &baton_queue_near(waiter, next)[GRANTED], 1);
    return 0;
}

static inline int local_release(const struct baton_lock *lock, struct baton_ep *ep,
                                struct baton_waiter *waiter)
{
    uint64_t *line = lock->local;
    /* What the section did here by NIC must be complete before a CPU or a get sees the turn. */
    int rc = baton_settle(ep, lock->host);
    if (waiter->own[LAST]) {
        baton_store(ep, &line[CURRENT], waiter->own[TICKET] + 1);
        if (!baton_load(ep, &waiter->word[NEXT]) &&
            baton_cas(ep, &line[LOCAL_TAIL], waiter->self, 0) == waiter->self)
            return rc ? rc : baton_flush(ep);
    }
    int granted = local_grant(lock, ep, waiter);
    int rung = baton_flush(ep);
    return rc ? rc : granted ? granted : rung;
}

/* ---- Remote threads */

/* With farlock.chain=off every operation is waited for where it stands. */
static int step(struct baton_ep *ep, bool chain, baton_wid id)
{
    return chain ? 0 : baton_wait(ep, id);
}

/* What the rest of an acquire begins with. */
enum doing { COMPETES, FETCHES, WAITS };

/* All that is remembered from one step of an acquire to the next, and over each wait. */
static inline void remote_knows(struct baton_ep *ep, struct baton_waiter *waiter,
                                const struct place *place, enum doing doing, bool last, bool turn)
{
    baton_says(ep, waiter, turn, doing, turn, place->before, place->member, place->ticket,
               place->left, last);
}

static int remote_follow(struct baton_ep *ep, struct baton_waiter *waiter, struct place *place,
                         struct baton_wait *wait, bool chain)
{
    uint64_t pass = PASS_HEAD;
    baton_store(ep, &waiter->word[PASS], 0);
    baton_store(ep, &waiter->word[GRANTED], 0);
    baton_put64(ep, word_of(place->before, NEXT), waiter->self, BATON_ID_LINK);
    int rc = step(ep, chain, BATON_ID_LINK);
    if (rc)
        return rc;
    /* Dekker with ready and next in remote_pass: if I miss that it is ready, it sees me and passes.
     * The link is also complete when the get has returned, so detached can not overtake it. */
    baton_order(ep, baton_gptr_node(place->before));
    baton_get(ep, &waiter->result[0], word_of(place->before, READY), 8, BATON_ID_LINK);
    rc = baton_wait(ep, BATON_ID_LINK);
    if (rc)
        return rc;
    if (!waiter->result[0]) {
        rc = await_word(ep, &waiter->word[PASS], wait);
        if (rc)
            return rc;
        pass = baton_load(ep, &waiter->word[PASS]);
    }
    /* Rung with what I wait for next, and waited for before I wait for the predecessor. */
    baton_put64(ep, word_of(place->before, DETACHED), 1, BATON_ID_LINK);
    place_from(place, pass);
    return 0;
}

/* Peterson's algorithm against the local head. */
static int remote_compete(const struct baton_lock *lock, struct baton_ep *ep,
                          struct baton_waiter *waiter, const struct place *place,
                          struct baton_wait *wait, bool chain)
{
    uint64_t *seen = &waiter->result[0], *up = &waiter->result[2];
    int rc;
    if (ep->caps->in_order_placement && lock->memory & BATON_LOCK_RISING_PUTS) {
        up[0] = 1;
        up[1] = REMOTE;
        baton_put(ep, word_of(lock->line, REMOTE_FLAG), up, 16, BATON_ID_LOCK);
    } else {
        baton_put64(ep, word_of(lock->line, REMOTE_FLAG), 1, BATON_ID_LOCK);
        if ((rc = step(ep, chain, BATON_ID_LOCK)))
            return rc;
        /* If the victim were seen before the flag, both heads could go. */
        baton_order(ep, lock->host);
        baton_put64(ep, word_of(lock->line, VICTIM), REMOTE, BATON_ID_LOCK);
    }
    if ((rc = step(ep, chain, BATON_ID_LOCK)))
        return rc;
    /* Dekker with the local head's flag and its load of mine: an accepted put is not a visible one. */
    baton_order(ep, lock->host);
    for (;;) {
        remote_knows(ep, waiter, place, COMPETES, false, true);
        baton_get(ep, seen, word_of(lock->line, VICTIM), 16, BATON_ID_LOCK);
        rc = baton_wait(ep, BATON_ID_LOCK);
        if (rc || seen[0] != REMOTE || !seen[1])
            return rc;
        remote_knows(ep, waiter, place, COMPETES, false, false);
        rc = baton_relax(ep, wait);
        if (rc)
            return rc;
    }
}

/*
 * Fetches a ticket as head, takes the flag down if nobody follows in my group, and gets the current
 * ticket. That get is what makes passing on safe: it stands behind the others on the same queue pair,
 * so when it has returned the ticket is taken and the flag is down for everybody.
 */
static int remote_ticket(const struct baton_lock *lock, struct baton_ep *ep,
                         struct baton_waiter *waiter, struct place *place, bool last, bool chain)
{
    int rc;
    if (!place->member) {
        baton_rfaa(ep, &waiter->result[0], word_of(lock->line, NEXT_TICKET), 1, BATON_ID_LOCK);
        if ((rc = step(ep, chain, BATON_ID_LOCK)))
            return rc;
        baton_order(ep, lock->host);
    } else if (!last) {
        return 0;
    }
    if (last) {
        baton_put64(ep, word_of(lock->line, REMOTE_FLAG), 0, BATON_ID_LOCK);
        if ((rc = step(ep, chain, BATON_ID_LOCK)))
            return rc;
        baton_order(ep, lock->host);
    }
    baton_get(ep, &waiter->result[1], word_of(lock->line, CURRENT), 8, BATON_ID_LOCK);
    rc = baton_wait(ep, BATON_ID_LOCK);
    if (!rc && !place->member)
        place->ticket = waiter->result[0];
    return rc;
}

static int remote_pass(struct baton_ep *ep, struct baton_waiter *waiter, const struct place *place,
                       bool last)
{
    uint64_t pass = PASS_HEAD;
    if (last) {
        baton_store(ep, &waiter->word[READY], 1);
        /* Dekker with link and ready in remote_follow, whose side is a NIC. */
        baton_mfence(ep);
    } else {
        pass = pass_of(place->ticket, place->left - 1);
    }
    uint64_t next = baton_load(ep, &waiter->word[NEXT]);
    if (!next)
        return 0;
    int rc = baton_put64(ep, word_of(next, PASS), pass, BATON_WID_UNWAITED);
    int rung = baton_flush(ep); /* he waits for it, and I may not wait for anything any more */
    return rc ? rc : rung;
}

static int remote_enter(const struct baton_lock *lock, struct baton_ep *ep,
                        struct baton_waiter *waiter, struct baton_wait *wait, struct place *place)
{
    const bool chain = lock->params[CHAIN];
    int rc;
    if (place->before && (rc = remote_follow(ep, waiter, place, wait, chain)))
        return rc;
    if (!place->member) {
        rc = remote_compete(lock, ep, waiter, place, wait, chain);
        if (rc)
            return rc;
        place->left = place->group - 1;
    }
    bool last = !place->left || !baton_load(ep, &waiter->word[NEXT]);
    remote_knows(ep, waiter, place, FETCHES, last, true);
    rc = remote_ticket(lock, ep, waiter, place, last, chain);
    if (!rc)
        rc = remote_pass(ep, waiter, place, last);
    if (rc)
        return rc;
    baton_doorway(ep, waiter);

    if (place->before) {
        /* Nobody grants before detached has arrived, and if it can not, this is where that shows. */
        rc = baton_wait(ep, BATON_ID_LINK);
        if (!rc)
            rc = await_word(ep, &waiter->word[GRANTED], wait);
        if (rc)
            return rc;
    }
    place->before = BATON_NULL; /* he has gone */
    /* The get that sees my turn is behind the previous holder's puts, and is waited for. */
    while (!place->member && waiter->result[1] != place->ticket) {
        remote_knows(ep, waiter, place, WAITS, last, true);
        baton_get(ep, &waiter->result[1], word_of(lock->line, CURRENT), 8, BATON_ID_LOCK);
        rc = baton_wait(ep, BATON_ID_LOCK);
        if (!rc && waiter->result[1] != place->ticket) {
            remote_knows(ep, waiter, place, WAITS, last, false);
            rc = baton_relax(ep, wait);
        }
        if (rc)
            return rc;
    }
    entered(waiter, place, last);
    return 0;
}

static int remote_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                          struct baton_waiter *waiter, struct baton_wait *wait, unsigned group,
                          unsigned shift)
{
    struct place place = {.group = group, .shift = shift};
    prepare(ep, waiter);
    waiter->own[LOST] = ep->lost;
    /* The guess is what the tail was when I last left this lock. */
    uint64_t guess = waiter->own[HINT_LINE] == lock->line ? waiter->own[HINT_TAIL] : 0;
    int rc = baton_queue_swap(ep, waiter, word_of(lock->line, REMOTE_TAIL), guess, &place.before);
    return rc ? rc : remote_enter(lock, ep, waiter, wait, &place);
}

static int remote_try(const struct baton_lock *lock, struct baton_ep *ep,
                      struct baton_waiter *waiter, struct baton_wait *wait, unsigned group,
                      unsigned shift)
{
    struct place place = {.group = group, .shift = shift};
    baton_get(ep, &waiter->result[0], word_of(lock->line, REMOTE_TAIL), 16, BATON_ID_LOCK);
    int rc = baton_wait(ep, BATON_ID_LOCK);
    if (rc)
        return rc;
    if (waiter->result[0] || waiter->result[1])
        return -EBUSY;
    prepare(ep, waiter);
    waiter->own[LOST] = ep->lost;
    rc = baton_queue_try(ep, waiter, word_of(lock->line, REMOTE_TAIL));
    if (rc)
        return rc;
    return remote_enter(lock, ep, waiter, wait, &place);
}

static int remote_grant(const struct baton_lock *lock, struct baton_ep *ep,
                        struct baton_waiter *waiter)
{
    uint64_t next;
    int rc;
    if (!baton_load(ep, &waiter->word[DETACHED])) {
        struct baton_wait wait;
        /* He may be waiting for a pass that was lost on its way. */
        next = baton_load(ep, &waiter->word[NEXT]);
        if (next) {
            rc = baton_settle(ep, baton_gptr_node(next));
            if (rc || ep->lost != waiter->own[LOST])
                return rc ? rc : -ECANCELED;
        }
        baton_lock_wait_begin(lock, ep, &wait);
        rc = await_word(ep, &waiter->word[DETACHED], &wait);
        if (rc)
            return rc;
    }
    next = baton_load(ep, &waiter->word[NEXT]); /* there, since he has detached */
    /* Behind pass: who has seen the grant may use its words again at once. */
    baton_order(ep, baton_gptr_node(next));
    return baton_lock_grant(ep, waiter, word_of(next, GRANTED), 1);
}

static int remote_release(const struct baton_lock *lock, struct baton_ep *ep,
                          struct baton_waiter *waiter)
{
    const bool chain = lock->params[CHAIN];
    int rc;
    if (!waiter->own[LAST]) {
        /* The next one looks at no word of the host, so everything there must be complete now. */
        rc = baton_settle(ep, lock->host);
        int granted = remote_grant(lock, ep, waiter);
        return rc ? rc : granted;
    }
    /* Gets of the section must have read before the next one enters; puts are ordered by it too. */
    baton_rfence(ep, lock->host);
    const baton_wid id = chain ? BATON_WID_UNWAITED : BATON_ID_LOCK;
    rc = baton_put64(ep, word_of(lock->line, CURRENT), waiter->own[TICKET] + 1, id);
    int waited = step(ep, chain, id);
    if (rc || waited)
        return rc ? rc : waited;
    uint64_t tail = chain ? baton_load(ep, &waiter->word[NEXT]) : 0;
    if (!tail) {
        bool alone;
        rc = baton_queue_leave(ep, waiter, word_of(lock->line, REMOTE_TAIL), &alone);
        tail = alone ? 0 : waiter->result[0];
    }
    waiter->own[HINT_LINE] = lock->line;
    waiter->own[HINT_TAIL] = tail;
    return rc || !tail ? rc : remote_grant(lock, ep, waiter);
}

/* ---- The two kinds */

static unsigned far_words(const uint64_t *params, struct baton_words *out, unsigned max)
{
    const struct baton_words words[] = {
        {REMOTE_TAIL * 8, 0, 1, BATON_WORD_NIC_RMW, BATON_WORD_ADDRESS},
        {LOCAL_TAIL * 8, 0, 1, BATON_WORD_CPU_RMW, BATON_WORD_ADDRESS},
        {NEXT_TICKET * 8, 0, 1, BATON_WORD_GUARDED, BATON_WORD_VALUE},
    };
    const unsigned count = sizeof(words) / sizeof(words[0]);
    for (unsigned i = 0; i < count && i < max; i++)
        out[i] = words[i];
    return count;
}

static void far_init(const uint64_t *params, uint64_t *words, uint64_t first)
{
    memset(words, 0, 64);
    words[NEXT_TICKET] = words[CURRENT] = first;
}

static int far_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter, struct baton_wait *wait)
{
    return lock->local ? local_acquire(lock, ep, waiter, wait, 1, 0)
                       : remote_acquire(lock, ep, waiter, wait, 1, 0);
}

static int far_try(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *waiter,
                   struct baton_wait *wait)
{
    return lock->local ? local_try(lock, ep, waiter, wait, 1, 0)
                       : remote_try(lock, ep, waiter, wait, 1, 0);
}

static int far_release(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter)
{
    return lock->local ? local_release(lock, ep, waiter) : remote_release(lock, ep, waiter);
}

static int group_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                         struct baton_waiter *waiter, struct baton_wait *wait)
{
    return lock->local ? local_acquire(lock, ep, waiter, wait, (unsigned)lock->params[GROUP_LOCAL],
                                       TOKEN_BITS)
                       : remote_acquire(lock, ep, waiter, wait,
                                        (unsigned)lock->params[GROUP_REMOTE], TOKEN_BITS);
}

static int group_try(const struct baton_lock *lock, struct baton_ep *ep,
                     struct baton_waiter *waiter, struct baton_wait *wait)
{
    return lock->local
               ? local_try(lock, ep, waiter, wait, (unsigned)lock->params[GROUP_LOCAL], TOKEN_BITS)
               : remote_try(lock, ep, waiter, wait, (unsigned)lock->params[GROUP_REMOTE],
                            TOKEN_BITS);
}

static const struct baton_lock_param far_params[] = {
    [CHAIN] = {"chain", 1, 0, 1, true},
    {0},
};

static const struct baton_lock_param group_params[] = {
    [CHAIN] = {"chain", 1, 0, 1, true},
    [GROUP_LOCAL] = {"group_local", 5, 1, GROUP_MOST, false},
    [GROUP_REMOTE] = {"group_remote", 1, 1, GROUP_MOST, false},
    {0},
};

const struct baton_lock_ops baton_lock_farlock = {
    .size = sizeof(struct baton_lock_ops),
    .name = "farlock",
    .summary = "two queues whose heads compete for tickets; the host's threads use the CPU",
    .caps = BATON_LOCK_TRY | BATON_LOCK_FCFS | BATON_LOCK_TOKEN,
    .params = far_params,
    .words = far_words,
    .init = far_init,
    .acquire = far_acquire,
    .try_acquire = far_try,
    .release = far_release,
};

const struct baton_lock_ops baton_lock_farlock_g = {
    .size = sizeof(struct baton_lock_ops),
    .name = "farlock-g",
    .summary = "farlock whose neighbours in a queue share a ticket",
    .caps = BATON_LOCK_TRY | BATON_LOCK_TOKEN,
    .params = group_params,
    .words = far_words,
    .init = far_init,
    .acquire = group_acquire,
    .try_acquire = group_try,
    .release = far_release,
};

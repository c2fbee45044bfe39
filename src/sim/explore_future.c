/* SPDX-License-Identifier: MIT */
/*
 * What threads may still do, and which steps need no branching because of that; see explore.h.
 *
 * What a thread has under way is seen: its next act, its store buffer, its queue pairs, what it has posted and
 * not rung. What its body will do from the place where it is on is learned: places (explore_local.c) and the
 * steps between them are a graph, and a place may use what is used on any way from it. A place that nobody has
 * left yet may use anything. What is learned too late makes the exploration start again.
 *
 * Threads of a class share places. So a place knows words as the first of the class would use them.
 */
#include "sim/explore_inner.h"

#include <stdlib.h>
#include <string.h>

enum { READS, WRITES };

struct place {
    struct uses may, relied; /* relied: that it may not */
    uint32_t *before;        /* places that lead here */
    unsigned before_n, before_room;
    bool left; /* somebody has gone on from here, or it is an end */
};

static bool has(const struct uses *u, unsigned kind, unsigned bit)
{
    return u->bits[kind][bit / 64] >> bit % 64 & 1;
}

static void add(struct uses *u, unsigned kind, unsigned bit)
{
    u->bits[kind][bit / 64] |= UINT64_C(1) << bit % 64;
}

static unsigned bit_of(const struct explore *x, const struct word *w)
{
    unsigned at = (unsigned)(w - x->words);
    return at < USES_WORDS ? at : USES_NONE;
}

/* The word as the first of the thread's class would use it. */
static unsigned class_bit(struct explore *x, unsigned thread, struct word *w)
{
    unsigned p = x->as_first[thread][0], at = (unsigned)(w - x->words);
    if (p == 0)
        return bit_of(x, w);
    if (!x->words[at].frame[thread]) {
        const uint64_t *same = baton_local_word(x->s->cluster, w->name[p]);
        struct word *other = same ? word_of(x, same) : NULL; /* may move the table */
        unsigned bit = other ? bit_of(x, other) : USES_NONE;
        x->words[at].frame[thread] = (uint8_t)(bit + 1);
    }
    return x->words[at].frame[thread] - 1u;
}

/* ---- Learning */

void futures_clear(struct explore *x)
{
    for (size_t i = 0; i < x->places_room; i++)
        free(x->places[i].before);
    free(x->places);
    x->places = NULL;
    x->places_room = 0;
}

void futures_forget_relied(struct explore *x)
{
    for (size_t i = 0; i < x->places_room; i++)
        x->places[i].relied = (struct uses){0};
}

static struct place *place_at(struct explore *x, uint32_t name)
{
    if (name >= x->places_room) {
        size_t room = 2 * (size_t)name + 256;
        struct place *more = realloc(x->places, room * sizeof(*more));
        if (!more) {
            x->no_memory = true;
            return NULL;
        }
        memset(more + x->places_room, 0, (room - x->places_room) * sizeof(*more));
        x->places = more;
        x->places_room = room;
    }
    return &x->places[name];
}

/* The place may use more than was known, and so may all that lead to it. */
static void grow(struct explore *x, struct place *p, const struct uses *by)
{
    bool more = false;
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < USES_PARTS; i++) {
            uint64_t bits = by->bits[k][i] & ~p->may.bits[k][i];
            p->may.bits[k][i] |= bits;
            x->behind |= (bits & p->relied.bits[k][i]) != 0;
            more |= bits != 0;
            x->learned += bits != 0;
        }
    for (unsigned i = 0; more && i < p->before_n; i++)
        grow(x, &x->places[p->before[i]], &p->may);
}

static void add_before(struct explore *x, struct place *p, uint32_t name)
{
    for (unsigned i = 0; i < p->before_n; i++)
        if (p->before[i] == name)
            return;
    if (p->before_n == p->before_room) {
        unsigned room = 2 * p->before_room + 4;
        uint32_t *more = realloc(p->before, room * sizeof(*more));
        if (!more) {
            x->no_memory = true;
            return;
        }
        p->before = more;
        p->before_room = room;
    }
    p->before[p->before_n++] = name;
    x->learned++;
}

/* The thread has come from one place to another, perhaps the same, and has used these on its way. */
static void learn(struct explore *x, const struct uses *used, uint32_t from, uint32_t to)
{
    struct place *q = place_at(x, to), *p = place_at(x, from);
    if (!p || !(q = place_at(x, to)))
        return;
    p->left |= from != to;
    if (from != to)
        add_before(x, q, from);
    grow(x, p, used);
    grow(x, p, &q->may);
}

void future_use(struct explore *x, unsigned thread, struct word *w, enum word_use use)
{
    if (!x->futures)
        return;
    unsigned bit = class_bit(x, thread, w);
    struct uses *used = &x->extra[thread].used;
    if (bit == USES_NONE)
        return; /* such words are never alone */
    if (use & (USE_LOAD | USE_REMOTE_READ | USE_SOURCE))
        add(used, READS, bit);
    if (use & (USE_WRITE | USE_REMOTE_WRITE | USE_LAND))
        add(used, WRITES, bit);
}

void future_place(struct explore *x, struct sim_thread *t)
{
    struct thread_extra *extra = &x->extra[t->number];
    static const struct uses none;
    if (extra->named)
        return;
    for (unsigned p = 0; p < x->permutations; p++)
        extra->knows[p] = t->state == SIM_ENDED ? 0 : ep_knows(x, baton_epx(t->ep), p);
    extra->named = true;
    if (x->ask->digests)
        return;
    uint32_t from = extra->name;
    extra->name = name_thread_state(x, t, extra->knows);
    if (!x->futures)
        return;
    if (from)
        learn(x, &extra->used, from, extra->name);
    struct place *p = t->state == SIM_ENDED ? place_at(x, extra->name) : NULL;
    if (p)
        p->left = true;
    extra->used = none;
}

/* ---- What is under way */

static void under_way(struct explore *x, struct uses *u, unsigned kind, const uint64_t *at)
{
    struct word *w = at ? word_of(x, at) : NULL;
    unsigned bit = w ? bit_of(x, w) : USES_NONE;
    if (bit != USES_NONE)
        add(u, kind, bit);
}

static void op_under_way(struct explore *x, struct uses *u, const struct baton_op *op)
{
    bool put = op->kind == BATON_OP_PUT;
    const uint64_t *remote = baton_local_word(x->s->cluster, op->remote);
    if (op->remote == baton_gfence_word(op->node))
        remote = NULL;
    for (unsigned i = 0; i < op->bytes / 8u; i++) {
        if (remote && !put)
            under_way(x, u, READS, remote + i);
        if (remote && op->kind != BATON_OP_GET)
            under_way(x, u, WRITES, remote + i);
        if (op->local && !(put && op->flags & BATON_OPF_INLINE))
            under_way(x, u, put ? READS : WRITES, (uint64_t *)op->local + i);
    }
}

static bool has_done(const struct sim_qp *q, unsigned at, enum baton_nic_step step)
{
    return q->flags[at] & baton_nic_bit(step);
}

static void entry_under_way(struct explore *x, struct uses *u, const struct sim_qp *q, unsigned at)
{
    const struct baton_nic_entry *e = &q->entries[at];
    const uint64_t *remote = (uint64_t *)(uintptr_t)e->remote;
    const uint64_t *local = (uint64_t *)(uintptr_t)e->local;
    bool put = e->kind == BATON_NIC_PUT;
    if (e->kind == BATON_NIC_FENCE)
        return;
    if (!is_gfence(&q->parts[at])) {
        if (!put && !has_done(q, at, BATON_NIC_READ))
            under_way(x, u, READS, remote);
        if (e->kind != BATON_NIC_GET && !has_done(q, at, BATON_NIC_COMMIT))
            under_way(x, u, WRITES, remote);
    }
    if (put && local && !has_done(q, at, BATON_NIC_READ))
        under_way(x, u, READS, local);
    if (!put && local && !has_done(q, at, BATON_NIC_LAND))
        under_way(x, u, WRITES, local);
}

static void act_under_way(struct explore *x, struct uses *u, struct sim_thread *t)
{
    bool rmw = t->next.act == SIM_ACT_RMW;
    if (t->state == SIM_READY && (t->next.act == SIM_ACT_LOAD || rmw)) {
        under_way(x, u, READS, t->next.word);
        if (rmw)
            under_way(x, u, WRITES, t->next.word);
    }
    /* A store is where a thread stands only before all begin. */
    if (t->state == SIM_READY && t->next.act == SIM_ACT_STORE)
        under_way(x, u, WRITES, t->next.word);
    for (unsigned i = 0; t->state == SIM_CONDS && i < t->conds_n; i++)
        under_way(x, u, READS, t->conds[i].word);
    /* What its turn has read wakes it. */
    for (unsigned i = 0; x->extra[t->number].relaxes && i < explore_reads(t); i++)
        under_way(x, u, READS, t->reads[i].word);
}

static void buffer_under_way(struct explore *x, struct uses *u, struct sim_thread *t, bool stores)
{
    for (unsigned i = 0; i < t->buffer_n; i++) {
        const struct sim_buffered *b = explore_buffered(t, i);
        if (!b->word)
            op_under_way(x, u, &b->op);
        else if (stores)
            under_way(x, u, WRITES, b->word);
    }
}

/* All but the entry `at` of the queue pair `but`. */
static void queues_under_way(struct explore *x, struct uses *u, struct sim_thread *t,
                             const struct sim_qp *but, unsigned at)
{
    struct sim_ep *e = explore_ep(t);
    for (unsigned n = 0; e && e->busy && n < x->nodes; n++) {
        struct sim_qp *q = sim_qp_known(e, n);
        for (unsigned i = 0; q && i < q->nic.n; i++)
            if (q != but || i != at)
                entry_under_way(x, u, q, i);
    }
}

static void chain_under_way(struct explore *x, struct uses *u, struct sim_thread *t)
{
    const struct baton_epx *ep = baton_epx(t->ep);
    bool rings = t->state == SIM_READY && t->next.act == SIM_ACT_RING;
    for (unsigned i = 0; i < (rings ? t->next.ops : ep->chain_n); i++)
        op_under_way(x, u, &ep->chain[i]);
}

static const struct uses *flight_of(struct explore *x, unsigned thread)
{
    struct thread_extra *extra = &x->extra[thread];
    struct sim_thread *t = x->s->threads[thread];
    if (extra->flight_version == extra->version && extra->flight_words == x->words_n)
        return &extra->flight;
    extra->flight = (struct uses){0};
    act_under_way(x, &extra->flight, t);
    buffer_under_way(x, &extra->flight, t, true);
    queues_under_way(x, &extra->flight, t, NULL, 0);
    chain_under_way(x, &extra->flight, t);
    extra->flight_version = extra->version;
    extra->flight_words = x->words_n;
    return &extra->flight;
}

/* ---- Whether somebody else can ever see the difference */

static bool conflicts(const struct uses *u, bool write, unsigned bit)
{
    return bit == USES_NONE || has(u, WRITES, bit) || (write && has(u, READS, bit));
}

/* Nobody but the thread that is inside can have to do with such a word, unless it is under way there. */
static bool is_guarded(const struct explore *x, const struct word *w)
{
    return !x->unguarded && x->ask->guarded_bytes &&
           w->name[0] - x->ask->guarded < x->ask->guarded_bytes;
}

static bool is_inside(const struct explore *x, unsigned thread)
{
    return x->ask->inside && x->ask->inside(x->ask->arg, thread);
}

void future_guard(struct explore *x, unsigned thread, const struct word *w)
{
    if (w && x->futures && is_guarded(x, w) && !is_inside(x, thread)) {
        x->unguarded = true;
        x->behind = true;
    }
}

static bool place_conflicts(struct explore *x, unsigned thread, struct word *w, bool write)
{
    future_place(x, x->s->threads[thread]);
    struct place *p = place_at(x, x->extra[thread].name);
    return !p || !p->left || conflicts(&p->may, write, class_bit(x, thread, w));
}

static void place_relied(struct explore *x, unsigned thread, struct word *w, bool write)
{
    struct place *p = place_at(x, x->extra[thread].name);
    unsigned bit = class_bit(x, thread, w);
    add(&p->relied, WRITES, bit);
    if (write)
        add(&p->relied, READS, bit);
}

/* No other thread has to do with the word from now on, or not so that it matters. */
static bool alone(struct explore *x, unsigned thread, struct word *w, bool write, bool guarded)
{
    unsigned bit = bit_of(x, w), at = (unsigned)(w - x->words);
    for (unsigned u = 0; u < x->threads; u++)
        if (u != thread && conflicts(flight_of(x, u), write, bit))
            return false;
    if (guarded && is_guarded(x, &x->words[at]))
        return true;
    for (unsigned u = 0; u < x->threads; u++)
        if (u != thread && place_conflicts(x, u, &x->words[at], write))
            return false;
    for (unsigned u = 0; u < x->threads; u++)
        if (u != thread)
            place_relied(x, u, &x->words[at], write);
    return !x->no_memory;
}

bool future_act(struct explore *x, struct sim_thread *t, const uint64_t *at, bool write)
{
    struct word *w = x->futures && !x->learning ? word_of(x, at) : NULL;
    struct uses own = {0};
    if (!w || !alone(x, t->number, w, write, is_inside(x, t->number)))
        return false;
    /* What it has on its way itself; its own stores it sees, wherever they are. */
    buffer_under_way(x, &own, t, false);
    queues_under_way(x, &own, t, NULL, 0);
    return !conflicts(&own, write, bit_of(x, word_of(x, at)));
}

bool future_flush(struct explore *x, struct sim_thread *t, const uint64_t *at)
{
    struct word *w = x->futures && !x->learning ? word_of(x, at) : NULL;
    struct uses own = {0};
    if (!w || !alone(x, t->number, w, true, is_inside(x, t->number)))
        return false;
    queues_under_way(x, &own, t, NULL, 0);
    return !conflicts(&own, true, bit_of(x, word_of(x, at)));
}

/* The thread waits, and nothing that it waits for can be there before entry `at` has taken its step. */
static bool waits_behind(const struct explore *x, struct sim_thread *t, const struct sim_qp *q,
                         unsigned at)
{
    const struct sim_ep *e = explore_ep(t);
    if (t->state != SIM_WORK || t->buffer_n || baton_epx(t->ep)->chain_n)
        return false;
    for (unsigned n = 0; n < x->nodes; n++) {
        const struct sim_qp *r = sim_qp_known(e, n);
        for (unsigned i = 0; r && i < r->nic.n; i++)
            if (r->parts[i].pieces && (r != q || i < at || r->entries[i].kind == BATON_NIC_PUT))
                return false;
    }
    return true;
}

static bool is_marked(const struct sim_thread *t, const struct explore *x)
{
    const struct sim_ep *e = explore_ep(t);
    for (unsigned n = 0; n < x->nodes; n++) {
        const struct sim_qp *q = sim_qp_known(e, n);
        for (unsigned i = 0; q && i < q->nic.n; i++)
            if (q->parts[i].op.flags >> MARK_SHIFT)
                return true;
    }
    return false;
}

bool future_nic(struct explore *x, const struct sim_qp *q, unsigned at, enum baton_nic_step step)
{
    struct sim_thread *t = q->ep->thread;
    struct word *w = x->futures && !x->learning && !x->s->swap
                         ? word_of(x, (uint64_t *)(uintptr_t)q->entries[at].remote)
                         : NULL;
    /* One that fetches from a word into the same word is not even alone with itself. */
    if (!w || q->entries[at].local == q->entries[at].remote)
        return false;
    /* What an rcas or rfaa has fetched may be there before it has written. */
    bool write = step == BATON_NIC_COMMIT;
    bool behind = !(write && q->parts[at].pieces) && waits_behind(x, t, q, at);
    bool guarded = behind && !x->armed[t->number] && !is_marked(t, x) && is_inside(x, t->number);
    if (!alone(x, t->number, w, write, guarded))
        return false;
    struct uses own = {0};
    act_under_way(x, &own, t);
    buffer_under_way(x, &own, t, true);
    queues_under_way(x, &own, t, q, at);
    chain_under_way(x, &own, t);
    w = word_of(x, (uint64_t *)(uintptr_t)q->entries[at].remote);
    if (conflicts(&own, write, bit_of(x, w)))
        return false;
    unsigned word = (unsigned)(w - x->words);
    if (behind)
        return true;
    if (place_conflicts(x, t->number, w, write))
        return false;
    place_relied(x, t->number, &x->words[word], write);
    return true;
}

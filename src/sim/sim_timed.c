/* SPDX-License-Identifier: MIT */
/*
 * The timed driver: everything takes the time that a profile gives it, and happens in that order. It chooses
 * times only; whether a step may happen is the machine's word (model/nic.h): one that comes too early waits
 * for what blocks it.
 *
 * How an operation travels, for a chain that is rung at t:
 *
 *     leaves the sender    after its work there, not before its queue pair and its NIC are free
 *     arrives              one way later, in the order of its queue pair; then the target NIC must be free
 *     put                  starts its write on arrival, is visible pcie_write later, is acknowledged one way
 *                          after its arrival
 *     get                  reads pcie_read after its arrival, lands one way and a pcie_write later
 *     rcas, rfaa           as a get; the atomic unit of the target is busy from its read to its write
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "sim/profile.h"
#include "sim/sim.h"
#include "sim/wheel.h"

enum { EVENT_RESUME, EVENT_FLUSH, EVENT_STEP, EVENT_TIMEOUT };

#define NEAR_FROM 500u /* with fewer threads, all that they use is near anyway */
#define NEAR_MAX 256u  /* threads whose memory is asked for at a time */

#define CACHE_LINES 32u /* that a thread remembers to have */

/* A line that was written, and how often: a thread has it if it has seen the last write. */
struct line {
    uint64_t key; /* address / 64; 0: empty */
    uint32_t version;
};

struct timed_thread {
    /*
     * It has done things that nobody can see before they end, up to this time, which may be ahead of the
     * simulation's. Its next visible act comes after it.
     */
    uint64_t busy_until;
    uint64_t polls_until; /* it looks for completions, and has all that come until then */
    uint32_t generation;  /* of its state: events of older ones are void */
    bool flushing;
    struct {
        uint64_t key;
        uint32_t version;
    } cache[CACHE_LINES];
};

struct timed_qp {
    uint64_t free_at, atomic_at, ack;
    uint64_t come,
        arrival; /* of the last operation: at the target, and when its NIC has dealt with it */
    bool
        late; /* some entries have steps that came too early: tried again when something has happened */
    bool waits_for_unit;
    struct sim_qp *next_for_unit;
};

struct timed_node {
    uint64_t tx_free, rx_free;
    struct sim_qp *unit_first, **unit_last; /* queue pairs that wait for the atomic unit */
};

struct timed {
    struct baton_profile p;
    uint64_t shortest; /* way of an operation, from the posting to its target */
    struct baton_wheel *wheel;
    struct timed_node *nodes;
    struct line *lines;
    size_t lines_mask, lines_n;
    const struct sim_thread *near[NEAR_MAX]; /* whose time comes near */
    unsigned near_n;
    bool failed;                    /* no memory for an event */
    const struct sim_thread *wakes; /* is resumed by its own event, needs no other one */
};

static struct timed *timed_of(struct sim *s)
{
    return s->driver_state;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t timed_now(struct sim *s)
{
    const struct timed_thread *tt = s->current ? s->current->driver : NULL;
    return tt ? later(s->now, tt->busy_until) : s->now;
}

static inline void event(struct sim *s, uint64_t time, uint32_t kind, void *what, uint64_t detail,
                         uint32_t aux)
{
    struct timed *d = timed_of(s);
    struct baton_event *e = baton_wheel_put(d->wheel, time);
    if (!e) {
        d->failed = true;
        return;
    }
    e->kind = kind;
    e->what = what;
    e->detail = detail;
    e->aux = aux;
}

/* ---- Cache lines */

static size_t line_hash(const struct timed *d, uint64_t key)
{
    return (key * 0x9e3779b97f4a7c15u >> 20) & d->lines_mask;
}

static struct line *line_of(struct timed *d, uint64_t key)
{
    size_t i = line_hash(d, key);
    while (d->lines[i].key && d->lines[i].key != key)
        i = (i + 1) & d->lines_mask;
    return &d->lines[i];
}

static void grow_lines(struct timed *d)
{
    size_t old = d->lines_mask + 1;
    struct line *was = d->lines, *more = calloc(2 * old, sizeof(*more));
    if (!more) {
        d->failed = true;
        return;
    }
    d->lines = more;
    d->lines_mask = 2 * old - 1;
    for (size_t i = 0; i < old; i++)
        if (was[i].key)
            *line_of(d, was[i].key) = was[i];
    free(was);
}

/* Somebody wrote the line; the thread, if it is one, has it now. */
static void line_written(struct timed *d, const void *word, struct sim_thread *t)
{
    uint64_t key = (uint64_t)(uintptr_t)word / 64;
    struct line *l = line_of(d, key);
    if (!l->key) {
        if (d->lines_n > d->lines_mask / 2) {
            grow_lines(d);
            l = line_of(d, key);
        }
        l->key = key;
        d->lines_n++;
    }
    l->version++;
    if (t) {
        struct timed_thread *tt = t->driver;
        tt->cache[key % CACHE_LINES].key = key;
        tt->cache[key % CACHE_LINES].version = l->version;
    }
}

/* What an access by this thread costs; afterwards it has the line. */
static uint64_t line_cost(struct timed *d, const void *word, struct sim_thread *t)
{
    struct timed_thread *tt = t->driver;
    uint64_t key = (uint64_t)(uintptr_t)word / 64;
    uint32_t version = line_of(d, key)->version;
    if (tt->cache[key % CACHE_LINES].key == key && tt->cache[key % CACHE_LINES].version == version)
        return d->p.cpu_hit;
    tt->cache[key % CACHE_LINES].key = key;
    tt->cache[key % CACHE_LINES].version = version;
    return d->p.cpu_miss;
}

/* ---- Threads */

static uint64_t act_cost(struct sim *s, struct sim_thread *t)
{
    struct timed *d = timed_of(s);
    switch (t->next.act) {
    case SIM_ACT_LOAD:
        return line_cost(d, t->next.word, t);
    case SIM_ACT_RMW: {
        uint64_t cost = line_cost(d, t->next.word, t) + d->p.cpu_rmw;
        line_written(d, t->next.word, t);
        return cost;
    }
    case SIM_ACT_STORE:
        return d->p.cpu_hit;
    case SIM_ACT_FENCE:
        return d->p.cpu_fence;
    case SIM_ACT_RING:
        return d->p.doorbell + d->p.post * t->next.ops;
    default:
        return 0;
    }
}

/* What a thread that was blocked needs until it runs again. */
static uint64_t wake_cost(struct sim *s, struct sim_thread *t)
{
    struct timed *d = timed_of(s);
    if (!t->blocked)
        return 0;
    return t->conds_n ? d->p.wake + d->p.cpu_miss : d->p.poll_cq;
}

static bool timed_at_once(struct sim *s, struct sim_thread *t)
{
    struct timed_thread *tt = t->driver;
    uint64_t then = later(s->now, tt->busy_until) + act_cost(s, t);
    if (t->next.act == SIM_ACT_RING) {
        tt->busy_until = then;
        return true;
    }
    if (baton_wheel_next(timed_of(s)->wheel) <= then) {
        event(s, then, EVENT_RESUME, t, ++tt->generation, 0);
        return false;
    }
    s->now = then;
    return true;
}

static void timed_ready(struct sim *s, struct sim_thread *t)
{
    struct timed_thread *tt = t->driver;
    if (s->current == t && t->next.act != SIM_ACT_AWAKE)
        return; /* at_once has made the event */
    uint64_t then = s->now;
    if (t->next.act != SIM_ACT_AWAKE)
        then = later(then, tt->busy_until) + act_cost(s, t);
    else if (tt->polls_until > s->now)
        then = later(tt->polls_until, tt->busy_until);
    else if (t->until > s->now)
        then = later(then + wake_cost(s, t), tt->busy_until);
    tt->generation++;
    if (timed_of(s)->wakes != t)
        event(s, then, EVENT_RESUME, t, tt->generation, 0);
}

/* It goes on when it has all that it waits for, but it spends its time on each that comes. */
static void timed_found(struct sim *s, struct sim_thread *t)
{
    struct timed_thread *tt = t->driver;
    if (tt->polls_until <= s->now)
        tt->polls_until = later(s->now + timed_of(s)->p.poll_cq, tt->busy_until);
}

static void timed_buffered(struct sim *s, struct sim_thread *t)
{
    struct timed_thread *tt = t->driver;
    if (tt->flushing)
        return;
    tt->flushing = true;
    event(s, s->now + timed_of(s)->p.store_drain, EVENT_FLUSH, t, 0, 0);
}

static void flush(struct sim *s, struct sim_thread *t)
{
    struct timed *d = timed_of(s);
    struct timed_thread *tt = t->driver;
    tt->flushing = t->buffer_n > 0;
    if (!tt->flushing)
        return; /* it has been killed */
    if (!sim_can_flush(s, t)) {
        /* The queue pair is full: the doorbell has to wait. */
        event(s, s->now + d->p.qp_gap, EVENT_FLUSH, t, 0, 0);
        return;
    }
    const uint64_t *word = t->buffer[t->buffer_first].word;
    uint64_t cost = word ? line_cost(d, word, t) : 0;
    sim_flush(s, t);
    if (word)
        line_written(d, word, t);
    tt->flushing = t->buffer_n > 0;
    if (tt->flushing)
        event(s, s->now + (cost > d->p.cpu_hit ? cost : 0), EVENT_FLUSH, t, 0, 0);
}

static int timed_relax(struct sim *s, struct sim_thread *t, struct baton_wait *wait)
{
    struct timed *d = timed_of(s);
    uint64_t now = timed_now(s), pause = d->p.repoll;
    int over = sim_wait_over(s, t, wait);
    if (over)
        return over;
    /* Who has others before it polls less often: half a hand-over each. */
    if (wait->ahead > 1) {
        uint64_t more = (uint64_t)(wait->ahead - 1) * d->p.wire;
        pause += more;
    }
    wait->turns++;
    t->wait = wait;
    sim_block(s, t->blocked, SIM_DELAY, now + pause);
    return 0;
}

static unsigned timed_choose(struct sim *s, unsigned n)
{
    return (unsigned)baton_random_below(&s->random, n);
}

/*
 * ---- What is needed soon
 *
 * Of a thread that has slept for long, and of all that it uses, nothing is near the processor any more. It is
 * asked for when its time comes near, so that the processor waits for many such threads together: first for the
 * threads, which show the rest; when that has come, for the rest.
 *
 * Asking is a macro: compilers take a function that does nothing else for one that does nothing.
 */

#define LINE 64
#define ASK_FOR(at) __builtin_prefetch((const char *)(at), 1, 2)
#define ASK_FOR_ALL(at, from, upto)                                                                \
    for (int line_ = (from); line_ < (int)(upto); line_ += LINE)                                   \
    ASK_FOR((const char *)(at) + line_)

/* Of a stack, around where it went to sleep: what it has called, and what it will call. */
#define STACK_BELOW 448
#define STACK_ABOVE 640

static void comes_near(void *arg, const struct baton_event *e)
{
    struct timed *d = arg;
    const struct sim_thread *t = e->what;
    if (e->kind != EVENT_TIMEOUT || d->near_n == NEAR_MAX)
        return;
    ASK_FOR_ALL(t, 0, offsetof(struct sim_thread, watches));
    ASK_FOR(sim_thread_own(t));
    d->near[d->near_n++] = t;
}

static void ask_for_near(struct timed *d)
{
    for (unsigned i = 0; i < d->near_n; i++) {
        const struct sim_thread *t = d->near[i];
        const struct baton_epx *ep = t->rests.ep;
        const struct sim_qp *q = t->rests.qp;
        if (t->state != SIM_DELAY || !q)
            continue;
        ASK_FOR_ALL(t->rests.stack, -STACK_BELOW, STACK_ABOVE);
        ASK_FOR_ALL(ep, 0, offsetof(struct baton_epx, chain) + sizeof(ep->chain[0]));
        ASK_FOR(&ep->ids[baton_id_index(BATON_WID_LOCK)].stamp);
        ASK_FOR(&ep->ids[baton_id_index(BATON_WID_LOCK)].rc);
        ASK_FOR_ALL(q, 0, sizeof(*q) + sizeof(struct timed_qp) + SIM_QP_FIRST_BYTES);
        ASK_FOR(t->rests.peer);
        ASK_FOR_ALL(t->rests.landing, -LINE, LINE);
        ASK_FOR(t->coro);
        ASK_FOR(t->blocked);
    }
    d->near_n = 0;
}

/* What an operation will touch when it lands. */
#define ASK_FOR_LANDING(s, d, word)                                                                \
    do {                                                                                           \
        ASK_FOR(word);                                                                             \
        ASK_FOR(&(d)->lines[line_hash(d, (uint64_t)(uintptr_t)(word) / 64)]);                      \
        ASK_FOR(&(s)->watch[sim_watch_hash(s, word)]);                                             \
    } while (0)

/* ---- Operations */

static uint64_t one_way(struct sim *s, const struct sim_qp *q)
{
    const struct baton_profile *p = &timed_of(s)->p;
    uint64_t way = q->ep->node == q->node ? p->loopback : p->wire;
    uint64_t draw = baton_random_next(&s->random) >> 32;
    return way + (draw * (p->jitter + 1) >> 32);
}

/*
 * The operation leaves its sender and comes to its target; sets tq->arrival. A NIC takes one operation a gap, in
 * the order of their posting, and works on many at once: what else an operation waits for, its own queue pair
 * or a longer way, keeps no other one waiting.
 */
static void travel(struct sim *s, struct sim_qp *q, const struct baton_op *op, uint64_t rung)
{
    struct timed *d = timed_of(s);
    struct timed_qp *tq = q->driver;
    struct timed_node *from = &d->nodes[q->ep->node], *to = &d->nodes[q->node];
    uint64_t bytes = op->kind == BATON_OP_GET ? 16 : op->bytes;
    uint64_t turn = later(from->tx_free, s->now);
    from->tx_free = turn + d->p.nic_gap + bytes * 1000 / d->p.bytes_per_us;
    uint64_t out = later(later(rung, turn) + d->p.nic_tx, tq->free_at);
    tq->free_at = out + d->p.qp_gap;
    uint64_t come = later(out + one_way(s, q), tq->come);
    turn = later(to->rx_free, s->now + d->shortest);
    to->rx_free = turn + d->p.rx_gap;
    tq->come = later(come, turn);
    tq->arrival = tq->come + d->p.nic_rx;
}

static void timed_posted(struct sim *s, struct sim_qp *q, unsigned at)
{
    struct timed *d = timed_of(s);
    struct timed_qp *tq = q->driver;
    const struct timed_thread *tt = q->ep->thread ? q->ep->thread->driver : NULL;
    uint64_t rung = tt ? later(s->now, tt->busy_until) : s->now;
    for (; at < q->nic.n; at++) {
        const struct baton_nic_entry *n = &q->entries[at];
        uint64_t entry = q->dropped + at;
        if (n->kind == BATON_NIC_FENCE) {
            event(s, tq->arrival, EVENT_STEP, q, entry, BATON_NIC_LEAVE);
            continue;
        }
        travel(s, q, &q->parts[at].op, rung);
        if (n->kind == BATON_NIC_PUT) {
            /* A source in memory is read when the operation leaves; an inline one has been. */
            uint64_t read = n->constant ? tq->arrival : later(rung, tq->free_at - d->p.qp_gap);
            event(s, read, EVENT_STEP, q, entry, BATON_NIC_READ);
            continue;
        }
        uint64_t read = tq->arrival + d->p.pcie_read;
        const uint64_t *landing = (const uint64_t *)(uintptr_t)n->local;
        ASK_FOR_LANDING(s, d, landing);
        if (n->kind != BATON_NIC_GET) {
            read = later(read, tq->atomic_at);
            tq->atomic_at = read + d->p.atomic_qp_gap;
        }
        event(s, read, EVENT_STEP, q, entry, BATON_NIC_READ);
    }
}

static void step_now(struct sim *s, struct sim_qp *q, uint64_t entry, enum baton_nic_step step);

/* What follows a step of an entry, and when. */
static void schedule_next(struct sim *s, struct sim_qp *q, uint64_t entry, enum baton_nic_kind kind,
                          enum baton_nic_step step, bool wrote)
{
    struct timed *d = timed_of(s);
    struct timed_qp *tq = q->driver;
    if (kind == BATON_NIC_PUT) {
        if (step == BATON_NIC_READ && tq->arrival > s->now)
            event(s, tq->arrival, EVENT_STEP, q, entry, BATON_NIC_START);
        else if (step == BATON_NIC_READ)
            step_now(s, q, entry, BATON_NIC_START);
        if (step == BATON_NIC_START) {
            event(s, s->now + d->p.pcie_write, EVENT_STEP, q, entry, BATON_NIC_COMMIT);
            tq->ack = later(tq->ack, s->now + one_way(s, q) + d->p.nic_rx + d->p.pcie_write);
            event(s, tq->ack, EVENT_STEP, q, entry, BATON_NIC_LEAVE);
        }
        return;
    }
    if (step == BATON_NIC_READ) {
        if (wrote)
            step_now(s, q, entry, BATON_NIC_START);
        tq->ack = later(tq->ack, s->now + one_way(s, q) + d->p.nic_rx + d->p.pcie_write);
        event(s, tq->ack, EVENT_STEP, q, entry, BATON_NIC_LEAVE);
    }
    if (step == BATON_NIC_START)
        event(s, s->now + d->p.atomic_gap, EVENT_STEP, q, entry, BATON_NIC_COMMIT);
    if (step == BATON_NIC_LEAVE && kind != BATON_NIC_FENCE)
        step_now(s, q, entry, BATON_NIC_LAND);
}

static void wait_for_unit(struct sim *s, struct sim_qp *q)
{
    struct timed_node *n = &timed_of(s)->nodes[q->node];
    struct timed_qp *tq = q->driver;
    if (tq->waits_for_unit)
        return;
    tq->waits_for_unit = true;
    tq->next_for_unit = NULL;
    if (!n->unit_first)
        n->unit_last = &n->unit_first;
    *n->unit_last = q;
    n->unit_last = &tq->next_for_unit;
}

/* The atomic unit of the node is free: the first queue pair that waits for it tries again. */
static void offer_unit(struct sim *s, unsigned node)
{
    struct timed_node *n = &timed_of(s)->nodes[node];
    struct sim_qp *next = n->unit_first;
    if (!next || s->units[node])
        return;
    struct timed_qp *tq = next->driver;
    n->unit_first = tq->next_for_unit;
    tq->waits_for_unit = false;
    event(s, s->now, EVENT_STEP, next, UINT64_MAX, 0);
}

/* The lines of words that an operation has written. */
static void lines_written(struct timed *d, uint64_t address, uint32_t words)
{
    uint64_t last = address + 8 * (uint64_t)words - 8;
    for (uint64_t line = address & ~UINT64_C(63); line <= last; line += 64)
        line_written(d, (const void *)(uintptr_t)line, NULL);
}

/* True if the step was taken; else it is late and will be tried again. */
static bool try_step(struct sim *s, struct sim_qp *q, uint64_t entry, enum baton_nic_step step)
{
    struct timed *d = timed_of(s);
    struct baton_nic_blocker why;
    const unsigned at = (unsigned)(entry - q->dropped);
    const struct baton_nic_entry *n = &q->entries[at];
    const enum baton_nic_kind kind = n->kind;
    const struct sim_part *part = &q->parts[at];
    const uint64_t remote = n->remote, local = n->local;
    const uint32_t words = part->words;
    if (!sim_nic_attempt(s, q, at, step, &why)) {
        if (why.by == BATON_NIC_BY_UNIT)
            wait_for_unit(s, q);
        return false;
    }
    if (step == BATON_NIC_COMMIT)
        lines_written(d, remote, words);
    else if (step == BATON_NIC_LAND)
        lines_written(d, local, words);
    /* An entry whose first step this was is still there. */
    schedule_next(s, q, entry, kind, step, step == BATON_NIC_READ && part->wrote);
    if (step == BATON_NIC_COMMIT && kind != BATON_NIC_PUT)
        offer_unit(s, q->node);
    return true;
}

/* A step whose time has come. One that is not ready is late and will be tried again. */
static void step_now(struct sim *s, struct sim_qp *q, uint64_t entry, enum baton_nic_step step)
{
    if (try_step(s, q, entry, step))
        return;
    struct timed_qp *tq = q->driver;
    q->parts[entry - q->dropped].late |= (uint8_t)baton_nic_bit(step);
    tq->late = true;
}

/* Tries one of the late steps of the queue pair, the oldest entries' first. False: none can be taken. */
static bool retry_one(struct sim *s, struct sim_qp *q)
{
    struct timed_qp *tq = q->driver;
    tq->late = false;
    for (unsigned at = 0; at < q->nic.n; at++)
        for (unsigned late = q->parts[at].late; late; late &= late - 1) {
            enum baton_nic_step step = (enum baton_nic_step)__builtin_ctz(late);
            tq->late = true;
            q->parts[at].late &= (uint8_t)~baton_nic_bit(step);
            if (try_step(s, q, q->dropped + at, step))
                return true;
            q->parts[at].late |= (uint8_t)baton_nic_bit(step);
        }
    return false;
}

static void step_event(struct sim *s, struct sim_qp *q, uint64_t entry, enum baton_nic_step step)
{
    const struct timed_qp *tq = q->driver;
    if (entry != UINT64_MAX) {
        if (entry < q->dropped || entry - q->dropped >= q->nic.n)
            return; /* ended by an error */
        step_now(s, q, entry, step);
    }
    while (tq->late && retry_one(s, q))
        ;
    if (entry == UINT64_MAX)
        offer_unit(s, q->node); /* a failed rcas did not take it */
}

/* ---- Running */

static void timeouts(struct sim *s, struct sim_thread *t)
{
    struct timed_thread *tt = t->driver;
    if (t->until != UINT64_MAX && t->state != SIM_WORK)
        event(s, t->until, EVENT_TIMEOUT, t, tt->generation, 0);
}

static void resume(struct sim *s, struct sim_thread *t)
{
    if (!sim_runnable(s, t)) {
        /* What it waited for held and holds no more. */
        sim_rewatch(s, t);
    } else {
        sim_resume(s, t);
    }
    if (t->state >= SIM_CONDS && t->state <= SIM_DELAY)
        timeouts(s, t);
}

static int timed_run(struct sim *s)
{
    struct timed *d = timed_of(s);
    d->wheel->near = s->threads_n >= NEAR_FROM ? comes_near : NULL;
    d->wheel->near_arg = d;
    for (size_t i = 0; i < s->threads_n; i++) {
        struct timed_thread *tt = s->threads[i]->driver;
        s->threads[i]->next.act = SIM_ACT_BEGIN;
        event(s, s->now, EVENT_RESUME, s->threads[i], ++tt->generation, 0);
    }
    while ((s->alive || s->busy_n) && !d->failed) {
        struct baton_event *e = baton_wheel_take(d->wheel);
        if (!e) {
            bool any = false;
            s->hopeless = true;
            for (size_t i = 0; i < s->threads_n; i++)
                any |= sim_try_wake(s, s->threads[i]);
            s->hopeless = false;
            if (!any)
                break;
            continue;
        }
        if (d->near_n)
            ask_for_near(d);
        if (e->time > s->now)
            s->now = e->time;
        struct sim_thread *t = e->what;
        struct timed_thread *tt = e->kind == EVENT_STEP ? NULL : t->driver;
        switch (e->kind) {
        case EVENT_RESUME:
            if (e->detail == tt->generation && t->state == SIM_READY)
                resume(s, t);
            break;
        case EVENT_FLUSH:
            flush(s, t);
            break;
        case EVENT_TIMEOUT:
            if (e->detail != tt->generation)
                break;
            d->wakes = t;
            bool awake = sim_try_wake(s, t);
            d->wakes = NULL;
            if (awake)
                resume(s, t);
            break;
        case EVENT_STEP:
            step_event(s, e->what, e->detail, e->aux);
            break;
        }
    }
    while (baton_wheel_take(d->wheel)) {
    }
    return d->failed ? baton_fail(-ENOMEM, "no memory for the events of the simulation") : 0;
}

static int timed_open(struct sim *s, const char *options)
{
    struct timed *d = calloc(1, sizeof(*d));
    char profile[256] = "cx6";
    if (!d)
        return -ENOMEM;
    baton_option(options, "profile", profile, sizeof(profile));
    int rc = baton_profile_load(profile, &d->p);
    d->shortest = d->p.nic_tx + (d->p.wire < d->p.loopback ? d->p.wire : d->p.loopback);
    d->wheel = baton_wheel_create();
    d->nodes = calloc(s->cluster->nodes, sizeof(*d->nodes));
    d->lines_mask = 4095;
    d->lines = calloc(d->lines_mask + 1, sizeof(*d->lines));
    if (!rc && (!d->wheel || !d->nodes || !d->lines))
        rc = -ENOMEM;
    s->driver_state = d;
    if (rc) {
        if (d->wheel)
            baton_wheel_destroy(d->wheel);
        free(d->nodes);
        free(d->lines);
        free(d);
        return rc;
    }
    s->cluster->caps.masked = d->p.masked != 0;
    return 0;
}

static void timed_close(struct sim *s)
{
    struct timed *d = timed_of(s);
    baton_wheel_destroy(d->wheel);
    free(d->nodes);
    free(d->lines);
    free(d);
}

static void timed_describe(struct sim *s, char *out, size_t bytes)
{
    snprintf(out, bytes, "profile %s", timed_of(s)->p.name);
}

const struct sim_driver sim_driver_timed = {
    .name = "timed",
    .open = timed_open,
    .close = timed_close,
    .run = timed_run,
    .now = timed_now,
    .at_once = timed_at_once,
    .ready = timed_ready,
    .found = timed_found,
    .buffered = timed_buffered,
    .posted = timed_posted,
    .thread_bytes = sizeof(struct timed_thread),
    .qp_bytes = sizeof(struct timed_qp),
    .straight = true,
    .whole = true,
    .relax = timed_relax,
    .unit_freed = offer_unit,
    .describe = timed_describe,
    .choose = timed_choose,
};

/* SPDX-License-Identifier: MIT */
/* The simulated world: threads and their store buffers, blocking and waking, clusters. */
#include "sim/sim.h"

#include "base/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/sim.h>

static const struct sim_driver *const drivers[] = {&sim_driver_timed, &sim_driver_random,
                                                   &sim_driver_exhaustive, NULL};

void sim_told(struct sim *s, struct sim_thread *t, uint64_t value)
{
    if (t && s->driver->saw)
        s->driver->saw(s, t, value);
}

static void saw(struct sim *s, uint64_t value)
{
    sim_told(s, s->current, value);
}

/* ---- Memory as a thread sees it: the newest store of its own buffer, else memory */

static struct sim_buffered *buffer_at(struct sim_thread *t, unsigned i)
{
    return &t->buffer[(t->buffer_first + i) % SIM_BUFFER_MAX];
}

static uint64_t peek(struct sim_thread *t, const uint64_t *word)
{
    for (unsigned i = t ? t->buffer_n : 0; i-- > 0;)
        if (buffer_at(t, i)->word == word)
            return buffer_at(t, i)->value;
    return *word;
}

static void watch(struct sim *s, struct sim_thread *t, const uint64_t *word)
{
    struct sim_watch *w = &t->watches[t->watches_n++],
                     **bucket = &s->watch[sim_watch_hash(s, word)];
    *w = (struct sim_watch){word, t, *bucket, bucket};
    if (w->next)
        w->next->link = &w->next;
    *bucket = w;
}

static void unwatch_all(struct sim_thread *t)
{
    while (t->watches_n) {
        struct sim_watch *w = &t->watches[--t->watches_n];
        *w->link = w->next;
        if (w->next)
            w->next->link = w->link;
    }
}

void sim_write(struct sim *s, uint64_t *word, uint64_t value)
{
    if (s->driver->write)
        s->driver->write(s, word, value);
    if (*word == value)
        return;
    *word = value;
    struct sim_watch *w = s->watch ? s->watch[sim_watch_hash(s, word)] : NULL;
    while (w) {
        /* Waking takes the thread's watches out of all chains: begin again then. */
        struct sim_watch *next = w->next;
        if (w->word == word && sim_try_wake(s, w->thread))
            next = s->watch[sim_watch_hash(s, word)];
        w = next;
    }
}

/* ---- Blocking and waking */

/* A word that waiters have in common, seen without an operation. Null: it can not be reached. */
static const uint64_t *common_word(struct sim *s, baton_gptr at)
{
    return s->dead[baton_gptr_node(at)] ? NULL : baton_local_word(s->cluster, at);
}

/* Whether somebody has died who takes part in what is waited for. */
static int death_over(struct sim *s, struct sim_thread *t, struct baton_wait *wait)
{
    const struct baton_node *self = s->cluster->local[t->team->node];
    const struct baton_group *group = wait->group;
    uint64_t deaths = baton_word_load(&self->deaths);
    for (unsigned n = 0; n < s->cluster->nodes && deaths != wait->deaths; n++) {
        if (!baton_node_died_since(self, n, wait->deaths))
            continue;
        if (!group || !group->members)
            return -EOWNERDEAD;
        const uint64_t *word = common_word(s, group->members + 8 * (uint64_t)n);
        if (!word)
            return -EHOSTDOWN;
        if (*word)
            return -EOWNERDEAD;
    }
    wait->deaths = deaths;
    return 0;
}

static bool cond_holds(struct sim_thread *t, const struct baton_cond *c)
{
    return ((peek(t, c->word) & c->mask) == c->value) != (c->negate != 0);
}

static bool conds_hold(struct sim_thread *t)
{
    for (unsigned i = 0; i < t->conds_n; i++)
        if (cond_holds(t, &t->conds[i]))
            return true;
    return false;
}

bool sim_turn_changed(struct sim_thread *t)
{
    if (t->reads_n > SIM_READS_MAX)
        return true; /* too many words to remember: never blocks */
    for (unsigned i = 0; i < t->reads_n; i++)
        if (peek(t, t->reads[i].word) != t->reads[i].value)
            return true;
    return false;
}

int sim_wait_over(struct sim *s, struct sim_thread *t, struct baton_wait *wait)
{
    const struct baton_group *group = wait->group;
    int rc = death_over(s, t, wait);
    if (rc)
        return rc;
    if (group && group->state) {
        const uint64_t *word = common_word(s, group->state);
        if (!word)
            return -EHOSTDOWN;
        if (*word != group->healthy)
            return -EOWNERDEAD;
    }
    if (s->driver->now(s) >= wait->deadline_ns)
        return -ETIMEDOUT;
    return s->hopeless ? -EDEADLK : 0;
}

bool sim_has_come(struct sim *s, struct sim_thread *t)
{
    uint64_t now = s->driver->now(s);
    t->wake_rc = 0;
    switch (t->state) {
    case SIM_WORK:
        if (t->blocked->closing)
            return !t->blocked->busy;
        return t->awaits ? !*t->awaits : t->until != t->blocked->epx->pending;
    case SIM_DELAY:
        return now >= t->until || s->hopeless;
    case SIM_RELAX:
        if (sim_turn_changed(t))
            return true;
        break;
    case SIM_CONDS:
        if (conds_hold(t))
            return true;
        break;
    default:
        return false;
    }
    t->wake_rc = sim_wait_over(s, t, t->wait);
    return t->wake_rc != 0;
}

bool sim_try_wake(struct sim *s, struct sim_thread *t)
{
    if (t->state < SIM_WORK || t->state > SIM_DELAY || !sim_has_come(s, t))
        return false;
    if (t->state != SIM_CONDS)
        t->conds_n = 0;
    if (t->state == SIM_WORK)
        t->until = UINT64_MAX; /* it was no time */
    unwatch_all(t);
    t->state = SIM_READY;
    t->next.act = SIM_ACT_AWAKE;
    if (s->driver->ready)
        s->driver->ready(s, t);
    return true;
}

static void watch_all(struct sim *s, struct sim_thread *t)
{
    if (t->state == SIM_CONDS)
        for (unsigned i = 0; i < t->conds_n; i++)
            watch(s, t, t->conds[i].word);
    else if (t->state == SIM_RELAX)
        for (unsigned i = 0; i < t->reads_n && i < SIM_READS_MAX; i++)
            watch(s, t, t->reads[i].word);
    else
        return;
    const uint64_t *word =
        t->wait->group && t->wait->group->state ? common_word(s, t->wait->group->state) : NULL;
    if (word)
        watch(s, t, word);
}

static void rest(struct sim_thread *t, const struct sim_ep *e)
{
    t->rests.stack = __builtin_frame_address(0);
    t->rests.ep = e->epx;
    t->rests.qp = e->last;
    t->rests.landing = e->landing;
    if (e->last)
        t->rests.peer = baton_epx_peer(e->epx, e->last->node);
}

int sim_block(struct sim *s, struct sim_ep *e, enum sim_state state, uint64_t until)
{
    struct sim_thread *t = s->current;
    t->blocked = e;
    t->until = until;
    t->state = state;
    if (state != SIM_CONDS)
        t->conds_n = 0;
    if (!s->driver->looks) {
        rest(t, e);
        watch_all(s, t);
        sim_try_wake(s, t);
    }
    baton_coro_yield(t->coro);
    t->conds_n = 0;
    return t->wake_rc;
}

void sim_rewatch(struct sim *s, struct sim_thread *t)
{
    t->state = SIM_CONDS;
    watch_all(s, t);
    sim_try_wake(s, t); /* its time, or somebody it waits for, may be gone */
}

int sim_relax_until_changed(struct sim *s, struct sim_thread *t, struct baton_wait *wait)
{
    t->wait = wait;
    return sim_block(s, t->blocked, SIM_RELAX, wait->deadline_ns);
}

/* ---- Acts */

static bool needs_empty_buffer(const struct sim_thread *t)
{
    return t->next.act == SIM_ACT_RMW || t->next.act == SIM_ACT_FENCE;
}

bool sim_runnable(struct sim *s, struct sim_thread *t)
{
    if (t->state != SIM_READY || (needs_empty_buffer(t) && t->buffer_n))
        return false;
    /* A condition that held when the thread was woken may hold no more: then it waits on. */
    return !t->conds_n || t->wake_rc || conds_hold(t);
}

void sim_resume(struct sim *s, struct sim_thread *t)
{
    s->current = t;
    int more = baton_coro_resume(t->coro);
    s->current = NULL;
    if (!more) {
        t->state = SIM_ENDED;
        s->alive--;
    }
}

bool sim_can_flush(struct sim *s, struct sim_thread *t)
{
    if (!t->buffer_n)
        return false;
    struct sim_buffered *b = buffer_at(t, 0);
    struct sim_qp *q = b->word ? NULL : sim_qp_of(b->ep, b->op.node);
    return b->word || (q && sim_qp_has_room(s, q, &b->op));
}

void sim_flush(struct sim *s, struct sim_thread *t)
{
    struct sim_buffered b = *buffer_at(t, 0);
    /* One that gets empty begins anew, so that most threads need the first places only. */
    t->buffer_first = --t->buffer_n ? (t->buffer_first + 1) % SIM_BUFFER_MAX : 0;
    if (b.word) {
        sim_misuse_write(s, t->team->node, b.word, SIM_WRITER_CPU_STORE);
        sim_write(s, b.word, b.value);
    } else {
        sim_qp_post(s, sim_qp_of(b.ep, b.op.node), &b.op);
    }
    if (s->driver->ready && t->state == SIM_READY && needs_empty_buffer(t) && !t->buffer_n)
        s->driver->ready(s, t);
}

/* The current thread is about to do this; others may act first. */
static void act(struct sim *s, enum sim_act what, const uint64_t *word)
{
    struct sim_thread *t = s->current;
    if (!t)
        return;
    t->next.act = what;
    t->next.word = word;
    t->state = SIM_READY;
    if (!(needs_empty_buffer(t) && t->buffer_n) && s->driver->at_once && s->driver->at_once(s, t))
        return;
    if (s->driver->ready && !(needs_empty_buffer(t) && t->buffer_n))
        s->driver->ready(s, t);
    baton_coro_yield(t->coro);
}

static void buffer(struct sim *s, const struct sim_buffered *b)
{
    struct sim_thread *t = s->current;
    if (t->buffer_n == SIM_BUFFER_MAX) {
        act(s, SIM_ACT_FENCE, NULL);
        saw(s, 1);
    }
    *buffer_at(t, t->buffer_n++) = *b;
    if (s->driver->buffered)
        s->driver->buffered(s, t);
}

/* ---- Deaths */

static void ep_unlink(struct sim_ep *e)
{
    *e->link = e->next;
    if (e->next)
        e->next->link = e->link;
}

static void ep_link(struct sim_ep *e, struct sim_ep **list)
{
    e->next = *list;
    e->link = list;
    if (e->next)
        e->next->link = &e->next;
    *list = e;
}

static void sim_ep_abandon(struct baton_epx *ep)
{
    struct sim_ep *e = ep->world.state;
    e->epx = NULL;
    e->thread = NULL;
    ep_unlink(e);
    ep_link(e, &sim_of(ep)->abandoned);
}

void sim_kill_thread(struct sim *s, struct sim_thread *t)
{
    struct sim_ep *next;
    if (t->state == SIM_ENDED || t->state == SIM_KILLED)
        return;
    unwatch_all(t);
    t->state = SIM_KILLED;
    t->buffer_n = 0; /* as if it had died before these stores: nobody has seen them */
    s->alive--;
    for (struct sim_ep *e = s->eps; e; e = next) {
        next = e->next;
        if (e->owner == t)
            baton_ep_abandon(e->epx);
    }
}

void sim_kill_node(struct sim *s, unsigned node)
{
    struct sim_qp *q;
    if (s->dead[node])
        return;
    s->dead[node] = 1;
    for (size_t i = 0; i < s->threads_n; i++)
        if (s->threads[i]->team->node == node)
            sim_kill_thread(s, s->threads[i]);
    for (size_t i = 0; i < s->busy_n;) {
        q = s->busy[i];
        if (q->node == node || q->ep->node == node)
            sim_qp_fail(s, q, 0, -EHOSTDOWN, "the node has died"); /* takes it out of the list */
        else
            i++;
    }
    s->units[node] = 0;
    s->unit_words[node] = NULL;
    for (unsigned n = 0; n < s->cluster->nodes; n++)
        if (s->cluster->local[n] && !s->dead[n])
            baton_node_note_death(s->cluster->local[n], node);
    for (size_t i = 0; i < s->threads_n; i++)
        sim_try_wake(s, s->threads[i]);
}

/* Apart, for its frame: each thread has a stack of its own, and its lines are not near. */
static __attribute__((noinline)) void buffer_op(struct sim *s, struct sim_ep *e,
                                                const struct baton_op *op)
{
    struct sim_buffered b = {.op = *op, .ep = e};
    buffer(s, &b);
}

static void sim_ring(struct baton_layer *l, struct baton_epx *ep, const struct baton_op *ops,
                     unsigned n)
{
    struct sim *s = sim_of(ep);
    struct sim_ep *e = l->state;
    struct sim_qp *q;
    bool memory = true;
    for (unsigned i = 0; i < n; i++)
        memory &= sim_qp_of(e, ops[i].node) != NULL;
    for (unsigned i = 0; i < n && !memory; i++)
        baton_op_done(ep, &ops[i], -ENOMEM, false, NULL);
    if (!memory)
        return;
    e->thread = s->current;
    if (!s->current) {
        for (unsigned i = 0; i < n; i++) {
            sim_qp_post(s, sim_qp_known(e, ops[i].node), &ops[i]);
            sim_drain(s);
        }
        return;
    }
    s->current->next.ops = n;
    act(s, SIM_ACT_RING, NULL);
    for (unsigned i = 0; i < n; i++) {
        q = sim_qp_known(e, ops[i].node);
        if (s->driver->straight && !s->current->buffer_n && sim_qp_has_room(s, q, &ops[i]))
            sim_qp_post(s, q, &ops[i]);
        else
            buffer_op(s, e, &ops[i]);
    }
}

static void sim_advance(struct baton_layer *l, struct baton_epx *ep)
{
    struct sim *s = sim_of(ep);
    if (s->current) {
        s->current->awaits = s->driver->found ? ep->awaits : NULL;
        sim_block(s, l->state, SIM_WORK, ep->pending);
    } else
        sim_drain(s);
    saw(s, ep->pending);
}

static int sim_reset(struct baton_layer *l, struct baton_epx *ep, unsigned node)
{
    struct sim *s = sim_of(ep);
    struct sim_qp *q = sim_qp_known(l->state, node);
    if (!s->cluster->local[node] || s->dead[node] || s->dead[ep->pub.node])
        return baton_fail(-EHOSTDOWN, "node %u is dead or absent", node);
    if (q)
        q->broken = false;
    return 0;
}

static void has_read(struct sim *s, const uint64_t *word, uint64_t value)
{
    struct sim_thread *t = s->current;
    saw(s, value);
    if (!t || !s->driver->reads)
        return;
    if (t->reads_n < SIM_READS_MAX)
        t->reads[t->reads_n] = (struct sim_read){word, value};
    if (t->reads_n <= SIM_READS_MAX)
        t->reads_n++;
}

static uint64_t sim_load(struct baton_layer *l, struct baton_epx *ep, const uint64_t *word)
{
    struct sim *s = sim_of(ep);
    act(s, SIM_ACT_LOAD, word);
    uint64_t value = peek(s->current, word);
    has_read(s, word, value);
    return value;
}

static void sim_store(struct baton_layer *l, struct baton_epx *ep, uint64_t *word, uint64_t value)
{
    struct sim *s = sim_of(ep);
    struct sim_buffered b = {.word = word, .value = value};
    act(s, SIM_ACT_STORE, word);
    if (s->current)
        buffer(s, &b);
    else
        sim_write(s, word, value);
}

static uint64_t rmw(struct baton_epx *ep, uint64_t *word, bool conditional, uint64_t expected,
                    uint64_t value, bool add)
{
    struct sim *s = sim_of(ep);
    act(s, SIM_ACT_RMW, word);
    uint64_t old = *word;
    if (conditional)
        has_read(s, word, old);
    else
        saw(s, old);
    if (!conditional || old == expected) {
        sim_misuse_write(s, ep->pub.node, word, SIM_WRITER_CPU_RMW);
        sim_write(s, word, add ? old + value : value);
    }
    return old;
}

static uint64_t sim_swap(struct baton_layer *l, struct baton_epx *ep, uint64_t *word,
                         uint64_t value)
{
    return rmw(ep, word, false, 0, value, false);
}

static uint64_t sim_cas(struct baton_layer *l, struct baton_epx *ep, uint64_t *word,
                        uint64_t expected, uint64_t desired)
{
    return rmw(ep, word, true, expected, desired, false);
}

static uint64_t sim_faa(struct baton_layer *l, struct baton_epx *ep, uint64_t *word, uint64_t add)
{
    return rmw(ep, word, false, 0, add, true);
}

static void sim_mfence(struct baton_layer *l, struct baton_epx *ep)
{
    act(sim_of(ep), SIM_ACT_FENCE, NULL);
    saw(sim_of(ep), 1);
}

static uint64_t sim_now(struct baton_layer *l, struct baton_epx *ep)
{
    struct sim *s = sim_of(ep);
    return s->driver->now(s);
}

static void sim_delay(struct baton_layer *l, struct baton_epx *ep, uint64_t ns)
{
    struct sim *s = sim_of(ep);
    if (s->driver->looks)
        return;
    if (s->current)
        sim_block(s, l->state, SIM_DELAY, s->driver->now(s) + ns);
    else
        s->now += ns;
}

/* Outside of baton_run nobody comes to help: what is left is the deadline. */
static int wait_alone(struct sim *s, const struct baton_wait *wait)
{
    if (wait->deadline_ns == BATON_NEVER)
        return -EDEADLK;
    if (s->now < wait->deadline_ns)
        s->now = wait->deadline_ns;
    return -ETIMEDOUT;
}

static int sim_await(struct baton_layer *l, struct baton_epx *ep, const struct baton_cond *conds,
                     unsigned n, struct baton_wait *wait)
{
    struct sim *s = sim_of(ep);
    struct sim_thread *t = s->current;
    if (!t) {
        for (unsigned i = 0; i < n; i++)
            if (cond_holds(NULL, &conds[i]))
                return 0;
        return wait_alone(s, wait);
    }
    t->reads_n = 0;
    t->conds = conds;
    t->conds_n = n;
    t->wait = wait;
    if (!conds_hold(t))
        ep->stats.awaits_blocked++;
    int rc = sim_block(s, l->state, SIM_CONDS, wait->deadline_ns);
    saw(s, (uint64_t)rc);
    return rc;
}

static int sim_relax(struct baton_layer *l, struct baton_epx *ep, struct baton_wait *wait)
{
    struct sim *s = sim_of(ep);
    struct sim_thread *t = s->current;
    if (!t)
        return wait_alone(s, wait);
    t->blocked = l->state;
    int rc = s->driver->relax(s, t, wait);
    t->reads_n = 0;
    saw(s, (uint64_t)rc);
    return rc;
}

static const struct baton_ep_ops sim_ep_ops = {
    .size = sizeof(struct baton_ep_ops),
    .ring = sim_ring,
    .advance = sim_advance,
    .reset = sim_reset,
    .load = sim_load,
    .store = sim_store,
    .swap = sim_swap,
    .cas = sim_cas,
    .faa = sim_faa,
    .mfence = sim_mfence,
    .now = sim_now,
    .delay = sim_delay,
    .await = sim_await,
    .relax = sim_relax,
};

static int sim_ep_open(struct baton_epx *ep)
{
    struct sim *s = sim_of(ep);
    /* Who goes back puts all of them back, and finds none that was made since. */
    for (unsigned n = 0; n < ep->nodes && s->driver->looks; n++)
        if (!baton_epx_peer_own(ep, n))
            return -ENOMEM;
    struct sim_ep *e = baton_pool_take(&s->own_ep_pool);
    if (!e)
        return -ENOMEM;
    e->epx = ep;
    e->node = ep->pub.node;
    e->owner = s->current;
    ep_link(e, &s->eps);
    ep->world = (struct baton_layer){&sim_ep_ops, NULL, e};
    return 0;
}

/* How often SIM_WAYS nodes. */
static unsigned ways_of(const struct sim *s)
{
    return (s->cluster->nodes + SIM_WAYS - 1) / SIM_WAYS;
}

/* Events may still name the queue pairs, so they stay until the cluster goes. */
static void forget_qps(struct sim *s, struct sim_ep *e)
{
    for (unsigned g = 0; g < ways_of(s); g++) {
        struct sim_qp **some = e->ways[g];
        for (unsigned i = 0; i < SIM_WAYS && some; i++) {
            if (!some[i])
                continue;
            some[i]->next_dead = s->dead_qps;
            s->dead_qps = some[i];
        }
        baton_pool_give(&s->ways_pool, some);
    }
}

static void sim_ep_close(struct baton_epx *ep)
{
    struct sim_ep *e = ep->world.state;
    struct sim *s = sim_of(ep);
    /* Accepted puts must still land, and entries refer to the queue pairs. */
    act(s, SIM_ACT_FENCE, NULL);
    e->thread = s->current;
    e->closing = true;
    if (!s->current)
        sim_drain(s);
    else if (e->busy)
        sim_block(s, e, SIM_WORK, 0);
    forget_qps(s, e);
    ep_unlink(e);
    baton_pool_give(&s->own_ep_pool, e);
}

/* ---- Teams */

static void thread_main(void *arg)
{
    struct sim_thread *t = arg;
    if (!t->sim->driver->looks) {
        t->rc = baton_team_member(t->sim->cluster, t->team, t->index);
        return;
    }
    struct baton_ep *ep;
    t->rc = baton_ep_open(t->sim->cluster->local[t->team->node], &ep);
    if (t->rc)
        return;
    t->ep = ep;
    t->rc = t->team->body(ep, t->index, t->team->arg);
    baton_flush(ep);
    t->state = SIM_ENDED;
    t->sim->alive--;
    for (;;)
        baton_coro_yield(t->coro);
}

/* A thread, and what the driver keeps of it. */
static size_t thread_bytes(const struct sim *s)
{
    return sim_lines(sizeof(struct sim_thread)) + sim_lines(s->driver->thread_bytes);
}

static size_t watch_bytes(const struct sim *s)
{
    return (s->watch_mask + 1) * sizeof(*s->watch);
}

static void free_threads(struct sim *s)
{
    for (struct sim_ep *e = s->eps; e; e = e->next)
        e->owner = NULL;
    for (size_t i = 0; i < s->threads_n; i++)
        if (s->threads[i] && s->threads[i]->coro)
            baton_coro_destroy(s->threads[i]->coro);
    baton_big_drop(s->thread_memory, s->threads_n * thread_bytes(s));
    free(s->buffers);
    free(s->threads);
    if (s->watch)
        baton_big_drop(s->watch, watch_bytes(s));
    s->threads = NULL;
    s->thread_memory = NULL;
    s->buffers = NULL;
    s->watch = NULL;
    s->threads_n = 0;
}

static int make_thread(struct sim *s, const struct baton_team *team, unsigned index, size_t number)
{
    struct sim_thread *t =
        (struct sim_thread *)((char *)s->thread_memory + number * thread_bytes(s));
    s->threads[number] = t;
    t->sim = s;
    t->team = team;
    t->index = index;
    t->number = (unsigned)number;
    t->driver = sim_thread_own(t);
    t->buffer = s->buffers + number * SIM_BUFFER_MAX;
    t->coro = baton_coro_create(SIM_STACK_BYTES, thread_main, t);
    return t->coro ? 0 : baton_coro_lacks(number, s->threads_n);
}

static int make_threads(struct sim *s, const struct baton_team *teams, unsigned count)
{
    size_t total = 0, n = 0, buckets = 64;
    int rc = 0;
    for (unsigned i = 0; i < count; i++)
        total += teams[i].threads;
    while (buckets < 4 * total)
        buckets *= 2;
    s->threads = calloc(total + 1, sizeof(*s->threads));
    s->watch_mask = buckets - 1;
    s->watch = baton_big_make(watch_bytes(s));
    if (!s->threads || !s->watch)
        return -ENOMEM;
    s->threads_n = total;
    s->thread_memory = baton_big_make(total * thread_bytes(s));
    /* Not among what threads always use: most never have anything in it. */
    s->buffers = calloc(total, SIM_BUFFER_MAX * sizeof(*s->buffers));
    if ((!s->thread_memory || !s->buffers) && total)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < teams[i].threads && !rc; k++)
            rc = make_thread(s, &teams[i], k, n++);
    s->alive = total;
    return rc;
}

static int sim_run(struct baton_cluster *cluster, const struct baton_team *teams, unsigned count)
{
    struct sim *s = cluster->world;
    if (s->current || s->threads)
        return baton_fail(-EINVAL, "baton_run inside of baton_run");
    unsigned reports = s->silent_n;
    s->hopeless = false;
    int rc = make_threads(s, teams, count);
    if (!rc)
        rc = s->driver->run(s);
    for (size_t i = 0; i < s->threads_n && !rc; i++)
        rc = s->threads[i]->rc;
    free_threads(s);
    if (!rc && s->silent_n != reports)
        rc = baton_fail(-EPROTO, "%s", sim_silent_text(s));
    return rc;
}

/* ---- Clusters */

static int find_driver(struct sim *s, const char *options)
{
    static const char *const known[] = {"driver", "profile", "faults", "misuse", NULL};
    char name[16] = "timed", misuse[16] = "report";
    int rc = baton_options_check(options, known);
    if (rc)
        return rc;
    baton_option(options, "misuse", misuse, sizeof(misuse));
    s->misuse_ignored = !strcmp(misuse, "ignore");
    if (!s->misuse_ignored && strcmp(misuse, "report") != 0)
        return baton_fail(-EINVAL, "misuse=%s: there is: report ignore", misuse);
    baton_option(options, "driver", name, sizeof(name));
    for (const struct sim_driver *const *d = drivers; *d; d++)
        if (!strcmp((*d)->name, name)) {
            s->driver = *d;
            return 0;
        }
    return baton_fail(-EINVAL, "no simulation driver \"%s\"; there is: timed random exhaustive",
                      name);
}

static void sim_free(struct sim *s)
{
    while (s->reports) {
        struct sim_report *r = s->reports;
        s->reports = r->next;
        free(r);
    }
    while (s->abandoned) {
        struct sim_ep *e = s->abandoned;
        ep_unlink(e);
        forget_qps(s, e);
    }
    while (s->dead_qps) {
        struct sim_qp *q = s->dead_qps;
        s->dead_qps = q->next_dead;
        sim_qp_free(q);
    }
    while (s->spare_words) {
        uint64_t *words = s->spare_words;
        s->spare_words = (uint64_t *)(uintptr_t)*words;
        free(words);
    }
    baton_pool_fini(&s->ep_pool);
    baton_pool_fini(&s->peer_pool);
    baton_pool_fini(&s->own_ep_pool);
    baton_pool_fini(&s->ways_pool);
    baton_pool_fini(&s->qp_pool);
    free(s->busy);
    free(s->dead);
    free(s->units);
    free(s->unit_words);
    free(s);
}

static int sim_open(struct baton_cluster *cluster, const struct baton_cluster_opts *opts)
{
    struct sim *s = calloc(1, sizeof(*s));
    int rc = s ? baton_local_open(cluster, opts) : -ENOMEM;
    if (rc) {
        free(s);
        return rc;
    }
    s->cluster = cluster;
    s->seed = opts->seed;
    s->now = 1; /* no time is 0, which callers may use for "none" */
    s->swap = opts->flags & BATON_CLUSTER_SWAP;
    s->reports_end = &s->reports;
    s->dead = calloc(cluster->nodes, sizeof(*s->dead));
    s->units = calloc(cluster->nodes, sizeof(*s->units));
    s->unit_words = calloc(cluster->nodes, sizeof(*s->unit_words));
    baton_random_init(&s->random, opts->seed);
    cluster->world = s;
    cluster->caps = (struct baton_caps){
        .atomics = BATON_ATOMICS_HCA, .masked = true, .word_atomic = true, .chain_order = !s->swap};
    rc = s->dead && s->units && s->unit_words ? find_driver(s, opts->options) : -ENOMEM;
    if (!rc)
        rc = s->driver->open(s, opts->options);
    if (rc) {
        sim_free(s);
        return rc;
    }
    baton_pool_init(&s->ep_pool, baton_ep_bytes(cluster));
    baton_pool_init(&s->peer_pool, sizeof(struct baton_epx_peer));
    baton_pool_init(&s->own_ep_pool, sizeof(struct sim_ep) + ways_of(s) * sizeof(struct sim_qp **));
    baton_pool_init(&s->ways_pool, SIM_WAYS * sizeof(struct sim_qp *));
    baton_pool_init(&s->qp_pool, sim_qp_bytes(s));
    cluster->ep_pool = &s->ep_pool;
    cluster->peer_pool = &s->peer_pool;
    for (unsigned i = 0; i < cluster->nodes && s->driver->looks; i++)
        if (cluster->local[i])
            cluster->local[i]->next_base = SIM_EXPLORE_BASE;
    return 0;
}

static enum baton_node_state sim_node_state(struct baton_cluster *cluster, unsigned index)
{
    const struct sim *s = cluster->world;
    return s->dead[index] ? BATON_NODE_DEAD : baton_local_node_state(cluster, index);
}

static int sim_name_find(struct baton_node *node, const char *name, baton_gptr *at)
{
    const struct sim *s = node->cluster->world;
    int rc = baton_local_name_find(node, name, at);
    if (!rc && s->dead[baton_gptr_node(*at)])
        rc = baton_fail(-ENOENT, "the node that published the name \"%s\" is dead", name);
    return rc;
}

static void sim_close(struct baton_cluster *cluster)
{
    struct sim *s = cluster->world;
    s->driver->close(s);
    baton_local_fini(&s->local);
    sim_free(s);
}

unsigned baton_sim_misuses(const struct baton_cluster *cluster)
{
    const struct sim *s = cluster->ops == &baton_world_sim ? cluster->world : NULL;
    return s ? s->silent_n + s->told_n : 0;
}

int baton_sim_kill_node(struct baton_cluster *cluster, unsigned node)
{
    struct sim *s = cluster->ops == &baton_world_sim ? cluster->world : NULL;
    if (!s || !baton_cluster_node(cluster, node))
        return baton_fail(-EINVAL, "node %u is none of a simulated cluster", node);
    sim_kill_node(s, node);
    if (s->current && s->current->state == SIM_KILLED)
        baton_coro_yield(s->current->coro);
    return 0;
}

int baton_sim_describe(const struct baton_cluster *cluster, char *out, size_t bytes)
{
    struct sim *s = cluster->ops == &baton_world_sim ? cluster->world : NULL;
    if (!s)
        return baton_fail(-EINVAL, "not a simulated cluster");
    int n = snprintf(out, bytes, "driver %s, seed %" PRIu64 ", ", s->driver->name, s->seed);
    if ((size_t)n < bytes)
        s->driver->describe(s, out + n, bytes - (size_t)n);
    return 0;
}

int baton_sim_counts(const struct baton_cluster *cluster, struct baton_sim_counts *out)
{
    const struct sim *s = cluster->ops == &baton_world_sim ? cluster->world : NULL;
    if (!s)
        return baton_fail(-EINVAL, "not a simulated cluster");
    struct baton_random copy = s->random;
    uint64_t state = baton_random_next(&copy) ^ s->trail ^ s->now;
    *out = (struct baton_sim_counts){
        .ops = s->ops, .steps = s->steps, .now_ns = s->now, .unseed = baton_random_mix(&state)};
    return 0;
}

int baton_sim_calm(struct baton_cluster *cluster)
{
    struct sim *s = cluster->ops == &baton_world_sim ? cluster->world : NULL;
    if (!s)
        return baton_fail(-EINVAL, "not a simulated cluster");
    if (s->driver->calm)
        s->driver->calm(s);
    return 0;
}

const char *baton_sim_misuse(const struct baton_cluster *cluster, unsigned index)
{
    const struct sim *s = cluster->ops == &baton_world_sim ? cluster->world : NULL;
    const struct sim_report *r = s ? s->reports : NULL;
    while (r && index--)
        r = r->next;
    return r ? r->text : NULL;
}

const struct baton_world_ops baton_world_sim = {
    .size = sizeof(struct baton_world_ops),
    .name = "sim",
    .open = sim_open,
    .close = sim_close,
    .node_state = sim_node_state,
    .segment_create = sim_segment_create,
    .segment_destroy = baton_local_segment_destroy,
    .name_publish = baton_local_name_publish,
    .name_withdraw = baton_local_name_withdraw,
    .name_find = sim_name_find,
    .ep_open = sim_ep_open,
    .ep_close = sim_ep_close,
    .ep_abandon = sim_ep_abandon,
    .misused = sim_misused,
    .run = sim_run,
};

/* SPDX-License-Identifier: MIT */
/*
 * The world `step`: it proves the contract. All nodes live in this process, threads are coroutines, memory
 * is sequentially consistent, and a seeded scheduler decides at every step who goes on: a thread, or an
 * operation that a NIC has outstanding.
 *
 * What it makes happen because the contract allows it: an operation takes effect at some later step, also
 * after the wait for a put has returned (accepted is not visible); gets are passed by whatever has no rfence
 * before it; transfers are made of 8-byte pieces in any order; with BATON_CLUSTER_SWAP whatever no order
 * separates may change places. What it can not show: store buffers, read-modify-writes that are not atomic
 * against puts and CPUs, several NICs' opinions about one word.
 *
 * One step takes STEP_NS of virtual time. When nobody can go on, time jumps to the next deadline or the end
 * of the next delay; when there is none, all that wait get -EDEADLK.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/random.h"
#include "fabric/world.h"
#include "sim/coro.h"
#include "sim/local.h"

#define STEP_NS 100u
#define STACK_BYTES (256u << 10)
#define READS_MAX 64u  /* words that one turn of a polling loop may look at and still block */
#define PIECES_MAX 64u /* transfers up to this many words land in pieces */

struct step_read {
    const uint64_t *word;
    uint64_t value;
};

enum step_state { STEP_READY, STEP_WORK, STEP_CONDS, STEP_RELAX, STEP_DELAY, STEP_ENDED };

struct step_thread {
    struct step *step;
    struct baton_coro *coro;
    const struct baton_team *team;
    unsigned index;
    int rc;
    enum step_state state;
    uint64_t until; /* deadline or end of the delay */
    int wake_rc;
    const struct baton_cond *conds;
    unsigned conds_n;
    struct baton_wait *wait;
    struct step_ep *blocked; /* the endpoint that it waits with */
};

/* An operation on its way. A put has first been accepted (its source read), then lands. */
struct step_op {
    struct baton_op op;
    struct step_ep *ep;
    char *remote;
    uint64_t *copy;
    uint64_t landed; /* a bit per piece */
    bool accepted;
};

/* Operations of one endpoint towards one node, oldest first. */
struct step_queue {
    struct step_op *ops;
    unsigned n;
    size_t place; /* in step->busy, if n */
};

struct step_ep {
    struct baton_epx *epx;
    struct step_thread *thread;
    struct step_queue *queues;
    struct step_read reads[READS_MAX];
    unsigned reads_n;
};

struct step {
    struct baton_local local; /* first: what the calls of sim/local.h find */
    struct baton_cluster *cluster;
    struct baton_random random;
    bool swap;
    uint64_t now;
    struct step_thread *threads, **ready;
    size_t threads_n, ready_n;
    struct step_thread *current; /* null: code outside of baton_run */
    struct step_queue **busy;    /* queues that are not empty */
    size_t busy_n, queues;       /* there is room for all queues */
    bool changed;                /* memory has changed since the blocked threads were looked at */
    bool hopeless;               /* nobody can go on */
    uint64_t next_time;
};

static struct step *step_of(struct baton_epx *ep)
{
    return ep->nodep->cluster->world;
}

/* ---- Memory as the operations see it */

static void has_read(struct step_ep *e, const uint64_t *word, uint64_t value)
{
    if (e->reads_n < READS_MAX)
        e->reads[e->reads_n] = (struct step_read){word, value};
    if (e->reads_n <= READS_MAX)
        e->reads_n++;
}

static void write_word(struct step *s, uint64_t *word, uint64_t value)
{
    s->changed |= *word != value;
    *word = value;
}

/* ---- Queues of operations */

static void queue_remove(struct step *s, struct step_queue *q, unsigned i)
{
    free(q->ops[i].copy);
    memmove(&q->ops[i], &q->ops[i + 1], (q->n - i - 1) * sizeof(*q->ops));
    if (!--q->n) {
        s->busy[q->place] = s->busy[--s->busy_n];
        s->busy[q->place]->place = q->place;
    }
}

static void tell(struct step *s, struct step_op *o, int rc, bool wrote)
{
    struct step_thread *t = o->ep->thread;
    baton_op_done(o->ep->epx, &o->op, rc, wrote, NULL);
    if (t && t->state == STEP_WORK) {
        t->state = STEP_READY;
        s->ready[s->ready_n++] = t;
    }
}

/* The first failure of a queue pair ends everything on it that is not done. */
static void queue_fail(struct step *s, struct step_queue *q, unsigned i, int rc)
{
    tell(s, &q->ops[i], rc, false);
    for (unsigned j = 0; j < q->n; j++)
        if (j != i && !q->ops[j].accepted)
            tell(s, &q->ops[j], -ECANCELED, false);
    while (q->n)
        queue_remove(s, q, q->n - 1);
}

/* Whether the earlier operation a must take effect before b, given the fences between them. */
static bool ordered(const struct step *s, const struct step_op *a, bool order, bool rfence)
{
    if (a->op.kind == BATON_OP_GET)
        return rfence;
    return !s->swap || order;
}

static bool may_go(const struct step *s, const struct step_queue *q, unsigned i)
{
    bool order = false, rfence = false;
    for (unsigned j = i; j > 0; j--) {
        order |= (q->ops[j].op.flags & BATON_OPF_ORDER) != 0;
        rfence |= (q->ops[j].op.flags & BATON_OPF_RFENCE) != 0;
        if (ordered(s, &q->ops[j - 1], order, rfence))
            return false;
    }
    return true;
}

static void accept_put(struct step *s, struct step_queue *q, unsigned i)
{
    struct step_op *o = &q->ops[i];
    int rc = 0;
    o->remote = baton_local_resolve(s->cluster, &o->op, &rc);
    o->copy = o->remote ? malloc(o->op.bytes) : NULL;
    if (!o->copy) {
        queue_fail(s, q, i, o->remote ? -ENOMEM : rc);
        return;
    }
    memcpy(o->copy, o->op.flags & BATON_OPF_INLINE ? &o->op.value : o->op.local, o->op.bytes);
    o->accepted = true;
    tell(s, o, 0, false);
}

/* One piece of a put or get, in any order; true when it was the last. */
static bool move_piece(struct step *s, struct step_op *o)
{
    unsigned words = o->op.bytes / 8, piece = 0, count = words;
    uint64_t *remote = (uint64_t *)o->remote;
    if (words <= PIECES_MAX) {
        piece = (unsigned)baton_random_below(&s->random, words);
        while (o->landed >> piece & 1)
            piece = (piece + 1) % words;
        o->landed |= UINT64_C(1) << piece;
        count = 1;
    }
    for (unsigned w = piece; w < piece + count; w++) {
        if (o->op.kind == BATON_OP_PUT) {
            write_word(s, &remote[w], o->copy[w]);
        } else {
            has_read(o->ep, &remote[w], remote[w]);
            ((uint64_t *)o->op.local)[w] = remote[w];
        }
    }
    return words > PIECES_MAX || (unsigned)__builtin_popcountll(o->landed) == words;
}

/* Lets operation i of the queue do one step. */
static void op_step(struct step *s, struct step_queue *q, unsigned i)
{
    struct step_op *o = &q->ops[i];
    int rc = 0;
    if (o->op.kind == BATON_OP_PUT) {
        if (!o->accepted) {
            accept_put(s, q, i);
        } else if (move_piece(s, o)) {
            queue_remove(s, q, i);
        }
        return;
    }
    if (!o->remote && !(o->remote = baton_local_resolve(s->cluster, &o->op, &rc))) {
        queue_fail(s, q, i, rc);
        return;
    }
    bool wrote = false;
    if (o->op.kind == BATON_OP_GET) {
        if (!move_piece(s, o))
            return;
    } else {
        uint64_t *word = (uint64_t *)o->remote, old = *word, desired;
        has_read(o->ep, word, old);
        wrote = baton_op_apply(&o->op, old, &desired);
        if (wrote)
            write_word(s, word, desired);
        *(uint64_t *)o->op.local = old;
    }
    tell(s, o, 0, wrote);
    queue_remove(s, q, i);
}

/* ---- The scheduler */

static bool cond_holds(const struct baton_cond *c)
{
    return ((*c->word & c->mask) == c->value) != (c->negate != 0);
}

static bool turn_changed(const struct step_ep *e)
{
    if (e->reads_n > READS_MAX)
        return true; /* too many words to remember: never blocks */
    for (unsigned i = 0; i < e->reads_n; i++)
        if (*e->reads[i].word != e->reads[i].value)
            return true;
    return false;
}

/* Whether a blocked thread can go on, and with what. */
static bool awake(struct step *s, struct step_thread *t)
{
    t->wake_rc = 0;
    if (t->state == STEP_DELAY)
        return s->now >= t->until || s->hopeless;
    if (t->state == STEP_RELAX && turn_changed(t->blocked))
        return true;
    for (unsigned i = 0; t->state == STEP_CONDS && i < t->conds_n; i++)
        if (cond_holds(&t->conds[i]))
            return true;
    struct baton_group *group = t->wait->group;
    if (group && group->state) {
        const uint64_t *word = baton_local_word(s->cluster, group->state);
        t->wake_rc = !word ? -EHOSTDOWN : *word != group->healthy ? -EOWNERDEAD : 0;
    }
    if (!t->wake_rc)
        t->wake_rc = s->now >= t->until ? -ETIMEDOUT : s->hopeless ? -EDEADLK : 0;
    return t->wake_rc != 0;
}

static void look_at_blocked(struct step *s)
{
    s->changed = false;
    s->next_time = UINT64_MAX;
    for (size_t i = 0; i < s->threads_n; i++) {
        struct step_thread *t = &s->threads[i];
        if (t->state < STEP_CONDS || t->state == STEP_ENDED)
            continue;
        if (awake(s, t)) {
            t->state = STEP_READY;
            s->ready[s->ready_n++] = t;
        } else if (t->until < s->next_time) {
            s->next_time = t->until;
        }
    }
}

static void nic_step(struct step *s)
{
    struct step_queue *q = s->busy[baton_random_below(&s->random, s->busy_n)];
    unsigned i = (unsigned)baton_random_below(&s->random, q->n);
    op_step(s, q, may_go(s, q, i) ? i : 0);
}

static void thread_step(struct step *s, size_t i)
{
    struct step_thread *t = s->ready[i];
    s->ready[i] = s->ready[--s->ready_n];
    s->current = t;
    int more = baton_coro_resume(t->coro);
    s->current = NULL;
    if (!more)
        t->state = STEP_ENDED;
    else if (t->state == STEP_READY)
        s->ready[s->ready_n++] = t;
    else
        s->changed = true; /* it may have blocked on what holds already */
}

static bool all_ended(const struct step *s)
{
    for (size_t i = 0; i < s->threads_n; i++)
        if (s->threads[i].state != STEP_ENDED)
            return false;
    return true;
}

static void schedule(struct step *s)
{
    while (!all_ended(s) || s->busy_n) {
        s->now += STEP_NS;
        if (s->changed || s->now >= s->next_time)
            look_at_blocked(s);
        size_t choices = s->ready_n + s->busy_n;
        if (!choices) {
            if (s->next_time != UINT64_MAX)
                s->now = s->next_time;
            else
                s->hopeless = s->changed = true;
            continue;
        }
        size_t c = baton_random_below(&s->random, choices);
        if (c < s->ready_n)
            thread_step(s, c);
        else
            nic_step(s);
    }
}

/* ---- What threads do */

/* A point at which anybody may go on; memory may look different afterwards. */
static void step_point(struct step *s)
{
    if (s->current)
        baton_coro_yield(s->current->coro);
    else
        s->now += STEP_NS;
}

/* Nobody else lets operations take effect when code outside of baton_run blocks. */
static void finish_alone(struct step *s)
{
    while (!s->current && s->busy_n)
        nic_step(s);
}

/* Code outside of baton_run is alone: what it waits for does not come, but a deadline does. */
static int block_alone(struct step *s, const struct baton_wait *wait)
{
    if (wait->deadline_ns == BATON_NEVER)
        return -EDEADLK;
    if (s->now < wait->deadline_ns)
        s->now = wait->deadline_ns;
    return -ETIMEDOUT;
}

static int block(struct step *s, struct step_ep *e, enum step_state state, uint64_t until)
{
    struct step_thread *t = s->current;
    t->blocked = e;
    t->until = until;
    t->state = state;
    baton_coro_yield(t->coro);
    return t->wake_rc;
}

static void step_ring(struct baton_layer *l, struct baton_epx *ep, const struct baton_op *ops,
                      unsigned n)
{
    struct step *s = step_of(ep);
    struct step_ep *e = l->state;
    for (unsigned i = 0; i < n; i++) {
        struct step_queue *q = &e->queues[ops[i].node];
        struct step_op *more = realloc(q->ops, (q->n + 1) * sizeof(*more));
        if (more)
            q->ops = more;
        if (!more || baton_epx_peer(ep, ops[i].node)->broken) {
            baton_op_done(ep, &ops[i], more ? -ECANCELED : -ENOMEM, false, NULL);
            continue;
        }
        if (!q->n) {
            q->place = s->busy_n;
            s->busy[s->busy_n++] = q;
        }
        q->ops[q->n++] = (struct step_op){.op = ops[i], .ep = e};
    }
    step_point(s);
}

static void step_advance(struct baton_layer *l, struct baton_epx *ep)
{
    struct step *s = step_of(ep);
    struct step_ep *e = l->state;
    uint64_t pending = ep->pending;
    while (!s->current && ep->pending == pending)
        nic_step(s);
    if (s->current) {
        e->thread = s->current;
        block(s, e, STEP_WORK, UINT64_MAX);
        e->thread = NULL;
    }
}

static int step_reset(struct baton_layer *l, struct baton_epx *ep, unsigned node)
{
    return step_of(ep)->cluster->local[node] ? 0 : -EHOSTDOWN;
}

static uint64_t step_load(struct baton_layer *l, struct baton_epx *ep, const uint64_t *word)
{
    step_point(step_of(ep));
    has_read(l->state, word, *word);
    return *word;
}

static void step_store(struct baton_layer *l, struct baton_epx *ep, uint64_t *word, uint64_t value)
{
    step_point(step_of(ep));
    write_word(step_of(ep), word, value);
}

static uint64_t step_swap(struct baton_layer *l, struct baton_epx *ep, uint64_t *word,
                          uint64_t value)
{
    step_point(step_of(ep));
    uint64_t old = *word;
    write_word(step_of(ep), word, value);
    return old;
}

static uint64_t step_cas(struct baton_layer *l, struct baton_epx *ep, uint64_t *word,
                         uint64_t expected, uint64_t desired)
{
    step_point(step_of(ep));
    uint64_t old = *word;
    has_read(l->state, word, old);
    if (old == expected)
        write_word(step_of(ep), word, desired);
    return old;
}

static uint64_t step_faa(struct baton_layer *l, struct baton_epx *ep, uint64_t *word, uint64_t add)
{
    step_point(step_of(ep));
    uint64_t old = *word;
    write_word(step_of(ep), word, old + add);
    return old;
}

static void step_mfence(struct baton_layer *l, struct baton_epx *ep)
{
    step_point(step_of(ep));
}

static uint64_t step_now(struct baton_layer *l, struct baton_epx *ep)
{
    return step_of(ep)->now;
}

static void step_delay(struct baton_layer *l, struct baton_epx *ep, uint64_t ns)
{
    struct step *s = step_of(ep);
    if (s->current)
        block(s, l->state, STEP_DELAY, s->now + ns);
    else
        s->now += ns;
}

static int step_await(struct baton_layer *l, struct baton_epx *ep, const struct baton_cond *conds,
                      unsigned n, struct baton_wait *wait)
{
    struct step *s = step_of(ep);
    struct step_ep *e = l->state;
    e->reads_n = 0;
    step_point(s);
    finish_alone(s);
    for (unsigned i = 0; i < n; i++)
        if (cond_holds(&conds[i]))
            return 0;
    ep->stats.awaits_blocked++;
    if (!s->current)
        return block_alone(s, wait);
    s->current->conds = conds;
    s->current->conds_n = n;
    s->current->wait = wait;
    return block(s, e, STEP_CONDS, wait->deadline_ns);
}

static int step_relax(struct baton_layer *l, struct baton_epx *ep, struct baton_wait *wait)
{
    struct step *s = step_of(ep);
    struct step_ep *e = l->state;
    int rc = 0;
    finish_alone(s);
    if (!s->current) {
        rc = turn_changed(e) ? 0 : block_alone(s, wait);
    } else {
        s->current->wait = wait;
        rc = block(s, e, STEP_RELAX, wait->deadline_ns);
    }
    e->reads_n = 0;
    return rc;
}

static const struct baton_ep_ops step_ep_ops = {
    .size = sizeof(struct baton_ep_ops),
    .ring = step_ring,
    .advance = step_advance,
    .reset = step_reset,
    .load = step_load,
    .store = step_store,
    .swap = step_swap,
    .cas = step_cas,
    .faa = step_faa,
    .mfence = step_mfence,
    .now = step_now,
    .delay = step_delay,
    .await = step_await,
    .relax = step_relax,
};

static int step_ep_open(struct baton_epx *ep)
{
    struct step *s = step_of(ep);
    struct step_ep *e = calloc(1, sizeof(*e));
    struct step_queue *queues = calloc(ep->nodes, sizeof(*queues));
    struct step_queue **busy = realloc(s->busy, (s->queues + ep->nodes) * sizeof(*busy));
    if (busy)
        s->busy = busy;
    if (!e || !queues || !busy) {
        free(e);
        free(queues);
        return -ENOMEM;
    }
    s->queues += ep->nodes;
    e->epx = ep;
    e->queues = queues;
    ep->world = (struct baton_layer){&step_ep_ops, NULL, e};
    return 0;
}

static void step_ep_close(struct baton_epx *ep)
{
    struct step_ep *e = ep->world.state;
    struct step *s = step_of(ep);
    /* Accepted puts still land: nobody waits for them, but they have been promised. */
    for (unsigned n = 0; n < ep->nodes; n++) {
        while (e->queues[n].n)
            op_step(s, &e->queues[n], 0);
        free(e->queues[n].ops);
    }
    s->queues -= ep->nodes;
    free(e->queues);
    free(e);
}

/* ---- Teams */

static void thread_main(void *arg)
{
    struct step_thread *t = arg;
    t->rc = baton_team_member(t->step->cluster, t->team, t->index);
}

static int step_run(struct baton_cluster *cluster, const struct baton_team *teams, unsigned count)
{
    struct step *s = cluster->world;
    size_t total = 0, made = 0;
    int rc = 0;
    if (s->current || s->threads)
        return baton_fail(-EINVAL, "baton_run inside of baton_run");
    for (unsigned i = 0; i < count; i++)
        total += teams[i].threads;
    s->threads = calloc(total + 1, sizeof(*s->threads));
    s->ready = calloc(total + 1, sizeof(*s->ready));
    if (!s->threads || !s->ready)
        rc = -ENOMEM;
    for (unsigned i = 0; i < count && !rc; i++)
        for (unsigned n = 0; n < teams[i].threads && !rc; n++) {
            struct step_thread *t = &s->threads[made];
            *t = (struct step_thread){.step = s, .team = &teams[i], .index = n};
            t->coro = baton_coro_create(STACK_BYTES, thread_main, t);
            if (!t->coro)
                rc = baton_coro_lacks(made, total);
            else
                s->ready[made++] = t;
        }
    if (!rc) {
        s->threads_n = s->ready_n = made;
        s->hopeless = false;
        s->next_time = UINT64_MAX;
        schedule(s);
    }
    for (size_t i = 0; i < made; i++) {
        if (!rc)
            rc = s->threads[i].rc;
        baton_coro_destroy(s->threads[i].coro);
    }
    free(s->threads);
    free(s->ready);
    s->threads = NULL;
    s->ready = NULL;
    s->threads_n = s->ready_n = 0;
    return rc;
}

/* ---- Clusters, memory, names */

static int step_open(struct baton_cluster *cluster, const struct baton_cluster_opts *opts)
{
    static const char *const no_settings[] = {NULL};
    int rc = baton_options_check(opts->options, no_settings);
    if (rc)
        return rc;
    struct step *s = calloc(1, sizeof(*s));
    rc = s ? baton_local_open(cluster, opts) : -ENOMEM;
    if (rc) {
        free(s);
        return rc;
    }
    s->cluster = cluster;
    s->swap = opts->flags & BATON_CLUSTER_SWAP;
    s->next_time = UINT64_MAX;
    baton_random_init(&s->random, opts->seed);
    cluster->world = s;
    cluster->caps = (struct baton_caps){
        .atomics = BATON_ATOMICS_HCA, .masked = true, .word_atomic = true, .chain_order = !s->swap};
    return 0;
}

static void step_close(struct baton_cluster *cluster)
{
    struct step *s = cluster->world;
    baton_local_fini(&s->local);
    free(s->busy);
    free(s);
}

const struct baton_world_ops baton_world_step = {
    .size = sizeof(struct baton_world_ops),
    .name = "step",
    .open = step_open,
    .close = step_close,
    .node_state = baton_local_node_state,
    .segment_create = baton_local_segment_create,
    .segment_destroy = baton_local_segment_destroy,
    .name_publish = baton_local_name_publish,
    .name_withdraw = baton_local_name_withdraw,
    .name_find = baton_local_name_find,
    .ep_open = step_ep_open,
    .ep_close = step_ep_close,
    .run = step_run,
};

/* SPDX-License-Identifier: MIT */
/* The simulated world, step by step, for second explorers; see second.h. */
#include "second.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/error.h>

/* ---- Steps */

static struct sim_ep *ep_of(const struct sim_thread *t)
{
    return baton_epx(t->ep)->world.state;
}

static struct sim_buffered *oldest(struct sim_thread *t, unsigned i)
{
    return &t->buffer[(t->buffer_first + i) % SIM_BUFFER_MAX];
}

static bool can_go(struct second *w, struct sim_thread *t)
{
    if (t->state == SIM_READY)
        return !t->buffer_n || (t->next.act != SIM_ACT_RMW && t->next.act != SIM_ACT_FENCE);
    return t->state != SIM_ENDED && sim_has_come(w->s, t);
}

/* In how many orders its words may be written. */
static unsigned orders(const struct sim_buffered *b)
{
    if (b->word || b->op.kind != BATON_OP_PUT || b->op.bytes == 8)
        return 1;
    if (b->op.bytes > 16) {
        printf("the second explorers know no puts of more than two words\n");
        exit(1);
    }
    return 2;
}

static void add(struct second_step *out, unsigned *n, struct second_step step)
{
    if (*n == SECOND_STEPS_MAX) {
        printf("more than %u steps are possible in one state\n", SECOND_STEPS_MAX);
        exit(1);
    }
    out[(*n)++] = step;
}

unsigned second_steps(struct second *w, struct second_step *out)
{
    unsigned n = 0;
    for (unsigned t = 0; t < w->p->threads_n; t++) {
        struct sim_thread *thread = w->s->threads[t];
        if (can_go(w, thread))
            add(out, &n, (struct second_step){SECOND_THREAD, t, 0, 0, 0, 0});
        for (unsigned i = 0; sim_can_flush(w->s, thread) && i < orders(oldest(thread, 0)); i++)
            add(out, &n, (struct second_step){SECOND_STORE, t, 0, 0, 0, i});
        for (unsigned node = 0; node < w->p->nodes; node++) {
            struct sim_qp *q = sim_qp_known(ep_of(thread), node);
            for (unsigned at = 0; at < q->nic.n; at++)
                for (int step = 0; step < BATON_NIC_POLL; step++)
                    if (sim_nic_ready(w->s, q, at, step, NULL))
                        add(out, &n,
                            (struct second_step){SECOND_NIC, t, node, q->dropped + at, step, 0});
        }
    }
    return n;
}

struct sim_qp *second_qp(struct second *w, const struct second_step *step, unsigned *at)
{
    struct sim_qp *q = sim_qp_known(ep_of(w->s->threads[step->thread]), step->node);
    *at = (unsigned)(step->entry - q->dropped);
    return q;
}

/* What earlier calls have left below the stack is no part of the state. */
static void clean(struct sim_thread *t)
{
    char *from, *top;
    if (baton_coro_stack(t->coro, &from, &top))
        return;
    size_t below = SIM_STACK_BYTES - (size_t)(top - from);
    memset(from - (below < 4096 ? below : 4096), 0, below < 4096 ? below : 4096);
}

static void go(struct second *w, struct sim_thread *t)
{
    if (t->state != SIM_READY) {
        (void)sim_has_come(w->s, t); /* sets how the wait ends */
        t->state = SIM_READY;
        t->next.act = SIM_ACT_AWAKE;
    }
    clean(t);
    sim_resume(w->s, t);
    if (t->state == SIM_ENDED && t->rc) {
        w->out->failed = true;
        snprintf(w->out->text, sizeof(w->out->text), "thread %u: %s", t->number,
                 baton_strerror(t->rc));
    }
}

void second_take(struct second *w, const struct second_step *step)
{
    struct sim_thread *t = w->s->threads[step->thread];
    unsigned at;
    w->out->steps++;
    w->choice = step->choice;
    switch (step->kind) {
    case SECOND_THREAD:
        go(w, t);
        break;
    case SECOND_STORE:
        sim_flush(w->s, t);
        break;
    default: {
        struct sim_qp *q = second_qp(w, step, &at);
        sim_nic_apply(w->s, q, at, step->step);
        break;
    }
    }
}

bool second_ended(const struct second *w)
{
    bool ended = !w->s->busy_n;
    for (unsigned t = 0; t < w->p->threads_n; t++)
        ended &= w->s->threads[t]->state == SIM_ENDED && !w->s->threads[t]->buffer_n;
    return ended;
}

/* ---- Images: everything, each time */

static void copy(struct second_image *m, void *at, size_t bytes, bool save)
{
    if (!save) {
        memcpy(at, m->at + m->n, bytes);
    } else {
        if (m->n + bytes > m->room) {
            m->room = 2 * (m->n + bytes);
            m->at = realloc(m->at, m->room);
            if (!m->at)
                abort();
        }
        memcpy(m->at + m->n, at, bytes);
    }
    m->n += bytes;
}

static void copy_qp(struct second_image *m, struct sim_qp *q, bool save)
{
    copy(m, &q->numbers, sizeof(q->numbers), save);
    copy(m, &q->dropped, sizeof(q->dropped), save);
    copy(m, &q->nic.n, sizeof(q->nic.n), save);
    unsigned n = q->nic.n;
    copy(m, q->entries, n * sizeof(*q->entries), save);
    copy(m, q->flags, n * sizeof(*q->flags), save);
    copy(m, q->values, n * sizeof(*q->values), save);
    copy(m, q->parts, n * sizeof(*q->parts), save);
    copy(m, &q->place, sizeof(q->place), save);
}

static void copy_thread(struct second *w, struct second_image *m, struct sim_thread *t, bool save)
{
    struct baton_epx *ep = baton_epx(t->ep);
    struct sim_ep *e = ep_of(t);
    char *from, *top;
    copy(m, &t->rc, sizeof(*t) - offsetof(struct sim_thread, rc), save);
    for (unsigned i = 0; i < t->buffer_n; i++)
        copy(m, oldest(t, i), sizeof(*t->buffer), save);
    (void)baton_coro_stack(t->coro, &from, &top);
    copy(m, &from, sizeof(from), save);
    copy(m, from, (size_t)(top - from), save);
    baton_coro_rewind(t->coro, from);
    for (unsigned n = 0; n < ep->nodes; n++)
        copy(m, baton_epx_peer(ep, n), sizeof(struct baton_epx_peer), save);
    copy(m, ep, sizeof(*ep), save);
    copy(m, e, sizeof(*e), save);
    for (unsigned n = 0; n < w->p->nodes; n++)
        copy_qp(m, sim_qp_known(e, n), save);
}

static void copy_node(struct second_image *m, struct baton_node *node, bool save)
{
    copy(m, node->segments[0].memory, baton_arena_extent(node), save);
    for (unsigned i = 1; i < BATON_SEGMENTS_MAX && node->segments[i].base; i++)
        copy(m, node->segments[i].memory, node->segments[i].bytes, save);
}

static void copy_all(struct second *w, struct second_image *m, bool save)
{
    struct sim *s = w->s;
    m->n = 0;
    copy(m, &s->alive, sizeof(s->alive), save);
    copy(m, &s->busy_n, sizeof(s->busy_n), save);
    copy(m, s->busy, s->busy_n * sizeof(*s->busy), save);
    copy(m, s->units, w->p->nodes * sizeof(*s->units), save);
    copy(m, s->unit_words, w->p->nodes * sizeof(*s->unit_words), save);
    for (unsigned t = 0; t < w->p->threads_n; t++)
        copy_thread(w, m, s->threads[t], save);
    for (unsigned n = 0; n < w->p->nodes; n++)
        copy_node(m, s->cluster->local[n], save);
    copy(m, w->p->ghost, w->p->ghost_bytes, save);
}

void second_save(struct second *w, struct second_image *image)
{
    copy_all(w, image, true);
}

void second_load(struct second *w, struct second_image *image)
{
    copy_all(w, image, false);
}

/* ---- The hash: of bytes, but for numbers that only grow, which count from where they are */

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 33;
    h *= UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 29;
}

static uint64_t mix_words(uint64_t h, const void *at, size_t bytes)
{
    const uint64_t *word = at;
    for (size_t i = 0; i < bytes / 8; i++)
        if (word[i])
            h = mix(mix(h, i), word[i]);
    return mix(h, bytes);
}

static uint64_t mix_op(uint64_t h, const struct baton_op *op)
{
    h = mix(h, (uint64_t)op->kind << 48 | (uint64_t)op->flags << 32 | (uint64_t)op->id << 8);
    h = mix(mix(h, op->remote), (uintptr_t)op->local);
    return mix(mix(mix(h, op->value), op->expected), op->bytes);
}

/* Of numbers of operations only the order matters: how many of those that are kept are less. */
static uint64_t rank(const struct second *w, const struct baton_epx *ep, unsigned node,
                     uint64_t number)
{
    const struct baton_epx_peer *peer = baton_epx_peer(ep, node);
    const struct baton_ep_peer *known = &peer->pub;
    uint64_t less = (peer->seq < number) + (peer->fence < number) + (known->written < number) +
                    (known->settled < number);
    for (unsigned i = 0; i < BATON_IDS; i++)
        if (ep->ids[i].proof && ep->ids[i].node == node)
            less += ep->ids[i].proof < number;
    return less;
}

static uint64_t mix_ep(const struct second *w, uint64_t h, const struct baton_epx *ep)
{
    for (unsigned n = 0; n < w->p->nodes; n++) {
        const struct baton_epx_peer *peer = baton_epx_peer(ep, n);
        const struct baton_ep_peer *known = &peer->pub;
        h = mix(mix(h, rank(w, ep, n, peer->fence)), (uint64_t)peer->flags << 32 | peer->pending);
        h = mix(mix(h, rank(w, ep, n, known->written)), rank(w, ep, n, known->settled));
        h = mix(h, known->fetches);
    }
    for (unsigned i = 0; i < BATON_IDS; i++) {
        const struct baton_epx_id *id = &ep->ids[i];
        if (!id->pending && !id->open && !id->fetches && !id->proof)
            continue;
        h = mix(mix(h, i), (uint64_t)id->pending << 32 | id->open);
        h = mix(h, (uint64_t)id->fetches << 32 | (uint64_t)id->node << 16 | id->mixed);
        h = mix(h, id->proof ? rank(w, ep, id->node, id->proof) + 1 : 0);
    }
    for (unsigned i = 0; i < ep->chain_n; i++)
        h = mix_op(h, &ep->chain[i]);
    return mix(h, ep->chain_n);
}

static uint64_t mix_qp(uint64_t h, const struct sim_qp *q)
{
    for (unsigned i = 0; i < q->nic.n; i++) {
        const struct sim_part *p = &q->parts[i];
        h = mix(h, (uint64_t)q->entries[i].kind << 8 | q->flags[i]);
        h = mix(mix(h, (uint64_t)q->values[i].to_local), (uint64_t)q->values[i].to_remote);
        h = mix(mix_op(h, &p->op), (uint64_t)p->pieces << 8 | (uint64_t)p->first << 4 | p->wrote);
        h = mix(mix(h, q->entries[i].remote), q->entries[i].local);
    }
    return mix(h, q->nic.n);
}

static uint64_t mix_thread(const struct second *w, uint64_t h, struct sim_thread *t)
{
    char *from, *top;
    (void)baton_coro_stack(t->coro, &from, &top);
    h = mix(h, (uint64_t)t->state << 8 | t->next.act);
    if (t->state != SIM_ENDED)
        h = mix_ep(w, mix_words(h, from, (size_t)(top - from)), baton_epx(t->ep));
    for (unsigned i = 0; i < t->buffer_n; i++) {
        const struct sim_buffered *b = oldest(t, i);
        h = b->word ? mix(mix(h, (uintptr_t)b->word), b->value) : mix_op(h, &b->op);
    }
    for (unsigned n = 0; n < w->p->nodes; n++)
        h = mix_qp(h, sim_qp_known(ep_of(t), n));
    return mix(h, t->buffer_n);
}

uint64_t second_hash(const struct second *w)
{
    uint64_t h = 1;
    for (unsigned t = 0; t < w->p->threads_n; t++)
        h = mix_thread(w, h, w->s->threads[t]);
    for (unsigned n = 0; n < w->p->nodes; n++) {
        const struct baton_node *node = w->s->cluster->local[n];
        h = mix_words(h, node->segments[0].memory, baton_arena_extent(node));
        for (unsigned i = 1; i < BATON_SEGMENTS_MAX && node->segments[i].base; i++)
            h = mix_words(h, node->segments[i].memory, node->segments[i].bytes);
        h = mix(h, w->s->units[n]);
    }
    h = mix_words(h, w->p->ghost, w->p->ghost_bytes);
    return h ? h : 1;
}

/* ---- Running: our driver takes the place of the one that the cluster was opened with */

static uint64_t now(struct sim *s)
{
    return 0;
}

static int relax(struct sim *s, struct sim_thread *t, struct baton_wait *wait)
{
    const struct second *w = s->driver_state;
    return w->really_polls ? 0 : sim_relax_until_changed(s, t, wait);
}

static void describe(struct sim *s, char *out, size_t bytes)
{
    snprintf(out, bytes, "a second explorer");
}

static unsigned choose(struct sim *s, unsigned n)
{
    const struct second *w = s->driver_state;
    return n == 2 ? w->choice : 0;
}

static int run(struct sim *s)
{
    struct second *w = s->driver_state;
    int rc = 0;
    for (unsigned t = 0; t < w->p->threads_n && !rc; t++) {
        struct sim_thread *thread = s->threads[t];
        clean(thread);
        sim_resume(s, thread);
        if (!thread->ep)
            return thread->rc ? thread->rc : -ENOMEM;
        for (unsigned n = 0; n < w->p->nodes && !rc; n++)
            rc = sim_qp_of(ep_of(thread), n) ? 0 : -ENOMEM;
    }
    if (rc)
        return rc;
    second_save(w, &w->first);
    w->search(w);
    /* Nothing was on its way at first, so that the endpoints can be closed. */
    second_load(w, &w->first);
    for (unsigned t = 0; t < w->p->threads_n; t++) {
        s->threads[t]->buffer_n = 0;
        baton_epx(s->threads[t]->ep)->chain_n = 0;
        baton_epx(s->threads[t]->ep)->pending = 0;
        (void)baton_ep_close(s->threads[t]->ep);
    }
    return 0;
}

static const struct sim_driver driver = {
    .name = "second",
    .run = run,
    .now = now,
    .relax = relax,
    .describe = describe,
    .choose = choose,
    .reads = true,
    .looks = true,
};

static void close_cluster(const struct second_program *p, struct baton_cluster *cluster)
{
    if (p->close)
        p->close(p->arg);
    (void)baton_cluster_close(cluster);
}

static int open_cluster(const struct second_program *p, struct baton_cluster **cluster)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    opts.fabric = "sim";
    opts.options = "driver=exhaustive,misuse=ignore";
    opts.flags = p->flags;
    opts.nodes = p->nodes;
    opts.arena_bytes = 64 << 10;
    int rc = baton_cluster_open(&opts, cluster);
    if (rc)
        return rc;
    rc = p->setup(*cluster, p->arg);
    if (rc)
        close_cluster(p, *cluster);
    return rc;
}

int second_run(struct second *w)
{
    struct baton_cluster *cluster;
    int rc = open_cluster(w->p, &cluster);
    if (rc)
        return rc;
    w->s = cluster->world;
    const struct sim_driver *opened_with = w->s->driver;
    void *state = w->s->driver_state;
    w->s->driver = &driver;
    w->s->driver_state = w;
    w->out->complete = true;
    rc = baton_run(cluster, w->p->team, w->p->threads_n);
    w->s->driver = opened_with;
    w->s->driver_state = state;
    free(w->first.at);
    close_cluster(w->p, cluster);
    return rc;
}

/* ---- The real one */

static const char *real_end(void *arg)
{
    const struct second_program *p = arg;
    p->end(p->arg);
    return NULL;
}

int second_real(const struct second_program *p, struct sim_explore *x, struct second_result *out)
{
    struct baton_cluster *cluster;
    int rc = open_cluster(p, &cluster);
    *out = (struct second_result){0};
    if (rc)
        return rc;
    x->ghost = p->ghost;
    x->ghost_bytes = p->ghost_bytes;
    x->final = real_end;
    x->arg = (void *)(uintptr_t)p;
    rc = sim_explore_attach(cluster, x);
    if (!rc)
        rc = baton_run(cluster, p->team, p->threads_n);
    close_cluster(p, cluster);
    out->complete = x->verdict != SIM_UNKNOWN;
    out->stuck = x->verdict == SIM_VIOLATED && !strncmp(x->text, "deadlock", 8);
    out->failed = x->verdict == SIM_VIOLATED && !out->stuck;
    out->states = x->states;
    out->runs = x->runs;
    out->steps = x->transitions;
    memcpy(out->text, x->text, sizeof(out->text));
    return rc == -EPROTO && x->verdict == SIM_VIOLATED ? 0 : rc;
}

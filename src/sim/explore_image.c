/* SPDX-License-Identifier: MIT */
/*
 * Keeping a state of the simulated world and going back to it.
 *
 * One function walks over all that makes a state, and either copies it away or puts it back. Only parts in use
 * are copied: of stacks what is above the stack pointer, of queue pairs the entries that are there, of work
 * ids those that were used by anybody so far, of memory the words that were written so far (what is found
 * later had its first value until then), and the used part of arenas, where threads also write by hand.
 */
#include "sim/explore_inner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void part(struct bytes *m, void *at, size_t bytes)
{
    if (!bytes)
        return;
    if (!m->saving) {
        memcpy(at, m->at + m->n, bytes);
    } else {
        if (m->n + bytes > m->room) {
            size_t room = 2 * (m->n + bytes) + 4096;
            char *more = realloc(m->at, room);
            if (!more) {
                m->no_memory = true;
                return;
            }
            m->at = more;
            m->room = room;
        }
        memcpy(m->at + m->n, at, bytes);
    }
    m->n += bytes;
}

static unsigned count(struct bytes *m, unsigned now)
{
    uint64_t n = now;
    part(m, &n, sizeof(n));
    return (unsigned)n;
}

static void words_part(struct explore *x, struct bytes *m)
{
    unsigned n = count(m, x->words_n);
    part(m, x->values, n * sizeof(*x->values));
    if (m->saving)
        return;
    for (unsigned i = n; i < x->words_n; i++)
        x->values[i] = x->words[i].initial;
}

/*
 * To memory. What is kept with a thread is its business, unless others write there too: then the thread may
 * not have changed since, and the word has. Nobody writes such words by hand.
 */
static void words_apply(struct explore *x)
{
    for (unsigned i = 0; i < x->words_n; i++) {
        const struct word *w = &x->words[i];
        if (!w->kept || (x->ask->ranges_n && w->uses & ~(USE_LAND | USE_SOURCE)))
            *w->at = x->values[i];
    }
}

static void qp_part(struct bytes *m, struct sim_qp *q)
{
    unsigned n = count(m, q ? 2 * (unsigned)q->nic.n + q->broken : 0);
    if (!q)
        return;
    q->broken = n % 2; /* not before it was made */
    q->nic.n = n /= 2;
    part(m, q->entries, n * sizeof(*q->entries));
    part(m, q->flags, n * sizeof(*q->flags));
    part(m, q->values, n * sizeof(*q->values));
    part(m, q->parts, n * sizeof(*q->parts));
    if (n) {
        part(m, &q->numbers, sizeof(q->numbers));
    }
}

static void ep_part(struct explore *x, struct bytes *m, const struct sim_thread *t)
{
    struct baton_epx *ep = baton_epx(t->ep);
    struct sim_ep *e = ep->world.state;
    for (unsigned n = 0; n < ep->nodes; n++)
        part(m, baton_epx_peer(ep, n), sizeof(struct baton_epx_peer));
    part(m, &ep->round, sizeof(ep->round));
    part(m, &ep->any_stamp, sizeof(ep->any_stamp));
    part(m, &ep->pending, sizeof(ep->pending));
    ep->chain_n = count(m, ep->chain_n);
    /* A thread that is about to ring will read the operations from there. */
    unsigned ops = t->state == SIM_READY && t->next.act == SIM_ACT_RING ? t->next.ops : ep->chain_n;
    part(m, ep->chain, ops * sizeof(*ep->chain));
    if (m->saving)
        for (unsigned i = 0; i < ops; i++) {
            unsigned id = baton_id_index(ep->chain[i].id);
            if (!x->ids_known[id]) {
                x->ids_known[id] = 1;
                x->ids[x->ids_n++] = (uint16_t)id;
            }
        }
    unsigned n = count(m, x->ids_n);
    for (unsigned i = 0; i < n; i++)
        part(m, &ep->ids[x->ids[i]], sizeof(ep->ids[0]));
    for (unsigned i = n; i < x->ids_n && !m->saving; i++)
        memset(&ep->ids[x->ids[i]], 0, sizeof(ep->ids[0]));
    part(m, &e->thread, sizeof(e->thread));
    part(m, &e->busy, sizeof(e->busy));
    for (unsigned i = 0; i < x->nodes; i++)
        qp_part(m, sim_qp_known(e, i));
}

static void thread_part(struct explore *x, struct bytes *m, struct sim_thread *t)
{
    const size_t begin = offsetof(struct sim_thread, rc);
    const size_t end = offsetof(struct sim_thread, watches);
    char *from, *top;
    part(m, (char *)t + begin, end - begin);
    part(m, t->reads, explore_reads(t) * sizeof(*t->reads));
    for (unsigned i = 0; i < t->buffer_n; i++)
        part(m, explore_buffered(t, i), sizeof(*t->buffer));
    struct thread_extra *extra = &x->extra[t->number];
    part(m, extra->digest, x->permutations * sizeof(*extra->digest));
    part(m, &extra->said, sizeof(extra->said));
    part(m, extra->hash, x->permutations * sizeof(*extra->hash));
    part(m, &extra->fresh, 1);
    part(m, extra->knows, x->permutations * sizeof(*extra->knows));
    part(m, &extra->named, 1);
    part(m, &extra->name, sizeof(extra->name));
    part(m, &extra->used, sizeof(extra->used));
    if (!baton_coro_stack(t->coro, &from, &top)) {
        part(m, &from, sizeof(from));
        part(m, from, (size_t)(top - from));
        if (!m->saving)
            baton_coro_rewind(t->coro, from);
    }
    if (t->ep)
        ep_part(x, m, t);
    for (unsigned i = 0; i < x->regions_n; i++)
        if (x->regions[i].thread == (int)t->number)
            part(m, x->regions[i].at, x->regions[i].bytes);
}

static void shared_part(struct explore *x, struct bytes *m)
{
    struct sim *s = x->s;
    m->n = 0;
    for (unsigned i = 0; i < x->regions_n; i++)
        if (x->regions[i].thread < 0)
            part(m, x->regions[i].at, x->regions[i].bytes);
    words_part(x, m);
    part(m, x->memory_hash, x->permutations * sizeof(*x->memory_hash));
    part(m, x->armed, x->threads * sizeof(*x->armed));
    part(m, s->units, x->nodes * sizeof(*s->units));
    part(m, s->unit_words, x->nodes * sizeof(*s->unit_words));
    part(m, &s->alive, sizeof(s->alive));
    s->busy_n = count(m, (unsigned)s->busy_n);
    part(m, s->busy, s->busy_n * sizeof(*s->busy));
    for (size_t i = 0; i < s->busy_n; i++)
        s->busy[i]->place = i;
    if (x->ask->context_bound >= 0) {
        part(m, &x->last, sizeof(x->last));
        part(m, &x->preemptions, sizeof(x->preemptions));
    }
}

static void unuse(struct explore *x, struct kept **kept)
{
    struct kept *k = *kept;
    *kept = NULL;
    if (k && !--k->uses) {
        k->next = x->free_kept;
        x->free_kept = k;
    }
}

static struct kept *use(struct kept *k)
{
    k->uses++;
    return k;
}

/* The thread as it is now: kept before and not changed since, or kept now. */
static struct kept *keep_thread(struct explore *x, unsigned t)
{
    struct kept *k = x->live[t];
    if (k && k->version == x->extra[t].version)
        return use(k);
    unuse(x, &x->live[t]);
    k = x->free_kept;
    if (k)
        x->free_kept = k->next;
    else if (!(k = calloc(1, sizeof(*k)))) {
        x->no_memory = true;
        return NULL;
    }
    size_t before = k->bytes.room;
    k->uses = 1;
    k->version = x->extra[t].version;
    k->bytes.saving = true;
    k->bytes.n = 0;
    thread_part(x, &k->bytes, x->s->threads[t]);
    x->no_memory |= k->bytes.no_memory;
    x->kept_bytes += k->bytes.room - before;
    x->live[t] = k;
    return use(k);
}

void image_save(struct explore *x, struct image *image)
{
    image->shared.saving = true;
    shared_part(x, &image->shared);
    x->no_memory |= image->shared.no_memory;
    for (unsigned t = 0; t < x->threads; t++) {
        unuse(x, &image->threads[t]);
        image->threads[t] = keep_thread(x, t);
    }
}

void image_restore(struct explore *x, struct image *image)
{
    image->shared.saving = false;
    shared_part(x, &image->shared);
    for (unsigned t = 0; t < x->threads; t++) {
        struct kept *k = image->threads[t];
        if (k->version == x->extra[t].version)
            continue;
        k->bytes.saving = false;
        k->bytes.n = 0;
        thread_part(x, &k->bytes, x->s->threads[t]);
        x->extra[t].version = k->version;
        unuse(x, &x->live[t]);
        x->live[t] = use(k);
    }
    words_apply(x);
    x->touched = ~0u;
}

void image_drop(struct explore *x, struct image *image)
{
    for (unsigned t = 0; t < x->threads; t++)
        unuse(x, &image->threads[t]);
}

void images_free(struct explore *x, struct image *image)
{
    image_drop(x, image);
    free(image->shared.at);
    image->shared = (struct bytes){0};
}

static int region_add(struct explore *x, int thread, void *at, size_t bytes)
{
    if (!bytes)
        return 0;
    if (x->regions_n == sizeof(x->regions) / sizeof(x->regions[0]))
        return baton_fail(-EINVAL, "too many nodes to explore");
    x->regions[x->regions_n++] = (struct region){at, bytes, thread};
    return 0;
}

int regions_find(struct explore *x)
{
    int rc = region_add(x, -1, x->ask->ghost, x->ask->ghost_bytes);
    for (unsigned n = 0; n < x->nodes && !rc && !x->ask->ranges_n; n++) {
        struct baton_node *node = x->s->cluster->local[n];
        if (node)
            rc = region_add(x, -1, node->segments[0].memory, baton_arena_extent(node));
    }
    for (unsigned i = 0; i < x->ranges_n && !rc && x->ask->ranges_n; i++) {
        const struct sim_range *r = &x->ranges[i];
        struct baton_node *node = x->s->cluster->local[x->s->threads[r->thread]->team->node];
        void *at;
        rc = baton_ptr(node, r->base, r->bytes, &at);
        if (!rc)
            rc = region_add(x, (int)r->thread, at, r->bytes);
    }
    for (unsigned i = 0; i < x->words_n; i++) {
        struct word *w = &x->words[i];
        w->kept = false;
        for (unsigned k = 0; k < x->regions_n; k++)
            w->kept |= (size_t)((char *)w->at - x->regions[k].at) < x->regions[k].bytes;
    }
    return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * Remote operations on shm: the caller's CPU does them when the doorbell rings.
 *
 * A put is a store and a get a load, and the contract wants them in the order of the chain, with CPU
 * stores made before. Stores stay in order by release, loads by acquire, and a load stays before later
 * stores. What a CPU may exchange is a store with a later load of another word, so the first get behind
 * a store (of the chain, of an earlier chain, or of the program before it rang) has a full fence before
 * it. A read-modify-write is that fence where the CPU says so.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabric/shm_world.h"

/* What an endpoint knows of a node: as long as the state word is `state`, what it has mapped. */
struct shm_ep_peer {
    const uint64_t *state_word;
    uint64_t state;
    unsigned count;
    struct shm_map *maps[BATON_SEGMENTS_MAX]; /* the last used one first */
};

struct shm_ep {
    struct shm_world *world;
    struct shm_ep_peer *peers[]; /* by node; null until the first use */
};

/* ---- Finding the word */

static bool covers(const struct shm_map *m, uint64_t offset)
{
    return offset - m->base < m->bytes;
}

static bool is_live(const struct shm_map *m)
{
    return baton_word_load(m->live) == m->base;
}

/* Puts what is no longer there out of the list, so that nothing stale is held for long. */
static void drop_stale(struct shm_ep *s, struct shm_ep_peer *p, bool all)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < p->count; i++) {
        if (!all && is_live(p->maps[i]))
            p->maps[kept++] = p->maps[i];
        else
            baton_shm_map_put(s->world, p->maps[i]);
    }
    p->count = kept;
}

static int peer_get(struct shm_ep *s, unsigned node, struct shm_ep_peer **out)
{
    struct shm_ep_peer *p = s->peers[node];
    if (!p) {
        p = calloc(1, sizeof(*p));
        if (!p)
            return -ENOMEM;
        p->state_word = &s->world->control.nodes[node].state;
        s->peers[node] = p;
    }
    uint64_t state = baton_word_load(p->state_word);
    if (state != p->state) {
        drop_stale(s, p, true);
        p->state = state;
    }
    *out = p;
    return shm_state_of(state) == BATON_NODE_ALIVE ? 0 : -EHOSTDOWN;
}

static __attribute__((noinline)) int find_slow(struct shm_ep *s, unsigned node, uint64_t offset,
                                               struct shm_map **out)
{
    struct shm_ep_peer *p;
    struct shm_map *m = NULL;
    unsigned i = 0;
    int rc = peer_get(s, node, &p);
    if (rc)
        return rc;
    while (i < p->count && !(covers(p->maps[i], offset) && is_live(p->maps[i])))
        i++;
    if (i < p->count) {
        m = p->maps[i];
    } else {
        drop_stale(s, p, false);
        rc = baton_shm_map_get(s->world, node, offset, &m);
        if (rc)
            return rc;
        /* Live segments of a node do not overlap and are at most as many as the list has room for; one
         * that died since drop_stale looked may still sit in it. */
        if (p->count == BATON_SEGMENTS_MAX)
            baton_shm_map_put(s->world, p->maps[--p->count]);
        i = p->count++;
    }
    p->maps[i] = p->maps[0];
    p->maps[0] = m;
    *out = m;
    return 0;
}

static inline int find(struct shm_ep *s, unsigned node, uint64_t offset, struct shm_map **out)
{
    const struct shm_ep_peer *p = s->peers[node];
    if (__builtin_expect(p && p->count && baton_word_load(p->state_word) == p->state, 1)) {
        struct shm_map *m = p->maps[0];
        if (__builtin_expect(covers(m, offset) && is_live(m), 1)) {
            *out = m;
            return 0;
        }
    }
    return find_slow(s, node, offset, out);
}

static const unsigned rights_for[BATON_OP_KINDS] = {[BATON_OP_PUT] = BATON_WRITE,
                                                    [BATON_OP_GET] = BATON_READ,
                                                    [BATON_OP_RCAS] = BATON_ATOMIC,
                                                    [BATON_OP_RFAA] = BATON_ATOMIC};

static inline int place(struct shm_ep *s, const struct baton_op *op, struct shm_map **map,
                        uint64_t **word)
{
    uint64_t offset = baton_gptr_offset(op->remote);
    int rc = find(s, op->node, offset, map);
    if (__builtin_expect(rc, 0))
        return rc;
    if (__builtin_expect(op->bytes > (*map)->bytes - (offset - (*map)->base), 0))
        return -ERANGE;
    if (__builtin_expect(!((*map)->rights & rights_for[op->kind]), 0))
        return -EACCES;
    *word = (uint64_t *)((*map)->memory + (offset - (*map)->base));
    return 0;
}

/* ---- Doing it */

static void put_words(uint64_t *to, const struct baton_op *op)
{
    const uint64_t *from = op->flags & BATON_OPF_INLINE ? &op->value : op->local;
    for (uint32_t i = 0; i < op->bytes / 8; i++)
        baton_word_store(to + i, baton_word_load(from + i));
}

static void get_words(const struct baton_op *op, const uint64_t *from)
{
    uint64_t *to = op->local;
    for (uint32_t i = 0; i < op->bytes / 8; i++)
        baton_word_store(to + i, baton_word_load(from + i));
}

/* A masked form tries again only when another one has changed the word, so one of them always ends. */
static uint64_t masked(const struct baton_op *op, uint64_t *word, bool *wrote)
{
    uint64_t old = baton_word_load(word), desired;
    while ((*wrote = baton_op_apply(op, old, &desired))) {
        uint64_t seen = baton_word_cas(word, old, desired);
        if (seen == old)
            break;
        old = seen;
    }
    return old;
}

/* Whether a store may still be on its way to memory when the next operation begins. */
static inline bool execute(const struct baton_op *op, uint64_t *word, bool stores, bool *wrote)
{
    uint64_t old;
    switch (op->kind) {
    case BATON_OP_PUT:
        put_words(word, op);
        return true;
    case BATON_OP_GET:
        if (stores)
            baton_fence_full();
        get_words(op, word);
        return false; /* the result goes to memory of this node, which no chain orders */
    default:
        break;
    }
    if (op->flags & BATON_OPF_MASKED) {
        if (stores)
            baton_fence_full(); /* a failing compare is a mere load */
        old = masked(op, word, wrote);
    } else {
        if (stores)
            baton_fence_before_rmw();
        if (op->kind == BATON_OP_RFAA)
            old = baton_word_faa(word, op->value);
        else
            *wrote = (old = baton_word_cas(word, op->expected, op->value)) == op->expected;
    }
    baton_fence_after_rmw();
    baton_word_store(op->local, old);
    return false;
}

static __attribute__((cold, noinline)) void fail(struct baton_epx *ep, const struct baton_op *op,
                                                 int rc, const struct shm_map *map)
{
    char text[96];
    const char *why = text;
    uint64_t offset = baton_gptr_offset(op->remote);
    if (rc == -ERANGE)
        snprintf(text, sizeof(text), "the segment there is %" PRIu64 " bytes from 0x%" PRIx64,
                 map->bytes, map->base);
    else if (rc == -EACCES)
        snprintf(text, sizeof(text), "the segment grants%s%s%s%s",
                 map->rights & BATON_READ ? " read" : "", map->rights & BATON_WRITE ? " write" : "",
                 map->rights & BATON_ATOMIC ? " atomic" : "", map->rights ? "" : " nothing");
    else if (rc == -EKEYREJECTED)
        snprintf(text, sizeof(text), "node %u has no segment at 0x%" PRIx64, op->node, offset);
    else
        why = NULL;
    baton_op_done(ep, op, rc, false, why);
}

static void ring(struct baton_layer *layer, struct baton_epx *ep, const struct baton_op *ops,
                 unsigned n)
{
    struct shm_ep *s = layer->state;
    bool stores = true; /* those of the program, and of earlier chains */
    for (unsigned i = 0; i < n; i++) {
        const struct baton_op *op = &ops[i];
        struct shm_map *map = NULL;
        uint64_t *word = NULL;
        bool wrote = false;
        if (__builtin_expect(ep->peers[op->node].broken, 0)) {
            fail(ep, op, -ECANCELED, NULL);
            continue;
        }
        if (__builtin_expect(op->remote == baton_gfence_word(op->node) &&
                                 op->kind == BATON_OP_GET && op->bytes == 8,
                             0)) {
            /* The state word stands for all that the node shows. */
            struct shm_ep_peer *p;
            int down = peer_get(s, op->node, &p);
            if (down) {
                fail(ep, op, down, NULL);
                continue;
            }
            word = (uint64_t *)(uintptr_t)p->state_word;
        } else {
            int rc = place(s, op, &map, &word);
            if (__builtin_expect(rc, 0)) {
                fail(ep, op, rc, map);
                continue;
            }
        }
        stores = execute(op, word, stores, &wrote);
        baton_op_done(ep, op, 0, wrote, NULL);
    }
}

/* Nothing is ever outstanding: what was rung is done. */
static void advance(struct baton_layer *layer, struct baton_epx *ep) {}

static int reset(struct baton_layer *layer, struct baton_epx *ep, unsigned node)
{
    struct shm_ep_peer *p;
    int rc = peer_get(layer->state, node, &p);
    return rc ? baton_fail(rc, "node %u is dead or absent", node) : 0;
}

static const struct baton_ep_ops shm_ep_ops = {.size = sizeof(shm_ep_ops),
                                               .ring = ring,
                                               .advance = advance,
                                               .reset = reset,
                                               .load = baton_native_load,
                                               .store = baton_native_store,
                                               .swap = baton_native_swap,
                                               .cas = baton_native_cas,
                                               .faa = baton_native_faa,
                                               .mfence = baton_native_mfence,
                                               .now = baton_native_now,
                                               .delay = baton_native_delay,
                                               .await = baton_native_await,
                                               .relax = baton_native_relax};

int baton_shm_ep_open(struct baton_epx *ep)
{
    struct shm_world *w = ep->nodep->cluster->world;
    struct shm_ep *s = calloc(1, sizeof(*s) + w->cluster->nodes * sizeof(s->peers[0]));
    if (!s)
        return -ENOMEM;
    s->world = w;
    ep->world.ops = &shm_ep_ops;
    ep->world.state = s;
    ep->pub.native = 1;
    return 0;
}

void baton_shm_ep_close(struct baton_epx *ep)
{
    struct shm_ep *s = ep->world.state;
    for (unsigned i = 0; i < s->world->cluster->nodes; i++) {
        if (!s->peers[i])
            continue;
        drop_stale(s, s->peers[i], true);
        free(s->peers[i]);
    }
    free(s);
}

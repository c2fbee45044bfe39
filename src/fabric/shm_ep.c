/* SPDX-License-Identifier: MIT */
/*
 * Remote operations on shm: the caller's CPU does them when the doorbell rings. The CPU stores that the
 * contract wants visible first, the program's and those of earlier chains, may still be on their way then.
 */
#include <errno.h>
#include <stdlib.h>

#include "fabric/cpu_op.h"
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

static inline int place(struct shm_ep *s, const struct baton_op *op, struct shm_map **map,
                        uint64_t **word)
{
    uint64_t offset = baton_gptr_offset(op->remote);
    int rc = find(s, op->node, offset, map);
    if (__builtin_expect(rc, 0))
        return rc;
    if (__builtin_expect(op->bytes > (*map)->bytes - (offset - (*map)->base), 0))
        return -ERANGE;
    if (__builtin_expect(!((*map)->rights & baton_cpu_op_rights[op->kind]), 0))
        return -EACCES;
    *word = (uint64_t *)((*map)->memory + (offset - (*map)->base));
    return 0;
}

/* ---- Doing it */

static __attribute__((cold, noinline)) void fail(struct baton_epx *ep, const struct baton_op *op,
                                                 int rc, const struct shm_map *map)
{
    char text[96];
    const char *why = baton_cpu_op_refusal(op, rc, map ? map->base : 0, map ? map->bytes : 0,
                                           map ? map->rights : 0, text, sizeof(text));
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
        if (__builtin_expect(baton_epx_peer(ep, op->node)->broken, 0)) {
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
        stores = baton_cpu_op(op, word, stores, &wrote);
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
                                               BATON_NATIVE_EP_OPS};

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

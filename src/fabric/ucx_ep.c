/* SPDX-License-Identifier: MIT */
/*
 * Endpoints on ucx. The part of a chain that goes to the own node is done here and now in mode am: the
 * node's thread would do it with the same instructions.
 */
#include <errno.h>
#include <stdlib.h>

#include "fabric/cpu_op.h"
#include "fabric/ucx_world.h"

/* ---- The own node */

static void ring_own(struct ucx_node *n, struct baton_epx *ep, const struct baton_op *ops,
                     unsigned count)
{
    bool stores = true; /* those of the program, and of earlier chains */
    uint32_t kinds = 0;
    pthread_rwlock_rdlock(&n->memory);
    for (unsigned i = 0; i < count; i++) {
        const struct baton_op *op = &ops[i];
        struct baton_segment there;
        uint64_t *word;
        bool wrote = false;
        char text[96];
        if (op->node != n->node->index)
            continue;
        int rc = baton_epx_peer(ep, op->node)->broken
                     ? -ECANCELED
                     : baton_ucx_place(n, op, 0, op->bytes, &word, &there);
        if (!rc) {
            stores = baton_cpu_op(op, word, stores, &wrote);
            kinds |= baton_cpu_op_kinds(op, word, wrote);
        }
        baton_op_done(ep, op, rc, wrote,
                      rc == -ECANCELED ? NULL
                                       : baton_cpu_op_refusal(op, rc, there.base, there.bytes,
                                                              there.rights, text, sizeof(text)));
    }
    pthread_rwlock_unlock(&n->memory);
    baton_native_wake(n->node, kinds);
}

/* ---- Others */

static struct ucx_link *link_to(struct ucx_ep *e, unsigned node)
{
    struct ucx_link *l = e->links[node];
    if (l)
        return l;
    l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    l->ep = e;
    l->node = node;
    e->links[node] = l;
    e->used[e->used_n++] = l;
    return l;
}

/*
 * The node may have left, and another one have its number, without an operation that has failed by that:
 * then the way to the new one is made as for the first time.
 */
static void renew(struct ucx_link *l)
{
    if (!l->ucp || baton_ucx_link_is_current(l))
        return;
    baton_ucx_am_hear(l);
    for (uint32_t idle = 0; l->head != l->tail;)
        if (!baton_ucx_link_drain(l))
            baton_ucx_link_wait(l, &idle);
    if (l->failed)
        return;
    baton_ucx_link_disconnect(l);
    l->lost = l->broken = 0;
}

static void ring_link(struct ucx_link *l, const struct baton_op *ops, unsigned n)
{
    renew(l);
    if (!l->ucp && !l->broken && !baton_epx_peer(l->ep->epx, l->node)->broken) {
        int rc = baton_ucx_link_connect(l);
        if (rc)
            baton_ucx_link_break(l, rc, "%s", baton_error_detail());
    }
    baton_ucx_link_room(l, n);
    if (l->ep->n->world->mode == UCX_MODE_AM)
        baton_ucx_am_ring(l, ops, n);
    else
        baton_ucx_rma_ring(l, ops, n);
    if (l->broken)
        baton_ucx_link_drain(l);
}

static void ring_one(struct ucx_ep *e, const struct baton_op *ops, unsigned n)
{
    const unsigned node = ops[0].node;
    if (node == e->n->node->index && e->n->world->mode == UCX_MODE_AM) {
        ring_own(e->n, e->epx, ops, n);
        return;
    }
    struct ucx_link *l = link_to(e, node);
    if (l) {
        ring_link(l, ops, n);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        if (ops[i].node == node)
            baton_op_done(e->epx, &ops[i], i ? -ECANCELED : -ENOMEM, false, NULL);
}

static void ring(struct baton_layer *layer, struct baton_epx *ep, const struct baton_op *ops,
                 unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        bool first = true;
        for (unsigned j = 0; j < i && first; j++)
            first = ops[j].node != ops[i].node;
        if (first)
            ring_one(layer->state, ops + i, n - i);
    }
}

/* Whether the caller waits for all that goes there, also for what is quiet. */
static bool wants_all(const struct baton_epx *ep, unsigned node)
{
    return !ep->awaits || ep->awaits == &baton_epx_peer(ep, node)->pending;
}

static void advance(struct baton_layer *layer, struct baton_epx *ep)
{
    struct ucx_ep *e = layer->state;
    for (uint32_t idle = 0;;) {
        struct ucx_link *waiting = NULL;
        bool any = false;
        for (unsigned i = 0; i < e->used_n; i++) {
            struct ucx_link *l = e->used[i];
            if (l->head == l->tail)
                continue;
            if (wants_all(ep, l->node))
                baton_ucx_am_hear(l);
            any |= baton_ucx_link_drain(l);
            if (l->head == l->tail || any)
                continue;
            if (waiting && idle)
                baton_ucx_link_look(waiting); /* the last one is looked after while waiting */
            waiting = l;
        }
        if (any || !waiting)
            return;
        baton_ucx_link_wait(waiting, &idle);
    }
}

static bool is_idle(struct ucx_link *l)
{
    return l->ep->n->world->mode == UCX_MODE_AM ? l->done == l->next : baton_ucx_rma_idle(l);
}

/* A connection that is still one is used on, once all is answered that was sent over it. */
static int reset(struct baton_layer *layer, struct baton_epx *ep, unsigned node)
{
    struct ucx_ep *e = layer->state;
    const struct ucx_world *w = e->n->world;
    if (baton_net_state(w->net, node) != BATON_NODE_ALIVE)
        return baton_fail(-EHOSTDOWN, "node %u is dead or absent", node);
    if (node == e->n->node->index && w->mode == UCX_MODE_AM)
        return 0;
    struct ucx_link *l = link_to(e, node);
    if (!l)
        return -ENOMEM;
    if (l->ucp)
        baton_ucx_am_hear(l);
    for (uint32_t idle = 0; l->ucp && !l->lost && !is_idle(l);)
        baton_ucx_link_wait(l, &idle);
    int rc = 0;
    l->broken = 0;
    l->failed = false;
    if (!l->ucp || !baton_ucx_link_is_current(l)) {
        baton_ucx_link_disconnect(l);
        rc = baton_ucx_link_connect(l);
    }
    if (rc)
        baton_ucx_link_break(l, rc, "%s", baton_error_detail());
    return rc;
}

static const struct baton_ep_ops ucx_ep_ops = {.size = sizeof(ucx_ep_ops),
                                               .ring = ring,
                                               .advance = advance,
                                               .reset = reset,
                                               BATON_NATIVE_EP_OPS};

/* The lowest place that is free. */
static int take_place(struct ucx_node *n, unsigned *out)
{
    int rc = 0;
    unsigned i = 0;
    pthread_mutex_lock(&n->world->lock);
    while (i < n->places_n && n->places[i])
        i++;
    if (i == n->places_n) {
        bool *more = realloc(n->places, (i + 1) * sizeof(*more));
        if (more) {
            n->places = more;
            n->places_n++;
        } else {
            rc = -ENOMEM;
        }
    }
    if (!rc) {
        n->places[i] = true;
        *out = i;
    }
    pthread_mutex_unlock(&n->world->lock);
    return rc;
}

static void free_place(struct ucx_node *n, unsigned place)
{
    pthread_mutex_lock(&n->world->lock);
    n->places[place] = false;
    pthread_mutex_unlock(&n->world->lock);
}

int baton_ucx_ep_open(struct baton_epx *ep)
{
    struct ucx_world *w = ep->nodep->cluster->world;
    struct ucx_ep *e = calloc(1, sizeof(*e) + w->cluster->nodes * sizeof(e->links[0]));
    if (!e)
        return -ENOMEM;
    e->n = w->nodes[ep->nodep->index];
    e->used = calloc(w->cluster->nodes, sizeof(e->used[0]));
    if (!e->used || take_place(e->n, &e->place)) {
        free(e->used);
        free(e);
        return -ENOMEM;
    }
    e->epx = ep;
    ep->world.ops = &ucx_ep_ops;
    ep->world.state = e;
    ep->pub.native = 1;
    return 0;
}

void baton_ucx_ep_close(struct baton_epx *ep)
{
    struct ucx_ep *e = ep->world.state;
    for (unsigned i = 0; i < e->used_n; i++) {
        baton_ucx_link_disconnect(e->used[i]);
        free(e->used[i]->rma);
        free(e->used[i]);
    }
    if (e->ear.worker)
        baton_ucx_ear_close(&e->ear);
    free_place(e->n, e->place);
    free(e->buffer);
    free(e->used);
    free(e);
}

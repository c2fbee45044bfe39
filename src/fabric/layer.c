/* SPDX-License-Identifier: MIT */
/* Layers that do nothing, and how one gets onto an endpoint. */
#include <errno.h>
#include <stdlib.h>

#include "fabric/layer.h"

static void through_ring(struct baton_layer *l, struct baton_epx *ep, const struct baton_op *ops,
                         unsigned n)
{
    l->inner->ops->ring(l->inner, ep, ops, n);
}

static void through_advance(struct baton_layer *l, struct baton_epx *ep)
{
    l->inner->ops->advance(l->inner, ep);
}

static int through_reset(struct baton_layer *l, struct baton_epx *ep, unsigned node)
{
    return l->inner->ops->reset(l->inner, ep, node);
}

static uint64_t through_load(struct baton_layer *l, struct baton_epx *ep, const uint64_t *word)
{
    return l->inner->ops->load(l->inner, ep, word);
}

static void through_store(struct baton_layer *l, struct baton_epx *ep, uint64_t *word,
                          uint64_t value)
{
    l->inner->ops->store(l->inner, ep, word, value);
}

static uint64_t through_swap(struct baton_layer *l, struct baton_epx *ep, uint64_t *word,
                             uint64_t value)
{
    return l->inner->ops->swap(l->inner, ep, word, value);
}

static uint64_t through_cas(struct baton_layer *l, struct baton_epx *ep, uint64_t *word,
                            uint64_t expected, uint64_t desired)
{
    return l->inner->ops->cas(l->inner, ep, word, expected, desired);
}

static uint64_t through_faa(struct baton_layer *l, struct baton_epx *ep, uint64_t *word,
                            uint64_t add)
{
    return l->inner->ops->faa(l->inner, ep, word, add);
}

static void through_mfence(struct baton_layer *l, struct baton_epx *ep)
{
    l->inner->ops->mfence(l->inner, ep);
}

static uint64_t through_now(struct baton_layer *l, struct baton_epx *ep)
{
    return l->inner->ops->now(l->inner, ep);
}

static void through_delay(struct baton_layer *l, struct baton_epx *ep, uint64_t ns)
{
    l->inner->ops->delay(l->inner, ep, ns);
}

static int through_await(struct baton_layer *l, struct baton_epx *ep,
                         const struct baton_cond *conds, unsigned n, struct baton_wait *wait)
{
    return l->inner->ops->await(l->inner, ep, conds, n, wait);
}

static int through_relax(struct baton_layer *l, struct baton_epx *ep, struct baton_wait *wait)
{
    return l->inner->ops->relax(l->inner, ep, wait);
}

static void through_note(struct baton_layer *l, struct baton_epx *ep, const char *what,
                         uint64_t value, int rc)
{
    if (l->inner->ops->note)
        l->inner->ops->note(l->inner, ep, what, value, rc);
}

static void through_fini(struct baton_layer *l, struct baton_epx *ep)
{
    free(l->state);
    free(l);
}

const struct baton_ep_ops baton_layer_through = {
    .size = sizeof(struct baton_ep_ops),
    .ring = through_ring,
    .advance = through_advance,
    .reset = through_reset,
    .load = through_load,
    .store = through_store,
    .swap = through_swap,
    .cas = through_cas,
    .faa = through_faa,
    .mfence = through_mfence,
    .now = through_now,
    .delay = through_delay,
    .await = through_await,
    .relax = through_relax,
    .note = through_note,
    .fini = through_fini,
};

int baton_layer_push(struct baton_epx *ep, const struct baton_ep_ops *ops, void *state)
{
    struct baton_layer *layer = malloc(sizeof(*layer));
    if (!layer)
        return -ENOMEM;
    *layer = (struct baton_layer){ops, ep->top, state};
    ep->top = layer;
    return 0;
}

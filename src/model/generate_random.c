/* SPDX-License-Identifier: MIT */
/*
 * Random programs. They go where the exhaustive sets do not: shared work ids, results that land in
 * data locations, stores over results, comparisons that expect another operation's constant,
 * registers as operands. Half of the operations go to a place that an earlier one has used, since
 * operations that never meet say nothing about the order between them.
 */
#include "model/generate.h"
#include "model/sketch.h"

#include <string.h>

#include "base/random.h"

struct draw {
    struct baton_random random;
    const struct baton_gen_size *size;
    struct sketch *sketch;
    struct sketch_place used[BATON_GEN_THREADS_MAX * BATON_GEN_OPS_MAX * 3];
    int used_count;
};

static int below(struct draw *d, int n)
{
    return (int)baton_random_below(&d->random, (uint64_t)n);
}

static bool percent(struct draw *d, int p)
{
    return below(d, 100) < p;
}

static int draw_node(struct draw *d, int own)
{
    int loop = d->size->loopback ? 1 : 0;
    int n = below(d, d->sketch->nodes - 1 + loop);
    return !loop && n >= own ? n + 1 : n;
}

/* Any place of `node`: one already in use if the coin says so and there is one. */
static struct sketch_place draw_place(struct draw *d, int node)
{
    struct sketch_place found[BATON_GEN_THREADS_MAX * BATON_GEN_OPS_MAX * 3];
    int n = 0;
    for (int i = 0; i < d->used_count; i++)
        if (d->used[i].node == node)
            found[n++] = d->used[i];
    struct sketch_place p = {(uint8_t)node, (uint8_t)below(d, d->size->locations)};
    if (n && percent(d, 50))
        p = found[below(d, n)];
    d->used[d->used_count++] = p;
    return p;
}

/* A constant of its own, or now and then what an earlier load of the thread found. */
static struct sketch_value draw_value(struct draw *d, int thread, int op)
{
    struct sketch_value v = {.form = SKETCH_OWN};
    const struct sketch_thread *t = &d->sketch->thread[thread];
    if (percent(d, 80))
        return v;
    for (int i = op - 1; i >= 0; i--)
        if (t->op[i].kind == BATON_GEN_LOAD || t->op[i].kind == BATON_GEN_CAS ||
            t->op[i].kind == BATON_GEN_FAA)
            return (struct sketch_value){.form = SKETCH_REGISTER, .op = (uint8_t)i};
    return v;
}

static bool has_constant(uint8_t kind)
{
    return kind == BATON_GEN_STORE || kind == BATON_GEN_PUT || kind == BATON_GEN_RFAA ||
           kind == BATON_GEN_RCAS || kind == BATON_GEN_CAS || kind == BATON_GEN_FAA;
}

static struct sketch_value draw_expect(struct draw *d)
{
    int k = below(d, 4);
    if (k < 2)
        return (struct sketch_value){.form = SKETCH_ZERO};
    if (k == 2)
        return (struct sketch_value){.form = SKETCH_NEVER};
    int thread = below(d, d->sketch->threads), op = below(d, d->sketch->thread[thread].ops);
    if (!has_constant(d->sketch->thread[thread].op[op].kind))
        return (struct sketch_value){.form = SKETCH_ZERO};
    return (struct sketch_value){
        .form = SKETCH_CONSTANT, .thread = (uint8_t)thread, .op = (uint8_t)op};
}

/* Whether the thread has an earlier remote operation, and for a poll one that no poll has taken. */
static bool names_earlier(const struct sketch_thread *t, int op, uint8_t kind)
{
    int remote = 0;
    for (int i = 0; i < op; i++)
        remote += baton_sketch_is_remote(t->op[i].kind) -
                  (kind == BATON_GEN_POLL && t->op[i].kind == BATON_GEN_POLL);
    return remote > 0;
}

static uint8_t draw_kind(struct draw *d, const struct sketch_thread *t, int op)
{
    /* Accesses count three times: with too many fences there is nothing left to order. */
    uint8_t kinds[3 * BATON_GEN_KINDS];
    int n = 0;
    for (int k = 0; k < BATON_GEN_KINDS; k++) {
        uint8_t kind = (uint8_t)k;
        bool fence = kind == BATON_GEN_RFENCE || kind == BATON_GEN_GFENCE;
        bool naming = kind == BATON_GEN_WAIT || kind == BATON_GEN_POLL;
        bool remote = baton_sketch_is_remote(kind) || fence;
        if (!(d->size->kinds >> k & 1) || (remote && d->sketch->nodes == 1 && !d->size->loopback) ||
            (naming && !names_earlier(t, op, kind)))
            continue;
        int weight = fence || naming || kind == BATON_GEN_MFENCE ? 1 : 3;
        while (weight--)
            kinds[n++] = kind;
    }
    /* Nothing but waits was asked for, and there is nothing to wait for: a fence changes nothing.
     */
    return n ? kinds[below(d, n)] : BATON_GEN_MFENCE;
}

static void draw_poll(struct draw *d, struct sketch_thread *t, int op)
{
    int ready[BATON_GEN_NODES_MAX] = {0}, nodes[BATON_GEN_NODES_MAX], n = 0;
    for (int i = 0; i < op; i++) {
        if (baton_sketch_is_remote(t->op[i].kind))
            ready[t->op[i].remote.node]++;
        else if (t->op[i].kind == BATON_GEN_POLL)
            ready[t->op[i].ref]--;
    }
    for (int k = 0; k < d->sketch->nodes; k++)
        if (ready[k] > 0)
            nodes[n++] = k;
    t->op[op].ref = (uint8_t)nodes[below(d, n)];
}

static void draw_wait(struct draw *d, struct sketch_thread *t, int op)
{
    int remote[BATON_GEN_OPS_MAX], n = 0;
    for (int i = 0; i < op; i++)
        if (baton_sketch_is_remote(t->op[i].kind))
            remote[n++] = i;
    t->op[op].ref = t->op[remote[below(d, n)]].id;
}

/* Operations that share an id: one in five takes that of the nearest earlier one. */
static uint8_t draw_id(struct draw *d, const struct sketch_thread *t, int op)
{
    if (percent(d, 20))
        for (int i = op - 1; i >= 0; i--)
            if (baton_sketch_is_remote(t->op[i].kind))
                return t->op[i].id;
    return (uint8_t)op;
}

static void draw_operands(struct draw *d, int thread, int i)
{
    struct sketch_thread *t = &d->sketch->thread[thread];
    struct sketch_op *op = &t->op[i];
    switch (op->kind) {
    case BATON_GEN_MFENCE:
        return;
    case BATON_GEN_WAIT:
        draw_wait(d, t, i);
        return;
    case BATON_GEN_POLL:
        draw_poll(d, t, i);
        return;
    case BATON_GEN_RFENCE:
        op->ref = (uint8_t)draw_node(d, t->node);
        return;
    case BATON_GEN_GFENCE:
        op->nodes = (uint8_t)(1u << draw_node(d, t->node));
        if (percent(d, 25))
            op->nodes |= (uint8_t)(1u << draw_node(d, t->node));
        return;
    }
    if (baton_sketch_is_remote(op->kind)) {
        op->remote = draw_place(d, draw_node(d, t->node));
        op->id = draw_id(d, t, i);
    } else {
        op->local = draw_place(d, t->node);
    }
    if (op->kind == BATON_GEN_PUT && percent(d, 50)) {
        op->value.form = SKETCH_PLACE;
        op->value.place = draw_place(d, t->node);
    } else if (op->kind != BATON_GEN_LOAD && op->kind != BATON_GEN_GET) {
        op->value = draw_value(d, thread, i);
    }
    if (op->kind == BATON_GEN_CAS || op->kind == BATON_GEN_RCAS)
        op->expect = draw_expect(d);
}

static void draw_shape(struct draw *d)
{
    struct sketch *s = d->sketch;
    const struct baton_gen_size *size = d->size;
    /* One node or one thread says little: sizes are drawn from two upwards where there is a choice.
     */
    s->nodes = (uint8_t)(size->nodes < 2 ? 1 : 2 + below(d, size->nodes - 1));
    s->threads = (uint8_t)(size->threads < 2 ? 1 : 2 + below(d, size->threads - 1));
    s->locations = (uint8_t)size->locations;
    int left = size->ops_total ? size->ops_total : size->threads * size->ops;
    if (s->threads > left)
        s->threads = (uint8_t)left;
    for (int t = 0; t < s->threads; t++) {
        int most = left - (s->threads - t - 1);
        if (most > size->ops)
            most = size->ops;
        s->thread[t].node = (uint8_t)below(d, s->nodes);
        s->thread[t].ops = (uint8_t)(1 + below(d, most));
        left -= s->thread[t].ops;
    }
}

void baton_gen_random(const struct baton_gen_size *size, uint64_t seed, uint64_t index,
                      const char *name, char *text)
{
    struct sketch sketch;
    struct draw d = {.size = size, .sketch = &sketch};
    /* The index goes through the mixer too, so that neighbours share nothing. */
    uint64_t state = index;
    baton_random_init(&d.random, seed ^ baton_random_mix(&state));
    memset(&sketch, 0, sizeof(sketch));
    draw_shape(&d);
    /* Kinds and where results go first: operands of one thread may name those of another. */
    for (int t = 0; t < sketch.threads; t++) {
        for (int i = 0; i < sketch.thread[t].ops; i++) {
            struct sketch_op *op = &sketch.thread[t].op[i];
            op->kind = draw_kind(&d, &sketch.thread[t], i);
            if (!baton_sketch_has_result(op->kind))
                continue;
            op->local = (struct sketch_place){sketch.thread[t].node, sketch_result(t, i)};
            if (percent(&d, 15))
                op->local.word = (uint8_t)below(&d, size->locations);
            d.used[d.used_count++] = op->local;
        }
    }
    for (int t = 0; t < sketch.threads; t++)
        for (int i = 0; i < sketch.thread[t].ops; i++)
            draw_operands(&d, t, i);
    baton_sketch_print(&sketch, name, text);
}

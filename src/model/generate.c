/* SPDX-License-Identifier: MIT */
/*
 * All programs of a size. Three odometers, one inside the other: the shape (how many threads,
 * where, how many operations each), the kind of each operation, and the operands of each operation,
 * of which there is a finite list once all kinds are known. The walk visits every renaming of a
 * program; the one that is least among them is kept.
 */
#include "model/generate.h"
#include "model/sketch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* A put to any location from any location, own constant included, is the longest list there is.
     */
    CHOICES_MAX = BATON_GEN_NODES_MAX * BATON_GEN_LOCATIONS_MAX *
                  (1 + BATON_GEN_LOCATIONS_MAX + BATON_GEN_THREADS_MAX * BATON_GEN_OPS_MAX),
    SLOTS_MAX = BATON_GEN_THREADS_MAX * BATON_GEN_OPS_MAX,
};

struct slot {
    uint8_t thread, op;
    uint8_t kind; /* index into the kinds of this generator */
    int choice, choices;
    struct sketch_op list[CHOICES_MAX];
};

struct baton_gen {
    struct baton_gen_size size;
    uint8_t kinds[BATON_GEN_KINDS];
    int kind_count;
    struct sketch sketch;
    int slots;
    struct slot slot[SLOTS_MAX];
    bool started, ended;
};

int baton_gen_size_check(const struct baton_gen_size *s)
{
    if (s->nodes < 1 || s->nodes > BATON_GEN_NODES_MAX || s->threads < 1 ||
        s->threads > BATON_GEN_THREADS_MAX || s->ops < 1 || s->ops > BATON_GEN_OPS_MAX ||
        s->ops_total < 0 || s->locations < 1 || s->locations > BATON_GEN_LOCATIONS_MAX ||
        !s->kinds || s->kinds >> BATON_GEN_KINDS)
        return -EINVAL;
    return 0;
}

int baton_gen_create(const struct baton_gen_size *size, struct baton_gen **gen)
{
    int rc = baton_gen_size_check(size);
    if (rc)
        return rc;
    struct baton_gen *g = calloc(1, sizeof(*g));
    if (!g)
        return -ENOMEM;
    g->size = *size;
    for (int k = 0; k < BATON_GEN_KINDS; k++)
        if (size->kinds >> k & 1)
            g->kinds[g->kind_count++] = (uint8_t)k;
    *gen = g;
    return 0;
}

void baton_gen_destroy(struct baton_gen *gen)
{
    free(gen);
}

static void add(struct slot *slot, const struct sketch_op *op)
{
    slot->list[slot->choices++] = *op;
}

/* The operands of wait, poll and the fences: what they name. */
static void list_names(const struct baton_gen *g, struct slot *slot, struct sketch_op op)
{
    const struct sketch_thread *thread = &g->sketch.thread[slot->thread];
    switch (op.kind) {
    case BATON_GEN_WAIT:
        for (int i = 0; i < slot->op; i++) {
            op.ref = (uint8_t)i;
            if (baton_sketch_is_remote(thread->op[i].kind))
                add(slot, &op);
        }
        break;
    case BATON_GEN_GFENCE:
        for (unsigned set = 1; set < 1u << g->size.nodes; set++) {
            op.nodes = (uint8_t)set;
            if (g->size.loopback || !(set >> thread->node & 1))
                add(slot, &op);
        }
        break;
    default:
        for (int n = 0; n < g->size.nodes; n++) {
            op.ref = (uint8_t)n;
            if (g->size.loopback || n != thread->node)
                add(slot, &op);
        }
    }
}

/*
 * Every place of the thread's node that the operation may read: data, and the result words of the
 * operations of this node's threads. Of its own thread's, only the earlier ones: before it is
 * issued, an operation has no result.
 */
static int list_places(const struct baton_gen *g, const struct slot *slot,
                       struct sketch_place *places)
{
    const struct sketch *s = &g->sketch;
    uint8_t node = s->thread[slot->thread].node;
    int n = 0;
    for (int l = 0; l < g->size.locations; l++)
        places[n++] = (struct sketch_place){node, (uint8_t)l};
    for (int t = 0; t < s->threads; t++) {
        int end = t == slot->thread ? slot->op : s->thread[t].ops;
        if (s->thread[t].node != node)
            continue;
        for (int i = 0; i < end; i++)
            if (baton_sketch_has_result(s->thread[t].op[i].kind))
                places[n++] = (struct sketch_place){node, sketch_result(t, i)};
    }
    return n;
}

static void list_local(const struct baton_gen *g, struct slot *slot, struct sketch_op op)
{
    struct sketch_place places[CHOICES_MAX];
    int n = op.kind == BATON_GEN_LOAD ? list_places(g, slot, places) : 0;
    for (int l = 0; !n && l < g->size.locations; l++)
        places[l] = (struct sketch_place){g->sketch.thread[slot->thread].node, (uint8_t)l};
    if (!n)
        n = g->size.locations;
    if (op.kind != BATON_GEN_LOAD)
        op.value.form = SKETCH_OWN;
    if (op.kind == BATON_GEN_CAS)
        op.expect.form = SKETCH_ZERO;
    for (int i = 0; i < n; i++) {
        op.local = places[i];
        add(slot, &op);
    }
}

static void list_remote(const struct baton_gen *g, struct slot *slot, struct sketch_op op)
{
    uint8_t node = g->sketch.thread[slot->thread].node;
    struct sketch_place sources[CHOICES_MAX];
    int count = op.kind == BATON_GEN_PUT ? list_places(g, slot, sources) : 0;
    op.id = slot->op;
    if (op.kind != BATON_GEN_PUT)
        op.local = (struct sketch_place){node, sketch_result(slot->thread, slot->op)};
    if (op.kind != BATON_GEN_GET)
        op.value.form = SKETCH_OWN;
    for (int n = 0; n < g->size.nodes; n++) {
        if (n == node && !g->size.loopback)
            continue;
        for (int l = 0; l < g->size.locations; l++) {
            struct sketch_op one = op;
            one.remote = (struct sketch_place){(uint8_t)n, (uint8_t)l};
            if (op.kind == BATON_GEN_RCAS) {
                one.expect.form = SKETCH_ZERO;
                add(slot, &one);
                one.expect.form = SKETCH_NEVER;
            }
            add(slot, &one);
            one.value.form = SKETCH_PLACE;
            for (int i = 0; i < count; i++) {
                one.value.place = sources[i];
                add(slot, &one);
            }
        }
    }
}

static void list(const struct baton_gen *g, struct slot *slot)
{
    struct sketch_op op;
    memset(&op, 0, sizeof(op));
    op.kind = g->kinds[slot->kind];
    slot->choices = slot->choice = 0;
    switch (op.kind) {
    case BATON_GEN_STORE:
    case BATON_GEN_LOAD:
    case BATON_GEN_CAS:
    case BATON_GEN_FAA:
        list_local(g, slot, op);
        break;
    case BATON_GEN_MFENCE:
        add(slot, &op);
        break;
    case BATON_GEN_WAIT:
    case BATON_GEN_POLL:
    case BATON_GEN_RFENCE:
    case BATON_GEN_GFENCE:
        list_names(g, slot, op);
        break;
    default:
        list_remote(g, slot, op);
    }
}

/* A poll that no operation answers blocks for ever: each must have an earlier one to take. */
static bool polls_answered(const struct sketch *s)
{
    for (int t = 0; t < s->threads; t++) {
        int ready[BATON_GEN_NODES_MAX] = {0};
        for (int i = 0; i < s->thread[t].ops; i++) {
            const struct sketch_op *op = &s->thread[t].op[i];
            if (baton_sketch_is_remote(op->kind))
                ready[op->remote.node]++;
            else if (op->kind == BATON_GEN_POLL && --ready[op->ref] < 0)
                return false;
        }
    }
    return true;
}

static struct sketch_op *op_of(struct baton_gen *g, const struct slot *slot)
{
    return &g->sketch.thread[slot->thread].op[slot->op];
}

static bool choose_first(struct baton_gen *g)
{
    for (int i = 0; i < g->slots; i++)
        op_of(g, &g->slot[i])->kind = g->kinds[g->slot[i].kind];
    bool any = true;
    for (int i = 0; i < g->slots && any; i++) {
        list(g, &g->slot[i]);
        any = g->slot[i].choices > 0;
    }
    for (int i = 0; i < g->slots && any; i++)
        *op_of(g, &g->slot[i]) = g->slot[i].list[0];
    return any;
}

static bool choose_next(struct baton_gen *g)
{
    for (int i = g->slots - 1; i >= 0; i--) {
        struct slot *slot = &g->slot[i];
        slot->choice = slot->choice + 1 < slot->choices ? slot->choice + 1 : 0;
        *op_of(g, slot) = slot->list[slot->choice];
        if (slot->choice)
            return true;
    }
    return false;
}

/* The next combination of kinds, until one for which every operation has operands. */
static bool kinds_next(struct baton_gen *g)
{
    for (;;) {
        int i = g->slots - 1;
        while (i >= 0 && g->slot[i].kind + 1 == g->kind_count)
            g->slot[i--].kind = 0;
        if (i < 0)
            return false;
        g->slot[i].kind++;
        if (choose_first(g))
            return true;
    }
}

/* Lays out the slots of the present shape; false when there are too many operations. */
static bool shape_apply(struct baton_gen *g)
{
    g->slots = 0;
    for (int t = 0; t < g->sketch.threads; t++)
        for (int i = 0; i < g->sketch.thread[t].ops; i++) {
            struct slot *slot = &g->slot[g->slots++];
            slot->thread = (uint8_t)t;
            slot->op = (uint8_t)i;
            slot->kind = 0;
        }
    return !g->size.ops_total || g->slots <= g->size.ops_total;
}

static bool shape_step(struct baton_gen *g)
{
    struct sketch *s = &g->sketch;
    for (int t = s->threads - 1; t >= 0; t--) {
        struct sketch_thread *thread = &s->thread[t];
        if (thread->ops < g->size.ops) {
            thread->ops++;
            return true;
        }
        thread->ops = 1;
        if (thread->node + 1 < g->size.nodes) {
            thread->node++;
            return true;
        }
        thread->node = 0;
    }
    if (s->threads == g->size.threads)
        return false;
    s->thread[s->threads].node = 0;
    s->thread[s->threads++].ops = 1;
    return true;
}

static bool advance(struct baton_gen *g)
{
    if (g->started && (choose_next(g) || kinds_next(g)))
        return true;
    if (!g->started) {
        g->sketch.nodes = (uint8_t)g->size.nodes;
        g->sketch.locations = (uint8_t)g->size.locations;
        g->started = true;
    }
    while (shape_step(g))
        if (shape_apply(g) && (choose_first(g) || kinds_next(g)))
            return true;
    return false;
}

int baton_gen_next(struct baton_gen *g, const char *name, char *text)
{
    while (!g->ended) {
        g->ended = !advance(g);
        if (!g->ended && polls_answered(&g->sketch) && baton_sketch_is_least(&g->sketch)) {
            if (text)
                baton_sketch_print(&g->sketch, name, text);
            return 1;
        }
    }
    return 0;
}

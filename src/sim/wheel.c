/* SPDX-License-Identifier: MIT */
/*
 * Events in virtual time. With the time as a number of base 4096, an event lies in the wheel of the highest
 * digit in which it differs from now, in the slot of its own digit there. All events of a fast wheel come
 * before all of a slower one, and within a wheel the slots are in order.
 */
#include "sim/wheel.h"

#include <stdlib.h>

/* Events are made many at a time. */
#define CHUNK 127u

struct baton_wheel_chunk {
    struct baton_wheel_chunk *next;
    struct baton_event events[CHUNK];
};

struct baton_wheel *baton_wheel_create(void)
{
    return calloc(1, sizeof(struct baton_wheel));
}

void baton_wheel_destroy(struct baton_wheel *w)
{
    while (w->chunks) {
        struct baton_wheel_chunk *c = w->chunks;
        w->chunks = c->next;
        free(c);
    }
    free(w);
}

struct baton_event *baton_wheel_more(struct baton_wheel *w)
{
    struct baton_wheel_chunk *c = malloc(sizeof(*c));
    if (!c)
        return NULL;
    c->next = w->chunks;
    w->chunks = c;
    for (unsigned i = 0; i < CHUNK; i++) {
        c->events[i].next = w->spare;
        w->spare = &c->events[i];
    }
    return w->spare;
}

/* By the highest digit that differs from now. */
static unsigned wheel_of(const struct baton_wheel *w, uint64_t time)
{
    uint64_t differ = time ^ w->now;
    return differ ? (63 - (unsigned)__builtin_clzll(differ)) / BATON_WHEEL_BITS : 0;
}

/* Where an event of this time lies. */
static struct baton_one_wheel *place_of(struct baton_wheel *w, uint64_t time, unsigned *slot)
{
    unsigned wheel = wheel_of(w, time);
    *slot = (time >> wheel * BATON_WHEEL_BITS) % BATON_WHEEL_SLOTS;
    return &w->wheels[wheel];
}

/* In front of all in its slot. */
static void add_slow(struct baton_one_wheel *o, unsigned slot, struct baton_event *e)
{
    e->next = o->slots[slot];
    o->slots[slot] = e;
    o->used[slot / 64] |= UINT64_C(1) << slot % 64;
    o->words |= UINT64_C(1) << slot / 64;
}

void baton_wheel_put_far(struct baton_wheel *w, struct baton_event *e)
{
    if (e->time < w->far)
        w->far = e->time;
    unsigned slot;
    struct baton_one_wheel *o = place_of(w, e->time, &slot);
    add_slow(o, slot, e);
}

/* The fastest of the slow wheels that has events; null: none has. */
static struct baton_one_wheel *first_slow(struct baton_wheel *w)
{
    for (unsigned i = 1; i < BATON_WHEELS; i++)
        if (w->wheels[i].words)
            return &w->wheels[i];
    return NULL;
}

static uint64_t find_far(struct baton_wheel *w)
{
    const struct baton_one_wheel *o = first_slow(w);
    uint64_t least = UINT64_MAX;
    if (!o)
        return least;
    for (const struct baton_event *e = o->slots[baton_wheel_first(o)]; e; e = e->next)
        least = e->time < least ? e->time : least;
    return least;
}

uint64_t baton_wheel_next_far(struct baton_wheel *w)
{
    if (!w->far)
        w->far = find_far(w);
    return w->next = w->far;
}

/* In the order in which they were put in; null-terminated. */
static struct baton_event *reversed(struct baton_event *e)
{
    struct baton_event *done = NULL, *next;
    for (; e; e = next) {
        next = e->next;
        e->next = done;
        done = e;
    }
    return done;
}

void baton_wheel_deal_out(struct baton_wheel *w, uint64_t time)
{
    while (!w->wheels[0].words) {
        struct baton_one_wheel *o = first_slow(w);
        unsigned bits = (unsigned)(o - w->wheels) * BATON_WHEEL_BITS, slot = baton_wheel_first(o);
        struct baton_event *e = reversed(o->slots[slot]), *next;
        baton_wheel_clear(o, slot);
        w->now = time >> bits << bits;
        for (; e; e = next) {
            next = e->next;
            struct baton_one_wheel *to = place_of(w, e->time, &slot);
            if (to != w->wheels) {
                add_slow(to, slot, e);
                continue;
            }
            if (w->near)
                w->near(w->near_arg, e);
            baton_wheel_add(to, slot, e);
        }
    }
    w->far = 0;
    const struct baton_one_wheel *o = first_slow(w);
    w->walk = o ? o->slots[baton_wheel_first(o)] : NULL;
}

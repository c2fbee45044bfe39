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

static void add(struct baton_wheel *w, struct baton_event *e)
{
    unsigned wheel = wheel_of(w, e->time);
    baton_wheel_add(&w->wheels[wheel], (e->time >> wheel * BATON_WHEEL_BITS) % BATON_WHEEL_SLOTS,
                    e);
}

void baton_wheel_put_far(struct baton_wheel *w, struct baton_event *e)
{
    if (e->time < w->far)
        w->far = e->time;
    add(w, e);
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
    const struct baton_event *last = o->slots[baton_wheel_first(o)], *e = last;
    do {
        e = e->next;
        least = e->time < least ? e->time : least;
    } while (e != last);
    return least;
}

uint64_t baton_wheel_next_far(struct baton_wheel *w)
{
    if (!w->far)
        w->far = find_far(w);
    return w->next = w->far;
}

void baton_wheel_deal_out(struct baton_wheel *w, uint64_t time)
{
    while (!w->wheels[0].words) {
        struct baton_one_wheel *o = first_slow(w);
        unsigned bits = (unsigned)(o - w->wheels) * BATON_WHEEL_BITS, slot = baton_wheel_first(o);
        struct baton_event *last = o->slots[slot], *e, *next = last->next;
        baton_wheel_clear(o, slot);
        w->now = time >> bits << bits;
        do {
            e = next;
            next = e->next;
            add(w, e);
        } while (e != last);
    }
    w->far = 0;
}

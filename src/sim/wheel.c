/* SPDX-License-Identifier: MIT */
/*
 * Events in virtual time. With the time as a number of base 4096, an event lies in the wheel of the highest
 * digit in which it differs from now, in the slot of its own digit there. All events of a fast wheel come
 * before all of a slower one, and within a wheel the slots are in order.
 */
#include "sim/wheel.h"

#include <stdlib.h>

#define DIGIT_BITS 12u
#define SLOTS (1u << DIGIT_BITS)
#define WORDS (SLOTS / 64) /* at most 64: a bit each in `words` */
#define WHEELS ((64 + DIGIT_BITS - 1) / DIGIT_BITS)
#define CHUNK 127u

struct one_wheel {
    uint64_t words;       /* a bit per word of `used` that is not 0 */
    uint64_t used[WORDS]; /* a bit per slot that is not empty */
    struct baton_event *slots[SLOTS]; /* the last event of each; its `next` is the first */
};

/* Events are made many at a time. */
struct chunk {
    struct chunk *next;
    struct baton_event events[CHUNK];
};

struct baton_wheel {
    uint64_t now;  /* no event is earlier */
    uint64_t next; /* time of the next event, if it is known; else 0 */
    uint64_t far;  /* the earliest time in the slow wheels, if it is known; else 0 */
    struct baton_event *spare, *taken;
    struct chunk *chunks;
    struct one_wheel wheels[WHEELS]; /* the fastest first */
};

struct baton_wheel *baton_wheel_create(void)
{
    return calloc(1, sizeof(struct baton_wheel));
}

void baton_wheel_destroy(struct baton_wheel *w)
{
    while (w->chunks) {
        struct chunk *c = w->chunks;
        w->chunks = c->next;
        free(c);
    }
    free(w);
}

static void more_events(struct baton_wheel *w)
{
    struct chunk *c = malloc(sizeof(*c));
    if (!c)
        return;
    c->next = w->chunks;
    w->chunks = c;
    for (unsigned i = 0; i < CHUNK; i++) {
        c->events[i].next = w->spare;
        w->spare = &c->events[i];
    }
}

static inline void slot_add(struct one_wheel *o, unsigned slot, struct baton_event *e)
{
    struct baton_event *last = o->slots[slot];
    if (last) {
        e->next = last->next;
        last->next = e;
    } else {
        e->next = e;
        o->used[slot / 64] |= UINT64_C(1) << slot % 64;
        o->words |= UINT64_C(1) << slot / 64;
    }
    o->slots[slot] = e;
}

static inline void slot_empty(struct one_wheel *o, unsigned slot)
{
    o->slots[slot] = NULL;
    o->used[slot / 64] &= ~(UINT64_C(1) << slot % 64);
    if (!o->used[slot / 64])
        o->words &= ~(UINT64_C(1) << slot / 64);
}

/* The first slot in use. There is one. */
static inline unsigned slot_first(const struct one_wheel *o)
{
    unsigned word = (unsigned)__builtin_ctzll(o->words);
    return word * 64 + (unsigned)__builtin_ctzll(o->used[word]);
}

static inline unsigned wheel_of(const struct baton_wheel *w, uint64_t time)
{
    uint64_t differ = time ^ w->now;
    return differ < SLOTS ? 0 : (63 - (unsigned)__builtin_clzll(differ)) / DIGIT_BITS;
}

static inline void add(struct baton_wheel *w, unsigned wheel, struct baton_event *e)
{
    slot_add(&w->wheels[wheel], e->time >> wheel * DIGIT_BITS & (SLOTS - 1), e);
}

struct baton_event *baton_wheel_put(struct baton_wheel *w, uint64_t time)
{
    if (!w->spare)
        more_events(w);
    struct baton_event *e = w->spare;
    if (!e)
        return NULL;
    w->spare = e->next;
    e->time = time < w->now ? w->now : time;
    if (e->time < w->next)
        w->next = e->time;
    unsigned wheel = wheel_of(w, e->time);
    if (wheel && e->time < w->far)
        w->far = e->time;
    add(w, wheel, e);
    return e;
}

/* The fastest of the slow wheels that has events; null: none has. */
static struct one_wheel *first_slow(struct baton_wheel *w)
{
    for (unsigned i = 1; i < WHEELS; i++)
        if (w->wheels[i].words)
            return &w->wheels[i];
    return NULL;
}

static uint64_t find_far(struct baton_wheel *w)
{
    struct one_wheel *o = first_slow(w);
    uint64_t least = UINT64_MAX;
    if (!o)
        return least;
    struct baton_event *last = o->slots[slot_first(o)], *e = last;
    do {
        e = e->next;
        least = e->time < least ? e->time : least;
    } while (e != last);
    return least;
}

uint64_t baton_wheel_next(struct baton_wheel *w)
{
    if (w->next)
        return w->next;
    if (w->wheels[0].words)
        return w->next = (w->now & ~(uint64_t)(SLOTS - 1)) + slot_first(&w->wheels[0]);
    if (!w->far)
        w->far = find_far(w);
    return w->next = w->far;
}

/* The time of the first slot of a slow wheel has come: its events go where they now belong. */
static void deal_out(struct baton_wheel *w, uint64_t time)
{
    while (!w->wheels[0].words) {
        struct one_wheel *o = first_slow(w);
        unsigned wheel = (unsigned)(o - w->wheels), slot = slot_first(o);
        struct baton_event *last = o->slots[slot], *e, *next = last->next;
        slot_empty(o, slot);
        w->now = time >> wheel * DIGIT_BITS << wheel * DIGIT_BITS;
        do {
            e = next;
            next = e->next;
            add(w, wheel_of(w, e->time), e);
        } while (e != last);
    }
    w->far = 0;
}

struct baton_event *baton_wheel_take(struct baton_wheel *w)
{
    uint64_t time = baton_wheel_next(w);
    struct one_wheel *o = &w->wheels[0];
    if (w->taken) {
        w->taken->next = w->spare;
        w->spare = w->taken;
        w->taken = NULL;
    }
    if (time == UINT64_MAX)
        return NULL;
    if (!o->words)
        deal_out(w, time);
    w->now = time;
    unsigned slot = time & (SLOTS - 1);
    struct baton_event *last = o->slots[slot], *e = last->next;
    last->next = e->next;
    if (e == last) {
        slot_empty(o, slot);
        w->next = 0;
    }
    return w->taken = e;
}

/* SPDX-License-Identifier: MIT */
/*
 * A queue of events in virtual time. A wheel has a slot per nanosecond of the current 4096; the next wheel a
 * slot per 4096 nanoseconds, and so on; a slot of a slow wheel is dealt out to the faster ones when its time
 * comes. So putting and taking cost the same for ten threads and for ten thousand, near and far. Events of one
 * time are taken in the order in which they were put in: runs are reproducible.
 */
#ifndef BATON_SIM_WHEEL_H
#define BATON_SIM_WHEEL_H

#include <stddef.h>
#include <stdint.h>

struct baton_event {
    struct baton_event *next;
    uint64_t time;
    void *what;
    uint64_t detail;
    uint32_t kind, aux;
};

#define BATON_WHEEL_BITS 12u
#define BATON_WHEEL_SLOTS (1u << BATON_WHEEL_BITS)
#define BATON_WHEELS ((64 + BATON_WHEEL_BITS - 1) / BATON_WHEEL_BITS)

struct baton_one_wheel {
    uint64_t words;                        /* a bit per word of `used` that is not 0 */
    uint64_t used[BATON_WHEEL_SLOTS / 64]; /* a bit per slot that is not empty */
    struct baton_event *slots
        [BATON_WHEEL_SLOTS]; /* the last event of each; in the fastest wheel its `next` is the first,
                                      in the slow ones the one before it */
};

struct baton_wheel {
    uint64_t now;  /* no event is earlier */
    uint64_t next; /* time of the next event, if it is known; else 0 */
    uint64_t far;  /* the earliest time in the slow wheels, if it is known; else 0 */
    struct baton_event *spare, *taken;
    struct baton_event *walk; /* one of those that will be dealt out next: see baton_wheel_take */
    /* Told of each event that is dealt out to the fastest wheel. Null. */
    void (*near)(void *arg, const struct baton_event *e);
    void *near_arg;
    struct baton_wheel_chunk *chunks;
    struct baton_one_wheel wheels[BATON_WHEELS]; /* the fastest first */
};

struct baton_wheel *baton_wheel_create(void);
void baton_wheel_destroy(struct baton_wheel *w);

/* What is rare, for the calls below: more spare events; an event of a slow wheel; the next time, looked for;
 * the fastest wheel is empty, and gets the events of this time from a slow one. */
struct baton_event *baton_wheel_more(struct baton_wheel *w);
void baton_wheel_put_far(struct baton_wheel *w, struct baton_event *e);
uint64_t baton_wheel_next_far(struct baton_wheel *w);
void baton_wheel_deal_out(struct baton_wheel *w, uint64_t time);

static inline void baton_wheel_add(struct baton_one_wheel *o, unsigned slot, struct baton_event *e)
{
    struct baton_event *last = o->slots[slot];
    o->slots[slot] = e;
    if (last) {
        e->next = last->next;
        last->next = e;
        return;
    }
    e->next = e;
    o->used[slot / 64] |= UINT64_C(1) << slot % 64;
    o->words |= UINT64_C(1) << slot / 64;
}

static inline void baton_wheel_clear(struct baton_one_wheel *o, unsigned slot)
{
    o->slots[slot] = NULL;
    if (!(o->used[slot / 64] &= ~(UINT64_C(1) << slot % 64)))
        o->words &= ~(UINT64_C(1) << slot / 64);
}

/* The first slot in use. There is one. */
static inline unsigned baton_wheel_first(const struct baton_one_wheel *o)
{
    unsigned word = (unsigned)__builtin_ctzll(o->words);
    return word * 64 + (unsigned)__builtin_ctzll(o->used[word]);
}

/* Not before the time of the event taken last. Null: no memory. */
static inline struct baton_event *baton_wheel_put(struct baton_wheel *w, uint64_t time)
{
    struct baton_event *e = w->spare;
    if (!e && !(e = baton_wheel_more(w)))
        return NULL;
    w->spare = e->next;
    e->time = time < w->now ? w->now : time;
    if (e->time < w->next)
        w->next = e->time;
    if ((e->time ^ w->now) < BATON_WHEEL_SLOTS)
        baton_wheel_add(&w->wheels[0], e->time % BATON_WHEEL_SLOTS, e);
    else
        baton_wheel_put_far(w, e);
    return e;
}

/* The time of the next event; UINT64_MAX: there is none. */
static inline uint64_t baton_wheel_next(struct baton_wheel *w)
{
    if (w->next)
        return w->next;
    if (!w->wheels[0].words)
        return baton_wheel_next_far(w);
    return w->next = w->now - w->now % BATON_WHEEL_SLOTS + baton_wheel_first(&w->wheels[0]);
}

/* Takes the next event, valid until the next call of take. Null: there is none. */
static inline struct baton_event *baton_wheel_take(struct baton_wheel *w)
{
    uint64_t time = baton_wheel_next(w);
    struct baton_one_wheel *o = &w->wheels[0];
    if (w->taken) {
        w->taken->next = w->spare;
        w->spare = w->taken;
        w->taken = NULL;
    }
    if (time == UINT64_MAX)
        return NULL;
    /* Events that were put in long ago are far from the processor, and only each of them shows the next. */
    if (w->walk) {
        w->walk = w->walk->next;
        __builtin_prefetch(w->walk);
    }
    if (!o->words)
        baton_wheel_deal_out(w, time);
    w->now = time;
    unsigned slot = time % BATON_WHEEL_SLOTS;
    struct baton_event *last = o->slots[slot], *e = last->next;
    last->next = e->next;
    if (e == last) {
        baton_wheel_clear(o, slot);
        w->next = 0;
    }
    return w->taken = e;
}

#endif

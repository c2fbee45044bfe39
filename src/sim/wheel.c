/* SPDX-License-Identifier: MIT */
/* Events in virtual time: a wheel for the near ones, a heap for the far ones. */
#include "sim/wheel.h"

#include <stdbool.h>
#include <stdlib.h>

#define SLOTS 16384u /* nanoseconds that the wheel covers */
#define WORDS (SLOTS / 64)


struct baton_wheel {
    uint64_t now, order;
    uint64_t next; /* time of the next event, if it is known; else 0 */
    size_t near;   /* events in the wheel */
    struct baton_event *slots[SLOTS]; /* the last event of each; its `next` is the first */
    uint64_t used[WORDS];            /* a bit per slot that is not empty */
    uint64_t used_words[WORDS / 64]; /* a bit per word of `used` that is not 0 */
    struct baton_event **heap;
    size_t heap_n, heap_room;
    struct baton_event *spare, *taken;
};

struct baton_wheel *baton_wheel_create(void)
{
    return calloc(1, sizeof(struct baton_wheel));
}

void baton_wheel_destroy(struct baton_wheel *w)
{
    while (baton_wheel_take(w)) {
    }
    while (w->spare) {
        struct baton_event *e = w->spare;
        w->spare = e->next;
        free(e);
    }
    free(w->taken);
    free(w->heap);
    free(w);
}

static void wheel_add(struct baton_wheel *w, struct baton_event *e)
{
    unsigned i = e->time % SLOTS;
    struct baton_event *last = w->slots[i];
    if (last) {
        e->next = last->next;
        last->next = e;
    } else {
        e->next = e;
        w->used[i / 64] |= UINT64_C(1) << i % 64;
        w->used_words[i / 4096] |= UINT64_C(1) << i / 64 % 64;
    }
    w->slots[i] = e;
    w->near++;
}

static bool before(const struct baton_event *a, const struct baton_event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static bool heap_add(struct baton_wheel *w, struct baton_event *e)
{
    if (w->heap_n == w->heap_room) {
        size_t room = w->heap_room ? 2 * w->heap_room : 256;
        struct baton_event **more = realloc(w->heap, room * sizeof(*more));
        if (!more)
            return false;
        w->heap = more;
        w->heap_room = room;
    }
    size_t i = w->heap_n++;
    while (i && before(e, w->heap[(i - 1) / 2])) {
        w->heap[i] = w->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    w->heap[i] = e;
    return true;
}

static struct baton_event *heap_take(struct baton_wheel *w)
{
    struct baton_event *top = w->heap[0], *e = w->heap[--w->heap_n];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= w->heap_n)
            break;
        if (child + 1 < w->heap_n && before(w->heap[child + 1], w->heap[child]))
            child++;
        if (!before(w->heap[child], e))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    if (w->heap_n)
        w->heap[i] = e;
    return top;
}

/* What has come within the wheel's reach moves into it. */
static void come_near(struct baton_wheel *w)
{
    while (w->heap_n && w->heap[0]->time < w->now + SLOTS)
        wheel_add(w, heap_take(w));
}

struct baton_event *baton_wheel_put(struct baton_wheel *w, uint64_t time)
{
    struct baton_event *e = w->spare;
    if (e)
        w->spare = e->next;
    else if (!(e = malloc(sizeof(*e))))
        return NULL;
    e->time = time < w->now ? w->now : time;
    e->order = w->order++;
    if (e->time < w->next)
        w->next = e->time;
    if (e->time < w->now + SLOTS) {
        wheel_add(w, e);
    } else if (!heap_add(w, e)) {
        free(e);
        return NULL;
    }
    return e;
}

/* The first used slot at or after `from`, in wheel order. There is one. */
static unsigned next_slot(const struct baton_wheel *w, unsigned from)
{
    unsigned word = from / 64;
    uint64_t bits = w->used[word] & (UINT64_MAX << from % 64);
    if (bits)
        return word * 64 + (unsigned)__builtin_ctzll(bits);
    for (unsigned step = 1; step <= WORDS; step++) {
        unsigned i = (word + step) % WORDS;
        if (!(w->used_words[i / 64] >> i % 64)) {
            /* Nothing in the rest of this group of 64 words. */
            step += 63 - i % 64;
            continue;
        }
        if (w->used[i])
            return i * 64 + (unsigned)__builtin_ctzll(w->used[i]);
    }
    return from;
}

uint64_t baton_wheel_next(struct baton_wheel *w)
{
    if (w->next)
        return w->next;
    unsigned from = (unsigned)(w->now % SLOTS);
    if (w->near)
        w->next = w->now + (next_slot(w, from) + SLOTS - from) % SLOTS;
    else
        w->next = w->heap_n ? w->heap[0]->time : UINT64_MAX;
    return w->next;
}

struct baton_event *baton_wheel_take(struct baton_wheel *w)
{
    uint64_t time = baton_wheel_next(w);
    if (w->taken) {
        w->taken->next = w->spare;
        w->spare = w->taken;
        w->taken = NULL;
    }
    if (time == UINT64_MAX)
        return NULL;
    w->now = time;
    come_near(w);
    unsigned i = (unsigned)(time % SLOTS);
    struct baton_event *last = w->slots[i], *e = last->next;
    last->next = e->next;
    w->near--;
    if (e == last) {
        w->slots[i] = NULL;
        w->next = 0;
        w->used[i / 64] &= ~(UINT64_C(1) << i % 64);
        if (!w->used[i / 64])
            w->used_words[i / 4096] &= ~(UINT64_C(1) << i / 64 % 64);
    }
    w->taken = e;
    return e;
}

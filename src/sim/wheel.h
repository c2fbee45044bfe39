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

struct baton_wheel;

struct baton_wheel *baton_wheel_create(void);
void baton_wheel_destroy(struct baton_wheel *w);

/* Not before the time of the event taken last. Null: no memory. */
struct baton_event *baton_wheel_put(struct baton_wheel *w, uint64_t time);

/* The time of the next event; UINT64_MAX: there is none. */
uint64_t baton_wheel_next(struct baton_wheel *w);

/* Takes the next event, valid until the next call of take. Null: there is none. */
struct baton_event *baton_wheel_take(struct baton_wheel *w);

#endif

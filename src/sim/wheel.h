/* SPDX-License-Identifier: MIT */
/*
 * A queue of events in virtual time. Near events lie in a wheel with one slot per nanosecond, so that
 * inserting and taking cost the same for ten threads and for ten thousand; far ones in a heap until they
 * come near. Events of one time are taken in the order in which they were put in: runs are reproducible.
 */
#ifndef BATON_SIM_WHEEL_H
#define BATON_SIM_WHEEL_H

#include <stddef.h>
#include <stdint.h>

struct baton_event {
    struct baton_event *next;
    uint64_t time, order;
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

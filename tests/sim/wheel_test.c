/* SPDX-License-Identifier: MIT */
/*
 * Shows that the queue of events gives back what was put in, by time and then in the order of putting: random
 * times, near and very far, put in and taken in random mixtures, against a list that is searched. An argument
 * is the seed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "sim/wheel.h"

#define EVENTS 4000u

struct known {
    uint64_t time, order;
};

static struct known list[EVENTS];
static unsigned list_n;
static uint64_t now, order;

/* Evenly over the orders of magnitude, and often the same. */
static uint64_t draw_time(struct baton_random *r)
{
    uint64_t bits = baton_random_below(r, 50);
    return now + (baton_random_next(r) & ((UINT64_C(1) << bits) - 1));
}

static unsigned least(void)
{
    unsigned at = 0;
    for (unsigned i = 1; i < list_n; i++)
        if (list[i].time < list[at].time ||
            (list[i].time == list[at].time && list[i].order < list[at].order))
            at = i;
    return at;
}

static int wrong(const char *what, uint64_t is, uint64_t wanted)
{
    printf("%s is %" PRIu64 ", not %" PRIu64 "\n", what, is, wanted);
    return 1;
}

static int put(struct baton_wheel *w, struct baton_random *r)
{
    uint64_t time = draw_time(r);
    struct baton_event *e = baton_wheel_put(w, time);
    if (!e)
        return wrong("an event", 0, 1);
    e->detail = ++order;
    list[list_n++] = (struct known){time, order};
    return 0;
}

static int take(struct baton_wheel *w)
{
    unsigned at = least();
    struct baton_event *e = baton_wheel_take(w);
    if (!e)
        return wrong("an event", 0, 1);
    if (e->time != list[at].time)
        return wrong("the time", e->time, list[at].time);
    if (e->detail != list[at].order)
        return wrong("the order", e->detail, list[at].order);
    now = e->time;
    list[at] = list[--list_n];
    return 0;
}

static int mixture(uint64_t seed)
{
    struct baton_wheel *w = baton_wheel_create();
    struct baton_random r;
    int failed = !w;
    baton_random_init(&r, seed);
    now = 1;
    for (unsigned phase = 0; phase < 60 && !failed; phase++) {
        uint64_t puts = baton_random_below(&r, 5); /* of 4 */
        for (unsigned i = 0; i < 300 && !failed; i++) {
            if (baton_random_below(&r, 2)) {
                uint64_t wanted = list_n ? list[least()].time : UINT64_MAX;
                uint64_t next = baton_wheel_next(w);
                failed = next != wanted && wrong("the next time", next, wanted);
            }
            if (failed)
                break;
            if (list_n < EVENTS && baton_random_below(&r, 4) < puts)
                failed = put(w, &r);
            else if (list_n)
                failed = take(w);
            else if (baton_wheel_take(w))
                failed = wrong("an event", 1, 0);
        }
    }
    while (list_n && !failed)
        failed = take(w);
    if (w)
        baton_wheel_destroy(w);
    return failed;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, last = argc > 1 ? seed : 20;
    for (; seed <= last; seed++)
        if (mixture(seed)) {
            printf("seed %" PRIu64 "\n", seed);
            return 1;
        }
    return 0;
}

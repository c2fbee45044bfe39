/* SPDX-License-Identifier: MIT */
/*
 * How the threads of a litmus test are disturbed in one round. A round runs many instances of the test, and all
 * that is drawn for it depends on the seed and the number of the round only. What is drawn changes when things
 * happen and where words lie, never what the program says.
 */
#ifndef BATON_BENCH_LITMUS_PACE_H
#define BATON_BENCH_LITMUS_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

struct litmus_pace {
    bool meet;        /* before an instance the threads wait for each other, but not for long */
    unsigned stagger; /* pauses of a thread before an instance, at most */
    unsigned gap;     /* pauses before an operation, at most */
    unsigned ring;    /* of 4 posts so many ring at once, the others when something else does */
    unsigned stride;  /* cache lines from one location to the next */
    bool shuffle;     /* locations and instances are taken in an order that is drawn */
};

#define LITMUS_STRIDE_MAX 4u

void litmus_pace_draw(struct litmus_pace *pace, uint64_t seed, uint64_t round);
void litmus_pace_words(const struct litmus_pace *pace, char *out, size_t bytes);

/* 0 .. n-1 in an order that is drawn, the same for all who draw it in this round; `what` tells orders apart. */
void litmus_pace_order(const struct litmus_pace *pace, uint64_t seed, uint64_t round, unsigned what,
                       uint32_t *order, uint32_t n);

/* The numbers that one thread draws in a round. */
void litmus_pace_thread(struct baton_random *random, uint64_t seed, uint64_t round,
                        unsigned thread);

#endif

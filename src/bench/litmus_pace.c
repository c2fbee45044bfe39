/* SPDX-License-Identifier: MIT */
/* What is drawn for a round. */
#include "bench/litmus_pace.h"

#include <stdio.h>

enum { OF_PACE, OF_THREADS = 16, OF_ORDERS = 1024 };

static void begin(struct baton_random *random, uint64_t seed, uint64_t round, uint64_t what)
{
    uint64_t state = seed;
    state = baton_random_mix(&state) ^ round;
    state = baton_random_mix(&state) ^ what;
    baton_random_init(random, state);
}

static unsigned one_of(struct baton_random *random, const unsigned *from, unsigned n)
{
    return from[baton_random_below(random, n)];
}

void litmus_pace_draw(struct litmus_pace *pace, uint64_t seed, uint64_t round)
{
    static const unsigned staggers[] = {0, 4, 16, 64}, gaps[] = {0, 0, 2, 16, 64},
                          rings[] = {0, 2, 4, 4}, strides[] = {1, 2, LITMUS_STRIDE_MAX};
    struct baton_random r;
    begin(&r, seed, round, OF_PACE);
    pace->meet = baton_random_below(&r, 4) != 0;
    pace->stagger = one_of(&r, staggers, 4);
    pace->gap = one_of(&r, gaps, 5);
    pace->ring = one_of(&r, rings, 4);
    pace->stride = one_of(&r, strides, 3);
    pace->shuffle = baton_random_below(&r, 2);
}

void litmus_pace_words(const struct litmus_pace *pace, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s, stagger %u, gap %u, rings %u of 4, stride %u, %s",
             pace->meet ? "meeting" : "not meeting", pace->stagger, pace->gap, pace->ring,
             pace->stride, pace->shuffle ? "shuffled" : "in order");
}

void litmus_pace_order(const struct litmus_pace *pace, uint64_t seed, uint64_t round, unsigned what,
                       uint32_t *order, uint32_t n)
{
    struct baton_random r;
    begin(&r, seed, round, OF_ORDERS + what);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = pace->shuffle ? (uint32_t)baton_random_below(&r, i + 1) : i;
        order[i] = order[j];
        order[j] = i;
    }
}

void litmus_pace_thread(struct baton_random *random, uint64_t seed, uint64_t round, unsigned thread)
{
    begin(random, seed, round, OF_THREADS + thread);
}

/* SPDX-License-Identifier: MIT */
/*
 * Seeded random numbers (xoshiro256**, seeded by splitmix64). Not for secrets. The same seed gives the
 * same sequence on every machine, which is what a reproducible run stands on.
 */
#ifndef BATON_BASE_RANDOM_H
#define BATON_BASE_RANDOM_H

#include <stdint.h>

struct baton_random {
    uint64_t s[4];
};

static inline uint64_t baton_random_mix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void baton_random_init(struct baton_random *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        r->s[i] = baton_random_mix(&seed);
}

static inline uint64_t baton_random_next(struct baton_random *r)
{
    uint64_t *s = r->s, m = s[1] * 5, result = ((m << 7) | (m >> 57)) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

/* A number in 0 .. n-1, without bias. `n` must not be 0. */
static inline uint64_t baton_random_below(struct baton_random *r, uint64_t n)
{
    uint64_t limit = -n % n, x;
    do
        x = baton_random_next(r);
    while (x < limit);
    return x % n;
}

/* A number in [0, 1). */
static inline double baton_random_unit(struct baton_random *r)
{
    return (double)(baton_random_next(r) >> 11) * 0x1p-53;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Numbers of a litmus test as they lie in memory: multiplied by an odd constant without pattern. Different small
 * numbers then differ all over the word, and a word of which only some bytes have arrived is far from every
 * number that a test has. Sums, remote additions among them, stay sums.
 */
#ifndef BATON_BENCH_LITMUS_SPREAD_H
#define BATON_BENCH_LITMUS_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

static inline int64_t litmus_spread(int64_t number)
{
    return (int64_t)((uint64_t)number * UINT64_C(0x9e3779b97f4a7c15));
}

static inline int64_t litmus_gather(int64_t word)
{
    return (int64_t)((uint64_t)word * UINT64_C(0xf1de83e19937733d)); /* 1 divided by the above */
}

/* Beyond it no number of a test lies, but any mixture of the bytes of two numbers between -8 and 69. */
#define LITMUS_NUMBER_MAX (INT64_C(1) << 32)

static inline bool litmus_is_torn(int64_t number)
{
    return number > LITMUS_NUMBER_MAX || number < -LITMUS_NUMBER_MAX;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Arithmetic of masked atomics. */
#ifndef BATON_BASE_MASKED_H
#define BATON_BASE_MASKED_H

#include <stdint.h>

/*
 * Adds fields that do not carry into each other: a field ends with a bit set in `boundary`. The top bits are
 * left out of the addition, so that no carry leaves a field, and put in by hand.
 */
static inline uint64_t baton_masked_add(uint64_t old, uint64_t add, uint64_t boundary)
{
    uint64_t low = (old & ~boundary) + (add & ~boundary);
    return low ^ ((old ^ add) & boundary);
}

/* `with` where the mask has ones, `old` elsewhere. */
static inline uint64_t baton_masked_merge(uint64_t old, uint64_t with, uint64_t mask)
{
    return (old & ~mask) | (with & mask);
}

#endif

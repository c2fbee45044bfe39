/* SPDX-License-Identifier: MIT */
/*
 * A kind's source compiled again so that its fences can be left out one at a time. A file includes this
 * and then the kind's .c. Every place where the source writes a fence has a number, from 0 on.
 */
#ifndef BATON_TEST_MUTANT_H
#define BATON_TEST_MUTANT_H

#include <baton/lock.h>

/* The place that is left out now, -1 none; and the line of its source, known once it was passed. */
extern int mutant_place, mutant_line;

/* How many places each source has, and the kinds made of it. */
extern const int mutant_farlock_places, mutant_merge_places;
extern const struct baton_lock_ops mutant_farlock, mutant_farlock_g, mutant_merge;

static inline int mutant_fence(int place, int line, int (*fence)(struct baton_ep *, unsigned),
                               struct baton_ep *ep, unsigned node)
{
    if (place != mutant_place)
        return fence(ep, node);
    mutant_line = line;
    return 0;
}

#define baton_order(ep, node) mutant_fence(__COUNTER__, __LINE__, baton_order, ep, node)
#define baton_rfence(ep, node) mutant_fence(__COUNTER__, __LINE__, baton_rfence, ep, node)
#define baton_settle(ep, node) mutant_fence(__COUNTER__, __LINE__, baton_settle, ep, node)

#endif

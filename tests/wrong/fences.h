/* SPDX-License-Identifier: MIT */
/*
 * A kind's source compiled again so that its fences can be left out one at a time: a file includes this and then
 * the kind's .c. Every place where the source writes a fence has a number, from 0 on.
 */
#ifndef BATON_TEST_FENCES_H
#define BATON_TEST_FENCES_H

#include <baton/lock.h>

/* The place that is left out, -1 none; and what stands there, known once it was passed. */
extern int fences_left_out;
extern const char *fences_function, *fences_call;

static inline bool fences_skip(int place, const char *function, const char *call)
{
    if (place != fences_left_out)
        return false;
    fences_function = function;
    fences_call = call;
    return true;
}

#define FENCES_SKIP(call) fences_skip(__COUNTER__, __func__, call)
#define baton_mfence(ep) (FENCES_SKIP("mfence") ? (void)0 : baton_mfence(ep))
#define baton_mfence_after_rmw(ep)                                                                 \
    (FENCES_SKIP("mfence_after_rmw") ? (void)0 : baton_mfence_after_rmw(ep))
#define baton_order(ep, node) (FENCES_SKIP("order") ? 0 : baton_order(ep, node))
#define baton_rfence(ep, node) (FENCES_SKIP("rfence") ? 0 : baton_rfence(ep, node))
#define baton_settle(ep, node) (FENCES_SKIP("settle") ? 0 : baton_settle(ep, node))

struct fences_kind {
    const struct baton_lock_ops *ops;
    int places;
};

#endif

/* SPDX-License-Identifier: MIT */
/* farlock and farlock-g with fences that can be left out; see fences.h. */
#include "fences.h"

#define baton_lock_farlock fences_ops_farlock
#define baton_lock_farlock_g fences_ops_farlock_g
#include "lock/farlock.c"

extern const struct fences_kind fences_farlock;
const struct fences_kind fences_farlock = {&fences_ops_farlock, __COUNTER__};

/* The same places. */
extern const struct fences_kind fences_farlock_g;
const struct fences_kind fences_farlock_g = {&fences_ops_farlock_g, __COUNTER__ - 1};

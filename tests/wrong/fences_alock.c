/* SPDX-License-Identifier: MIT */
/* alock with fences that can be left out; see fences.h. */
#include "fences.h"

#define baton_lock_alock fences_ops_alock
#include "lock/alock.c"

extern const struct fences_kind fences_alock;
const struct fences_kind fences_alock = {&fences_ops_alock, __COUNTER__};

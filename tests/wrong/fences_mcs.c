/* SPDX-License-Identifier: MIT */
/* mcs with fences that can be left out; see fences.h. */
#include "fences.h"

#define baton_lock_mcs fences_ops_mcs
#include "lock/mcs.c"

extern const struct fences_kind fences_mcs;
const struct fences_kind fences_mcs = {&fences_ops_mcs, __COUNTER__};

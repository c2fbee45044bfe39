/* SPDX-License-Identifier: MIT */
/* merge with fences that can be left out; see fences.h. */
#include "fences.h"

#define baton_lock_merge fences_ops_merge
#include "lock/merge.c"

extern const struct fences_kind fences_merge;
const struct fences_kind fences_merge = {&fences_ops_merge, __COUNTER__};

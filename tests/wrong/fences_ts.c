/* SPDX-License-Identifier: MIT */
/* ts with fences that can be left out; see fences.h. */
#include "fences.h"

#define baton_lock_ts fences_ops_ts
#include "lock/ts.c"

extern const struct fences_kind fences_ts;
const struct fences_kind fences_ts = {&fences_ops_ts, __COUNTER__};

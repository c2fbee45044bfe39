/* SPDX-License-Identifier: MIT */
/* merge with fences that can be left out; see mutant.h. */
#include "mutant.h"

#define baton_lock_merge mutant_merge
#include "lock/merge.c"

const int mutant_merge_places = __COUNTER__;

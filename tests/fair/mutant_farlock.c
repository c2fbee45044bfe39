/* SPDX-License-Identifier: MIT */
/* farlock and farlock-g with fences that can be left out; see mutant.h. */
#include "mutant.h"

#define baton_lock_farlock mutant_farlock
#define baton_lock_farlock_g mutant_farlock_g
#include "lock/farlock.c"

const int mutant_farlock_places = __COUNTER__;

/* SPDX-License-Identifier: MIT */
/* The word behind the full fence in builds for the race detector; unused otherwise. */
#include <baton/barrier.h>

extern uint64_t baton_tsan_fence_word;
uint64_t baton_tsan_fence_word;

/* SPDX-License-Identifier: MIT */
#ifndef BATON_TESTS_SLOW_CALLS_H
#define BATON_TESTS_SLOW_CALLS_H

#include <stdint.h>

/* From here on, in this process and those it forks, calls are slow by chance; 0: they are not. */
void slow_calls(uint64_t seed);

#endif

/* SPDX-License-Identifier: MIT */
/* `baton bench`: measures what the library does. */
#ifndef BATON_TOOL_BENCH_H
#define BATON_TOOL_BENCH_H

#include "cmd.h"

extern const struct cmd bench_cmd;
extern const struct cmd bench_lock_cmd;

#endif

/* SPDX-License-Identifier: MIT */
/* The subcommands of `baton litmus`, one file each. */
#ifndef BATON_TOOL_LITMUS_H
#define BATON_TOOL_LITMUS_H

#include "cmd.h"

extern const struct cmd litmus_cmd;
extern const struct cmd litmus_check_cmd;
extern const struct cmd litmus_fmt_cmd;
extern const struct cmd litmus_cross_cmd;
extern const struct cmd litmus_gen_cmd;
extern const struct cmd litmus_run_cmd;

#endif

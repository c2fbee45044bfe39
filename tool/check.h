/* SPDX-License-Identifier: MIT */
/* `baton check`: explores programs exhaustively. */
#ifndef BATON_TOOL_CHECK_H
#define BATON_TOOL_CHECK_H

#include "cmd.h"

extern const struct cmd check_cmd;
extern const struct cmd check_lock_cmd;
extern const struct cmd check_program_cmd;

#endif

/* SPDX-License-Identifier: MIT */
/* `baton clean`: removes what killed clusters left. */
#ifndef BATON_TOOL_CLEAN_H
#define BATON_TOOL_CLEAN_H

#include "cmd.h"

extern const struct cmd clean_cmd;

#endif

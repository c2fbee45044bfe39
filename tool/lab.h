/* SPDX-License-Identifier: MIT */
/* `baton lab`. */
#ifndef BATON_TOOL_LAB_H
#define BATON_TOOL_LAB_H

#include "cmd.h"

extern const struct cmd lab_cmd;

#endif

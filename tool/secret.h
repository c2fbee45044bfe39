/* SPDX-License-Identifier: MIT */
#ifndef BATON_TOOL_SECRET_H
#define BATON_TOOL_SECRET_H

#include "cmd.h"

extern const struct cmd secret_cmd;

#endif

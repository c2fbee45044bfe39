/* SPDX-License-Identifier: MIT */
#ifndef BATON_TOOL_NODE_H
#define BATON_TOOL_NODE_H

#include "cmd.h"

extern const struct cmd node_cmd;

#endif

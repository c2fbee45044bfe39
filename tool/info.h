/* SPDX-License-Identifier: MIT */
/* `baton info`: what this build and this machine can do. */
#ifndef BATON_TOOL_INFO_H
#define BATON_TOOL_INFO_H

#include "cmd.h"

extern const struct cmd info_cmd;

int info_clusters(void);
int info_profile(const char *name);

#endif

/* SPDX-License-Identifier: MIT */
/* Text from outside in what is printed as JSON by hand. */
#ifndef BATON_TOOL_JSON_H
#define BATON_TOOL_JSON_H

#include <stdio.h>

/* With its quotes. */
void json_text(FILE *to, const char *text);

#endif

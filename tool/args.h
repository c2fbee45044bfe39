/* SPDX-License-Identifier: MIT */
/* Numbers given to options: what is not one, or is out of range, ends the command with the range in words. */
#ifndef BATON_TOOL_ARGS_H
#define BATON_TOOL_ARGS_H

#include <argp.h>

double arg_number(struct argp_state *state, const char *option, const char *arg, double least,
                  double most);
long arg_whole(struct argp_state *state, const char *option, const char *arg, long least,
               long most);

#endif

/* SPDX-License-Identifier: MIT */
/* What options are given: what can not be, ends the command with what can, before anything has begun. */
#ifndef BATON_TOOL_ARGS_H
#define BATON_TOOL_ARGS_H

#include <argp.h>
#include <stdint.h>

#define ARG_SETTING_MAX 250 /* characters; the settings of a fabric are read into 256 bytes each */

double arg_number(struct argp_state *state, const char *option, const char *arg, double least,
                  double most);
uint64_t arg_whole(struct argp_state *state, const char *option, const char *arg, uint64_t least,
                   uint64_t most); /* 0x before it: in hexadecimal */
double arg_seconds(struct argp_state *state, const char *option, const char *arg); /* above 0 */

/* The value of an option that becomes a setting of a fabric: a comma would begin another one. */
const char *arg_setting(struct argp_state *state, const char *option, const char *arg);

/* The two below say in the name of `command` what is wrong, and return CMD_USAGE, or CMD_OK. */

/* Settings of the simulated fabric, as baton/sim.h tells them: tries them on a small cluster. */
int arg_sim(const char *command, const char *settings);

/* A folder to write to, made if need be. */
int arg_folder(const char *command, const char *path);

#endif

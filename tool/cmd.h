/* SPDX-License-Identifier: MIT */
/*
 * The subcommands of `baton`. Each lives in a file of its own, describes its options in one argp table
 * (help and bash completion come from that table) and returns the exit status of the command:
 * 0 as expected, 1 not as expected, 2 wrong use or bad input, 3 gave up at a limit ("Unknown").
 */
#ifndef BATON_TOOL_CMD_H
#define BATON_TOOL_CMD_H

#include <argp.h>

enum { CMD_OK = 0, CMD_NOT_AS_EXPECTED = 1, CMD_USAGE = 2, CMD_GAVE_UP = 3 };

struct cmd {
    const char *name;    /* "litmus" */
    const char *summary; /* one line for `baton --help` */
    const struct cmd *const
        *sub;                /* null-terminated table of sub-subcommands, or null; beside it, */
                             /* `run` is for when the next word is the name of a file */
    const struct argp *argp; /* options, for help and completion; null when `sub` is set */
    int (*run)(const struct cmd *self, int argc, char **argv); /* argv[0] is "baton litmus check" */
};

/* Runs argv[1] from the table `subs`; says what exists when there is no such name, and returns 2. */
int cmd_dispatch(const struct cmd *const *subs, const char *prefix, int argc, char **argv);

/* Prints the completion script of `shell` for all commands of the table. */
int cmd_completion(const struct cmd *const *subs, const char *shell);

#endif

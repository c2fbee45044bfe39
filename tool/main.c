/* SPDX-License-Identifier: MIT */
/* The `baton` command: finds the subcommand and hands over to it. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clean.h"
#include "cmd.h"
#include "bench.h"
#include "check.h"
#include "info.h"
#include "lab.h"
#include "litmus.h"
#include "node.h"
#include "secret.h"

static const struct cmd *const commands[] = {
    &bench_cmd,  &check_cmd, &clean_cmd,  &info_cmd, &lab_cmd,
    &litmus_cmd, &node_cmd,  &secret_cmd, NULL,
};

static void list(FILE *to, const struct cmd *const *subs)
{
    for (; *subs; subs++)
        fprintf(to, "  %-10s %s\n", (*subs)->name, (*subs)->summary);
}

static void usage(FILE *to, const struct cmd *const *subs, const char *prefix)
{
    fprintf(to, "Usage: %s COMMAND [OPTION...]\n\nCommands:\n", prefix);
    list(to, subs);
    fprintf(to, "\n%s help COMMAND tells the options of one command.\n", prefix);
}

static const struct cmd *find(const struct cmd *const *subs, const char *name)
{
    for (; *subs; subs++)
        if (!strcmp((*subs)->name, name))
            return *subs;
    return NULL;
}

static int help(const struct cmd *const *subs, const char *prefix, int argc, char **argv)
{
    if (argc < 1) {
        usage(stdout, subs, prefix);
        return CMD_OK;
    }
    const struct cmd *c = find(subs, argv[0]);
    if (!c) {
        fprintf(stderr, "%s: no command \"%s\"; there is:\n", prefix, argv[0]);
        list(stderr, subs);
        return CMD_USAGE;
    }
    char name[128];
    snprintf(name, sizeof(name), "%s %s", prefix, c->name);
    if (c->sub)
        return help(c->sub, name, argc - 1, argv + 1);
    argp_help(c->argp, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK, name);
    return CMD_OK;
}

int cmd_dispatch(const struct cmd *const *subs, const char *prefix, int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr, subs, prefix);
        return CMD_USAGE;
    }
    const char *name = argv[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
        usage(stdout, subs, prefix);
        return CMD_OK;
    }
    if (!strcmp(name, "help"))
        return help(subs, prefix, argc - 2, argv + 2);
    const struct cmd *c = find(subs, name);
    if (!c) {
        fprintf(stderr, "%s: no command \"%s\"; there is:\n", prefix, name);
        list(stderr, subs);
        return CMD_USAGE;
    }
    char full[128];
    snprintf(full, sizeof(full), "%s %s", prefix, c->name);
    bool file = c->run && argc > 2 && *argv[2] != '-' && strchr(argv[2], '.');
    if (c->sub && !file)
        return cmd_dispatch(c->sub, full, argc - 1, argv + 1);
    argv[1] = full;
    return c->run(c, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    argp_err_exit_status = CMD_USAGE;
    if (argc == 2 && !strcmp(argv[1], "--version")) {
        puts("baton " BATON_VERSION);
        return CMD_OK;
    }
    if (argc == 3 && !strcmp(argv[1], "--completion"))
        return cmd_completion(commands, argv[2]);
    return cmd_dispatch(commands, "baton", argc, argv);
}

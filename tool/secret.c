/* SPDX-License-Identifier: MIT */
/* `baton secret new`: makes the file that lets a process join a cluster. */
#include "secret.h"

#include <errno.h>
#include <stdio.h>

#include <baton/error.h>
#include <baton/fabric.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
    const char **path = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (*path)
            argp_error(state, "one FILE at a time");
        *path = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the FILE is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {NULL,
                                 parse,
                                 "FILE",
                                 "Makes FILE with a new secret that only its user may read. Every "
                                 "node of a cluster needs a copy "
                                 "of the same file. A file that is there already is left as it is.",
                                 NULL,
                                 NULL,
                                 NULL};

static int run(const struct cmd *self, int argc, char **argv)
{
    const char *path = NULL;
    argp_parse(&argp, argc, argv, 0, NULL, &path);
    if (!baton_secret_create(path))
        return CMD_OK;
    fprintf(stderr, "baton secret new: %s\n", baton_error_detail());
    return CMD_NOT_AS_EXPECTED;
}

static const struct cmd new_cmd = {"new", "make a secret", NULL, &argp, run};

static const struct cmd *const subs[] = {&new_cmd, NULL};

const struct cmd secret_cmd = {
    .name = "secret", .summary = "the secret that the nodes of a cluster share", .sub = subs};

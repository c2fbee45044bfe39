/* SPDX-License-Identifier: MIT */
/* `baton clean`: removes what killed clusters of this user left in shared memory. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "clean.h"
#include "fabric/shm.h"

struct clean {
    bool verbose;
    char **names;
    int count;
};

struct removed {
    const struct clean *options;
    unsigned files;
    uint64_t bytes;
};

static void count_file(void *arg, const char *path, uint64_t bytes)
{
    struct removed *r = arg;
    r->files++;
    r->bytes += bytes;
    if (r->options->verbose)
        printf("removed %s, %" PRIu64 " bytes\n", path, bytes);
}

static int clean_one(const struct clean *options, const char *name, bool asked_for)
{
    struct removed r = {.options = options};
    int rc = baton_shm_clean(name, count_file, &r);
    if (!rc) {
        printf("cluster %s: removed %u file%s, %" PRIu64 " bytes\n", name, r.files,
               r.files == 1 ? "" : "s", r.bytes);
        return CMD_OK;
    }
    if (rc == -EBUSY && !asked_for) {
        printf("cluster %s: in use, left as it is\n", name);
        return CMD_OK;
    }
    if (rc == -ENOENT && !asked_for) /* its last node has left since we looked */
        return CMD_OK;
    const char *detail = baton_error_detail();
    fprintf(stderr, "baton clean: %s\n", detail[0] ? detail : baton_strerror(rc));
    return rc == -EINVAL ? CMD_USAGE : CMD_NOT_AS_EXPECTED;
}

static int clean_all(const struct clean *options)
{
    char(*names)[BATON_NAME_MAX + 1];
    int n = baton_shm_names(&names), status = CMD_OK;
    if (n < 0) {
        fprintf(stderr, "baton clean: %s\n", baton_error_detail());
        return CMD_NOT_AS_EXPECTED;
    }
    if (!n)
        printf("nothing to clean\n");
    for (int i = 0; i < n; i++) {
        int s = clean_one(options, names[i], false);
        status = s > status ? s : status;
    }
    free(names);
    return status;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct clean *options = state->input;
    switch (key) {
    case 'v':
        options->verbose = true;
        return 0;
    case ARGP_KEY_ARGS:
        options->names = state->argv + state->next;
        options->count = state->argc - state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options_table[] = {
    {"verbose", 'v', NULL, 0, "Name every file that is removed", 0},
    {0},
};

static const struct argp clean_argp = {
    .options = options_table,
    .parser = parse,
    .args_doc = "[NAME...]",
    .doc =
        "Remove what killed clusters of this user left in shared memory. A cluster in which a node "
        "is alive is left as it is."
        "\vWithout NAME: all clusters. Exit status: 0 clean, 1 a named cluster is in use or does "
        "not "
        "exist, 2 wrong use.",
};

static int run(const struct cmd *self, int argc, char **argv)
{
    struct clean options = {0};
    argp_parse(&clean_argp, argc, argv, 0, NULL, &options);
    if (!options.count)
        return clean_all(&options);
    int status = CMD_OK;
    for (int i = 0; i < options.count; i++) {
        int s = clean_one(&options, options.names[i], true);
        status = s > status ? s : status;
    }
    return status;
}

const struct cmd clean_cmd = {
    .name = "clean",
    .summary = "remove what killed clusters left in shared memory",
    .argp = &clean_argp,
    .run = run,
};

/* SPDX-License-Identifier: MIT */
/* `baton litmus gen`: writes generated programs, all of a size or random ones, as .litmus files. */
#include "litmus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "litmus_size.h"

struct gen {
    struct litmus_size size;
    const char *folder; /* null: everything to standard output */
    bool count_only;
};

enum { OPT_OUTPUT = 'o', OPT_COUNT = 'c' };

static const struct argp_option options[] = {
    {"output", OPT_OUTPUT, "DIR", 0, "One file for each program, in folder DIR", 0},
    {"count", OPT_COUNT, NULL, 0, "Only say how many programs there are", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct gen *g = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &g->size;
        return 0;
    case OPT_OUTPUT:
        g->folder = arg;
        return 0;
    case OPT_COUNT:
        g->count_only = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "no argument is expected, found \"%s\"", arg);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {{&litmus_size_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = children,
    .doc =
        "Writes all programs up to a size, each once up to renaming of nodes, threads and "
        "locations; or with --random, random programs, each a function of the seed and its index.",
};

static int write_program(struct gen *g, const char *name, const char *text)
{
    if (!g->folder)
        return printf("%s\n", text) < 0 ? -EIO : 0;
    char path[4096];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s.litmus", g->folder, name) >= sizeof(path))
        return -ENAMETOOLONG;
    FILE *f = fopen(path, "w");
    if (!f)
        return -errno;
    int rc = fputs(text, f) < 0 ? -EIO : 0;
    if (fclose(f) && !rc)
        rc = -EIO;
    return rc;
}

static int random_programs(struct gen *g)
{
    static char text[BATON_GEN_TEXT_MAX];
    char name[LITMUS_NAME_MAX];
    for (uint64_t i = 0; i < g->size.count; i++) {
        litmus_size_name(&g->size, g->size.from + i, name);
        baton_gen_random(&g->size.size, g->size.seed, g->size.from + i, name, text);
        int rc = write_program(g, name, text);
        if (rc)
            return rc;
    }
    return 0;
}

static int all_programs(struct gen *g, uint64_t *written)
{
    static char text[BATON_GEN_TEXT_MAX];
    char name[LITMUS_NAME_MAX];
    struct baton_gen *gen;
    int rc = baton_gen_create(&g->size.size, &gen);
    if (rc)
        return rc;
    for (uint64_t i = 0; *written < g->size.limit; i++) {
        bool want = i >= g->size.from;
        litmus_size_name(&g->size, i, name);
        if (!baton_gen_next(gen, name, want && !g->count_only ? text : NULL))
            break;
        if (want && !g->count_only && (rc = write_program(g, name, text)) != 0)
            break;
        *written += want;
    }
    baton_gen_destroy(gen);
    return rc;
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct gen g = {0};
    litmus_size_init(&g.size);
    argp_parse(self->argp, argc, argv, 0, NULL, &g);
    litmus_size_finish(&g.size);
    if (g.folder && !g.count_only && mkdir(g.folder, 0777) && errno != EEXIST) {
        fprintf(stderr, "%s: cannot make folder %s: %s\n", argv[0], g.folder, strerror(errno));
        return CMD_USAGE;
    }
    uint64_t written = g.size.count;
    int rc = 0;
    if (!g.size.random) {
        written = 0;
        rc = all_programs(&g, &written);
    } else if (!g.count_only) {
        rc = random_programs(&g);
    }
    if (rc || fflush(stdout)) {
        fprintf(stderr, "%s: cannot write: %s\n", argv[0], strerror(rc ? -rc : errno));
        return CMD_USAGE;
    }
    char what[256];
    litmus_size_describe(&g.size, what, sizeof(what));
    fprintf(g.count_only ? stdout : stderr, "%" PRIu64 " programs: %s\n", written, what);
    return CMD_OK;
}

const struct cmd litmus_gen_cmd = {
    .name = "gen",
    .summary = "generate programs: all up to a size, or random ones",
    .argp = &argp,
    .run = run,
};

/* SPDX-License-Identifier: MIT */
/* `baton litmus gen`: writes generated programs, all of a size or random ones, as .litmus files. */
#include "litmus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "base/clock.h"
#include "litmus_file.h"
#include "litmus_size.h"

struct gen {
    struct litmus_size size;
    const char *folder; /* null: everything to standard output */
    bool count_only;
    double timeout_s; /* 0: no limit */
    bool tells;       /* how far it is, on a terminal */
    double begin, told;
    bool cut, late; /* not all programs were looked at; since the time was over */
};

enum { OPT_OUTPUT = 'o', OPT_COUNT = 'c', OPT_TIMEOUT = 512 };

static const struct argp_option options[] = {
    {"output", OPT_OUTPUT, "DIR", 0, "One file for each program, in folder DIR", 0},
    {"count", OPT_COUNT, NULL, 0, "Only say how many programs there are", 0},
    {"timeout", OPT_TIMEOUT, "SECONDS", 0, "Give up after so long", 0},
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
    case OPT_TIMEOUT:
        g->timeout_s = arg_seconds(state, "timeout", arg);
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

/* False once the time is over. A clock is not read for every program. */
static bool go_on(struct gen *g, uint64_t index, uint64_t written)
{
    if (index % 256)
        return true;
    double now = baton_clock_s(CLOCK_MONOTONIC);
    if (g->tells && now - g->told >= 0.5) {
        fprintf(stderr, "\r\033[K%" PRIu64 " programs", written);
        g->told = now;
    }
    g->late = g->timeout_s && now - g->begin >= g->timeout_s;
    return !g->late;
}

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

static int random_programs(struct gen *g, uint64_t *written)
{
    static char text[BATON_GEN_TEXT_MAX];
    char name[LITMUS_NAME_MAX];
    for (uint64_t i = 0; i < g->size.count && go_on(g, i, i); i++) {
        litmus_size_name(&g->size, g->size.from + i, name);
        baton_gen_random(&g->size.size, g->size.seed, g->size.from + i, name, text);
        int rc = write_program(g, name, text);
        if (rc)
            return rc;
        *written = i + 1;
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
    for (uint64_t i = 0; !g->cut; i++) {
        bool want = i >= g->size.from;
        litmus_size_name(&g->size, i, name);
        if (!baton_gen_next(gen, name, want && !g->count_only ? text : NULL))
            break;
        if (*written == g->size.limit || !go_on(g, i, *written)) {
            g->cut = true;
            break;
        }
        if (want && !g->count_only && (rc = write_program(g, name, text)) != 0)
            break;
        *written += want;
    }
    baton_gen_destroy(gen);
    return rc;
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct gen g = {.begin = baton_clock_s(CLOCK_MONOTONIC)};
    litmus_size_init(&g.size);
    argp_parse(self->argp, argc, argv, 0, NULL, &g);
    litmus_size_finish(&g.size);
    if (g.folder && !g.count_only && arg_folder(argv[0], g.folder))
        return CMD_USAGE;
    /* Where the programs themselves scroll by, they are progress enough. */
    g.tells = isatty(STDERR_FILENO) && (g.folder || g.count_only || !isatty(STDOUT_FILENO));
    g.told = g.begin;
    uint64_t written = 0;
    int rc = 0;
    if (!g.size.random)
        rc = all_programs(&g, &written);
    else if (g.count_only)
        written = g.size.count;
    else
        rc = random_programs(&g, &written);
    if (g.tells)
        fputs("\r\033[K", stderr);
    if (rc || fflush(stdout)) {
        fprintf(stderr, "%s: cannot write: %s\n", argv[0], strerror(rc ? -rc : errno));
        return CMD_USAGE;
    }
    char what[256];
    litmus_size_describe(&g.size, what, sizeof(what));
    fprintf(g.count_only ? stdout : stderr, "%s%" PRIu64 " programs%s: %s\n",
            g.count_only && g.cut ? "at least " : "", written,
            g.late ? " when the time was over" : "", what);
    return g.late ? CMD_GAVE_UP : CMD_OK;
}

const struct cmd litmus_gen_cmd = {
    .name = "gen",
    .summary = "generate programs: all up to a size, or random ones",
    .argp = &argp,
    .run = run,
};

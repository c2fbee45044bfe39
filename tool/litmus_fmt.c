/* SPDX-License-Identifier: MIT */
/* `baton litmus fmt`: puts litmus tests into their one form, or says which are not in it. */
#include "litmus.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "litmus_file.h"

struct fmt {
    bool in_place, check;
    struct litmus_paths paths;
};

static const struct argp_option options[] = {
    {"in-place", 'i', NULL, 0, "Rewrite the files that change", 0},
    {"check", 'c', NULL, 0,
     "Write nothing; name the files that would change, and exit 1 if any would", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct fmt *f = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &f->paths;
        return 0;
    case 'i':
        f->in_place = true;
        return 0;
    case 'c':
        f->check = true;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {{.argp = &litmus_paths_argp}, {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = children,
    .args_doc = "FILE|DIR...",
    .doc = "Writes the tests in their one form, in aligned columns, to standard output.",
};

static char *formatted(const struct baton_program *program)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    baton_program_print(program, to);
    if (fclose(to)) {
        free(text);
        return NULL;
    }
    return text;
}

static bool file_is(const char *path, const char *text)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    int c;
    while ((c = getc(f)) != EOF && c == (unsigned char)*text)
        text++;
    fclose(f);
    return c == EOF && !*text;
}

/* Through a new file beside the old one, so that a full disk cannot lose a test. */
static int rewrite(const char *path, const char *text)
{
    char *fresh;
    if (asprintf(&fresh, "%s.new", path) < 0)
        return -ENOMEM;
    FILE *f = fopen(fresh, "w");
    int rc = f ? 0 : -errno;
    if (f) {
        if (fputs(text, f) < 0)
            rc = -EIO;
        if (fclose(f) && !rc)
            rc = -errno;
        if (!rc && rename(fresh, path))
            rc = -errno;
        if (rc)
            unlink(fresh);
    }
    free(fresh);
    if (rc)
        fprintf(stderr, "%s: %s\n", path, strerror(-rc));
    return rc;
}

static int fmt_one(const struct fmt *f, const char *path)
{
    struct baton_program program;
    if (litmus_read(path, &program))
        return CMD_USAGE;
    char *text = formatted(&program);
    baton_program_fini(&program);
    if (!text) {
        fprintf(stderr, "%s: %s\n", path, strerror(ENOMEM));
        return CMD_USAGE;
    }
    int status = CMD_OK;
    if (!f->in_place && !f->check) {
        fputs(text, stdout);
    } else if (!file_is(path, text)) {
        if (f->check) {
            puts(path);
            status = CMD_NOT_AS_EXPECTED;
        } else if (rewrite(path, text)) {
            status = CMD_USAGE;
        }
    }
    free(text);
    return status;
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct fmt f = {0};
    argp_parse(self->argp, argc, argv, 0, NULL, &f);
    int status = f.paths.failed ? CMD_USAGE : CMD_OK;
    for (size_t i = 0; i < f.paths.n; i++) {
        int one = fmt_one(&f, f.paths.path[i]);
        status = one > status ? one : status;
    }
    litmus_paths_fini(&f.paths);
    return status;
}

const struct cmd litmus_fmt_cmd = {
    .name = "fmt",
    .summary = "put litmus tests into their one form",
    .argp = &argp,
    .run = run,
};

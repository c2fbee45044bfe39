/* SPDX-License-Identifier: MIT */
/* Litmus tests in files. */
#include "litmus_file.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/parse.h"

enum { FILE_SIZE_MAX = 1 << 20 };

static const char suffix[] = ".litmus";

static bool has_suffix(const char *path)
{
    size_t n = strlen(path);
    return n > strlen(suffix) && !strcmp(path + n - strlen(suffix), suffix);
}

static int complain(const char *path, int rc)
{
    fprintf(stderr, "%s: %s\n", path, strerror(-rc));
    return rc;
}

static int add_path(struct litmus_paths *paths, const char *path, bool found)
{
    char **grown = realloc(paths->path, (paths->n + 1) * sizeof(*grown));
    if (grown)
        paths->path = grown;
    bool *more = grown ? realloc(paths->found, (paths->n + 1) * sizeof(*more)) : NULL;
    if (more)
        paths->found = more;
    char *copy = more ? strdup(path) : NULL;
    if (!copy)
        return -ENOMEM;
    paths->path[paths->n] = copy;
    paths->found[paths->n++] = found;
    return 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

int litmus_paths_add(struct litmus_paths *paths, const char *path)
{
    char *const roots[] = {(char *)path, NULL};
    size_t before = paths->n;
    int rc = 0;
    FTS *fts = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    if (!fts)
        return complain(path, -errno);
    for (FTSENT *e; !rc && (errno = 0, e = fts_read(fts));) {
        if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
            rc = complain(e->fts_path, -e->fts_errno);
        else if (e->fts_info == FTS_D || e->fts_info == FTS_DP || e->fts_info == FTS_DC)
            continue;
        /* What was named is taken whatever it is called; in folders only the suffix says what is a
         * test. */
        else if (e->fts_level == 0 || has_suffix(e->fts_path))
            rc = add_path(paths, e->fts_path, e->fts_level > 0);
        else
            paths->n_others++;
    }
    if (!rc && errno)
        rc = complain(path, -errno);
    fts_close(fts);
    if (!rc && paths->n == before) {
        fprintf(stderr, "%s: no file named *%s in this folder\n", path, suffix);
        rc = -ENOENT;
    }
    return rc;
}

static error_t parse_path(int key, char *arg, struct argp_state *state)
{
    struct litmus_paths *paths = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        paths->failed |= litmus_paths_add(paths, arg) != 0;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_usage(state);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

const struct argp litmus_paths_argp = {.parser = parse_path};

void litmus_paths_fini(struct litmus_paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        free(paths->path[i]);
    free(paths->path);
    free(paths->found);
    *paths = (struct litmus_paths){0};
}

/* The whole file, at most FILE_SIZE_MAX bytes: no litmus test comes near. */
static int read_file(const char *path, char **text, size_t *size)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return complain(path, -errno);
    char *buf = malloc(FILE_SIZE_MAX + 1);
    size_t n = buf ? fread(buf, 1, FILE_SIZE_MAX + 1, f) : 0;
    int rc = 0;
    if (!buf)
        rc = complain(path, -ENOMEM);
    else if (ferror(f))
        rc = complain(path, -errno);
    else if (n > FILE_SIZE_MAX)
        rc = complain(path, -EFBIG);
    fclose(f);
    if (rc) {
        free(buf);
        return rc;
    }
    *text = buf;
    *size = n;
    return 0;
}

static int check_name(const char *path, const struct baton_program *program)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    size_t n = strlen(program->name);
    if (!has_suffix(path) || (!strncmp(base, program->name, n) && !strcmp(base + n, suffix)))
        return 0;
    fprintf(stderr, "%s:1:6: the test is named \"%s\", and its file must be \"%s%s\"\n", path,
            program->name, program->name, suffix);
    return -EINVAL;
}

int litmus_read(const char *path, struct baton_program *program)
{
    char *text = NULL;
    size_t size = 0;
    int rc = read_file(path, &text, &size);
    if (rc)
        return rc;
    struct baton_parse_error error;
    rc = baton_program_parse(text, size, program, &error);
    free(text);
    if (rc == -EINVAL)
        baton_parse_error_print(&error, path, stderr);
    else if (rc)
        complain(path, rc);
    if (rc)
        return rc;
    rc = check_name(path, program);
    if (rc)
        baton_program_fini(program);
    return rc;
}

void litmus_refuse(const char *path, enum baton_model model, const char *reason)
{
    fprintf(stderr, "%s: cannot run under %s: %s\n", path, baton_model_name(model), reason);
}

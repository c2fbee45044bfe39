/* SPDX-License-Identifier: MIT */
/* Litmus tests in files: finding, reading and parsing them, with messages for people. */
#ifndef BATON_TOOL_LITMUS_FILE_H
#define BATON_TOOL_LITMUS_FILE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "model/program.h"

/* Paths of files, in the order in which they are worked on. */
struct litmus_paths {
    char **path;
    bool *found; /* in a folder; else it was named itself */
    size_t n;
    size_t
        n_others; /* files in folders that are not taken, since they are no tests by their names */
    bool failed;  /* by litmus_paths_argp: something is not there */
};

/* For a command whose arguments are such paths, at least one: a child, with the paths as its input. */
extern const struct argp litmus_paths_argp;

/*
 * Adds a file, or all "*.litmus" files in and below a folder in the order of their names. 0, or a
 * negative errno with a message on standard error.
 */
int litmus_paths_add(struct litmus_paths *paths, const char *path);
void litmus_paths_fini(struct litmus_paths *paths);

/*
 * Reads and parses one test. A file NAME.litmus must hold the test NAME. 0, or a negative errno
 * with a message on standard error; then `program` needs no fini.
 */
int litmus_read(const char *path, struct baton_program *program);

/* Says why a program does not run under a model. */
void litmus_refuse(const char *path, enum baton_model model, const char *reason);

#endif

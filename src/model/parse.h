/* SPDX-License-Identifier: MIT */
/*
 * The parser of the litmus language (baton-litmus(5)). It takes any bytes, refuses whatever is not
 * a well-formed test, and says where and why. It reads no file and prints nothing: the caller has
 * both.
 */
#ifndef BATON_MODEL_PARSE_H
#define BATON_MODEL_PARSE_H

#include <stddef.h>

#include "model/program.h"

struct baton_parse_error {
    unsigned line, column; /* from 1; column counts bytes */
    char message[256];     /* plain words */
    char excerpt[161]; /* the line, or the part of it around the column, in printable characters */
    unsigned caret;    /* where the column is in the excerpt, from 0 */
};

/* 0, -EINVAL with `error` filled in, or -ENOMEM. `program` is initialised here and on failure needs
 * no fini. */
int baton_program_parse(const char *text, size_t size, struct baton_program *program,
                        struct baton_parse_error *error);

/* "FILE:LINE:COLUMN: message", the line, and a caret under the column. */
void baton_parse_error_print(const struct baton_parse_error *error, const char *file, FILE *to);

#endif

/* SPDX-License-Identifier: MIT */
/* Final states of litmus tests, as `check` and `run` print them. */
#ifndef BATON_TOOL_LITMUS_PRINT_H
#define BATON_TOOL_LITMUS_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "model/outcome.h"
#include "model/program.h"

/* Is the column printed: of what the condition speaks of, or of everything with `all`? */
bool litmus_shown(const struct baton_program *program, unsigned column, bool all);

/* The row with zeros in the columns that are not printed, so that what looks equal is equal. */
void litmus_mask(const struct baton_program *program, const int64_t *row, bool all, int64_t *out);

/*
 * The states as they are printed: masked, each once, in ascending order. `to` is initialised here, and needs no
 * fini after -ENOMEM.
 */
int litmus_project(const struct baton_program *program, const struct baton_outcomes *from, bool all,
                   struct baton_outcomes *to);

/* "0:r=1; x=0;", without the end of the line. */
void litmus_print_values(const struct baton_program *program, const int64_t *row, bool all,
                         FILE *to);
/* The same as an object: {"0:r":1,"x":0}. Names hold no character that JSON would want escaped. */
void litmus_print_json_values(const struct baton_program *program, const int64_t *row, bool all,
                              FILE *to);

/* A line with a 128-bit name for what the test says, however it was laid out. */
void litmus_print_hash(const struct baton_program *program, FILE *to);

#endif

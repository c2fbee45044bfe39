/* SPDX-License-Identifier: MIT */
/*
 * Makes a program that shows something smaller: threads and operations go, one at a time, for as long
 * as the program without them still shows it. What is left is what a person has to read.
 */
#ifndef BATON_MODEL_SHRINK_H
#define BATON_MODEL_SHRINK_H

#include <stdbool.h>

#include "model/outcome.h"
#include "model/program.h"

/* Does this program show it? Asked many times; false when that cannot be said. */
typedef bool (*baton_shrink_fn)(const struct baton_program *program, void *arg);

/*
 * `out`, initialised here, is a program that `shows` holds of and from which nothing more can be taken
 * alone; the program itself when it cannot be made smaller. Its condition is one that always holds,
 * and comments and verdicts, which spoke of another program, are gone. 0, -ENOMEM or -E2BIG.
 */
int baton_program_shrink(const struct baton_program *program, baton_shrink_fn shows, void *arg,
                         struct baton_program *out);

/*
 * Replaces the condition by one that is true of an outcome of one set and of none of the other, in as few
 * columns as will do. 1: only `a` has such an outcome; 2: only `b` has; 0: the sets are equal, and
 * the condition is as it was; -ENOMEM or -E2BIG. Sorts the sets, so that the answer does not depend on
 * how they were found.
 */
int baton_program_tell_apart(struct baton_program *program, struct baton_outcomes *a,
                             struct baton_outcomes *b);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Pictures of executions.
 */
#ifndef BATON_MODEL_DOT_H
#define BATON_MODEL_DOT_H

#include <stdbool.h>
#include <stdio.h>

#include "model/engine.h"

/*
 * Writes a graph for graphviz: an execution that satisfies the proposition of the program (its negation
 * if `negate`), or, if there is none, one that would, with the cycle that forbids it in red. 1: the
 * first, 0: the second, or an error as baton_axioms_run gives; -ENOENT: no values satisfy it, and there
 * is nothing to draw.
 */
int baton_dot(const struct baton_program *program, enum baton_model model,
              const struct baton_engine_opts *opts, bool negate, FILE *to);

#endif

/* SPDX-License-Identifier: MIT */
/* How something can happen: one run of the machine, told as a numbered story. */
#ifndef BATON_MODEL_EXPLAIN_H
#define BATON_MODEL_EXPLAIN_H

#include <stdbool.h>
#include <stdio.h>

#include "model/engine.h"

/*
 * Writes a run with the fewest steps to an outcome that satisfies the proposition of the program
 * (its negation if `negate`): who does what, in which buffer the value then is, and why nothing
 * forbids it. 0; -ENOENT and nothing written when no run ends so; or an error as baton_machine_run
 * gives.
 */
int baton_explain(const struct baton_program *program, enum baton_model model,
                  const struct baton_engine_opts *opts, bool negate, FILE *to);

#endif

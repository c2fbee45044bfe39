/* SPDX-License-Identifier: MIT */
/*
 * Why something cannot happen, in words.
 */
#ifndef BATON_MODEL_WHY_H
#define BATON_MODEL_WHY_H

#include <stdbool.h>
#include <stdio.h>

#include "model/engine.h"

/*
 * Writes why no execution satisfies the proposition of the program (its negation if `negate`): for
 * each way in which reads and last writes could satisfy it, a cycle in the order of issue or of
 * effect, each edge with its reason. 0; 1 and nothing written if an execution does satisfy it; or an
 * error as baton_axioms_run gives.
 * Under impl the program is that of the implementations. Its threads read many words of their own, so a
 * story supposes only what its circle rests on, and is told once for all ways that it rules out; beyond a
 * bound of ways -E2BIG, whatever the options say.
 */
int baton_why(const struct baton_program *program, enum baton_model model,
              const struct baton_engine_opts *opts, bool negate, FILE *to);

#endif

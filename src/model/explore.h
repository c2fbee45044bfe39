/* SPDX-License-Identifier: MIT */
/*
 * Walks through all runs of a machine, up to the reduction of reduce.h, and shows every final state
 * at least once.
 */
#ifndef BATON_MODEL_EXPLORE_H
#define BATON_MODEL_EXPLORE_H

#include "model/engine.h"
#include "model/machine.h"

/* Called with a final state; anything but 0 ends the walk and is its result. */
typedef int (*baton_explore_fn)(void *arg, const struct baton_machine *m, const int64_t *state);

/* 0 when all was seen, -E2BIG, -ETIME, -ENOMEM as in engine.h, or what `visit` returned. */
int baton_explore(const struct baton_machine *m, const struct baton_engine_opts *opts,
                  baton_explore_fn visit, void *arg, struct baton_engine_stats *stats);

/*
 * A run with the fewest steps to a final state for which `visit` returns 1. Returns 1 and the steps
 * in order (to be freed), 0 when there is none, or as above.
 */
int baton_explore_shortest(const struct baton_machine *m, const struct baton_engine_opts *opts,
                           baton_explore_fn visit, void *arg, unsigned **steps, unsigned *n_steps);

#endif

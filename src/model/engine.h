/* SPDX-License-Identifier: MIT */
/*
 * The two engines. They answer the same question, the set of all outcomes of a program under a
 * model, and share no rule: the machine runs the program in every possible way, the axioms
 * enumerate candidate executions and keep the consistent ones. Each takes the program as parsed and
 * lowers it itself.
 */
#ifndef BATON_MODEL_ENGINE_H
#define BATON_MODEL_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/outcome.h"
#include "model/program.h"

struct baton_engine_opts {
    unsigned variants;   /* enum baton_variant bits */
    uint64_t max_states; /* states or candidates; 0: no limit */
    bool naive; /* explore without any reduction or pruning: slow, for tests of the reduction */
    /* Asked now and then; true stops the engine with -ETIME. May be null. The library reads no
     * clock itself. */
    bool (*stop)(void *arg);
    void *stop_arg;
};

struct baton_engine_stats {
    uint64_t explored; /* states of the machine, candidates of the axioms */
};

/*
 * 0: `set` (initialised here, width of the program) holds every outcome. Otherwise `set` needs no
 * fini: -E2BIG more than max_states or a program beyond an engine's bounds; -ETIME stopped;
 * -EOPNOTSUPP the model does not take this program or the engine does not know this model (machine:
 * tso, wait, impl); -ENOMEM. `stats` may be null and is written in every case. Nulls for `opts` mean
 * defaults. Under impl the axioms count limits anew for each way in which loops may end (await.h).
 */
int baton_machine_run(const struct baton_program *program, enum baton_model model,
                      const struct baton_engine_opts *opts, struct baton_outcomes *set,
                      struct baton_engine_stats *stats);
int baton_axioms_run(const struct baton_program *program, enum baton_model model,
                     const struct baton_engine_opts *opts, struct baton_outcomes *set,
                     struct baton_engine_stats *stats);

#endif

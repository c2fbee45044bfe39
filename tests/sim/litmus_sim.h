/* SPDX-License-Identifier: MIT */
/*
 * A litmus program as threads of the simulated world, under the exhaustive driver: all of its outcomes. Stands
 * between the model's headers and the contract's, which can not be included together.
 */
#ifndef BATON_TESTS_SIM_LITMUS_SIM_H
#define BATON_TESTS_SIM_LITMUS_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct litmus_plan;

/* Who looks for them; see second.h for the last two. */
enum litmus_sim_explorer { LITMUS_SIM_REAL, LITMUS_SIM_NAIVE, LITMUS_SIM_SLEEP };

struct litmus_sim_opts {
    enum litmus_sim_explorer by;
    uint64_t most;   /* states or runs, of the second explorers */
    bool naive;      /* nothing is taken at once */
    bool digests;    /* threads forget nothing */
    bool self_check; /* equal digests must mean equal stacks */
    bool future;     /* what threads may still do is used */
    bool swap;       /* posts that nothing orders may change places */
    double seconds_max;
    const char *kind; /* locks of the plan are of this kind; null: it has none */
    unsigned twin;    /* not 0: this thread is the same as thread 0, and may be taken for it */
};

struct litmus_sim_result {
    uint64_t states, runs;
    double seconds;
    char text[240];
};

/*
 * Calls `add` with every outcome, some of them several times. 0; -ETIME: a bound was hit; else what has
 * gone wrong, in words in the result. What the cluster and its threads had is freed in every case.
 */
int litmus_sim_run(const struct litmus_plan *plan, const struct litmus_sim_opts *opts,
                   void (*add)(void *arg, const int64_t *row), void *arg,
                   struct litmus_sim_result *result);

#endif

/* SPDX-License-Identifier: MIT */
/* The lock benchmark on a given cluster: this process's part of it. */
#ifndef BATON_BENCH_LOCK_GIVEN_H
#define BATON_BENCH_LOCK_GIVEN_H

#include "bench/lock_sum.h"

/*
 * Runs one kind on the nodes of config.given. On node 0 `sum` is then that of all nodes, elsewhere that of this one.
 * After an error the caller ends the crew.
 */
int bench_given_run(const struct bench_config *config, const struct baton_lock_ops *kind,
                    const uint64_t *params, struct bench_shared *shared, struct bench_sum *sum);

#endif

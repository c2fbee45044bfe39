/* SPDX-License-Identifier: MIT */
/* What the threads of a lock benchmark report, added up. */
#ifndef BATON_BENCH_LOCK_SUM_H
#define BATON_BENCH_LOCK_SUM_H

#include "bench/worker.h"

/* Sums over threads. Plain data, which node 0 of a given cluster gets from the others. */
struct bench_sum {
    uint64_t ended;
    struct bench_findings findings;
    uint64_t entries, counters, acquisitions, cycle_ns, cycles;
    double squares; /* of the acquisitions of each */
    int64_t rc;     /* the first error */
    char error[240];
    struct bench_class local, remote;
};

/* Adds up. The counters of the locks are not the threads'. */
void bench_sum_threads(const struct bench_config *config, const struct bench_shared *shared,
                       struct bench_sum *sum);
void bench_sum_add(struct bench_sum *into, const struct bench_sum *from);

#endif

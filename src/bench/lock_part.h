/* SPDX-License-Identifier: MIT */
/* What a process has of the cluster of a benchmark: its nodes, their tables and the teams of their threads. */
#ifndef BATON_BENCH_LOCK_PART_H
#define BATON_BENCH_LOCK_PART_H

#include "bench/worker.h"

#define BENCH_SETUP_NS UINT64_C(20000000000)

struct bench_part {
    struct baton_cluster *cluster;
    unsigned first, count; /* the nodes */
    struct bench_node *nodes;
    struct baton_team *teams;
    struct baton_ep **eps; /* for setting up and taking down */
};

/*
 * `first` and `count` are set. `name`: of the cluster. Must be closed after a failure too: with `shared`, which is
 * null for a process that has all nodes or is one of a given cluster, it then waits for the other processes; in a
 * given cluster, `orderly` says that all others come to the same place.
 */
int bench_part_open(const struct bench_config *config, const struct baton_lock_ops *kind,
                    const uint64_t *params, const char *name, struct bench_shared *shared,
                    struct bench_part *part);
int bench_part_close(const struct bench_config *config, struct bench_part *part,
                     struct bench_shared *shared, bool orderly);

/* In a given cluster, when nobody holds a lock any more: how often the locks of this node were held. */
uint64_t bench_part_counters(const struct bench_config *config, const struct bench_part *part);

#endif

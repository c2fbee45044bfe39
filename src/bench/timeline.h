/* SPDX-License-Identifier: MIT */
/*
 * The record of simulated runs as a file for timeline viewers (Perfetto, chrome://tracing): the JSON of
 * Chrome's trace events, with a process for each node and a thread for each thread. Function of the record alone.
 */
#ifndef BATON_BENCH_TIMELINE_H
#define BATON_BENCH_TIMELINE_H

#include <stdio.h>

#include "bench/lock_bench.h"

struct bench_timeline {
    FILE *file;
    const char *path;
    unsigned runs; /* in the file so far: each has processes of its own */
    bool comma;
};

/* The words of an error are in baton_error_detail. */
int bench_timeline_open(struct bench_timeline *timeline, const char *path);
void bench_timeline_add(struct bench_timeline *timeline, const struct bench_config *config,
                        const struct baton_lock_ops *kind, const struct bench_log *log);
int bench_timeline_close(struct bench_timeline *timeline);

#endif

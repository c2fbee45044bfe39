/* SPDX-License-Identifier: MIT */
/*
 * What happened in a simulated run, one record an acquisition, in the order of release. Only for worlds in
 * which all threads of a run are coroutines of one process: nothing here is shared or atomic.
 */
#ifndef BATON_BENCH_LOG_H
#define BATON_BENCH_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_entry {
    uint64_t begin;   /* acquire was called */
    uint64_t doorway; /* its doorway was over; UINT64_MAX: the kind has none */
    uint64_t entered, leaving;
    uint64_t left; /* release returned */
    uint32_t thread;
    uint32_t lock : 30;
    uint32_t local : 1;
    uint32_t measured : 1; /* entered in the measured part of the run */
};

struct bench_log {
    struct bench_entry *entries;
    size_t count, room;
};

/* -ENOMEM. */
int bench_log_add(struct bench_log *log, const struct bench_entry *entry);
void bench_log_free(struct bench_log *log);

#endif

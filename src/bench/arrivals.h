/* SPDX-License-Identifier: MIT */
/*
 * Controlled arrivals in a simulated run: every thread comes once, at a given time, and takes one lock. In
 * which order are they served? While they come, a thread of the last node holds the lock, and leaves after
 * the last of them.
 */
#ifndef BATON_BENCH_ARRIVALS_H
#define BATON_BENCH_ARRIVALS_H

#include "bench/lock_bench.h"

#define BENCH_ARRIVALS_MAX 4096u

struct bench_arrival {
    uint64_t at_ns;
    unsigned node;
    /* What came of it. */
    uint64_t entered_ns;
    unsigned served; /* its place in the order of service, from 1; 0: not at all */
};

struct bench_arrivals {
    unsigned count;
    struct bench_arrival *list; /* in order of arrival */
    uint64_t left_ns;           /* when the first holder left */
    char drawn[256];            /* what the driver has drawn from the seed, in words */
    uint64_t unseed;            /* of the run */
};

/*
 * "12local-12remote": so many threads of the host, then of the other nodes in turn, far enough apart that
 * each has its place before the next one comes; parts may be repeated. Else the name of a file of lines
 * "nanoseconds node", nanoseconds from 0 to 10^9, in any order; # begins a comment. -EINVAL, -ENOENT with the
 * words in baton_error_detail.
 */
int bench_arrivals_read(const char *spec, const struct bench_config *config,
                        struct bench_arrivals *out);
void bench_arrivals_free(struct bench_arrivals *arrivals);

/* Runs one kind, and fills in what came of it. */
int bench_arrivals_run(const struct bench_config *config, const struct baton_lock_ops *kind,
                       struct bench_arrivals *arrivals);

/* Those that come at the same time may be served in either order. */
bool bench_arrivals_in_order(const struct bench_arrivals *arrivals);
void bench_arrivals_report(FILE *to, enum bench_format format, const struct bench_config *config,
                           const struct baton_lock_ops *kind, const struct bench_arrivals *arrivals,
                           bool first);

#endif

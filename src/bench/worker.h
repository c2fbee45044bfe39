/* SPDX-License-Identifier: MIT */
/* One thread of the lock benchmark, and the memory that all of them share. */
#ifndef BATON_BENCH_WORKER_H
#define BATON_BENCH_WORKER_H

#include "bench/checks_far.h"
#include "bench/lock_bench.h"

/* What a thread reports. One writer; read when all are done. */
struct bench_thread {
    struct bench_findings findings;
    uint64_t entries;      /* all */
    uint64_t acquisitions; /* in the measured time */
    uint64_t cycle_ns, cycles;
    int64_t rc; /* the first error of a lock call */
    uint64_t done;
    char error[216];
    struct bench_class local, remote;
};

/* Shared by all processes of a run, if they are made for it; followed in memory by what the pointers show. */
struct bench_shared {
    uint64_t ready;    /* threads that wait for the start */
    uint64_t begin_ns; /* 0: not yet */
    uint64_t stop;     /* a process has failed */
    size_t bytes;
    unsigned threads_n, locks_n;
    struct bench_thread *threads;
    struct bench_line *lines;
    struct bench_lock_check *checks;
    double *zipf;     /* cumulative weights, or null */
    uint64_t *closed; /* by node: its process has closed its handles of the tables, or has ended */
};

struct bench_shared *bench_shared_create(const struct bench_config *config, unsigned threads);
void bench_shared_destroy(struct bench_shared *shared);

/* One per node: what its threads need. */
struct bench_node {
    const struct bench_config *config;
    struct bench_shared *shared;
    struct baton_table **tables; /* by host node; null where it hosts nothing */
    unsigned hosts;              /* 1, or all nodes with spread */
    unsigned host;               /* the only one */
    unsigned first_thread;       /* number of this node's first thread in the run */
    bool simulated;
    struct bench_far far; /* in a given cluster */
};

/* Whether injected faults and deaths may bring a call to return this. */
bool bench_is_fault(int rc);

int bench_thread_body(struct baton_ep *ep, unsigned thread, void *bench_node);

#endif

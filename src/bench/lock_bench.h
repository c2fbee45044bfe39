/* SPDX-License-Identifier: MIT */
/*
 * The closed-loop lock benchmark: threads on the nodes of a cluster choose a lock, acquire it, hold it for a
 * while, release it, and start again. It checks all the time that nobody is in together, that no update is
 * lost, and that nobody is passed by who came later.
 */
#ifndef BATON_BENCH_LOCK_BENCH_H
#define BATON_BENCH_LOCK_BENCH_H

#include <stdbool.h>
#include <stdio.h>

#include <baton/lock.h>

#include "base/hist.h"
#include "bench/crew.h"
#include "bench/log.h"

#define BENCH_HOST_SPREAD (-1)
#define BENCH_PARAMS_MAX 16

struct bench_config {
    const char *fabric;
    unsigned nodes;
    unsigned local_threads;  /* on the host node */
    unsigned remote_threads; /* on every other node */
    unsigned locks;
    double zipf; /* 0: uniform */
    int host;    /* a node, or BENCH_HOST_SPREAD */
    uint64_t local_cs_ns, remote_cs_ns;
    double duration_s, warmup_s;
    double cooldown_s; /* the threads run on that long after what is measured */
    bool pin;
    bool in_process;     /* shm: nodes are threads of this process */
    bool swap;           /* step, sim: BATON_CLUSTER_SWAP */
    const char *options; /* sim: "profile=cx6,driver=timed" */
    bool faults;         /* sim: the options ask for faults; a thread that one hits ends */
    bool real;           /* reports have real times of a simulated run too */
    bool pair;           /* measure pair_ns too (where time is real) */
    uint64_t seed;
    const char *params[BENCH_PARAMS_MAX]; /* "merge.slots=2" */
    unsigned params_count;
    void (*progress)(const struct bench_config *, const char *lock, double done);
    struct crew *given; /* the processes of a given cluster, each a node; null: made for the run */
    struct bench_log *log; /* step, sim: a record of each acquisition; null: none */
};

/* What one class of threads (on the lock's host node, or elsewhere) saw. Plain data, shared by processes. */
struct bench_class {
    uint64_t hold_ns, holds;
    uint64_t round_trips_acquire, round_trips_release, ops_acquire, ops_release;
    uint64_t entries; /* all, warm-up too: what the four sums above are means over */
    struct baton_hist latency;
};

struct bench_result {
    const struct baton_lock_ops *kind;
    uint64_t params[BATON_LOCK_PARAMS_MAX];
    bool simulated;
    unsigned threads;
    uint64_t acquisitions; /* in the measured time */
    double measured_s;
    struct bench_class local, remote;
    double cycle_ns;
    uint64_t exclusion_violations, lost_updates, bypasses;
    double overlap, jain;
    double pair_ns; /* 0: not measured */
    unsigned ended; /* threads that a fault has ended before their time, or killed */
    /* sim */
    char drawn[256]; /* what the seed has decided, in words; empty: another world */
    uint64_t sim_ops, sim_steps, unseed;
    double real_s, cpu_s;
};

/*
 * Runs one kind. 0; a negative errno with the words in baton_error_detail. The checks' findings are in the
 * result, not in the return value.
 */
int bench_lock_run(const struct bench_config *config, const struct baton_lock_ops *kind,
                   struct bench_result *out);

/* The parameters of a kind as the configuration sets them. -EINVAL */
int bench_lock_params(const struct bench_config *config, const struct baton_lock_ops *kind,
                      uint64_t *params);

unsigned bench_threads(const struct bench_config *config); /* of all nodes */

/* Room in a node's arena for what its threads need. */
size_t bench_arena_bytes(const struct bench_config *config);

/* The node of a thread, which is numbered over all of them, and its number there. */
unsigned bench_thread_node(const struct bench_config *config, unsigned thread, unsigned *index);

/* True when the checks found something that the kind promises not to do. */
bool bench_failed(const struct bench_result *r);

/* Ours, and on shm the baselines: the process-shared locks of pthreads and of Concurrency Kit. */
int bench_register_baselines(void);
bool bench_is_baseline(const struct baton_lock_ops *kind);
/* Best of five of a million acquire and release, in ns, without our dispatch. */
double bench_baseline_pair_ns(const struct baton_lock_ops *kind);
/* Memory that the baselines' locks live in; before the nodes' processes are made. */
int bench_baseline_prepare(unsigned locks, unsigned threads);
void bench_baseline_finish(void);
/* Why the baselines of Concurrency Kit are missing from this build, or null. */
const char *bench_ck_missing(void);

enum bench_format { BENCH_TABLE, BENCH_JSON, BENCH_CSV };

/* `first`: prints the head line where the format has one. */
void bench_report(FILE *to, enum bench_format format, const struct bench_config *config,
                  const struct bench_result *r, bool first);

/* Writes LOCK.local.hgrm and LOCK.remote.hgrm (microseconds) and the same as .csv into the folder. */
int bench_write_hgrm(const char *folder, const struct bench_result *r);

/* Draws latency, throughput and fairness of the results as SVG and PNG with gnuplot. -ENOENT: no gnuplot. */
int bench_plot(const char *folder, const struct bench_config *config,
               const struct bench_result *results, unsigned count);

#endif

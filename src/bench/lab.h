/* SPDX-License-Identifier: MIT */
/*
 * The lab: the published evaluation of fair asymmetric locks, on simulated machines. It makes a plan (a list
 * of runs), carries it out in several processes, and writes a folder: a report in Markdown, pictures, and
 * the figures as CSV. What it writes depends on the options only.
 *
 * lab_plan.c      which runs there are
 * lab_run.c       carries them out, and the one-way time of the profile
 * lab_published.c the report's first part: the published figures beside ours
 * lab_tried.c     what was tried to explain their differences
 * lab_report.c    its tables of tails, fairness, and what explains them
 * lab_pictures.c  CSV, and what gnuplot draws from it
 */
#ifndef BATON_BENCH_LAB_H
#define BATON_BENCH_LAB_H

#include "bench/fair.h"
#include "bench/lock_bench.h"

enum lab_suite {
    LAB_LOCKS,   /* how tails and throughput depend on the number of locks */
    LAB_GROUPS,  /* sizes of farlock-g's groups */
    LAB_SECTION, /* length of the remote section */
    LAB_CROWD,   /* number of remote threads */
    LAB_BYPASS,  /* merge.bypass */
    LAB_BUDGETS, /* alock's, by index of lab_budgets, at one and at ten locks */
    LAB_HOT      /* ts without pauses, by number of locks */
};

#define LAB_BUDGET_PAIRS 8
extern const struct lab_budget {
    unsigned local, remote;
} lab_budgets[LAB_BUDGET_PAIRS];

/* What is compared: a kind with its parameters. */
enum lab_series {
    LAB_TS,
    LAB_TICKET,
    LAB_MCS,
    LAB_ALOCK,     /* budgets 20 local, 5 remote */
    LAB_ALOCK_R,   /* the other way round */
    LAB_FARLOCK,   /* with chains: as cheap as the contract allows */
    LAB_PUBLISHED, /* farlock.chain=off: every operation is waited for, as published */
    LAB_FARLOCK_G,
    LAB_MERGE,
    LAB_SERIES
};

extern const char *const lab_series_names[LAB_SERIES];

struct lab_options {
    const char *folder;
    const char *profile; /* of the simulated NIC */
    bool quick;          /* few and short runs: shows that everything works, not how things are */
    double length;       /* factor on all simulated times */
    unsigned seeds;      /* runs of each point of LAB_LOCKS: seeds 1 to this */
    unsigned jobs;       /* runs at a time */
    void (*progress)(unsigned done, unsigned all);
};

#define LAB_WINDOW 480 /* acquisitions in a row whose order is kept for a picture */

struct lab_place {
    uint32_t begun, entered; /* rank in the window by the beginning and by the entry */
    bool local;
};

/* What a run leaves. Plain data, shared by processes; zeroed: not run yet. */
struct lab_outcome {
    int rc;
    char error[200];
    bool done;
    struct bench_result result;
    struct bench_fair fair;
    unsigned window_n;
    struct lab_place window[LAB_WINDOW];
};

#define LAB_ARRIVALS 24u /* 12 local, then 12 remote threads */

struct lab_arrivals {
    unsigned count, order[LAB_ARRIVALS]; /* who entered, one after the other */
    uint64_t opened, entered[LAB_ARRIVALS];
    bool in_order;
};

struct lab_point {
    enum lab_suite suite;
    enum lab_series series;
    unsigned x; /* what the suite varies: locks, size, ns, threads on a remote node, bypasses */
    unsigned y; /* LAB_GROUPS: 1 the remote size is varied, 0 the local one; + 2 at ten locks.
                 * LAB_BUDGETS: 1 at ten locks */
    unsigned locks, remote_threads, local_threads, nodes;
    uint64_t remote_cs_ns, seed;
    double measured_s;
    char params[4][40];
    unsigned params_n;
    struct lab_outcome *outcome;
};

struct lab {
    const struct lab_options *options;
    struct lab_point *points;
    unsigned points_n, room;
    uint64_t one_way_ns;
    struct lab_arrivals arrivals[LAB_SERIES];
    bool has_bypass; /* merge has the parameter */
    void *outcomes;  /* memory of all outcomes */
    size_t outcomes_bytes;
};

#define LAB_GROUP_SWEEPS 4 /* values of y in LAB_GROUPS */

#define LAB_NODES 10
#define LAB_THREADS 12
#define LAB_LOCAL_CS_NS 100
#define LAB_REMOTE_CS_NS 5000

/* -ENOMEM */
int lab_plan(struct lab *lab);
void lab_free(struct lab *lab);

/* Runs all points. A run that fails, or whose checks find something, is an error with its words. */
int lab_run(struct lab *lab);

/* Half the shortest round trip of an eight-byte get between idle machines of that profile. */
int lab_one_way(const char *profile, uint64_t *ns);

int lab_write_csv(const struct lab *lab);
/* `drawn` false with 0: gnuplot is not installed; the .csv and .gp files are there all the same. */
int lab_draw(const struct lab *lab, bool *drawn);
/* `pictures`: whether they were drawn. */
int lab_write_report(const struct lab *lab, bool pictures);

/* All of the above, in this order. */
int lab_farlock(const struct lab_options *options, bool *drawn);

/* ---- Looking results up, for the writers */

/* The runs of one point of all seeds, added up. */
struct lab_sum {
    unsigned runs;
    struct baton_hist latency[FAIR_CLASSES];
    struct bench_fair fair;
    uint64_t acquisitions[FAIR_CLASSES];
    double measured_s, jain;
    uint64_t bypasses, entries;
    double tail_spread; /* of p99.999 of all threads over the seeds: deviation over mean */
    const struct lab_point *point; /* the first of them; null: there is none */
};

/* `out` is large: not for the stack of a thread of a simulated world. */
void lab_sum(const struct lab *lab, enum lab_suite suite, enum lab_series series, unsigned x,
             unsigned y, struct lab_sum *out);
/* The values of x in a suite, in order, without repetition; returns how many (<= max). */
unsigned lab_values(const struct lab *lab, enum lab_suite suite, unsigned y, unsigned *out,
                    unsigned max);
bool lab_has(const struct lab *lab, enum lab_suite suite, enum lab_series series);

FILE *lab_open(const struct lab *lab, const char *name);
int lab_close(FILE *f, const char *name);

static inline double lab_us(const struct baton_hist *h, double part)
{
    return (double)baton_hist_quantile(h, part) / 1000.0;
}

static inline double lab_per_s(const struct lab_sum *s, unsigned class)
{
    return s->measured_s > 0 ? (double)s->acquisitions[class] / s->measured_s : 0;
}

/* Bounces an entry: those whose predecessor was of the other class. */
static inline double lab_switches(const struct bench_fair *f)
{
    return f->entries ? (double)f->switches / (double)f->entries : 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/* The lab's list of runs, and how results are found in it. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bench/lab.h"

const char *const lab_series_names[LAB_SERIES] = {
    "ts", "ticket", "mcs", "alock", "alock-r20", "farlock", "farlock-pub", "farlock-g", "merge"};

/*
 * Seconds measured: about as many acquisitions at each number of locks, as many as a simulated second of
 * work is worth waiting for. A run is twice as long: its first and last quarter are cut off.
 */
static const struct {
    unsigned locks;
    double measured_s;
} lock_counts[] = {{1, 0.4}, {2, 0.3}, {5, 0.2}, {10, 0.15}, {50, 0.06}, {240, 0.04}};

static struct lab_point *add(struct lab *lab, enum lab_suite suite, enum lab_series series,
                             unsigned x)
{
    if (lab->points_n == lab->room) {
        unsigned room = lab->room ? 2 * lab->room : 256;
        struct lab_point *more = realloc(lab->points, room * sizeof(*more));
        if (!more)
            return NULL;
        lab->points = more;
        lab->room = room;
    }
    struct lab_point *p = &lab->points[lab->points_n++];
    *p = (struct lab_point){.suite = suite,
                            .series = series,
                            .x = x,
                            .locks = 1,
                            .nodes = LAB_NODES,
                            .local_threads = LAB_THREADS,
                            .remote_threads = LAB_THREADS,
                            .remote_cs_ns = LAB_REMOTE_CS_NS,
                            .seed = 1};
    return p;
}

__attribute__((format(printf, 2, 3))) static void param(struct lab_point *p, const char *format,
                                                        ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(p->params[p->params_n++], sizeof(*p->params), format, args);
    va_end(args);
}

/* The parameters that make a series what its name says, spelt out even where they are the standard. */
static void series_params(struct lab_point *p)
{
    if (p->series == LAB_ALOCK) {
        param(p, "alock.budget_local=20");
        param(p, "alock.budget_remote=5");
    }
    if (p->series == LAB_ALOCK_R) {
        param(p, "alock.budget_local=5");
        param(p, "alock.budget_remote=20");
    }
    if (p->series == LAB_FARLOCK)
        param(p, "farlock.chain=on");
    if (p->series == LAB_PUBLISHED)
        param(p, "farlock.chain=off");
}

static int plan_locks(struct lab *lab)
{
    for (unsigned i = 0; i < sizeof(lock_counts) / sizeof(*lock_counts); i++)
        for (unsigned series = 0; series < LAB_SERIES; series++)
            for (unsigned seed = 1; seed <= lab->options->seeds; seed++) {
                if (lab->options->quick && lock_counts[i].locks != 1 && lock_counts[i].locks != 10)
                    continue;
                struct lab_point *p = add(lab, LAB_LOCKS, series, lock_counts[i].locks);
                if (!p)
                    return -ENOMEM;
                series_params(p);
                p->locks = lock_counts[i].locks;
                p->seed = seed;
                p->measured_s = lock_counts[i].measured_s;
            }
    return 0;
}

static int plan_groups(struct lab *lab)
{
    for (unsigned y = 0; y < LAB_GROUP_SWEEPS; y++)
        for (unsigned size = 1; size <= 20; size++) {
            if (lab->options->quick && size != 1 && size != 5)
                continue;
            struct lab_point *p = add(lab, LAB_GROUPS, LAB_FARLOCK_G, size);
            if (!p)
                return -ENOMEM;
            p->y = y;
            p->locks = y < 2 ? 1 : 10;
            p->measured_s = y < 2 ? 0.2 : 0.08;
            param(p, "farlock-g.chain=off");
            param(p, "farlock-g.group_local=%u", y % 2 ? 1 : size);
            param(p, "farlock-g.group_remote=%u", y % 2 ? size : 1);
        }
    return 0;
}

static const enum lab_series explained[] = {LAB_MCS, LAB_ALOCK, LAB_FARLOCK, LAB_PUBLISHED,
                                            LAB_MERGE};
#define EXPLAINED (sizeof(explained) / sizeof(*explained))

static int plan_section(struct lab *lab)
{
    static const unsigned lengths[] = {0,    1000, 2000, 2500,  3000,  4000, 5000,
                                       5500, 6000, 7500, 10000, 20000, 30000};
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
        for (unsigned k = 0; k < EXPLAINED; k++) {
            if (lab->options->quick && lengths[i] != 2000 && lengths[i] != 20000)
                continue;
            struct lab_point *p = add(lab, LAB_SECTION, explained[k], lengths[i]);
            if (!p)
                return -ENOMEM;
            series_params(p);
            p->remote_cs_ns = lengths[i];
            p->measured_s = 0.1 * (1 + lengths[i] / 10000.0);
        }
    return 0;
}

static int plan_crowd(struct lab *lab)
{
    for (unsigned threads = 1; threads <= LAB_THREADS; threads++)
        for (unsigned k = 0; k < EXPLAINED; k++) {
            if (lab->options->quick && threads != 1 && threads != 6)
                continue;
            struct lab_point *p = add(lab, LAB_CROWD, explained[k], threads);
            if (!p)
                return -ENOMEM;
            series_params(p);
            p->remote_threads = threads;
            p->measured_s = 0.1;
        }
    return 0;
}

static int plan_bypass(struct lab *lab)
{
    static const unsigned bounds[] = {0, 1, 2, 3, 4, 6, 8, 10, 11, 12, 16, 24, 32, 64, 127};
    uint64_t values[BATON_LOCK_PARAMS_MAX];
    const struct baton_lock_ops *merge = baton_lock_kind("merge");
    for (unsigned i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
        char setting[32];
        snprintf(setting, sizeof(setting), "bypass=%u", bounds[i]);
        baton_lock_param_defaults(merge, values);
        if ((lab->options->quick && bounds[i] != 0 && bounds[i] != 8) ||
            baton_lock_param_set(merge, values, setting))
            continue;
        struct lab_point *p = add(lab, LAB_BYPASS, LAB_MERGE, bounds[i]);
        if (!p)
            return -ENOMEM;
        lab->has_bypass = true;
        p->measured_s = 0.2;
        param(p, "merge.%s", setting);
    }
    return 0;
}

/* The two ways in which the published 20 and 5 can be read, and what lies around them. */
const struct lab_budget lab_budgets[LAB_BUDGET_PAIRS] = {{20, 5},  {20, 10}, {20, 15}, {20, 20},
                                                         {12, 20}, {10, 10}, {5, 5},   {5, 20}};

static int plan_budgets(struct lab *lab)
{
    for (unsigned y = 0; y < 2; y++)
        for (unsigned i = 0; i < LAB_BUDGET_PAIRS; i++) {
            if (lab->options->quick && i % 3)
                continue;
            struct lab_point *p = add(lab, LAB_BUDGETS, LAB_ALOCK, i);
            if (!p)
                return -ENOMEM;
            p->y = y;
            p->locks = y ? 10 : 1;
            p->measured_s = y ? 0.05 : 0.1;
            param(p, "alock.budget_local=%u", lab_budgets[i].local);
            param(p, "alock.budget_remote=%u", lab_budgets[i].remote);
        }
    return 0;
}

static int plan_hot(struct lab *lab)
{
    for (unsigned i = 0; i < sizeof(lock_counts) / sizeof(*lock_counts); i++) {
        if (lab->options->quick && lock_counts[i].locks != 1 && lock_counts[i].locks != 10)
            continue;
        struct lab_point *p = add(lab, LAB_HOT, LAB_TS, lock_counts[i].locks);
        if (!p)
            return -ENOMEM;
        p->locks = lock_counts[i].locks;
        p->measured_s = lock_counts[i].measured_s / 2;
        param(p, "ts.pause_least=0");
        param(p, "ts.pause_most=0");
    }
    return 0;
}

int lab_plan(struct lab *lab)
{
    int rc = plan_locks(lab);
    if (!rc)
        rc = plan_groups(lab);
    if (!rc)
        rc = plan_section(lab);
    if (!rc)
        rc = plan_crowd(lab);
    if (!rc)
        rc = plan_bypass(lab);
    if (!rc)
        rc = plan_budgets(lab);
    if (!rc)
        rc = plan_hot(lab);
    for (unsigned i = 0; i < lab->points_n; i++)
        lab->points[i].measured_s *= lab->options->length * (lab->options->quick ? 0.02 : 1);
    return rc;
}

/* ---- Looking up */

bool lab_has(const struct lab *lab, enum lab_suite suite, enum lab_series series)
{
    for (unsigned i = 0; i < lab->points_n; i++)
        if (lab->points[i].suite == suite && lab->points[i].series == series)
            return true;
    return false;
}

unsigned lab_values(const struct lab *lab, enum lab_suite suite, unsigned y, unsigned *out,
                    unsigned max)
{
    unsigned n = 0;
    for (unsigned i = 0; i < lab->points_n && n < max; i++) {
        const struct lab_point *p = &lab->points[i];
        bool known = p->suite != suite || p->y != y;
        for (unsigned k = 0; k < n; k++)
            known |= out[k] == p->x;
        if (!known)
            out[n++] = p->x;
    }
    return n;
}

void lab_sum(const struct lab *lab, enum lab_suite suite, enum lab_series series, unsigned x,
             unsigned y, struct lab_sum *out)
{
    double sum = 0, squares = 0;
    memset(out, 0, sizeof(*out));
    for (unsigned i = 0; i < lab->points_n; i++) {
        const struct lab_point *p = &lab->points[i];
        if (p->suite != suite || p->series != series || p->x != x || p->y != y)
            continue;
        const struct bench_result *r = &p->outcome->result;
        out->point = out->point ? out->point : p;
        out->runs++;
        baton_hist_merge(&out->latency[FAIR_LOCAL], &r->local.latency);
        baton_hist_merge(&out->latency[FAIR_REMOTE], &r->remote.latency);
        bench_fair_merge(&out->fair, &p->outcome->fair);
        out->acquisitions[FAIR_LOCAL] += r->local.latency.count;
        out->acquisitions[FAIR_REMOTE] += r->remote.latency.count;
        out->entries += r->local.entries + r->remote.entries;
        out->bypasses += r->bypasses;
        out->measured_s += r->measured_s;
        out->jain += r->jain;
        double tail = (double)baton_hist_quantile(&p->outcome->fair.latency, 0.99999);
        sum += tail;
        squares += tail * tail;
    }
    if (out->runs) {
        double mean = sum / out->runs, variance = squares / out->runs - mean * mean;
        out->jain /= out->runs;
        out->tail_spread = mean > 0 && variance > 0 ? sqrt(variance) / mean : 0;
    }
}

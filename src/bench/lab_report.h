/* SPDX-License-Identifier: MIT */
/* What the parts of the lab's report share. */
#ifndef BATON_BENCH_LAB_REPORT_H
#define BATON_BENCH_LAB_REPORT_H

#include "bench/lab.h"

#define LAB_LOCK_COUNTS_MAX 16

struct lab_report {
    const struct lab *lab;
    FILE *f;
    bool pictures;
    unsigned counts[LAB_LOCK_COUNTS_MAX], counts_n; /* numbers of locks */
    struct lab_sum *sums;                           /* [count][series] */
    struct lab_sum *scratch;
};

static inline const struct lab_sum *lab_at(const struct lab_report *r, unsigned count,
                                           enum lab_series s)
{
    return &r->sums[count * LAB_SERIES + s];
}

/* The published figures are ratios of tails: whichever of three percentiles is resolved by the samples. */
#define LAB_TAILS 3
extern const double lab_tail_parts[LAB_TAILS];

static inline bool lab_resolved(const struct baton_hist *h, double part)
{
    return (double)h->count * (1 - part) >= 1;
}

/* Whether two ratios are taken for the same. */
static inline bool lab_near_to(double ours, double theirs)
{
    return ours <= 1.5 * theirs && ours >= theirs / 1.5;
}

/* lab_published.c: the published figures beside ours, and where they differ. */
void lab_report_published(const struct lab_report *r);
void lab_report_arrivals(const struct lab_report *r);

/* lab_tried.c: what was tried to explain that. */
void lab_report_group_tries(const struct lab_report *r);
void lab_report_budgets(const struct lab_report *r);
void lab_report_hot(const struct lab_report *r);

#endif

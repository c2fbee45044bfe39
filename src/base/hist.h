/* SPDX-License-Identifier: MIT */
/*
 * Histogram of 64-bit values in fixed memory: log-linear, 128 linear buckets per power of two, so that a
 * value is known to better than 1 %. Plain data: it may lie in memory shared by processes, zeroed is empty,
 * and two are merged by adding. Not thread-safe: one writer each, merge afterwards.
 */
#ifndef BATON_BASE_HIST_H
#define BATON_BASE_HIST_H

#include <stdint.h>
#include <stdio.h>

#define BATON_HIST_LINEAR_BITS 7
#define BATON_HIST_BUCKETS ((64 - BATON_HIST_LINEAR_BITS + 1) << BATON_HIST_LINEAR_BITS)

struct baton_hist {
    uint64_t count, max, min_plus_1; /* min_plus_1 0: no value yet */
    double sum, sum_of_squares;
    uint64_t buckets[BATON_HIST_BUCKETS];
};

void baton_hist_add(struct baton_hist *h, uint64_t value);
void baton_hist_merge(struct baton_hist *into, const struct baton_hist *from);

/*
 * The value below or at which the share `part` (0 .. 1) of all values lies, as the highest value of its
 * bucket, but never more than the greatest seen. 0 for an empty histogram.
 */
uint64_t baton_hist_quantile(const struct baton_hist *h, double part);
double baton_hist_mean(const struct baton_hist *h);
double baton_hist_deviation(const struct baton_hist *h);

/* Writes the percentile distribution in the format that HdrHistogram's tools read; values times `scale`. */
int baton_hist_write_hgrm(const struct baton_hist *h, FILE *to, double scale);

/* Writes "low,high,count" of every bucket that is not empty, with a head line. */
int baton_hist_write_csv(const struct baton_hist *h, FILE *to);

#endif

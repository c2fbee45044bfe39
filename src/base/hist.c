/* SPDX-License-Identifier: MIT */
/* Log-linear histogram. */
#include "base/hist.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#define LINEAR (1u << BATON_HIST_LINEAR_BITS)

/* Values below LINEAR have a bucket each; above, the bits behind the leading one choose it. */
static unsigned bucket_of(uint64_t value)
{
    if (value < LINEAR)
        return (unsigned)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - BATON_HIST_LINEAR_BITS;
    return ((shift + 1) << BATON_HIST_LINEAR_BITS) + (unsigned)((value >> shift) - LINEAR);
}

static uint64_t bucket_low(unsigned b)
{
    if (b < LINEAR)
        return b;
    unsigned shift = (b >> BATON_HIST_LINEAR_BITS) - 1;
    return (uint64_t)(LINEAR + (b & (LINEAR - 1))) << shift;
}

static uint64_t bucket_high(unsigned b)
{
    return b + 1 < BATON_HIST_BUCKETS ? bucket_low(b + 1) - 1 : UINT64_MAX;
}

void baton_hist_add(struct baton_hist *h, uint64_t value)
{
    h->buckets[bucket_of(value)]++;
    h->count++;
    if (value > h->max)
        h->max = value;
    if (!h->min_plus_1 || value < h->min_plus_1 - 1)
        h->min_plus_1 = value + 1;
    h->sum += (double)value;
    h->sum_of_squares += (double)value * (double)value;
}

void baton_hist_merge(struct baton_hist *into, const struct baton_hist *from)
{
    /* Where nothing can be, nothing is read: of a thousand histograms most pages were never touched. */
    if (!from->count)
        return;
    for (unsigned b = bucket_of(from->min_plus_1 - 1); b <= bucket_of(from->max); b++)
        into->buckets[b] += from->buckets[b];
    into->count += from->count;
    if (from->max > into->max)
        into->max = from->max;
    if (from->min_plus_1 && (!into->min_plus_1 || from->min_plus_1 < into->min_plus_1))
        into->min_plus_1 = from->min_plus_1;
    into->sum += from->sum;
    into->sum_of_squares += from->sum_of_squares;
}

/* The bucket that holds the rank-th value (from 1), and how many values lie in it or below. */
static unsigned bucket_at(const struct baton_hist *h, uint64_t rank, uint64_t *upto)
{
    uint64_t seen = 0;
    unsigned b = 0;
    while (b + 1 < BATON_HIST_BUCKETS && seen + h->buckets[b] < rank)
        seen += h->buckets[b++];
    *upto = seen + h->buckets[b];
    return b;
}

static uint64_t rank_of(const struct baton_hist *h, double part)
{
    double rank = ceil(part * (double)h->count);
    if (rank < 1)
        return 1;
    return rank >= (double)h->count ? h->count : (uint64_t)rank;
}

static uint64_t value_of(const struct baton_hist *h, unsigned bucket)
{
    uint64_t high = bucket_high(bucket);
    return high < h->max ? high : h->max;
}

uint64_t baton_hist_quantile(const struct baton_hist *h, double part)
{
    uint64_t upto;
    return h->count ? value_of(h, bucket_at(h, rank_of(h, part), &upto)) : 0;
}

double baton_hist_mean(const struct baton_hist *h)
{
    return h->count ? h->sum / (double)h->count : 0;
}

double baton_hist_deviation(const struct baton_hist *h)
{
    if (!h->count)
        return 0;
    double mean = baton_hist_mean(h);
    double variance = h->sum_of_squares / (double)h->count - mean * mean;
    return variance > 0 ? sqrt(variance) : 0;
}

int baton_hist_write_hgrm(const struct baton_hist *h, FILE *to, double scale)
{
    fprintf(to, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    /* Five points per halving of what remains, as the usual tools have it. */
    double part = 0;
    while (h->count) {
        uint64_t upto;
        unsigned b = bucket_at(h, rank_of(h, part), &upto);
        if (upto == h->count) {
            fprintf(to, "%12.3f %2.12f %10" PRIu64 "\n", (double)h->max * scale, 1.0, h->count);
            break;
        }
        fprintf(to, "%12.3f %2.12f %10" PRIu64 " %14.2f\n", (double)value_of(h, b) * scale, part,
                upto, 1 / (1 - part));
        double halving = pow(2, floor(log2(1 / (1 - part))) + 1);
        part += 1 / (5 * halving);
    }
    fprintf(to, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", baton_hist_mean(h) * scale,
            baton_hist_deviation(h) * scale);
    fprintf(to, "#[Max     = %12.3f, Total count    = %12" PRIu64 "]\n", (double)h->max * scale,
            h->count);
    fprintf(to, "#[Buckets = %12u, SubBuckets     = %12u]\n", 64 - BATON_HIST_LINEAR_BITS + 1,
            LINEAR);
    return ferror(to) ? -EIO : 0;
}

int baton_hist_write_csv(const struct baton_hist *h, FILE *to)
{
    fprintf(to, "low,high,count\n");
    for (unsigned b = 0; b < BATON_HIST_BUCKETS; b++)
        if (h->buckets[b])
            fprintf(to, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", bucket_low(b), bucket_high(b),
                    h->buckets[b]);
    return ferror(to) ? -EIO : 0;
}

/* SPDX-License-Identifier: MIT */
/* The lab's report: tables of tails, fairness, and what explains them. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lab_report.h"

static void picture(const struct lab_report *r, const char *name, const char *says)
{
    if (r->pictures)
        fprintf(r->f, "![%s](%s.svg)\n\n", says, name);
}

static void tail_cell(FILE *f, const struct baton_hist *h, double part)
{
    if (!h->count)
        fprintf(f, " -");
    else
        fprintf(f, " %.1f%s", lab_us(h, part), lab_resolved(h, part) ? "" : "*");
    fprintf(f, " |");
}

/* ---- Tables by number of locks */

static void tails(const struct lab_report *r)
{
    FILE *f = r->f;
    fprintf(f,
            "## Tails, throughput, bounces\n\n"
            "Latency of acquire in microseconds; throughput in acquisitions per second; CoV is "
            "the deviation of the latency over its mean; a bounce is an entry whose predecessor "
            "was of the other class; bypasses are entries that passed a waiter whose doorway had "
            "ended before they began; Jain is Jain's index of acquisitions per thread.\n\n");
    picture(r, "locks-local-p999", "local tails");
    picture(r, "locks-remote-p999", "remote tails");
    picture(r, "locks-local-rate", "local throughput");
    picture(r, "locks-remote-rate", "remote throughput");
    picture(r, "locks-switches", "bounces");
    picture(r, "latency-local", "distribution of local latency");
    picture(r, "latency-remote", "distribution of remote latency");
    for (unsigned i = 0; i < r->counts_n; i++) {
        const struct lab_sum *any = lab_at(r, i, 0);
        fprintf(f, "### %u lock%s\n\n%u runs of %.4g s measured each.\n\n", r->counts[i],
                r->counts[i] == 1 ? "" : "s", any->runs,
                any->runs ? any->measured_s / any->runs : 0);
        for (unsigned class = 0; class < FAIR_CLASSES; class ++) {
            fprintf(f,
                    "| %s | p50 | p99.9 | p99.99 | p99.999 | max | CoV | per second | samples |\n"
                    "|---|---|---|---|---|---|---|---|---|\n",
                    class == FAIR_LOCAL ? "local" : "remote");
            for (unsigned s = 0; s < LAB_SERIES; s++) {
                const struct baton_hist *h = &lab_at(r, i, s)->latency[class];
                double mean = baton_hist_mean(h);
                fprintf(f, "| %s |", lab_series_names[s]);
                tail_cell(f, h, 0.5);
                for (unsigned p = 0; p < LAB_TAILS; p++)
                    tail_cell(f, h, lab_tail_parts[p]);
                fprintf(f, " %.1f | %.3f | %.0f | %" PRIu64 " |\n", (double)h->max / 1000,
                        mean > 0 ? baton_hist_deviation(h) / mean : 0,
                        lab_per_s(lab_at(r, i, s), class), h->count);
            }
            fprintf(f, "\n");
        }
        fprintf(f,
                "| lock | bounces per entry | bypasses per entry | Jain | overtaken, p99.9 local / "
                "remote |\n|---|---|---|---|---|\n");
        for (unsigned s = 0; s < LAB_SERIES; s++) {
            const struct lab_sum *sum = lab_at(r, i, s);
            double entries = sum->entries ? (double)sum->entries : 1;
            fprintf(f, "| %s | %.3f | %.3f | %.4f | %" PRIu64 " / %" PRIu64 " |\n",
                    lab_series_names[s], lab_switches(&sum->fair), (double)sum->bypasses / entries,
                    sum->jain, baton_hist_quantile(&sum->fair.overtaken[FAIR_LOCAL], 0.999),
                    baton_hist_quantile(&sum->fair.overtaken[FAIR_REMOTE], 0.999));
        }
        fprintf(f, "\n");
    }
    fprintf(f, "*Overtaken* counts, for an entry, those that called acquire later and entered "
               "earlier.\n\n");
    picture(r, "order", "order of beginning and of entry");
}

static void groups(const struct lab_report *r)
{
    FILE *f = r->f;
    fprintf(f,
            "## Sizes of groups\n\nfarlock-g in published-cost mode; one size is varied, the other "
            "one is 1.\n\n");
    for (unsigned y = 0; y < LAB_GROUP_SWEEPS; y++) {
        unsigned xs[32], n = lab_values(r->lab, LAB_GROUPS, y, xs, 32);
        fprintf(
            f,
            "| %s size, %s | local p99.9 | remote p99.9 | per second | bounces | remote threads "
            "with a ticket |\n|---|---|---|---|---|---|\n",
            y % 2 ? "remote" : "local", y < 2 ? "1 lock" : "10 locks");
        for (unsigned i = 0; i < n; i++) {
            lab_sum(r->lab, LAB_GROUPS, LAB_FARLOCK_G, xs[i], y, r->scratch);
            const struct lab_sum *s = r->scratch;
            fprintf(f, "| %u | %.1f | %.1f | %.0f | %.3f | %.1f |\n", xs[i],
                    lab_us(&s->latency[FAIR_LOCAL], 0.999), lab_us(&s->latency[FAIR_REMOTE], 0.999),
                    lab_per_s(s, FAIR_LOCAL) + lab_per_s(s, FAIR_REMOTE), lab_switches(&s->fair),
                    bench_fair_tickets(&s->fair, FAIR_REMOTE));
        }
        fprintf(f, "\n");
    }
    picture(r, "groups-local-p999", "local tails by group size");
    picture(r, "groups-remote-p999", "remote tails by group size");
    picture(r, "groups-switches", "bounces by group size");
}

/* ---- Fairness */

static double over(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static void bound(const struct lab_report *r)
{
    FILE *f = r->f;
    double least_remote = 0;
    for (unsigned s = 0; s < LAB_SERIES; s++) {
        double v = lab_us(&lab_at(r, 0, s)->latency[FAIR_REMOTE], 0.999);
        least_remote = !s || v < least_remote ? v : least_remote;
    }
    fprintf(
        f,
        "## The bound of first come, first served\n\n"
        "For each acquisition: the sections of those that held or waited when it began, and for "
        "each the cheapest hand-over that release permits (remote to remote 3 one-way times, "
        "between the classes one, local to local none). One way is %" PRIu64 " ns here: half the "
        "shortest round trip of a get between idle machines. A lock below its bound has let "
        "somebody pass who came later. 1 lock, microseconds.\n\n"
        "| lock | all p99.9 | bound | ratio | local p50 | remote p50 | local / remote | remote "
        "p99.9 | over the lowest of all |\n|---|---|---|---|---|---|---|---|---|\n",
        r->lab->one_way_ns);
    for (unsigned s = 0; s < LAB_SERIES; s++) {
        const struct lab_sum *sum = lab_at(r, 0, s);
        double all = lab_us(&sum->fair.latency, 0.999), least = lab_us(&sum->fair.bound, 0.999);
        double local = lab_us(&sum->latency[FAIR_LOCAL], 0.5);
        double remote = lab_us(&sum->latency[FAIR_REMOTE], 0.5);
        double tail = lab_us(&sum->latency[FAIR_REMOTE], 0.999);
        fprintf(f, "| %s | %.1f | %.1f | %.3f | %.1f | %.1f | %.3f | %.1f | %.3f |\n",
                lab_series_names[s], all, least, over(all, least), local, remote,
                over(local, remote), tail, over(tail, least_remote));
    }
    fprintf(f, "\n");
    picture(r, "bound", "tails and bounds");
}

static void waits(const struct lab_report *r)
{
    FILE *f = r->f;
    fprintf(f,
            "## Waiting before and after the doorway\n\n"
            "A strictly fair lock gives a place in the order at once: the doorway is short, and "
            "nearly all waiting is behind it. farlock gives the place with the ticket, which only "
            "the heads of its queues compete for. The mean numbers are of threads that wait, at a "
            "time, for the one lock; ts and alock have no doorway.\n\n"
            "| lock | class | in the doorway, mean number | with a ticket, mean number | doorway "
            "p50 | doorway p99.9 | ticket to entry p50 | ticket to entry p99.9 |\n"
            "|---|---|---|---|---|---|---|---|\n");
    for (unsigned s = 0; s < LAB_SERIES; s++)
        for (unsigned class = 0; class < FAIR_CLASSES; class ++) {
            const struct bench_fair *v = &lab_at(r, 0, s)->fair;
            if (!v->doorway[class].count)
                continue;
            fprintf(f, "| %s | %s | %.2f | %.2f | %.1f | %.1f | %.1f | %.1f |\n",
                    lab_series_names[s], class == FAIR_LOCAL ? "local" : "remote",
                    bench_fair_unticketed(v, class), bench_fair_tickets(v, class),
                    lab_us(&v->doorway[class], 0.5), lab_us(&v->doorway[class], 0.999),
                    lab_us(&v->ticketed[class], 0.5), lab_us(&v->ticketed[class], 0.999));
        }
    fprintf(f, "\n");
    picture(r, "waits", "threads that wait");
}

static void sweep(const struct lab_report *r, enum lab_suite suite, const char *x)
{
    FILE *f = r->f;
    unsigned xs[32], n = lab_values(r->lab, suite, 0, xs, 32);
    fprintf(f, "| %s |", x);
    for (unsigned s = 0; s < LAB_SERIES; s++)
        if (lab_has(r->lab, suite, s))
            fprintf(f, " %s |", lab_series_names[s]);
    fprintf(f, "\n|---|");
    for (unsigned s = 0; s < LAB_SERIES; s++)
        if (lab_has(r->lab, suite, s))
            fprintf(f, "---|");
    fprintf(f, "\n");
    for (unsigned i = 0; i < n; i++) {
        fprintf(f, "| %u |", xs[i]);
        for (unsigned s = 0; s < LAB_SERIES; s++) {
            if (!lab_has(r->lab, suite, s))
                continue;
            lab_sum(r->lab, suite, s, xs[i], 0, r->scratch);
            fprintf(f, " %.1f", lab_us(&r->scratch->latency[FAIR_LOCAL], 0.999));
            if (r->scratch->fair.doorway[FAIR_REMOTE].count)
                fprintf(f, " (%.1f)", bench_fair_tickets(&r->scratch->fair, FAIR_REMOTE));
            fprintf(f, " |");
        }
        fprintf(f, "\n");
    }
    fprintf(f, "\n");
}

/*
 * Where tickets are what remote threads wait for, the time between two remote entries is that of a ticket,
 * whatever the section: the least time of the sweep. With a long section it is the section and a hand-over.
 * From the two follows the section above which tickets pile up; the sweep shows where they do.
 */
static void prediction(const struct lab_report *r)
{
    static const enum lab_series of[] = {LAB_FARLOCK, LAB_PUBLISHED};
    unsigned xs[32], n = lab_values(r->lab, LAB_SECTION, 0, xs, 32);
    fprintf(r->f,
            "| lock | ticket (us) | hand-over (us) | predicted: tickets pile up above a section of "
            "(us) | seen: most remote threads have a ticket from (us) |\n|---|---|---|---|---|\n");
    for (unsigned k = 0; k < sizeof(of) / sizeof(*of); k++) {
        unsigned seen = n;
        double ticket = 0, hand_over = 0;
        for (unsigned i = n; i-- > 0;) {
            lab_sum(r->lab, LAB_SECTION, of[k], xs[i], 0, r->scratch);
            double rate = lab_per_s(r->scratch, FAIR_REMOTE), every = rate > 0 ? 1e6 / rate : 0;
            ticket = i == n - 1 || every < ticket ? every : ticket;
            hand_over = i == n - 1 ? every - xs[i] / 1000.0 : hand_over;
            if (2 * bench_fair_tickets(&r->scratch->fair, FAIR_REMOTE) >
                (LAB_NODES - 1) * LAB_THREADS)
                seen = i;
        }
        fprintf(r->f, "| %s | %.2f | %.2f | %.2f | ", lab_series_names[of[k]], ticket, hand_over,
                fmax(0, ticket - hand_over));
        if (seen == n)
            fprintf(r->f, "not in this range |\n");
        else if (!seen)
            fprintf(r->f, "%.1f |\n", xs[seen] / 1000.0);
        else
            fprintf(r->f, "between %.1f and %.1f |\n", xs[seen - 1] / 1000.0, xs[seen] / 1000.0);
    }
    fprintf(r->f,
            "\nA ticket takes the least time between two remote entries of this sweep; a hand-over "
            "what is left of that time behind the longest section.\n\n");
}

static void explanation(const struct lab_report *r)
{
    FILE *f = r->f;
    fprintf(f,
            "## What makes a local tail low\n\n"
            "The claim: farlock's local tail is low where its remote threads get tickets more "
            "slowly than the lock serves remote sections, because then few of them have a ticket "
            "when a local thread takes one; where tickets are cheap against a section, all of "
            "them have one, and a local thread waits for all. If so, making the section longer, "
            "or the ticket cheaper, must bring farlock's local tail to that of a strictly fair "
            "lock, and the number of remote tickets must rise with it. Local p99.9 in "
            "microseconds, and in brackets the mean number of remote threads that wait with a "
            "ticket; 1 lock.\n\n");
    sweep(r, LAB_SECTION, "remote section (ns)");
    prediction(r);
    picture(r, "section-local-p999", "local tail by section");
    picture(r, "section-tickets", "remote tickets by section");
    sweep(r, LAB_CROWD, "threads on each remote node");
    picture(r, "crowd-local-p999", "local tail by remote threads");
    picture(r, "crowd-tickets", "remote tickets by remote threads");
}

static void bypass(const struct lab_report *r)
{
    FILE *f = r->f;
    unsigned xs[32], n = lab_values(r->lab, LAB_BYPASS, 0, xs, 32);
    static const enum lab_series of[] = {LAB_FARLOCK, LAB_PUBLISHED, LAB_ALOCK, LAB_ALOCK_R};
    enum { OF = sizeof(of) / sizeof(*of) };
    double local[OF], remote[OF];
    bool at_or_below[OF] = {false};
    for (unsigned k = 0; k < OF; k++) {
        local[k] = lab_us(&lab_at(r, 0, of[k])->latency[FAIR_LOCAL], 0.999);
        remote[k] = lab_us(&lab_at(r, 0, of[k])->latency[FAIR_REMOTE], 0.999);
    }
    fprintf(f, "## The policy knob: merge.bypass\n\n");
    if (!r->lab->has_bypass) {
        fprintf(f, "merge has no such parameter in this build.\n\n");
        return;
    }
    fprintf(f,
            "1 lock. 0 is strict order; b lets a local thread pass a remote head at most b "
            "times.\n\n| bypass | local p50 | local p99.9 | remote p50 | remote p99.9 | local per "
            "second | remote per second |\n|---|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < n; i++) {
        lab_sum(r->lab, LAB_BYPASS, LAB_MERGE, xs[i], 0, r->scratch);
        const struct baton_hist *l = &r->scratch->latency[FAIR_LOCAL];
        const struct baton_hist *m = &r->scratch->latency[FAIR_REMOTE];
        fprintf(f, "| %u | %.1f | %.1f | %.1f | %.1f | %.0f | %.0f |\n", xs[i], lab_us(l, 0.5),
                lab_us(l, 0.999), lab_us(m, 0.5), lab_us(m, 0.999),
                lab_per_s(r->scratch, FAIR_LOCAL), lab_per_s(r->scratch, FAIR_REMOTE));
        for (unsigned k = 0; k < OF; k++)
            at_or_below[k] |= lab_us(l, 0.999) <= local[k] && lab_us(m, 0.999) <= remote[k];
    }
    for (unsigned k = 0; k < OF; k++)
        fprintf(f, "\nA point at or below %s's local (%.1f us) and remote (%.1f us) p99.9: %s.\n",
                lab_series_names[of[k]], local[k], remote[k],
                at_or_below[k] ? "there is one" : "there is none");
    fprintf(f, "\n");
    picture(r, "bypass", "local against remote tail");
}

static void head(const struct lab_report *r)
{
    const struct lab_options *o = r->lab->options;
    FILE *f = r->f;
    fprintf(f,
            "# Fair asymmetric locks on simulated machines\n\n"
            "Written by `baton lab farlock --profile %s --seeds %u --length %g%s`. All figures are "
            "simulated, in virtual time; the same options give the same files.\n\n",
            o->profile, o->seeds, o->length, o->quick ? " --quick" : "");
    if (o->quick)
        fprintf(f, "**A quick run: too short for its figures to mean anything.**\n\n");
    fprintf(
        f,
        "%d nodes of %d threads; all locks on one node, so %d local and %d remote threads in a "
        "closed loop; critical sections %d ns local, %d ns remote; alock with budgets 20 local, "
        "5 remote, and alock-r20 the other way round, since the published 20/5 can be read in both "
        "ways; first and last quarter of each run cut off; %u runs. Every run checks "
        "exclusion, updates and promised order, and the report is only written when all of "
        "them passed. `runs.csv` has all runs, the other files what the pictures show.\n\n",
        LAB_NODES, LAB_THREADS, LAB_THREADS, (LAB_NODES - 1) * LAB_THREADS, LAB_LOCAL_CS_NS,
        LAB_REMOTE_CS_NS, r->lab->points_n);
}

int lab_write_report(const struct lab *lab, bool pictures)
{
    struct lab_report r = {.lab = lab, .pictures = pictures};
    r.counts_n = lab_values(lab, LAB_LOCKS, 0, r.counts, LAB_LOCK_COUNTS_MAX);
    r.sums = calloc((size_t)r.counts_n * LAB_SERIES + 1, sizeof(*r.sums));
    if (!r.sums)
        return -ENOMEM;
    r.scratch = &r.sums[(size_t)r.counts_n * LAB_SERIES];
    for (unsigned i = 0; i < r.counts_n; i++)
        for (unsigned s = 0; s < LAB_SERIES; s++)
            lab_sum(lab, LAB_LOCKS, s, r.counts[i], 0, &r.sums[i * LAB_SERIES + s]);
    r.f = lab_open(lab, "report.md");
    int rc = r.f ? 0 : -EIO;
    if (!rc) {
        head(&r);
        lab_report_published(&r);
        tails(&r);
        lab_report_arrivals(&r);
        groups(&r);
        bound(&r);
        waits(&r);
        explanation(&r);
        bypass(&r);
        rc = lab_close(r.f, "report.md");
    }
    free(r.sums);
    return rc;
}

/* SPDX-License-Identifier: MIT */
/* The lab's report: the published figures beside ours, tables of tails, fairness, and what explains them. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lab.h"

#define LOCK_COUNTS_MAX 16

struct report {
    const struct lab *lab;
    FILE *f;
    bool pictures;
    unsigned counts[LOCK_COUNTS_MAX], counts_n; /* numbers of locks */
    struct lab_sum *sums;                       /* [count][series] */
    struct lab_sum *scratch;
};

static const struct lab_sum *at(const struct report *r, unsigned count, enum lab_series s)
{
    return &r->sums[count * LAB_SERIES + s];
}

static void picture(const struct report *r, const char *name, const char *says)
{
    if (r->pictures)
        fprintf(r->f, "![%s](%s.svg)\n\n", says, name);
}

/* The seed's figures are ratios of tails: whichever of three percentiles is resolved by the samples. */
static const double tail_parts[] = {0.999, 0.9999, 0.99999};
#define TAILS (sizeof(tail_parts) / sizeof(*tail_parts))

static bool resolved(const struct baton_hist *h, double part)
{
    return (double)h->count * (1 - part) >= 1;
}

static void tail_cell(FILE *f, const struct baton_hist *h, double part)
{
    if (!h->count)
        fprintf(f, " -");
    else
        fprintf(f, " %.1f%s", lab_us(h, part), resolved(h, part) ? "" : "*");
    fprintf(f, " |");
}

/* ---- Ratios over the numbers of locks */

struct range {
    double least, most;
};

static void widen(struct range *g, double v)
{
    if (!(v > 0) || isinf(v))
        return;
    g->least = g->least > 0 && g->least < v ? g->least : v;
    g->most = g->most > v ? g->most : v;
}

/* How many times the local tail of `of` is that of `to`, at 1 to 10 locks. */
static struct range tail_ratios(const struct report *r, enum lab_series of, enum lab_series to)
{
    struct range g = {0};
    for (unsigned i = 0; i < r->counts_n; i++)
        for (unsigned p = 0; p < TAILS && r->counts[i] <= 10; p++) {
            const struct baton_hist *a = &at(r, i, of)->latency[FAIR_LOCAL];
            const struct baton_hist *b = &at(r, i, to)->latency[FAIR_LOCAL];
            if (resolved(a, tail_parts[p]) && resolved(b, tail_parts[p]))
                widen(&g, lab_us(a, tail_parts[p]) / lab_us(b, tail_parts[p]));
        }
    return g;
}

static struct range rate_ratios(const struct report *r, enum lab_series of, enum lab_series to,
                                unsigned locks)
{
    struct range g = {0};
    for (unsigned i = 0; i < r->counts_n; i++)
        if (!locks || r->counts[i] == locks)
            widen(&g, lab_per_s(at(r, i, of), FAIR_LOCAL) / lab_per_s(at(r, i, to), FAIR_LOCAL));
    return g;
}

static struct range join(struct range a, struct range b)
{
    widen(&a, b.least);
    widen(&a, b.most);
    return a;
}

static const enum lab_series beside[] = {LAB_PUBLISHED, LAB_FARLOCK, LAB_MERGE};
#define BESIDE (sizeof(beside) / sizeof(*beside))

/*
 * What is compared, the published value (the least and the most; one value: the most), and what moves our
 * figure away from it, in either direction.
 */
static const struct figure {
    const char *what, *published;
    double least, most;
    bool
        rate; /* local throughput of the lock over that of the others; else local tails, the reverse */
    unsigned locks; /* 0: tails at 1 to 10 locks, rates at all numbers of locks */
    unsigned others_n;
    enum lab_series others[3];
    const char *why_less, *why_more;
} figures[] = {
    {"local tail, times lower than mcs' and ticket's (1-10 locks, the most)",
     "62",
     62,
     62,
     false,
     0,
     2,
     {LAB_MCS, LAB_TICKET},
     "Here mcs and ticket queue on an idle fabric: sections and hand-overs, without the congestion "
     "and "
     "the interference of real machines on top.",
     "Remote threads get tickets more slowly here, against the length of a section, than on the "
     "published "
     "machines: that, and not the order, is what keeps the local tail low (see below)."},
    {"local tail, times lower than alock's (1-10 locks, the most)",
     "8",
     8,
     8,
     false,
     0,
     1,
     {LAB_ALOCK},
     "With a local budget of 20 and a remote one of 5 alock favours local threads: one waits for 5 "
     "remote "
     "sections at most.",
     "A local thread of alock waits for whole remote budgets."},
    {"local tail, times lower than alock-r20's (1-10 locks, the most)",
     "8",
     8,
     8,
     false,
     0,
     1,
     {LAB_ALOCK_R},
     "Most of alock's local wait is for remote budgets, which are regular here.",
     "With 12 local threads and a budget of 5 a local thread of alock waits for up to three remote "
     "budgets of 20."},
    {"local tail, times lower than ts' (1-10 locks)",
     "55-5898",
     55,
     5898,
     false,
     0,
     1,
     {LAB_TS},
     "Our ts backs off, with a bound on the pause, and simulated NICs serve retries evenly.",
     "Nothing bounds the time that a thread of ts waits."},
    {"local throughput, times that of ts, ticket, mcs (all numbers of locks, the most)",
     "891",
     891,
     891,
     true,
     0,
     3,
     {LAB_TS, LAB_TICKET, LAB_MCS},
     "Likely because the published baselines collapse under a hundred threads that poll or retry "
     "at one NIC; "
     "these do "
     "not: mcs waits without polling, ticket backs off by its distance, ts by a growing pause.",
     "Local threads of farlock never touch the NIC."},
    {"local throughput, times alock's, 1 lock",
     "11.9",
     11.9,
     11.9,
     true,
     1,
     1,
     {LAB_ALOCK},
     "With a local budget of 20 and a remote one of 5 alock favours local threads.",
     "Nearly all remote threads wait without a ticket, and local ones take turns alone."},
    {"local throughput, times alock-r20's, 1 lock",
     "11.9",
     11.9,
     11.9,
     true,
     1,
     1,
     {LAB_ALOCK_R},
     "alock serves 5 local threads to 20 remote ones here too.",
     "alock serves 5 local threads to 20 remote ones; in farlock nearly all remote threads wait "
     "without "
     "a ticket, and local ones take turns alone."},
    {"local throughput, times alock's, 10 locks",
     "2",
     2,
     2,
     true,
     10,
     1,
     {LAB_ALOCK},
     "With a local budget of 20 and a remote one of 5 alock favours local threads.",
     "With fewer remote waiters a lock, local threads rarely wait for more than one of them."},
    {"local throughput, times alock-r20's, 10 locks",
     "2",
     2,
     2,
     true,
     10,
     1,
     {LAB_ALOCK_R},
     "With fewer remote waiters a lock its remote budget is seldom used up.",
     "With a dozen threads at each lock a remote budget of 20 still means all who wait, and a "
     "local "
     "thread of farlock waits for one or two with a ticket."},
};
#define FIGURES (sizeof(figures) / sizeof(*figures))

static struct range ratios(const struct report *r, const struct figure *g, enum lab_series of)
{
    struct range all = {0};
    for (unsigned i = 0; i < g->others_n; i++)
        all = join(all, g->rate ? rate_ratios(r, of, g->others[i], g->locks)
                                : tail_ratios(r, g->others[i], of));
    return all;
}

static void range_cell(FILE *f, struct range g, bool both)
{
    if (!(g.most > 0))
        fprintf(f, " - |");
    else if (both)
        fprintf(f, " %.3g-%.3g |", g.least, g.most);
    else
        fprintf(f, " %.3g |", g.most);
}

static bool near_to(double ours, double theirs)
{
    return ours <= 1.5 * theirs && ours >= theirs / 1.5;
}

/* "L5 R3 L7": runs of one class in the order of entry. */
static void order_text(const struct lab_arrivals *a, char *out, size_t bytes)
{
    size_t used = 0;
    *out = 0;
    for (unsigned i = 0, k; i < a->count && used < bytes; i = k) {
        bool remote = a->order[i] >= LAB_THREADS;
        for (k = i; k < a->count && (a->order[k] >= LAB_THREADS) == remote; k++)
            ;
        used += (size_t)snprintf(out + used, bytes - used, "%s%c%u", i ? " " : "",
                                 remote ? 'R' : 'L', k - i);
    }
}

/* From the opening to the entry of who waits longest after it. */
static double longest_us(const struct lab_arrivals *a)
{
    uint64_t last = a->opened;
    for (unsigned i = 0; i < LAB_ARRIVALS; i++)
        last = a->entered[i] > last ? a->entered[i] : last;
    return (double)(last - a->opened) / 1000;
}

static void arrivals_row(const struct report *r)
{
    fprintf(r->f,
            "| 12 local, then 12 remote arrivals: longest wait after the opening; order kept | "
            "135.30 us; yes |");
    for (unsigned k = 0; k < BESIDE; k++) {
        const struct lab_arrivals *a = &r->lab->arrivals[beside[k]];
        fprintf(r->f, " %.2f us; %s |", longest_us(a), a->in_order ? "yes" : "no");
    }
    const struct lab_arrivals *a = &r->lab->arrivals[LAB_PUBLISHED];
    fprintf(r->f, " %s |\n",
            a->in_order && near_to(longest_us(a), 135.30) ? "within 1.5, in order" : "no");
}

static void arrivals(const struct report *r)
{
    FILE *f = r->f;
    fprintf(f,
            "## Controlled arrivals\n\n"
            "A remote thread holds the lock while 12 local threads (L) and then 12 remote ones (R) "
            "ask for it, one after the other; then it opens it, and they go through once each.\n\n"
            "| lock | order kept | who went through | last entry after the opening |\n"
            "|---|---|---|---|\n");
    for (unsigned s = 0; s < LAB_SERIES; s++) {
        const struct lab_arrivals *a = &r->lab->arrivals[s];
        char order[128];
        order_text(a, order, sizeof(order));
        fprintf(f, "| %s | %s | %s | %.2f us |\n", lab_series_names[s], a->in_order ? "yes" : "no",
                order, longest_us(a));
    }
    fprintf(f, "\n");
}

static void spread_row(const struct report *r)
{
    fprintf(r->f, "| spread of p99.999 over the runs (the most) | 14.88 %% |");
    for (unsigned k = 0; k < BESIDE; k++) {
        double most = 0;
        for (unsigned i = 0; i < r->counts_n; i++)
            most = fmax(most, at(r, i, beside[k])->tail_spread);
        fprintf(r->f, " %.2f %% |", 100 * most);
    }
    fprintf(r->f, " |\n");
}

/* The smallest size whose local tail is within 2 % of the least; bounces at the first and last size. */
static unsigned best_group(const struct report *r, unsigned y, double *first, double *last)
{
    unsigned xs[32], n = lab_values(r->lab, LAB_GROUPS, y, xs, 32), best = 0;
    double tails[32], least = 0;
    for (unsigned i = 0; i < n; i++) {
        lab_sum(r->lab, LAB_GROUPS, LAB_FARLOCK_G, xs[i], y, r->scratch);
        const struct bench_fair *v = &r->scratch->fair;
        tails[i] = lab_us(&r->scratch->latency[FAIR_LOCAL], 0.999);
        least = !i || tails[i] < least ? tails[i] : least;
        *(i ? last : first) = v->entries ? (double)v->switches / (double)v->entries : 0;
    }
    for (unsigned i = n; i-- > 0;)
        if (tails[i] <= 1.02 * least)
            best = xs[i];
    return best;
}

static void published(const struct report *r)
{
    FILE *f = r->f;
    fprintf(f, "## The published figures beside ours\n\n"
               "Ratios are of figures from the same plan. *published cost* is farlock with "
               "`farlock.chain=off`: every operation is waited for, as in the published code. "
               "*chained* is the same lock at the cost that the contract allows.\n\n"
               "| figure | published | published cost | chained | merge | published cost agrees |\n"
               "|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < FIGURES; i++) {
        bool both = figures[i].least < figures[i].most;
        struct range g = ratios(r, &figures[i], LAB_PUBLISHED);
        fprintf(f, "| %s | %s× |", figures[i].what, figures[i].published);
        for (unsigned k = 0; k < BESIDE; k++)
            range_cell(f, ratios(r, &figures[i], beside[k]), both);
        fprintf(f, " %s |\n",
                !(g.most > 0) ? "not resolved"
                : both
                    ? g.most >= figures[i].least && g.least <= figures[i].most ? "overlaps" : "no"
                : near_to(g.most, figures[i].most) ? "within 1.5"
                                                   : "no");
    }
    arrivals_row(r);
    spread_row(r);
    for (unsigned y = 0; y < LAB_GROUP_SWEEPS; y++) {
        double first = 0, last = 0;
        unsigned best = best_group(r, y, &first, &last);
        const char *locks = y < 2 ? "1 lock" : "10 locks";
        if (y % 2 == 0)
            fprintf(f,
                    "| smallest size of local groups within 2 %% of the best local p99.9, %s | 5 | "
                    "%u | | | %s |\n",
                    locks, best, best >= 3 && best <= 8 ? "yes" : "no");
        else
            fprintf(
                f,
                "| bounces with the largest remote groups, times those of size 1, %s | more than "
                "1 | %.3g | | | %s |\n",
                locks, first > 0 ? last / first : 0, last > first ? "yes" : "no");
    }
    fprintf(f, "| tails and throughput of a B+tree with the lock | 14×, same throughput | not "
               "measured here | | | |\n\n");

    fprintf(f, "### Where they differ, and why\n\n");
    for (unsigned i = 0; i < FIGURES; i++) {
        struct range g = ratios(r, &figures[i], LAB_PUBLISHED);
        if (!(g.most > 0))
            continue;
        bool less = g.most<figures[i].least / 1.5, more = g.least> figures[i].most * 1.5;
        if (figures[i].least == figures[i].most)
            more = g.most > figures[i].most * 1.5;
        if (less || more)
            fprintf(f, "- *%s*: %s here. %s\n", figures[i].what, less ? "less" : "more",
                    less ? figures[i].why_less : figures[i].why_more);
    }
    double first = 0, last = 0;
    unsigned best = best_group(r, 0, &first, &last);
    if (best < 3)
        fprintf(
            f,
            "- *size of local groups*: any size above 1 does here. The 12 local threads go through "
            "between two remote ones, and all that a group saves is their tickets.\n");
    best_group(r, 1, &first, &last);
    if (last <= first)
        fprintf(
            f,
            "- *bounces with remote groups*: fewer here. A remote group shares one ticket, so "
            "remote "
            "threads get their places sooner: fewer local ones pass meanwhile, and the local tail "
            "goes up (see the sizes of groups). That remote groups hurt is seen here too, in the "
            "local tail and not in the bounces.\n");
    fprintf(f,
            "- All values come from one profile of a NIC, most of whose constants are "
            "assumptions (`baton info --profile %s`): ratios between locks that do the same "
            "kinds of operations are worth more than absolute times.\n",
            r->lab->options->profile);
    fprintf(f, "- The published runs lasted 20 s each; these are shorter (below), and a value with "
               "a star is the greatest of too few samples for its percentile.\n\n");
}

/* ---- Tables by number of locks */

static void tails(const struct report *r)
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
        const struct lab_sum *any = at(r, i, 0);
        fprintf(f, "### %u lock%s\n\n%u runs of %.4g s measured each.\n\n", r->counts[i],
                r->counts[i] == 1 ? "" : "s", any->runs,
                any->runs ? any->measured_s / any->runs : 0);
        for (unsigned class = 0; class < FAIR_CLASSES; class ++) {
            fprintf(f,
                    "| %s | p50 | p99.9 | p99.99 | p99.999 | max | CoV | per second | samples |\n"
                    "|---|---|---|---|---|---|---|---|---|\n",
                    class == FAIR_LOCAL ? "local" : "remote");
            for (unsigned s = 0; s < LAB_SERIES; s++) {
                const struct baton_hist *h = &at(r, i, s)->latency[class];
                double mean = baton_hist_mean(h);
                fprintf(f, "| %s |", lab_series_names[s]);
                tail_cell(f, h, 0.5);
                for (unsigned p = 0; p < TAILS; p++)
                    tail_cell(f, h, tail_parts[p]);
                fprintf(f, " %.1f | %.3f | %.0f | %" PRIu64 " |\n", (double)h->max / 1000,
                        mean > 0 ? baton_hist_deviation(h) / mean : 0,
                        lab_per_s(at(r, i, s), class), h->count);
            }
            fprintf(f, "\n");
        }
        fprintf(f,
                "| lock | bounces per entry | bypasses per entry | Jain | overtaken, p99.9 local / "
                "remote |\n|---|---|---|---|---|\n");
        for (unsigned s = 0; s < LAB_SERIES; s++) {
            const struct lab_sum *sum = at(r, i, s);
            double entries = sum->entries ? (double)sum->entries : 1;
            fprintf(f, "| %s | %.3f | %.3f | %.4f | %" PRIu64 " / %" PRIu64 " |\n",
                    lab_series_names[s],
                    sum->fair.entries ? (double)sum->fair.switches / (double)sum->fair.entries : 0,
                    (double)sum->bypasses / entries, sum->jain,
                    baton_hist_quantile(&sum->fair.overtaken[FAIR_LOCAL], 0.999),
                    baton_hist_quantile(&sum->fair.overtaken[FAIR_REMOTE], 0.999));
        }
        fprintf(f, "\n");
    }
    fprintf(f, "*Overtaken* counts, for an entry, those that called acquire later and entered "
               "earlier.\n\n");
    picture(r, "order", "order of beginning and of entry");
}

static void groups(const struct report *r)
{
    FILE *f = r->f;
    fprintf(f,
            "## Sizes of groups\n\nfarlock-g in published-cost mode; one size is varied, the other "
            "one is 1.\n\n");
    for (unsigned y = 0; y < LAB_GROUP_SWEEPS; y++) {
        unsigned xs[32], n = lab_values(r->lab, LAB_GROUPS, y, xs, 32);
        fprintf(f,
                "| %s size, %s | local p99.9 | remote p99.9 | per second | bounces |\n"
                "|---|---|---|---|---|\n",
                y % 2 ? "remote" : "local", y < 2 ? "1 lock" : "10 locks");
        for (unsigned i = 0; i < n; i++) {
            lab_sum(r->lab, LAB_GROUPS, LAB_FARLOCK_G, xs[i], y, r->scratch);
            const struct lab_sum *s = r->scratch;
            fprintf(f, "| %u | %.1f | %.1f | %.0f | %.3f |\n", xs[i],
                    lab_us(&s->latency[FAIR_LOCAL], 0.999), lab_us(&s->latency[FAIR_REMOTE], 0.999),
                    lab_per_s(s, FAIR_LOCAL) + lab_per_s(s, FAIR_REMOTE),
                    s->fair.entries ? (double)s->fair.switches / (double)s->fair.entries : 0);
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

static void bound(const struct report *r)
{
    FILE *f = r->f;
    double least_remote = 0;
    for (unsigned s = 0; s < LAB_SERIES; s++) {
        double v = lab_us(&at(r, 0, s)->latency[FAIR_REMOTE], 0.999);
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
        const struct lab_sum *sum = at(r, 0, s);
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

static void waits(const struct report *r)
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
            const struct bench_fair *v = &at(r, 0, s)->fair;
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

static void sweep(const struct report *r, enum lab_suite suite, const char *x)
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
static void prediction(const struct report *r)
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

static void explanation(const struct report *r)
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

static void bypass(const struct report *r)
{
    FILE *f = r->f;
    unsigned xs[32], n = lab_values(r->lab, LAB_BYPASS, 0, xs, 32);
    static const enum lab_series of[] = {LAB_FARLOCK, LAB_PUBLISHED, LAB_ALOCK, LAB_ALOCK_R};
    enum { OF = sizeof(of) / sizeof(*of) };
    double local[OF], remote[OF];
    bool at_or_below[OF] = {false};
    for (unsigned k = 0; k < OF; k++) {
        local[k] = lab_us(&at(r, 0, of[k])->latency[FAIR_LOCAL], 0.999);
        remote[k] = lab_us(&at(r, 0, of[k])->latency[FAIR_REMOTE], 0.999);
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

static void head(const struct report *r)
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
    struct report r = {.lab = lab, .pictures = pictures};
    r.counts_n = lab_values(lab, LAB_LOCKS, 0, r.counts, LOCK_COUNTS_MAX);
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
        published(&r);
        tails(&r);
        arrivals(&r);
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

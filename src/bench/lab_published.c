/* SPDX-License-Identifier: MIT */
/* The report's first part: the published figures beside ours, and where they differ and why. */
#include <math.h>
#include <string.h>

#include "bench/lab_report.h"

const double lab_tail_parts[LAB_TAILS] = {0.999, 0.9999, 0.99999};

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
static struct range tail_ratios(const struct lab_report *r, enum lab_series of, enum lab_series to)
{
    struct range g = {0};
    for (unsigned i = 0; i < r->counts_n; i++)
        for (unsigned p = 0; p < LAB_TAILS && r->counts[i] <= 10; p++) {
            const struct baton_hist *a = &lab_at(r, i, of)->latency[FAIR_LOCAL];
            const struct baton_hist *b = &lab_at(r, i, to)->latency[FAIR_LOCAL];
            if (lab_resolved(a, lab_tail_parts[p]) && lab_resolved(b, lab_tail_parts[p]))
                widen(&g, lab_us(a, lab_tail_parts[p]) / lab_us(b, lab_tail_parts[p]));
        }
    return g;
}

static struct range rate_ratios(const struct lab_report *r, enum lab_series of, enum lab_series to,
                                unsigned locks)
{
    struct range g = {0};
    for (unsigned i = 0; i < r->counts_n; i++)
        if (!locks || r->counts[i] == locks)
            widen(&g, lab_per_s(lab_at(r, i, of), FAIR_LOCAL) /
                          lab_per_s(lab_at(r, i, to), FAIR_LOCAL));
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
     "remote sections at most (tried below).",
     "A local thread of alock waits for whole remote budgets (tried below)."},
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
     "budgets of 20 (tried below)."},
    {"local tail, times lower than ts' (1-10 locks)",
     "55-5898",
     55,
     5898,
     false,
     0,
     1,
     {LAB_TS},
     "Our ts backs off, with a bound on the pause; nothing else bounds the time that a thread of "
     "it "
     "waits, and the longer a run the longer the longest wait.",
     "Nothing bounds the time that a thread of ts waits."},
    {"local throughput, times that of ts, ticket, mcs (all numbers of locks, the most)",
     "891",
     891,
     891,
     true,
     0,
     3,
     {LAB_TS, LAB_TICKET, LAB_MCS},
     "The published baselines are slower than these. One reason was tried: retries without pauses "
     "(below).",
     "Local threads of farlock never touch the NIC."},
    {"local throughput, times alock's, 1 lock",
     "11.9",
     11.9,
     11.9,
     true,
     1,
     1,
     {LAB_ALOCK},
     "With a local budget of 20 and a remote one of 5 alock favours local threads (tried below).",
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
     "alock serves 5 local threads to 20 remote ones (tried below); in farlock nearly all remote "
     "threads wait without a ticket (see the waiting before and after the doorway), and local ones "
     "take turns alone."},
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

static struct range ratios(const struct lab_report *r, const struct figure *g, enum lab_series of)
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

static void arrivals_row(const struct lab_report *r)
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
            a->in_order && lab_near_to(longest_us(a), 135.30) ? "within 1.5, in order" : "no");
}

void lab_report_arrivals(const struct lab_report *r)
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

static void spread_row(const struct lab_report *r)
{
    fprintf(r->f, "| spread of p99.999 over the runs (the most) | 14.88 %% |");
    for (unsigned k = 0; k < BESIDE; k++) {
        double most = 0;
        for (unsigned i = 0; i < r->counts_n; i++)
            most = fmax(most, lab_at(r, i, beside[k])->tail_spread);
        fprintf(r->f, " %.2f %% |", 100 * most);
    }
    fprintf(r->f, " |\n");
}

/* The smallest size whose local tail is within 2 % of the least; bounces at the first and last size. */
static unsigned best_group(const struct lab_report *r, unsigned y, double *first, double *last)
{
    unsigned xs[32], n = lab_values(r->lab, LAB_GROUPS, y, xs, 32), best = 0;
    double tails[32], least = 0;
    for (unsigned i = 0; i < n; i++) {
        lab_sum(r->lab, LAB_GROUPS, LAB_FARLOCK_G, xs[i], y, r->scratch);
        tails[i] = lab_us(&r->scratch->latency[FAIR_LOCAL], 0.999);
        least = !i || tails[i] < least ? tails[i] : least;
        *(i ? last : first) = lab_switches(&r->scratch->fair);
    }
    for (unsigned i = n; i-- > 0;)
        if (tails[i] <= 1.02 * least)
            best = xs[i];
    return best;
}

void lab_report_published(const struct lab_report *r)
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
                : lab_near_to(g.most, figures[i].most) ? "within 1.5"
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
    fprintf(f,
            "| a B+tree with the lock, uniform and Zipf: tails, times lower | local 11-14× and "
            "3.6-11×, remote 1.7-6× and 1.8-3.5×; same throughput | not measured here | | | |\n\n");

    fprintf(f, "### Where they differ, and why\n\n");
    for (unsigned i = 0; i < FIGURES; i++) {
        struct range g = ratios(r, &figures[i], LAB_PUBLISHED);
        if (!(g.most > 0))
            continue;
        /* Where a range was published, the ends of ours are compared with its ends. */
        bool less = g.most < figures[i].most / 1.5;
        bool more = figures[i].least < figures[i].most ? g.least > figures[i].least * 1.5
                                                       : g.most > figures[i].most * 1.5;
        if (less || more)
            fprintf(f, "- *%s*: %s here. %s\n", figures[i].what, less ? "less" : "more",
                    less ? figures[i].why_less : figures[i].why_more);
    }
    lab_report_group_tries(r);
    fprintf(f,
            "- All values come from one profile of a NIC, most of whose constants are "
            "assumptions (`baton info --profile %s`): ratios between locks that do the same "
            "kinds of operations are worth more than absolute times.\n",
            r->lab->options->profile);
    fprintf(f, "- The published runs lasted 20 s each; these are shorter (below), and a value with "
               "a star is the greatest of too few samples for its percentile.\n\n");
    lab_report_budgets(r);
    lab_report_hot(r);
}

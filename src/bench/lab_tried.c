/* SPDX-License-Identifier: MIT */
/* What the lab has tried to explain where it differs from the published figures: each try is a set of runs. */
#include <math.h>
#include <string.h>

#include "bench/lab_report.h"

/* farlock at published cost with that many locks, which all is compared with; null: not run. */
static const struct lab_sum *published_cost(const struct lab_report *r, unsigned locks)
{
    for (unsigned i = 0; i < r->counts_n; i++)
        if (r->counts[i] == locks)
            return lab_at(r, i, LAB_PUBLISHED);
    return NULL;
}

static double over(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* ---- alock's budgets */

enum { TAIL, RATE_1, RATE_10, BUDGET_FIGURES };

static const struct {
    const char *what;
    double published;
} of_budgets[BUDGET_FIGURES] = {
    [TAIL] = {"the tail at one lock", 8},
    [RATE_1] = {"the throughput at one lock", 11.9},
    [RATE_10] = {"the throughput at ten locks", 2},
};

struct budget_row {
    bool run;
    double tail_us, figures[BUDGET_FIGURES];
};

static void take_row(const struct lab_report *r, unsigned pair, struct budget_row *row)
{
    const struct lab_sum *one = published_cost(r, 1), *ten = published_cost(r, 10);
    memset(row, 0, sizeof(*row));
    if (!one || !ten)
        return;
    lab_sum(r->lab, LAB_BUDGETS, LAB_ALOCK, pair, 0, r->scratch);
    row->run = r->scratch->runs;
    row->tail_us = lab_us(&r->scratch->latency[FAIR_LOCAL], 0.999);
    row->figures[TAIL] = over(row->tail_us, lab_us(&one->latency[FAIR_LOCAL], 0.999));
    row->figures[RATE_1] = over(lab_per_s(one, FAIR_LOCAL), lab_per_s(r->scratch, FAIR_LOCAL));
    lab_sum(r->lab, LAB_BUDGETS, LAB_ALOCK, pair, 1, r->scratch);
    row->figures[RATE_10] = over(lab_per_s(ten, FAIR_LOCAL), lab_per_s(r->scratch, FAIR_LOCAL));
}

/*
 * With enough budget for all local waiters a local thread waits for one turn of the remote ones, else for as
 * many as it takes until its own place in the queue comes. A remote turn is the switch and the sections.
 */
static double predicted_us(const struct budget_row *rows, unsigned pair)
{
    double each =
        (rows[3].tail_us - rows[0].tail_us) / (lab_budgets[3].remote - lab_budgets[0].remote);
    double change = rows[0].tail_us - each * lab_budgets[0].remote;
    unsigned turns = (LAB_THREADS + lab_budgets[pair].local - 1) / lab_budgets[pair].local;
    return turns * (change + each * lab_budgets[pair].remote);
}

/* Names the pairs that agree with all of the figures from `from` to `upto`. */
static void which_agree(FILE *f, const struct budget_row *rows, unsigned from, unsigned upto)
{
    bool any = false;
    for (unsigned i = 0; i < LAB_BUDGET_PAIRS; i++) {
        bool all = rows[i].run;
        for (unsigned k = from; k <= upto; k++)
            all &= lab_near_to(rows[i].figures[k], of_budgets[k].published);
        if (!all)
            continue;
        fprintf(f, "%s%u/%u", any ? ", " : "", lab_budgets[i].local, lab_budgets[i].remote);
        any = true;
    }
    fprintf(f, "%s", any ? "" : "none");
}

void lab_report_budgets(const struct lab_report *r)
{
    FILE *f = r->f;
    struct budget_row rows[LAB_BUDGET_PAIRS];
    for (unsigned i = 0; i < LAB_BUDGET_PAIRS; i++)
        take_row(r, i, &rows[i]);
    if (!rows[0].run || !rows[3].run)
        return;
    fprintf(
        f,
        "### Tried: alock's budgets\n\n"
        "The published 20 and 5 can be read in two ways, and the published ratios to alock lie "
        "between the two. So both budgets were varied. *Times* are of farlock at published cost. "
        "The tail is predicted from the rows 20/5 and 20/20, by what a local thread is said to "
        "wait for: as many turns of the remote threads as it takes until its place in the queue "
        "of 12 comes.\n\n"
        "| budgets local/remote | local p99.9, 1 lock (us) | predicted (us) | times (published: 8 "
        "at the most) | local throughput, 1 lock, times (11.9) | 10 locks, times (2) |\n"
        "|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < LAB_BUDGET_PAIRS; i++)
        if (rows[i].run)
            fprintf(f, "| %u/%u | %.1f | %.1f | %.2f | %.2f | %.2f |\n", lab_budgets[i].local,
                    lab_budgets[i].remote, rows[i].tail_us, predicted_us(rows, i),
                    rows[i].figures[TAIL], rows[i].figures[RATE_1], rows[i].figures[RATE_10]);
    fprintf(f, "\nBudgets within 1.5 of the published value, for");
    for (unsigned k = 0; k < BUDGET_FIGURES; k++) {
        fprintf(f, "%s %s: ", k ? "; for" : "", of_budgets[k].what);
        which_agree(f, rows, k, k);
    }
    fprintf(f, "; for all three: ");
    which_agree(f, rows, 0, BUDGET_FIGURES - 1);
    fprintf(f, ".\n\n");
}

/* ---- ts without pauses */

void lab_report_hot(const struct lab_report *r)
{
    FILE *f = r->f;
    double most = 0;
    fprintf(f,
            "### Tried: retries without pauses\n\n"
            "If the published throughput of the baselines was low because a hundred threads that "
            "retry at one NIC keep it busy, then ts without its pauses (`ts.pause_least=0`, "
            "`ts.pause_most=0`) must show it. Acquisitions per second; *times* are of farlock at "
            "published cost.\n\n"
            "| locks | ts local | without pauses, local | remote | local p99.9 (us) | remote p99.9 "
            "(us) | local throughput, times |\n|---|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < r->counts_n; i++) {
        lab_sum(r->lab, LAB_HOT, LAB_TS, r->counts[i], 0, r->scratch);
        const struct lab_sum *hot = r->scratch;
        double times =
            over(lab_per_s(lab_at(r, i, LAB_PUBLISHED), FAIR_LOCAL), lab_per_s(hot, FAIR_LOCAL));
        most = fmax(most, times);
        fprintf(f, "| %u | %.0f | %.0f | %.0f |", r->counts[i],
                lab_per_s(lab_at(r, i, LAB_TS), FAIR_LOCAL), lab_per_s(hot, FAIR_LOCAL),
                lab_per_s(hot, FAIR_REMOTE));
        for (unsigned class = 0; class < FAIR_CLASSES; class ++)
            if (hot->latency[class].count)
                fprintf(f, " %.1f |", lab_us(&hot->latency[class], 0.999));
            else
                fprintf(f, " nobody entered |");
        fprintf(f, " %.3g |\n", times);
    }
    fprintf(
        f, "\nThe most is %.3g times. %s\n\n", most,
        most >= 891 / 1.5
            ? "So retries explain the published 891 times."
            : "So retries alone do not explain the published 891 times: with the assumptions of "
              "this profile a NIC that is busy with atomics still serves puts and gets, the "
              "release among them, and its way to its own host is no slower than that of "
              "others. What else kept the published baselines is not known here.");
}

/* ---- Groups */

void lab_report_group_tries(const struct lab_report *r)
{
    FILE *f = r->f;
    double locals[2], tickets[2];
    unsigned xs[32], n = lab_values(r->lab, LAB_GROUPS, 0, xs, 32);
    if (n < 2)
        return;
    for (unsigned k = 0; k < 2; k++) {
        lab_sum(r->lab, LAB_GROUPS, LAB_FARLOCK_G, xs[k], 0, r->scratch);
        locals[k] = over(lab_per_s(r->scratch, FAIR_LOCAL), lab_per_s(r->scratch, FAIR_REMOTE));
        lab_sum(r->lab, LAB_GROUPS, LAB_FARLOCK_G, xs[k], 1, r->scratch);
        tickets[k] = bench_fair_tickets(&r->scratch->fair, FAIR_REMOTE);
    }
    fprintf(
        f,
        "- *size of local groups*: between two remote threads %.1f local ones go through at "
        "size 1, and %.1f of the %d at size %u. There is no more to gain by larger ones.\n"
        "- *bounces with remote groups*: a remote group shares one ticket, so remote threads get "
        "their places sooner: at one lock %.1f of them wait with a ticket at size 1, and %.1f at "
        "size %u. So a local thread waits for all of them, and its tail is that of a strictly "
        "fair lock (see the sizes of groups). That remote groups hurt is seen here too; it is "
        "in the local tail, and not in the bounces.\n",
        locals[0], locals[1], LAB_THREADS, xs[1], tickets[0], tickets[1], xs[1]);
}

/* SPDX-License-Identifier: MIT */
/* The lab's figures as CSV, and the pictures that gnuplot draws from them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bench/lab.h"

#define VALUES_MAX 64

FILE *lab_open(const struct lab *lab, const char *name)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", lab->options->folder, name);
    FILE *f = fopen(path, "w");
    if (!f)
        baton_fail(-errno, "%s: %s", path, strerror(errno));
    return f;
}

int lab_close(FILE *f, const char *name)
{
    bool bad = ferror(f);
    if (fclose(f) || bad)
        return baton_fail(-EIO, "%s could not be written", name);
    return 0;
}

/* ---- Every run in a line */

static const char *const suites[] = {"locks",  "groups",  "section", "crowd",
                                     "bypass", "budgets", "hot"};

static void class_columns(FILE *f, const struct baton_hist *h)
{
    static const double parts[] = {0.5, 0.99, 0.999, 0.9999, 0.99999};
    double mean = baton_hist_mean(h);
    fprintf(f, ",%" PRIu64, h->count);
    for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        fprintf(f, ",%" PRIu64, baton_hist_quantile(h, parts[i]));
    fprintf(f, ",%" PRIu64 ",%.4f", h->max, mean > 0 ? baton_hist_deviation(h) / mean : 0);
}

static int write_runs(const struct lab *lab)
{
    FILE *f = lab_open(lab, "runs.csv");
    if (!f)
        return -EIO;
    fprintf(f, "suite,x,lock,params,locks,remote_threads_per_node,remote_cs_ns,seed,measured_s");
    for (int k = 0; k < 2; k++)
        for (const char *const *c =
                 (const char *const[]){"count", "p50_ns", "p99_ns", "p999_ns", "p9999_ns",
                                       "p99999_ns", "max_ns", "cov", NULL};
             *c; c++)
            fprintf(f, ",%s_%s", k ? "remote" : "local", *c);
    fprintf(f, ",jain,bypasses,switches_per_entry,all_p999_ns,bound_p999_ns,local_in_doorway,"
               "remote_in_doorway,local_with_ticket,remote_with_ticket,local_doorway_p999_ns,"
               "remote_doorway_p999_ns,local_overtaken_p999,remote_overtaken_p999\n");
    for (unsigned i = 0; i < lab->points_n; i++) {
        const struct lab_point *p = &lab->points[i];
        const struct bench_result *r = &p->outcome->result;
        const struct bench_fair *v = &p->outcome->fair;
        fprintf(f, "%s%s,%u,%s,", suites[p->suite],
                p->suite != LAB_GROUPS ? ""
                : p->y % 2             ? "-remote"
                                       : "-local",
                p->x, lab_series_names[p->series]);
        for (unsigned k = 0; k < p->params_n; k++)
            fprintf(f, "%s%s", k ? ";" : "", p->params[k]);
        fprintf(f, ",%u,%u,%" PRIu64 ",%" PRIu64 ",%g", p->locks, p->remote_threads,
                p->remote_cs_ns, p->seed, p->measured_s);
        class_columns(f, &r->local.latency);
        class_columns(f, &r->remote.latency);
        fprintf(f, ",%.5f,%" PRIu64 ",%.4f,%" PRIu64 ",%" PRIu64 ",%.3f,%.3f,%.3f,%.3f", r->jain,
                r->bypasses, lab_switches(v), baton_hist_quantile(&v->latency, 0.999),
                baton_hist_quantile(&v->bound, 0.999), bench_fair_unticketed(v, FAIR_LOCAL),
                bench_fair_unticketed(v, FAIR_REMOTE), bench_fair_tickets(v, FAIR_LOCAL),
                bench_fair_tickets(v, FAIR_REMOTE));
        fprintf(f, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
                baton_hist_quantile(&v->doorway[FAIR_LOCAL], 0.999),
                baton_hist_quantile(&v->doorway[FAIR_REMOTE], 0.999),
                baton_hist_quantile(&v->overtaken[FAIR_LOCAL], 0.999),
                baton_hist_quantile(&v->overtaken[FAIR_REMOTE], 0.999));
    }
    return lab_close(f, "runs.csv");
}

/* ---- Tables: x down, series across; a cell that no run filled is empty */

static double local_p999(const struct lab_sum *s)
{
    return lab_us(&s->latency[FAIR_LOCAL], 0.999);
}

static double remote_p999(const struct lab_sum *s)
{
    return lab_us(&s->latency[FAIR_REMOTE], 0.999);
}

static double local_rate(const struct lab_sum *s)
{
    return lab_per_s(s, FAIR_LOCAL);
}

static double remote_rate(const struct lab_sum *s)
{
    return lab_per_s(s, FAIR_REMOTE);
}

static double switches(const struct lab_sum *s)
{
    return lab_switches(&s->fair);
}

static double remote_tickets(const struct lab_sum *s)
{
    return bench_fair_tickets(&s->fair, FAIR_REMOTE);
}

static const struct table {
    const char *name, *title, *x, *y;
    enum lab_suite suite;
    bool log_x, log_y;
    double (*value)(const struct lab_sum *);
} tables[] = {
    {"locks-local-p999", "Local tail: p99.9 of acquire", "locks", "microseconds", LAB_LOCKS, true,
     true, local_p999},
    {"locks-remote-p999", "Remote tail: p99.9 of acquire", "locks", "microseconds", LAB_LOCKS, true,
     true, remote_p999},
    {"locks-local-rate", "Local throughput", "locks", "acquisitions per second", LAB_LOCKS, true,
     true, local_rate},
    {"locks-remote-rate", "Remote throughput", "locks", "acquisitions per second", LAB_LOCKS, true,
     true, remote_rate},
    {"locks-switches", "Bounces between the classes", "locks", "share of entries", LAB_LOCKS, true,
     false, switches},
    {"section-local-p999", "Local tail and the length of the remote section, 1 lock",
     "remote section (ns)", "local p99.9, microseconds", LAB_SECTION, false, true, local_p999},
    {"section-tickets", "Remote threads that wait with a ticket, 1 lock", "remote section (ns)",
     "mean number", LAB_SECTION, false, false, remote_tickets},
    {"crowd-local-p999", "Local tail and the number of remote threads, 1 lock",
     "threads on each of 9 remote nodes", "local p99.9, microseconds", LAB_CROWD, false, true,
     local_p999},
    {"crowd-tickets", "Remote threads that wait with a ticket, 1 lock",
     "threads on each of 9 remote nodes", "mean number", LAB_CROWD, false, false, remote_tickets},
};
/* Whether a table shows a series: tickets of kinds without a doorway would look like none. */
static bool shown(const struct lab *lab, const struct table *t, enum lab_series s)
{
    bool has_doorway = s != LAB_TS && s != LAB_ALOCK && s != LAB_ALOCK_R;
    return lab_has(lab, t->suite, s) && (has_doorway || t->value != remote_tickets);
}

#define TABLES (sizeof(tables) / sizeof(*tables))

static int write_table(const struct lab *lab, const struct table *t, struct lab_sum *sum)
{
    char name[64];
    unsigned xs[VALUES_MAX], n = lab_values(lab, t->suite, 0, xs, VALUES_MAX);
    snprintf(name, sizeof(name), "%s.csv", t->name);
    FILE *f = lab_open(lab, name);
    if (!f)
        return -EIO;
    fprintf(f, "%s", t->x);
    for (unsigned s = 0; s < LAB_SERIES; s++)
        if (shown(lab, t, s))
            fprintf(f, ",%s", lab_series_names[s]);
    fprintf(f, "\n");
    for (unsigned i = 0; i < n; i++) {
        fprintf(f, "%u", xs[i]);
        for (unsigned s = 0; s < LAB_SERIES; s++) {
            if (!shown(lab, t, s))
                continue;
            lab_sum(lab, t->suite, s, xs[i], 0, sum);
            if (sum->runs)
                fprintf(f, ",%g", t->value(sum));
            else
                fprintf(f, ",");
        }
        fprintf(f, "\n");
    }
    return lab_close(f, name);
}

/* 1 / (1 - p) against microseconds, at one lock: each further nine gets the same room. */
static int write_distribution(const struct lab *lab, unsigned class, struct lab_sum *sums)
{
    const char *name = class == FAIR_LOCAL ? "latency-local.csv" : "latency-remote.csv";
    uint64_t most = 0;
    FILE *f = lab_open(lab, name);
    if (!f)
        return -EIO;
    fprintf(f, "one_in");
    for (unsigned s = 0; s < LAB_SERIES; s++) {
        fprintf(f, ",%s", lab_series_names[s]);
        most = sums[s].latency[class].count > most ? sums[s].latency[class].count : most;
    }
    fprintf(f, "\n");
    for (double inverse = 1; inverse <= (double)most; inverse *= 1.15) {
        fprintf(f, "%g", inverse);
        for (unsigned s = 0; s < LAB_SERIES; s++) {
            const struct baton_hist *h = &sums[s].latency[class];
            if ((double)h->count >= inverse)
                fprintf(f, ",%g", lab_us(h, 1 - 1 / inverse));
            else
                fprintf(f, ",");
        }
        fprintf(f, "\n");
    }
    return lab_close(f, name);
}

static int write_waits(const struct lab *lab, struct lab_sum *sums)
{
    FILE *f = lab_open(lab, "waits.csv");
    if (!f)
        return -EIO;
    fprintf(f, "lock,local_in_doorway,local_with_ticket,remote_in_doorway,remote_with_ticket,"
               "p999_us,bound_p999_us,local_p999_us,local_bound_p999_us,remote_p999_us,"
               "remote_bound_p999_us\n");
    for (unsigned s = 0; s < LAB_SERIES; s++) {
        const struct bench_fair *v = &sums[s].fair;
        fprintf(f, "%s,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f\n", lab_series_names[s],
                bench_fair_unticketed(v, FAIR_LOCAL), bench_fair_tickets(v, FAIR_LOCAL),
                bench_fair_unticketed(v, FAIR_REMOTE), bench_fair_tickets(v, FAIR_REMOTE),
                lab_us(&v->latency, 0.999), lab_us(&v->bound, 0.999),
                lab_us(&sums[s].latency[FAIR_LOCAL], 0.999),
                lab_us(&v->class_bound[FAIR_LOCAL], 0.999),
                lab_us(&sums[s].latency[FAIR_REMOTE], 0.999),
                lab_us(&v->class_bound[FAIR_REMOTE], 0.999));
    }
    return lab_close(f, "waits.csv");
}

/* Blocks by series and class, which gnuplot tells apart by their numbers. */
static int write_order(const struct lab *lab, const struct lab_sum *sums)
{
    FILE *f = lab_open(lab, "order.csv");
    if (!f)
        return -EIO;
    for (unsigned s = 0; s < LAB_SERIES; s++) {
        const struct lab_outcome *o = sums[s].point->outcome;
        for (unsigned class = 0; class < FAIR_CLASSES; class ++) {
            fprintf(f, "\"%s %s: begun\",entered\n", lab_series_names[s],
                    class == FAIR_LOCAL ? "local" : "remote");
            for (unsigned i = 0; i < o->window_n; i++)
                if (o->window[i].local == (class == FAIR_LOCAL))
                    fprintf(f, "%u,%u\n", o->window[i].begun, o->window[i].entered);
            fprintf(f, "-10,-10\n\n\n");
        }
    }
    return lab_close(f, "order.csv");
}

static int write_groups(const struct lab *lab, struct lab_sum *sum)
{
    FILE *f = lab_open(lab, "groups.csv");
    if (!f)
        return -EIO;
    fprintf(f, "locks,varied,size,local_p999_us,remote_p999_us,per_s,switches\n");
    for (unsigned y = 0; y < LAB_GROUP_SWEEPS; y++) {
        unsigned xs[VALUES_MAX], n = lab_values(lab, LAB_GROUPS, y, xs, VALUES_MAX);
        for (unsigned i = 0; i < n; i++) {
            lab_sum(lab, LAB_GROUPS, LAB_FARLOCK_G, xs[i], y, sum);
            fprintf(f, "%u,%s,%u,%g,%g,%g,%g\n", y < 2 ? 1 : 10, y % 2 ? "remote" : "local", xs[i],
                    local_p999(sum), remote_p999(sum), local_rate(sum) + remote_rate(sum),
                    switches(sum));
        }
        fprintf(f, "\n\n");
    }
    return lab_close(f, "groups.csv");
}

static int write_bypass(const struct lab *lab, struct lab_sum *sum)
{
    FILE *f = lab_open(lab, "bypass.csv");
    if (!f)
        return -EIO;
    fprintf(f, "bypass,local_p999_us,remote_p999_us,local_per_s,remote_per_s\n");
    unsigned xs[VALUES_MAX], n = lab_values(lab, LAB_BYPASS, 0, xs, VALUES_MAX);
    for (unsigned i = 0; i < n; i++) {
        lab_sum(lab, LAB_BYPASS, LAB_MERGE, xs[i], 0, sum);
        fprintf(f, "%u,%g,%g,%g,%g\n", xs[i], local_p999(sum), remote_p999(sum), local_rate(sum),
                remote_rate(sum));
    }
    return lab_close(f, "bypass.csv");
}

int lab_write_csv(const struct lab *lab)
{
    struct lab_sum *sums = calloc(LAB_SERIES + 1, sizeof(*sums)), *scratch = sums + LAB_SERIES;
    if (!sums)
        return -ENOMEM;
    for (unsigned s = 0; s < LAB_SERIES; s++)
        lab_sum(lab, LAB_LOCKS, s, 1, 0, &sums[s]);
    int rc = write_runs(lab);
    for (unsigned i = 0; i < TABLES && !rc; i++)
        rc = write_table(lab, &tables[i], scratch);
    if (!rc)
        rc = write_distribution(lab, FAIR_LOCAL, sums);
    if (!rc)
        rc = write_distribution(lab, FAIR_REMOTE, sums);
    if (!rc)
        rc = write_waits(lab, sums);
    if (!rc)
        rc = write_order(lab, sums);
    if (!rc)
        rc = write_groups(lab, scratch);
    if (!rc && lab->has_bypass)
        rc = write_bypass(lab, scratch);
    free(sums);
    return rc;
}

/* ---- Pictures */

static void script_head(FILE *f, const char *name, const char *title, const char *x, const char *y,
                        bool log_x, bool log_y)
{
    fprintf(f, "reset\nset terminal svg size 900,560 font 'sans,13' background 'white'\n"
               "set datafile separator ','\nset grid\nset key outside right noenhanced\n");
    fprintf(f, "set output '%s.svg'\nset title '%s (simulated)' noenhanced\n", name, title);
    fprintf(f, "set xlabel '%s' noenhanced\nset ylabel '%s' noenhanced\n", x, y);
    if (log_x)
        fprintf(f, "set logscale x\n");
    if (log_y)
        fprintf(f, "set logscale y\n");
    else
        fprintf(f, "set yrange [0:*]\n");
}

static const char *const colours[LAB_SERIES] = {"#888888", "#e69f00", "#56b4e9",
                                                "#009e73", "#7fcc55", "#0072b2",
                                                "#d55e00", "#cc79a7", "#000000"};

/* Lines lie on each other where locks behave alike: the later, the thinner. */
static double width(unsigned series)
{
    return 1.5 + 0.3 * (LAB_SERIES - 1 - series);
}

static void script_lines(FILE *f, const struct lab *lab, const struct table *t)
{
    unsigned column = 2;
    script_head(f, t->name, t->title, t->x, t->y, t->log_x, t->log_y);
    if (t->suite == LAB_LOCKS)
        fprintf(f, "set xtics (1, 2, 5, 10, 50, 240)\nset xrange [0.9:280]\n");
    fprintf(f, "plot ");
    for (unsigned s = 0; s < LAB_SERIES; s++)
        if (shown(lab, t, s)) {
            fprintf(f, "%s'%s.csv' using 1:%u with linespoints lw %g lc rgb '%s' pt %u title '%s'",
                    column > 2 ? ", " : "", t->name, column, width(s), colours[s], s + 1,
                    lab_series_names[s]);
            column++;
        }
    fprintf(f, "\n");
}

static void script_distribution(FILE *f, const char *class)
{
    char name[32], title[64];
    snprintf(name, sizeof(name), "latency-%s", class);
    snprintf(title, sizeof(title), "Latency of acquire, %s threads, 1 lock", class);
    script_head(f, name, title, "percentile", "microseconds", true, true);
    fprintf(f, "set xtics ('0' 1, '50' 2, '90' 10, '99' 100, '99.9' 1000, '99.99' 10000, '99.999' "
               "100000, '99.9999' 1000000)\nplot ");
    for (unsigned s = 0; s < LAB_SERIES; s++)
        fprintf(f, "%s'%s.csv' using 1:%u with lines lw %g lc rgb '%s' title '%s'", s ? ", " : "",
                name, s + 2, width(s), colours[s], lab_series_names[s]);
    fprintf(f, "\n");
}

static void script_waits(FILE *f)
{
    script_head(f, "waits", "Threads that wait at a time, 1 lock", "ts and alock have no doorway",
                "mean number", false, false);
    fprintf(f,
            "set style data histograms\nset style histogram rowstacked\nset style fill solid "
            "0.8\nset boxwidth 0.7\nset xtics rotate by -30 noenhanced\nset key invert\n"
            "plot 'waits.csv' using 2:xtic(1) lc rgb '#d55e00' title 'local, in the doorway', '' "
            "using 3 lc rgb '#e69f00' title 'local, with a ticket', '' using 4 lc rgb '#56b4e9' "
            "title 'remote, in the doorway', '' using 5 lc rgb '#0072b2' title 'remote, with a "
            "ticket'\n");
}

static void script_bound(FILE *f)
{
    script_head(f, "bound", "p99.9 of acquire and the bound of first come, first served, 1 lock",
                "", "microseconds", false, true);
    fprintf(f, "set xrange [-0.5:%d.5]\nset xtics rotate by -30 noenhanced\n", LAB_SERIES - 1);
    for (int k = 0; k < 2; k++) {
        const char *class = k ? "remote" : "local", *shift = k ? "+" : "-";
        const char *colour = k ? "#0072b2" : "#d55e00";
        unsigned column = k ? 10 : 8;
        /* A bound is a short line above its lock, a tail a point. */
        fprintf(f,
                "%s'waits.csv' every ::1 using ($0%s0.15):%u:(0.25):(0) with vectors nohead lw 3 "
                "lc rgb '%s' "
                "title '%s, bound', '' every ::1 using ($0%s0.15+0.125):%u%s with points pt %u ps "
                "1.2 lc rgb "
                "'%s' title '%s'",
                k ? ", " : "plot ", shift, column + 1, colour, class, shift, column,
                k ? "" : ":xtic(1)", k ? 7 : 9, colour, class);
    }
    fprintf(f, "\n");
}

static void script_order(FILE *f)
{
    fprintf(f,
            "reset\nset terminal svg size 1100,900 font 'sans,11' background 'white'\n"
            "set datafile separator ','\nset output 'order.svg'\n"
            "set multiplot layout 3,3 title 'Order of beginning (across) and of entry (up), 1 "
            "lock (simulated)'\nset xrange [0:%u]\nset yrange [0:%u]\nset xtics 100\nset ytics "
            "100\nset grid\nset key bottom "
            "right opaque noenhanced\n",
            LAB_WINDOW, LAB_WINDOW);
    for (unsigned s = 0; s < LAB_SERIES; s++)
        fprintf(f,
                "set title '%s' noenhanced\nplot 'order.csv' index %u using 1:2 with points pt 7 "
                "ps 0.3 lc rgb '#0072b2' title 'remote', 'order.csv' index %u using 1:2 with "
                "points pt 7 ps "
                "0.35 lc rgb '#d55e00' title 'local'\n",
                lab_series_names[s], 2 * s + 1, 2 * s);
    fprintf(f, "unset multiplot\n");
}

static void script_groups(FILE *f)
{
    static const struct {
        const char *name, *title, *y;
        unsigned column;
        bool log_y;
    } of[] = {{"groups-local-p999", "local tail", "p99.9, microseconds", 4, true},
              {"groups-remote-p999", "remote tail", "p99.9, microseconds", 5, true},
              {"groups-switches", "bounces", "share of entries", 7, false}};
    for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++) {
        char title[96];
        snprintf(title, sizeof(title), "farlock-g (published cost): %s by group size", of[i].title);
        script_head(f, of[i].name, title, "group size", of[i].y, false, of[i].log_y);
        /* The head line counts as a row of block 0: it is not a number, and not drawn. */
        fprintf(f, "plot ");
        for (unsigned y = 0; y < LAB_GROUP_SWEEPS; y++)
            fprintf(f,
                    "%s'groups.csv' index %u using 3:%u with linespoints lw 2 title '%s size, %s'",
                    y ? ", " : "", y, of[i].column, y % 2 ? "remote" : "local",
                    y < 2 ? "1 lock" : "10 locks");
        fprintf(f, "\n");
    }
}

static void script_bypass(FILE *f, struct lab_sum *sums)
{
    /* Beside the curve, where its numbers are not. */
    static const struct {
        enum lab_series series;
        const char *offset;
    } others[] = {{LAB_FARLOCK, "offset 1,-0.8"},
                  {LAB_PUBLISHED, "right offset -0.5,-1.2"},
                  {LAB_ALOCK, "offset 1,0.6"}};
    script_head(f, "bypass", "merge.bypass: local against remote tail, 1 lock",
                "remote p99.9, microseconds", "local p99.9, microseconds", true, true);
    fprintf(f, "set xtics (500, 700, 1000, 1500, 2000, 3000, 5000, 7000, 10000, 15000)\n"
               "stats 'bypass.csv' using 3 nooutput\nset xrange [0.9*STATS_min:1.15*STATS_max]\n"
               "stats 'bypass.csv' using 2 nooutput\nset yrange [0.7*STATS_min:1.7*STATS_max]\n");
    for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
        fprintf(f, "set label '%s' at %g,%g %s noenhanced point pt 7 lc rgb '%s'\n",
                lab_series_names[others[i].series], remote_p999(&sums[others[i].series]),
                local_p999(&sums[others[i].series]), others[i].offset, colours[others[i].series]);
    /* Neighbours would cover each other's numbers. */
    fprintf(f,
            "plot 'bypass.csv' using 3:2 with linespoints lw 2 lc rgb '%s' title 'merge, by "
            "bypass', '' using 3:2:1 every 2 with labels offset -0.8,-0.8 notitle, '' using "
            "3:2:1 every 2::1 with labels offset 0.8,0.9 notitle\n",
            colours[LAB_MERGE]);
}

int lab_draw(const struct lab *lab, bool *drawn)
{
    *drawn = false;
    FILE *f = lab_open(lab, "pictures.gp");
    if (!f)
        return -EIO;
    for (unsigned i = 0; i < TABLES; i++)
        script_lines(f, lab, &tables[i]);
    script_distribution(f, "local");
    script_distribution(f, "remote");
    script_waits(f);
    script_bound(f);
    script_order(f);
    script_groups(f);
    if (lab->has_bypass) {
        struct lab_sum *sums = calloc(LAB_SERIES, sizeof(*sums));
        for (unsigned s = 0; sums && s < LAB_SERIES; s++)
            lab_sum(lab, LAB_LOCKS, s, 1, 0, &sums[s]);
        if (sums)
            script_bypass(f, sums);
        free(sums);
    }
    int rc = lab_close(f, "pictures.gp");
    if (rc)
        return rc;
    if (system("command -v gnuplot >/dev/null 2>&1"))
        return 0;
    char command[1200];
    snprintf(command, sizeof(command), "cd '%s' && gnuplot pictures.gp", lab->options->folder);
    if (system(command))
        return baton_fail(-EIO, "gnuplot failed on %s/pictures.gp", lab->options->folder);
    *drawn = true;
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Carries the lab's plan out: one process a run, as many at a time as asked for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "bench/arrivals.h"
#include "bench/lab.h"

static const char *kind_of(enum lab_series series)
{
    return series == LAB_PUBLISHED ? "farlock"
           : series == LAB_ALOCK_R ? "alock"
                                   : lab_series_names[series];
}

/* ---- One run */

static int by_entered(const void *a, const void *b)
{
    const struct bench_entry *x = a, *y = b;
    return x->entered < y->entered ? -1 : x->entered > y->entered;
}

/* The order of the first acquisitions of lock 0 that were measured, whose order was not cut. */
static void keep_window(struct bench_log *log, struct lab_outcome *out)
{
    unsigned n = 0;
    const struct bench_entry *of[LAB_WINDOW];
    qsort(log->entries, log->count, sizeof(*log->entries), by_entered);
    for (size_t i = 0; i < log->count && n < LAB_WINDOW; i++)
        if (log->entries[i].measured && !log->entries[i].lock)
            of[n++] = &log->entries[i];
    for (unsigned i = 0; i < n; i++) {
        out->window[i] = (struct lab_place){.entered = i, .local = of[i]->local};
        for (unsigned k = 0; k < n; k++)
            out->window[i].begun += of[k]->begin < of[i]->begin;
    }
    out->window_n = n;
}

static int run_point(const struct lab *lab, const struct lab_point *p)
{
    char options[512];
    struct bench_log log = {0};
    struct bench_config c = {.fabric = "sim",
                             .nodes = p->nodes,
                             .local_threads = p->local_threads,
                             .remote_threads = p->remote_threads,
                             .locks = p->locks,
                             .local_cs_ns = LAB_LOCAL_CS_NS,
                             .remote_cs_ns = p->remote_cs_ns,
                             .warmup_s = p->measured_s / 2,
                             .duration_s = p->measured_s,
                             .cooldown_s = p->measured_s / 2,
                             .options = options,
                             .seed = p->seed,
                             .log = &log};
    snprintf(options, sizeof(options), "driver=timed,profile=%s", lab->options->profile);
    for (unsigned i = 0; i < p->params_n; i++)
        c.params[c.params_count++] = p->params[i];
    struct lab_outcome *out = p->outcome;
    const struct baton_lock_ops *kind = baton_lock_kind(kind_of(p->series));
    int rc = bench_lock_run(&c, kind, &out->result);
    if (!rc && bench_failed(&out->result))
        rc = baton_fail(-EPROTO, "%llu times two inside, %llu updates lost, %llu passed by",
                        (unsigned long long)out->result.exclusion_violations,
                        (unsigned long long)out->result.lost_updates,
                        (unsigned long long)out->result.bypasses);
    if (!rc)
        rc = bench_fair_study(&log, p->locks, p->measured_s, lab->one_way_ns, &out->fair);
    if (!rc)
        keep_window(&log, out);
    bench_log_free(&log);
    return rc;
}

static void child(const struct lab *lab, const struct lab_point *p)
{
    int rc = run_point(lab, p);
    if (rc)
        snprintf(p->outcome->error, sizeof(p->outcome->error), "%s%s%s", baton_strerror(rc),
                 *baton_error_detail() ? "; " : "", baton_error_detail());
    p->outcome->rc = rc;
    p->outcome->done = true;
    _exit(0);
}

/* ---- All of them */

static int failure(const struct lab_point *p)
{
    char params[200] = "";
    for (unsigned i = 0; i < p->params_n; i++) {
        strncat(params, " --param ", sizeof(params) - strlen(params) - 1);
        strncat(params, p->params[i], sizeof(params) - strlen(params) - 1);
    }
    return baton_fail(p->outcome->done ? p->outcome->rc : -ECHILD,
                      "--lock %s --locks %u --remote %u --remote-cs %llu --seed %llu%s: %s",
                      kind_of(p->series), p->locks, p->remote_threads,
                      (unsigned long long)p->remote_cs_ns, (unsigned long long)p->seed, params,
                      p->outcome->done ? p->outcome->error : "the process of the run died");
}

int lab_run(struct lab *lab)
{
    size_t bytes = lab->points_n * sizeof(struct lab_outcome);
    unsigned next = 0, running = 0, done = 0;
    int rc = 0;
    lab->outcomes = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (lab->outcomes == MAP_FAILED) {
        lab->outcomes = NULL;
        return baton_fail(-ENOMEM, "no memory for the results of %u runs", lab->points_n);
    }
    lab->outcomes_bytes = bytes;
    for (unsigned i = 0; i < lab->points_n; i++)
        lab->points[i].outcome = (struct lab_outcome *)lab->outcomes + i;
    fflush(NULL);
    while ((next < lab->points_n && !rc) || running) {
        if (next < lab->points_n && running < lab->options->jobs && !rc) {
            pid_t pid = fork();
            if (!pid)
                child(lab, &lab->points[next]);
            if (pid < 0) {
                rc = baton_fail(-errno, "a process for run %u could not be made", next);
                continue;
            }
            next++;
            running++;
            continue;
        }
        if (wait(NULL) < 0) {
            if (errno == EINTR)
                continue;
            break;
        }
        running--;
        done++;
        if (lab->options->progress)
            lab->options->progress(done, lab->points_n);
    }
    for (unsigned i = 0; i < lab->points_n && !rc; i++)
        if (!lab->points[i].outcome->done || lab->points[i].outcome->rc)
            rc = failure(&lab->points[i]);
    return rc;
}

void lab_free(struct lab *lab)
{
    if (lab->outcomes)
        munmap(lab->outcomes, lab->outcomes_bytes);
    free(lab->points);
}

/* ---- The one-way time */

struct ping {
    baton_gptr word;
    uint64_t best;
};

static int ping_body(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct ping *p = arg;
    uint64_t *to = baton_ep_alloc(ep, sizeof(*to), sizeof(*to));
    int rc = to ? 0 : -ENOMEM;
    for (int i = 0; i < 1000 && !rc; i++) {
        uint64_t begin = baton_now(ep);
        rc = baton_get(ep, to, p->word, sizeof(*to), 1);
        if (!rc)
            rc = baton_wait(ep, 1);
        uint64_t took = baton_now(ep) - begin;
        if (!p->best || took < p->best)
            p->best = took;
    }
    if (to)
        baton_ep_free(ep, to);
    return rc;
}

int lab_one_way(const char *profile, uint64_t *ns)
{
    char options[512];
    struct baton_cluster *cluster;
    struct ping ping = {0};
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    snprintf(options, sizeof(options), "driver=timed,profile=%s", profile);
    opts.fabric = "sim";
    opts.name = "lab";
    opts.nodes = opts.local = 2;
    opts.seed = 1;
    opts.options = options;
    int rc = baton_cluster_open(&opts, &cluster);
    if (rc)
        return rc;
    struct baton_node *host = baton_cluster_node(cluster, 0);
    struct baton_team team = {1, 1, ping_body, &ping};
    rc = baton_segment_create(host, 64, BATON_READ, NULL, 0, &ping.word);
    if (!rc) {
        rc = baton_run(cluster, &team, 1);
        int destroyed = baton_segment_destroy(host, ping.word);
        rc = rc ? rc : destroyed;
    }
    int closed = baton_cluster_close(cluster);
    *ns = ping.best / 2;
    return rc ? rc : closed;
}

/* 12 local and then 12 remote threads come while a remote one holds the lock, once each. */
static int arrive(const struct lab *lab, const struct lab_point *p, struct lab_arrivals *out)
{
    char options[512];
    struct bench_arrivals all;
    struct bench_config c = {.fabric = "sim",
                             .nodes = p->nodes,
                             .local_cs_ns = LAB_LOCAL_CS_NS,
                             .remote_cs_ns = p->remote_cs_ns,
                             .options = options,
                             .seed = 1};
    snprintf(options, sizeof(options), "driver=timed,profile=%s", lab->options->profile);
    for (unsigned i = 0; i < p->params_n; i++)
        c.params[c.params_count++] = p->params[i];
    const struct baton_lock_ops *kind = baton_lock_kind(kind_of(p->series));
    int rc = bench_arrivals_read("12local-12remote", &c, &all);
    if (rc)
        return rc;
    rc = bench_arrivals_run(&c, kind, &all);
    out->opened = all.left_ns;
    for (unsigned i = 0; i < all.count && !rc; i++) {
        out->order[all.list[i].served - 1] = i;
        out->entered[i] = all.list[i].entered_ns;
        out->count++;
    }
    out->in_order = bench_arrivals_in_order(&all);
    bench_arrivals_free(&all);
    if (!rc && kind->caps & BATON_LOCK_FCFS && !out->in_order)
        rc = baton_fail(-EPROTO, "%s did not serve controlled arrivals in their order", kind->name);
    return rc;
}

static int arrivals(struct lab *lab)
{
    int rc = 0;
    for (unsigned i = 0; i < lab->points_n && !rc; i++) {
        const struct lab_point *p = &lab->points[i];
        struct lab_arrivals *out = &lab->arrivals[p->series];
        if (p->suite == LAB_LOCKS && !out->count)
            rc = arrive(lab, p, out);
    }
    return rc;
}

int lab_farlock(const struct lab_options *options, bool *drawn)
{
    struct lab lab = {.options = options};
    int rc = lab_one_way(options->profile, &lab.one_way_ns);
    if (!rc)
        rc = lab_plan(&lab);
    if (!rc)
        rc = arrivals(&lab);
    if (!rc)
        rc = lab_run(&lab);
    if (!rc)
        rc = lab_write_csv(&lab);
    if (!rc)
        rc = lab_draw(&lab, drawn);
    if (!rc)
        rc = lab_write_report(&lab, *drawn);
    lab_free(&lab);
    return rc;
}

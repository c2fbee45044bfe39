/* SPDX-License-Identifier: MIT */
/*
 * Runs the lock benchmark: makes the nodes (processes, or parts of this process in simulated worlds),
 * the tables and the teams, and makes a result of what the threads report.
 */
#include "bench/lock_bench.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <baton/sim.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "bench/lock_given.h"
#include "bench/lock_part.h"
#include "fabric/net_place.h"

#define GRACE_S 60
#define PAIR_NS UINT64_C(300000000)

/* ---- One process for all nodes */

/* Runs the teams of a simulated cluster, and asks it what it has done. */
static int run_simulated(struct bench_part *p, struct bench_result *out)
{
    struct baton_sim_counts before, after;
    double real = baton_clock_s(CLOCK_MONOTONIC), cpu = baton_clock_s(CLOCK_PROCESS_CPUTIME_ID);
    bool is_sim = !baton_sim_counts(p->cluster, &before);
    if (is_sim)
        baton_sim_describe(p->cluster, out->drawn, sizeof(out->drawn));
    int rc = baton_run(p->cluster, p->teams, p->count);
    if (!is_sim)
        return rc;
    out->real_s = baton_clock_s(CLOCK_MONOTONIC) - real;
    out->cpu_s = baton_clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    baton_sim_counts(p->cluster, &after);
    out->sim_ops = after.ops - before.ops;
    out->sim_steps = after.steps - before.steps;
    out->unseed = after.unseed;
    return rc;
}

/* The settings of a cluster that is this process alone. */
static int alone(const struct bench_config *c, char *room, size_t bytes, const char **options)
{
    bool meets = baton_net_meets(c->fabric);
    int rc = meets ? baton_options_join(room, bytes, BATON_NET_ALONE, c->options) : 0;
    *options = meets ? room : c->options; /* which may be where those of the configuration were */
    return rc;
}

static int run_here(const struct bench_config *given, const struct baton_lock_ops *kind,
                    const uint64_t *params, struct bench_shared *shared, struct bench_result *out)
{
    char name[BATON_NAME_MAX + 1];
    snprintf(name, sizeof(name), "bench-%ld", (long)getpid());
    struct bench_config config = *given, *c = &config;
    struct bench_part p = {.count = c->nodes};
    char options[1024];
    int rc = alone(c, options, sizeof(options), &config.options);
    if (!rc)
        rc = bench_part_open(c, kind, params, name, shared, &p);
    bool opened = !rc;
    if (opened) {
        if (!crew_is_simulated(c->fabric))
            shared->begin_ns = baton_clock_ns();
        rc = crew_is_simulated(c->fabric) ? run_simulated(&p, out)
                                          : baton_run(p.cluster, p.teams, p.count);
    }
    int close_rc = bench_part_close(c, &p, NULL, true);
    rc = rc ? rc : close_rc;
    /* Endpoints that a fault has hit tell so when they close. */
    return opened && c->faults && bench_is_fault(rc) ? 0 : rc;
}

/* ---- A process per node */

static void say(int words, unsigned node, const char *when, int rc)
{
    dprintf(words, "node %u%s: %s\n", node, when,
            *baton_error_detail() ? baton_error_detail() : baton_strerror(rc));
}

static void child_main(const struct bench_config *c, const struct baton_lock_ops *kind,
                       const uint64_t *params, struct bench_shared *shared, const char *name,
                       unsigned node, int words)
{
    struct bench_part p = {.first = node, .count = 1};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int rc = bench_part_open(c, kind, params, name, shared, &p);
    if (!rc)
        rc = baton_run(p.cluster, p.teams, p.count);
    if (rc) {
        say(words, node, "", rc);
        baton_word_store(&shared->stop, 1);
    }
    int close_rc = bench_part_close(c, &p, shared, true);
    if (!rc && close_rc)
        say(words, node, " leaving", close_rc);
    _exit(-(rc ? rc : close_rc));
}

static int children_wait(const struct bench_config *c, struct bench_shared *shared, pid_t *pids,
                         const struct baton_lock_ops *kind)
{
    uint64_t begin = 0, limit = baton_clock_ns() + BENCH_SETUP_NS;
    unsigned running = c->nodes;
    int rc = 0, killed_rc = 0;
    while (running) {
        for (unsigned n = 0; n < c->nodes; n++) {
            int status;
            if (!pids[n] || waitpid(pids[n], &status, WNOHANG) != pids[n])
                continue;
            pids[n] = 0;
            running--;
            baton_word_store(&shared->closed[n], 1); /* if it was killed, it has not said so */
            if (status)
                baton_word_store(&shared->stop, 1);
            if (WIFEXITED(status))
                rc = rc ? rc : -WEXITSTATUS(status);
            else if (!killed_rc && limit != UINT64_MAX)
                killed_rc = baton_fail(-ECHILD, "the process of node %u died of signal %d", n,
                                       WTERMSIG(status));
        }
        uint64_t now = baton_clock_ns();
        if (!begin && baton_word_load(&shared->ready) == shared->threads_n) {
            begin = now + 1000000;
            limit =
                begin + (uint64_t)((c->warmup_s + c->duration_s + c->cooldown_s + GRACE_S) * 1e9);
            baton_word_store(&shared->begin_ns, begin);
        }
        if (begin && c->progress)
            c->progress(c, kind->name, (double)(now - begin) / 1e9 / (c->warmup_s + c->duration_s));
        if (now > limit) {
            rc = baton_fail(-ETIMEDOUT, "%s: the nodes did not finish; killed", kind->name);
            for (unsigned n = 0; n < c->nodes; n++)
                if (pids[n])
                    kill(pids[n], SIGKILL);
            limit = UINT64_MAX;
        }
        if (running)
            poll(NULL, 0, begin ? 20 : 1);
    }
    return killed_rc ? killed_rc : rc;
}

static int run_nodes(const struct bench_config *c, const struct baton_lock_ops *kind,
                     const uint64_t *params, struct bench_shared *shared)
{
    char name[BATON_NAME_MAX + 1], words[256] = "";
    int pipe_ends[2], rc = 0;
    pid_t *pids = calloc(c->nodes, sizeof(*pids));
    if (!pids)
        return -ENOMEM;
    if (pipe2(pipe_ends, O_NONBLOCK)) { /* who finds it full is not the first to fail */
        free(pids);
        return -errno;
    }
    snprintf(name, sizeof(name), "bench-%ld", (long)getpid());
    fflush(NULL);
    unsigned made = 0;
    for (; made < c->nodes && !rc; made++) {
        pids[made] = fork();
        if (pids[made] < 0) {
            rc = baton_fail(-errno, "the process of node %u could not be made", made);
            pids[made] = 0;
            break;
        }
        if (!pids[made]) {
            close(pipe_ends[0]);
            child_main(c, kind, params, shared, name, made, pipe_ends[1]);
        }
    }
    close(pipe_ends[1]);
    if (rc)
        for (unsigned n = 0; n < made; n++) {
            kill(pids[n], SIGKILL);
            waitpid(pids[n], NULL, 0);
        }
    else
        rc = children_wait(c, shared, pids, kind);
    ssize_t got = read(pipe_ends[0], words, sizeof(words) - 1);
    if (got > 0 && rc != -ECHILD)
        baton_fail(rc, "%.*s", (int)strcspn(words, "\n"), words); /* of who failed first */
    close(pipe_ends[0]);
    free(pids);
    return rc;
}

/* On a network the processes have to be told where they meet. */
static int run_processes(const struct bench_config *c, const struct baton_lock_ops *kind,
                         const uint64_t *params, struct bench_shared *shared)
{
    struct baton_net_place place;
    struct bench_config meeting = *c;
    char options[1024];
    if (!baton_net_meets(c->fabric))
        return run_nodes(c, kind, params, shared);
    int rc = baton_net_place_make(&place);
    if (rc)
        return rc;
    meeting.options = options;
    rc = baton_options_join(options, sizeof(options), place.options, c->options);
    if (!rc)
        rc = run_nodes(&meeting, kind, params, shared);
    baton_net_place_remove(&place);
    return rc;
}

/* ---- One local thread alone: what acquire and release cost without anything else */

static double pair_ns(const struct bench_config *c, const struct baton_lock_ops *kind,
                      const uint64_t *params)
{
    if (bench_is_baseline(kind))
        return bench_baseline_pair_ns(kind);
    char name[BATON_NAME_MAX + 1];
    snprintf(name, sizeof(name), "bench-pair-%ld", (long)getpid());
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    opts.fabric = c->fabric;
    opts.name = name;
    opts.nodes = opts.local = 1;
    char options[1024];
    if (alone(c, options, sizeof(options), &opts.options))
        return 0;
    struct baton_cluster *cluster;
    struct baton_ep *ep;
    struct baton_table *table;
    struct baton_waiter *w;
    struct baton_lock lock;
    struct baton_table_opts table_opts = {
        .size = sizeof(table_opts), .kind = kind->name, .count = 1, .params = params};
    double best = 0;
    if (baton_cluster_open(&opts, &cluster))
        return 0;
    if (baton_ep_open(baton_cluster_self(cluster), &ep))
        goto close_cluster;
    if (baton_table_create(ep, "pair", &table_opts, &table))
        goto close_ep;
    if (baton_table_lock(table, 0, &lock) || baton_waiter_open(ep, &w))
        goto close_table;
    for (int round = 0; round < 5; round++) {
        uint64_t begin = baton_clock_ns(), elapsed = 0;
        int failed = 0, i = 0;
        /* On a network this node's own memory may be as far away as any other. */
        for (; i < 1000000 && !failed && elapsed < PAIR_NS; i++) {
            failed = baton_lock_acquire(&lock, ep, w) || baton_lock_release(&lock, ep, w);
            if (i % 1024 == 0)
                elapsed = baton_clock_ns() - begin;
        }
        double ns = (double)(baton_clock_ns() - begin) / i;
        if (!failed && (!best || ns < best))
            best = ns;
    }
    baton_waiter_close(ep, w);
close_table:
    baton_table_close(ep, table);
close_ep:
    baton_ep_close(ep);
close_cluster:
    baton_cluster_close(cluster);
    return best;
}

/* ---- What comes of it */

static void conclude(const struct bench_config *c, const struct bench_sum *sum,
                     struct bench_result *r)
{
    double sum_of = (double)sum->acquisitions;
    r->local = sum->local;
    r->remote = sum->remote;
    r->exclusion_violations = sum->findings.exclusion_violations;
    r->bypasses = sum->findings.bypasses;
    r->acquisitions = sum->acquisitions;
    r->ended = (unsigned)sum->ended;
    r->lost_updates = sum->entries > sum->counters ? sum->entries - sum->counters
                      : c->faults ? 0 /* who dies in a release has counted already */
                                  : sum->counters - sum->entries;
    /* Of all entries, those too whose section a fault has ended. */
    r->overlap =
        sum->findings.entries ? (double)sum->findings.overlaps / (double)sum->findings.entries : 0;
    r->jain = sum->squares > 0 ? sum_of * sum_of / (r->threads * sum->squares) : 0;
    r->cycle_ns = sum->cycles ? (double)sum->cycle_ns / (double)sum->cycles : 0;
    r->measured_s = c->duration_s;
}

int bench_lock_params(const struct bench_config *c, const struct baton_lock_ops *kind,
                      uint64_t *params)
{
    size_t name = strlen(kind->name);
    baton_lock_param_defaults(kind, params);
    for (unsigned i = 0; i < c->params_count; i++) {
        if (strncmp(c->params[i], kind->name, name) || c->params[i][name] != '.')
            continue;
        int rc = baton_lock_param_set(kind, params, c->params[i] + name + 1);
        if (rc)
            return rc;
    }
    return 0;
}

static int run_kind(const struct bench_config *c, struct bench_shared *shared,
                    struct bench_sum *sum, struct bench_result *out)
{
    if (c->given)
        return bench_given_run(c, out->kind, out->params, shared, sum);
    int rc = out->simulated || c->in_process ? run_here(c, out->kind, out->params, shared, out)
                                             : run_processes(c, out->kind, out->params, shared);
    bench_sum_threads(c, shared, sum);
    for (unsigned i = 0; i < shared->locks_n; i++)
        sum->counters += shared->checks[i].counter;
    return rc;
}

int bench_lock_run(const struct bench_config *c, const struct baton_lock_ops *kind,
                   struct bench_result *out)
{
    memset(out, 0, sizeof(*out));
    out->kind = kind;
    out->simulated = crew_is_simulated(c->fabric);
    int rc = bench_lock_params(c, kind, out->params);
    if (rc)
        return rc;
    out->threads = bench_threads(c);
    struct bench_sum *sum = calloc(1, sizeof(*sum));
    struct bench_shared *shared = bench_shared_create(c, out->threads ? out->threads : 1);
    if (!shared || !sum) {
        free(sum);
        if (shared)
            bench_shared_destroy(shared);
        return baton_fail(-ENOMEM, "no memory for the results of %u threads", out->threads);
    }
    /* In a given cluster the others wait for it. */
    if (c->pair && !out->simulated && (!c->given || !crew_self(c->given)))
        out->pair_ns = pair_ns(c, kind, out->params);
    rc = run_kind(c, shared, sum, out);
    conclude(c, sum, out);
    /* The first to fail, and not what came of it; but that a process was killed explains what threads say. */
    if (sum->rc && !c->given && rc != -ECHILD)
        rc = baton_fail((int)sum->rc, "%s: %s", kind->name, sum->error);
    bench_shared_destroy(shared);
    free(sum);
    return rc;
}

bool bench_failed(const struct bench_result *r)
{
    return r->exclusion_violations || r->lost_updates ||
           (r->bypasses && baton_lock_caps(r->kind, r->params) & BATON_LOCK_FCFS);
}

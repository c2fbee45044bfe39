/* SPDX-License-Identifier: MIT */
/*
 * Runs the lock benchmark: makes the nodes (processes, or parts of this process in simulated worlds),
 * the tables and the teams, and adds up what the threads report.
 */
#include "bench/lock_bench.h"

#include <errno.h>
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
#include "bench/worker.h"
#include "fabric/net_place.h"

#define SETUP_NS UINT64_C(20000000000)
#define GRACE_S 60
#define PAIR_NS UINT64_C(300000000)

static bool is_simulated(const char *fabric)
{
    return !strcmp(fabric, "step") || !strcmp(fabric, "sim");
}

static unsigned threads_on(const struct bench_config *c, unsigned node)
{
    return c->host == (int)node || (c->host == BENCH_HOST_SPREAD && node == 0) ? c->local_threads
                                                                               : c->remote_threads;
}

static unsigned first_thread_on(const struct bench_config *c, unsigned node)
{
    unsigned sum = 0;
    for (unsigned n = 0; n < node; n++)
        sum += threads_on(c, n);
    return sum;
}

unsigned bench_threads(const struct bench_config *c)
{
    return first_thread_on(c, c->nodes);
}

unsigned bench_thread_node(const struct bench_config *c, unsigned thread, unsigned *index)
{
    unsigned node = 0, here;
    for (; thread >= (here = threads_on(c, node)); node++)
        thread -= here;
    *index = thread;
    return node;
}

static unsigned hosts_of(const struct bench_config *c)
{
    if (c->host != BENCH_HOST_SPREAD)
        return 1;
    return c->locks < c->nodes ? c->locks : c->nodes;
}

/* ---- Setting up the nodes of this process */

struct part {
    struct baton_cluster *cluster;
    unsigned first, count; /* the nodes */
    struct bench_node *nodes;
    struct baton_team *teams;
    struct baton_ep **eps; /* for setting up and taking down */
};

static void table_name(char *out, size_t bytes, unsigned host)
{
    snprintf(out, bytes, "bench.%u", host);
}

static int make_tables(const struct bench_config *c, const struct baton_lock_ops *kind,
                       const uint64_t *params, struct part *p, bool create)
{
    unsigned hosts = hosts_of(c);
    for (unsigned i = 0; i < p->count; i++)
        for (unsigned h = 0; h < hosts; h++) {
            unsigned host = hosts == 1 && c->host != BENCH_HOST_SPREAD ? (unsigned)c->host : h;
            char name[BATON_NAME_MAX + 1];
            int rc;
            if ((host == p->first + i) != create)
                continue;
            table_name(name, sizeof(name), host);
            if (create) {
                struct baton_table_opts opts = {.size = sizeof(opts),
                                                .kind = kind->name,
                                                .count = (c->locks - h + hosts - 1) / hosts,
                                                .params = params};
                rc = baton_table_create(p->eps[i], name, &opts, &p->nodes[i].tables[host]);
            } else {
                rc = baton_table_open(p->eps[i], name, baton_now(p->eps[i]) + SETUP_NS,
                                      &p->nodes[i].tables[host]);
            }
            if (rc)
                return rc;
        }
    return 0;
}

static int part_open(const struct bench_config *c, const struct baton_lock_ops *kind,
                     const uint64_t *params, const char *name, struct bench_shared *shared,
                     struct part *p)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    opts.fabric = c->fabric;
    opts.name = name;
    opts.nodes = c->nodes;
    opts.local = p->count;
    opts.first = (int)p->first;
    opts.flags = c->swap ? BATON_CLUSTER_SWAP : 0;
    opts.seed = c->seed;
    opts.options = c->options;
    opts.arena_bytes = ((size_t)1 << 20) + (size_t)1024 * (c->local_threads + c->remote_threads);
    int rc = baton_cluster_open(&opts, &p->cluster);
    if (rc)
        return rc;
    p->nodes = calloc(p->count, sizeof(*p->nodes));
    p->teams = calloc(p->count, sizeof(*p->teams));
    p->eps = calloc(p->count, sizeof(*p->eps));
    if (!p->nodes || !p->teams || !p->eps)
        return -ENOMEM;
    for (unsigned i = 0; i < p->count; i++) {
        unsigned n = p->first + i;
        p->nodes[i] = (struct bench_node){
            .config = c,
            .shared = shared,
            .tables = calloc(c->nodes, sizeof(struct baton_table *)),
            .hosts = c->host == BENCH_HOST_SPREAD ? hosts_of(c) : 1,
            .host = c->host == BENCH_HOST_SPREAD ? 0 : (unsigned)c->host,
            .first_thread = first_thread_on(c, n),
            .simulated = is_simulated(c->fabric),
        };
        p->teams[i] = (struct baton_team){n, threads_on(c, n), bench_thread_body, &p->nodes[i]};
        if (!p->nodes[i].tables)
            return -ENOMEM;
        if ((rc = baton_ep_open(baton_cluster_node(p->cluster, n), &p->eps[i])))
            return rc;
    }
    rc = make_tables(c, kind, params, p, true);
    return rc ? rc : make_tables(c, kind, params, p, false);
}

/* A table is closed by its users before its maker. */
static int part_close(const struct bench_config *c, struct part *p, uint64_t *users)
{
    int rc = 0;
    for (int maker = 0; maker < 2; maker++) {
        if (maker && users) {
            baton_word_faa(users, UINT64_MAX);
            for (int patience = 0; baton_word_load(users) && patience < 5000; patience++)
                poll(NULL, 0, 1);
        }
        for (unsigned i = 0; i < p->count; i++)
            for (unsigned h = 0; h < c->nodes; h++)
                if (p->nodes && p->nodes[i].tables && p->nodes[i].tables[h] &&
                    (h == p->first + i) == (maker == 1)) {
                    int one = baton_table_close(p->eps[i], p->nodes[i].tables[h]);
                    rc = rc ? rc : one;
                }
    }
    for (unsigned i = 0; i < p->count; i++) {
        if (p->eps && p->eps[i]) {
            int one = baton_ep_close(p->eps[i]);
            rc = rc ? rc : one;
        }
        if (p->nodes)
            free(p->nodes[i].tables);
    }
    free(p->eps);
    free(p->teams);
    free(p->nodes);
    if (p->cluster) {
        int one = baton_cluster_close(p->cluster);
        rc = rc ? rc : one;
    }
    return rc;
}

/* ---- One process for all nodes */

/* Runs the teams of a simulated cluster, and asks it what it has done. */
static int run_simulated(struct part *p, struct bench_result *out)
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

static int run_here(const struct bench_config *c, const struct baton_lock_ops *kind,
                    const uint64_t *params, struct bench_shared *shared, struct bench_result *out)
{
    char name[BATON_NAME_MAX + 1];
    snprintf(name, sizeof(name), "bench-%ld", (long)getpid());
    struct part p = {.count = c->nodes};
    int rc = part_open(c, kind, params, name, shared, &p);
    if (!rc) {
        if (!is_simulated(c->fabric))
            shared->begin_ns = baton_clock_ns();
        rc = is_simulated(c->fabric) ? run_simulated(&p, out)
                                     : baton_run(p.cluster, p.teams, p.count);
    }
    int close_rc = part_close(c, &p, NULL);
    if (c->faults && rc != -EPROTO)
        return 0; /* endpoints that a fault has hit tell so when they close */
    return rc ? rc : close_rc;
}

/* ---- A process per node */

static void child_main(const struct bench_config *c, const struct baton_lock_ops *kind,
                       const uint64_t *params, struct bench_shared *shared, const char *name,
                       unsigned node, int words)
{
    struct part p = {.first = node, .count = 1};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int rc = part_open(c, kind, params, name, shared, &p);
    if (!rc)
        rc = baton_run(p.cluster, p.teams, p.count);
    if (rc) {
        dprintf(words, "node %u: %s%s%s", node, baton_strerror(rc),
                *baton_error_detail() ? "; " : "", baton_error_detail());
        baton_word_store(&shared->stop, 1);
    }
    int close_rc = part_close(c, &p, &shared->users);
    if (!rc && close_rc)
        dprintf(words, "node %u leaving: %s", node, baton_strerror(close_rc));
    _exit(rc || close_rc);
}

static int children_wait(const struct bench_config *c, struct bench_shared *shared, pid_t *pids,
                         const struct baton_lock_ops *kind)
{
    uint64_t begin = 0, limit = baton_clock_ns() + SETUP_NS;
    unsigned running = c->nodes;
    int rc = 0;
    while (running) {
        for (unsigned n = 0; n < c->nodes; n++) {
            int status;
            if (!pids[n] || waitpid(pids[n], &status, WNOHANG) != pids[n])
                continue;
            pids[n] = 0;
            running--;
            if (status) {
                rc = rc ? rc : -ECHILD;
                baton_word_store(&shared->stop, 1);
            }
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
    return rc;
}

static int run_nodes(const struct bench_config *c, const struct baton_lock_ops *kind,
                     const uint64_t *params, struct bench_shared *shared)
{
    char name[BATON_NAME_MAX + 1], words[256] = "";
    int pipe_ends[2], rc = 0;
    pid_t *pids = calloc(c->nodes, sizeof(*pids));
    if (!pids)
        return -ENOMEM;
    if (pipe(pipe_ends)) {
        free(pids);
        return -errno;
    }
    snprintf(name, sizeof(name), "bench-%ld", (long)getpid());
    shared->users = c->nodes;
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
    if (rc == -ECHILD)
        baton_fail(rc, "%s", got > 0 ? words : "a node's process died");
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
    int n = snprintf(options, sizeof(options), "%s%s%s", place.options, c->options ? "," : "",
                     c->options ? c->options : "");
    meeting.options = options;
    rc = n < (int)sizeof(options) ? run_nodes(&meeting, kind, params, shared)
                                  : baton_fail(-EINVAL, "the fabric's settings are too long");
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
    opts.options = c->options;
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

/* ---- Adding up */

static void add_class(struct bench_class *into, const struct bench_class *from)
{
    baton_hist_merge(&into->latency, &from->latency);
    into->hold_ns += from->hold_ns;
    into->holds += from->holds;
    into->round_trips_acquire += from->round_trips_acquire;
    into->round_trips_release += from->round_trips_release;
    into->ops_acquire += from->ops_acquire;
    into->ops_release += from->ops_release;
    into->entries += from->entries;
}

static int add_up(const struct bench_config *c, struct bench_shared *s, struct bench_result *r)
{
    uint64_t entries = 0, counters = 0, overlaps = 0, cycle_ns = 0, cycles = 0;
    double sum = 0, squares = 0;
    int rc = 0;
    for (unsigned i = 0; i < s->threads_n; i++) {
        const struct bench_thread *t = &s->threads[i];
        if (t->rc && !rc)
            rc = baton_fail((int)t->rc, "%s: thread %u: %s", r->kind->name, i, t->error);
        add_class(&r->local, &t->local);
        add_class(&r->remote, &t->remote);
        r->exclusion_violations += t->findings.exclusion_violations;
        r->bypasses += t->findings.bypasses;
        r->acquisitions += t->acquisitions;
        overlaps += t->findings.overlaps;
        entries += t->entries;
        cycle_ns += t->cycle_ns;
        cycles += t->cycles;
        r->ended += c->faults && !t->done;
        sum += (double)t->acquisitions;
        squares += (double)t->acquisitions * (double)t->acquisitions;
    }
    for (unsigned i = 0; i < s->locks_n; i++)
        counters += s->checks[i].counter;
    r->lost_updates = entries > counters ? entries - counters
                      : c->faults        ? 0 /* who dies in a release has counted already */
                                         : counters - entries;
    r->overlap = entries ? (double)overlaps / (double)entries : 0;
    r->jain = squares > 0 ? sum * sum / (s->threads_n * squares) : 0;
    r->cycle_ns = cycles ? (double)cycle_ns / (double)cycles : 0;
    r->measured_s = c->duration_s;
    return rc;
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

int bench_lock_run(const struct bench_config *c, const struct baton_lock_ops *kind,
                   struct bench_result *out)
{
    memset(out, 0, sizeof(*out));
    out->kind = kind;
    out->simulated = is_simulated(c->fabric);
    int rc = bench_lock_params(c, kind, out->params);
    if (rc)
        return rc;
    out->threads = bench_threads(c);
    struct bench_shared *shared = bench_shared_create(c, out->threads ? out->threads : 1);
    if (!shared)
        return baton_fail(-ENOMEM, "no memory for the results of %u threads", out->threads);
    if (c->pair && !out->simulated)
        out->pair_ns = pair_ns(c, kind, out->params);
    rc = out->simulated || c->in_process ? run_here(c, kind, out->params, shared, out)
                                         : run_processes(c, kind, out->params, shared);
    int thread_rc = add_up(c, shared, out);
    bench_shared_destroy(shared);
    return thread_rc ? thread_rc : rc;
}

bool bench_failed(const struct bench_result *r)
{
    return r->exclusion_violations || r->lost_updates ||
           (r->bypasses && baton_lock_caps(r->kind, r->params) & BATON_LOCK_FCFS);
}

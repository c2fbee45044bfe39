/* SPDX-License-Identifier: MIT */
/*
 * The processes of a run of litmus tests. The one that prints makes the others, tells them which test is next,
 * and looks after them: when one dies or nothing moves any more it ends them all. Those of a given cluster know
 * what is next, and hear of each other's end.
 */
#include "bench/litmus_rounds.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "fabric/net_place.h"
#include "fabric/shm.h"

#define SETUP_NS UINT64_C(60000000000)
#define LEAVE_NS UINT64_C(10000000000)
#define SEGMENT_MOST ((size_t)256 << 20)

struct litmus_fleet {
    struct litmus_fleet_opts opts;
    struct litmus_job *jobs;
    unsigned jobs_n, nodes;
    size_t segment_bytes;
    struct litmus_far far; /* in a given cluster */
    bool here;             /* all nodes are this process */
    bool met;              /* `place` is in use */
    struct baton_net_place place;
    char name[BATON_NAME_MAX + 1], options[1024];
    struct litmus_shared *shared;
    pid_t pid[LITMUS_NODES_MAX]; /* 0: not there */
    unsigned killed; /* 1 + the first node whose process a signal has ended, and the signal */
    int killed_by;
    /* In a process that is a node, or all of them: */
    struct baton_cluster *cluster;
    struct litmus_place places[LITMUS_NODES_MAX];
    unsigned places_n;
};

/* ---- Memory that all processes see */

static size_t part(size_t *total, size_t bytes)
{
    size_t at = *total;
    *total += (bytes + 4095) & ~(size_t)4095;
    return at;
}

static int share(struct litmus_fleet *f)
{
    unsigned width = 0;
    for (unsigned i = 0; i < f->jobs_n; i++)
        width = f->jobs[i].plan.width > width ? f->jobs[i].plan.width : width;
    size_t total = 0, batch = f->opts.settings.batch;
    size_t head = part(&total, sizeof(struct litmus_shared));
    size_t voids = part(&total, batch * sizeof(uint64_t));
    size_t rows = part(&total, batch * width * sizeof(int64_t));
    size_t tally = part(&total, litmus_tally_bytes(width));
    char *memory = mmap(NULL, total, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return baton_fail(-errno, "no memory for the results");
    f->shared = (struct litmus_shared *)(memory + head);
    f->shared->voids = (uint64_t *)(memory + voids);
    f->shared->rows = (int64_t *)(memory + rows);
    f->shared->tally = (struct litmus_tally *)(memory + tally);
    f->shared->bytes = total;
    return 0;
}

/* ---- Nodes of this process */

static int segment_open(struct litmus_fleet *f, struct litmus_place *p)
{
    struct baton_caps caps;
    baton_cluster_caps(f->cluster, &caps);
    if (!caps.word_atomic)
        baton_word_store(&f->shared->undoes, 1);
    const unsigned rights = BATON_READ | BATON_WRITE | BATON_ATOMIC;
    struct baton_node *n = baton_cluster_node(f->cluster, p->node);
    void *memory;
    baton_gptr base;
    int rc = baton_segment_create(n, f->segment_bytes, rights, NULL, 0, &base);
    if (!rc)
        rc = baton_ptr(n, base, f->segment_bytes, &memory);
    if (rc)
        return rc;
    p->memory = memory;
    f->shared->base[p->node] = base;
    return 0;
}

static int place_open(struct litmus_fleet *f, unsigned node)
{
    struct litmus_place *p = &f->places[f->places_n];
    *p = (struct litmus_place){.shared = f->shared, .settings = &f->opts.settings, .node = node};
    int rc = baton_ep_open(baton_cluster_node(f->cluster, node), &p->ep);
    if (rc)
        return rc;
    f->places_n++;
    return segment_open(f, p);
}

/* The node of a given cluster that this process is. */
static int given_open(struct litmus_fleet *f)
{
    struct crew *crew = f->opts.given;
    struct litmus_shared *s = f->shared;
    struct litmus_place *p = &f->places[0];
    *p = (struct litmus_place){.shared = s,
                               .settings = &f->opts.settings,
                               .node = crew_self(crew),
                               .ep = crew_ep(crew),
                               .crew = crew,
                               .far = f->far};
    f->cluster = crew_cluster(crew);
    int rc = segment_open(f, p);
    if (rc)
        return rc;
    f->places_n = 1;
    s->voids = (uint64_t *)(p->memory + f->far.voids);
    s->rows = (int64_t *)(p->memory + f->far.rows);
    return crew_share(crew, s->base[p->node], s->base, SETUP_NS);
}

static int nodes_open(struct litmus_fleet *f, unsigned first, unsigned count)
{
    struct baton_cluster_opts o = BATON_CLUSTER_OPTS;
    o.fabric = f->opts.fabric;
    o.name = f->name;
    o.nodes = f->nodes;
    o.first = (int)first;
    o.local = count;
    o.flags = f->opts.swap ? BATON_CLUSTER_SWAP : 0;
    o.seed = f->opts.settings.seed;
    o.options = *f->options ? f->options : NULL;
    int rc = baton_cluster_open(&o, &f->cluster);
    for (unsigned i = 0; i < count && !rc; i++)
        rc = place_open(f, first + i);
    return rc;
}

/* Segments go with the cluster. */
static int nodes_close(struct litmus_fleet *f)
{
    int rc = 0;
    if (f->opts.given && f->places_n)
        return baton_segment_destroy(baton_cluster_self(f->cluster),
                                     f->shared->base[f->places[0].node]);
    while (f->places_n) {
        int one = baton_ep_close(f->places[--f->places_n].ep);
        rc = rc ? rc : one;
    }
    if (f->cluster) {
        int one = baton_cluster_close(f->cluster);
        rc = rc ? rc : one;
    }
    f->cluster = NULL;
    return rc;
}

static int run_teams(struct litmus_fleet *f, const struct litmus_job *job, baton_thread_fn body)
{
    struct baton_team teams[LITMUS_NODES_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < f->places_n; i++) {
        struct litmus_place *p = &f->places[i];
        if (p->node < job->plan.nodes)
            teams[n++] =
                (struct baton_team){p->node, litmus_workers_on(&job->plan, p->node), body, p};
    }
    return n ? baton_run(f->cluster, teams, n) : 0;
}

static int run_simulated(struct litmus_fleet *f, const struct litmus_job *job)
{
    int rc = 0;
    for (uint64_t run = 0; run < job->runs && !rc; run++) {
        litmus_once_begin(f->places, job->plan.nodes);
        rc = run_teams(f, job, litmus_once_body);
        if (!rc)
            litmus_once_end(f->places, job->plan.nodes, run);
    }
    return rc;
}

/* ---- Locks of a job */

static int tables_open(struct litmus_fleet *f, const struct litmus_job *job)
{
    unsigned tag = (unsigned)(job - f->jobs);
    int rc = 0;
    for (unsigned i = 0; i < f->places_n && !rc; i++)
        rc = litmus_tables_make(&f->places[i].tables, f->places[i].ep, &job->plan, f->opts.kind,
                                f->opts.settings.batch, tag);
    for (unsigned i = 0; i < f->places_n && !rc; i++)
        rc = litmus_tables_open(&f->places[i].tables, f->places[i].ep, &job->plan, tag,
                                f->opts.settings.patience_ns);
    return rc;
}

/* A table ends when all others have let go of it. */
static int tables_close(struct litmus_fleet *f)
{
    int rc = 0;
    for (int own = 0; own < 2; own++) {
        for (unsigned i = 0; i < f->places_n; i++) {
            int one = litmus_tables_close(&f->places[i].tables, f->places[i].ep, own);
            rc = rc ? rc : one;
        }
        if (!own && f->opts.given && !rc)
            rc = crew_meet(f->opts.given, f->nodes, CREW_ALWAYS);
        if (own || f->here || f->opts.given)
            continue;
        baton_word_faa(&f->shared->closed, 1);
        while (baton_word_load(&f->shared->closed) < f->nodes && !baton_word_load(&f->shared->stop))
            poll(NULL, 0, 1);
    }
    return rc;
}

/*
 * What threads leave in their node's memory for others begins anew with each job. Nodes that had no part in the one
 * before come here early.
 */
static int given_begin(struct litmus_fleet *f)
{
    struct litmus_place *p = &f->places[0];
    memset(p->memory + f->far.begun, 0, f->far.rows - f->far.begun);
    return crew_meet(p->crew, f->nodes, CREW_ALWAYS);
}

static int run_job(struct litmus_fleet *f, const struct litmus_job *job)
{
    for (unsigned i = 0; i < f->places_n; i++)
        f->places[i].job = job;
    int rc = f->opts.given ? given_begin(f) : 0;
    if (!rc && job->plan.locks_n)
        rc = tables_open(f, job);
    if (!rc)
        rc = crew_is_simulated(f->opts.fabric) ? run_simulated(f, job)
                                               : run_teams(f, job, litmus_rounds_body);
    int close_rc = job->plan.locks_n ? tables_close(f) : 0;
    return rc ? rc : close_rc;
}

/* ---- A process that is a node */

static void tell(struct litmus_shared *s, unsigned node, int rc, const char *what)
{
    const char *detail = baton_error_detail();
    litmus_fail(s, rc, "node %u: %s: %s%s%s", node + 1, what, baton_strerror(rc),
                *detail ? "; " : "", detail);
}

static void serve(struct litmus_fleet *f)
{
    struct litmus_shared *s = f->shared;
    struct litmus_place *p = &f->places[0];
    for (uint64_t known = 0;;) {
        struct baton_wait wait;
        const struct baton_cond conds[] = {baton_until_not(&s->job, UINT64_MAX, known),
                                           baton_until_not(&s->quit, UINT64_MAX, 0)};
        baton_wait_begin(p->ep, &wait, BATON_NEVER, NULL);
        int rc = baton_await(p->ep, conds, 2, &wait);
        if (rc || baton_word_load(&s->quit)) {
            if (rc)
                tell(s, p->node, rc, "waiting for work");
            return;
        }
        known = baton_word_load(&s->job);
        rc = run_job(f, &f->jobs[known - 1]);
        if (rc)
            tell(s, p->node, rc, "the test");
        baton_word_faa(&s->done, 1);
    }
}

static void child_main(struct litmus_fleet *f, unsigned node)
{
    struct litmus_shared *s = f->shared;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int rc = nodes_open(f, node, 1);
    if (rc)
        tell(s, node, rc, "opening the cluster");
    baton_word_faa(&s->ready, 1);
    if (!rc)
        serve(f);
    /* Nobody takes its memory away while others may still want it. */
    baton_word_faa(&s->left, 1);
    for (int ms = 0; baton_word_load(&s->left) < f->nodes && ms < 5000; ms++)
        poll(NULL, 0, 1);
    nodes_close(f);
    _exit(0);
}

/* ---- Looking after them */

static void end_all(struct litmus_fleet *f)
{
    for (unsigned n = 0; n < f->nodes; n++)
        if (f->pid[n]) {
            kill(f->pid[n], SIGKILL);
            waitpid(f->pid[n], NULL, 0);
            f->pid[n] = 0;
        }
}

static void look_for_dead(struct litmus_fleet *f)
{
    for (unsigned n = 0; n < f->nodes; n++) {
        int status;
        if (!f->pid[n] || waitpid(f->pid[n], &status, WNOHANG) != f->pid[n])
            continue;
        f->pid[n] = 0;
        if (WIFSIGNALED(status) && !f->killed) {
            f->killed = n + 1;
            f->killed_by = WTERMSIG(status);
        }
        litmus_fail(f->shared, -ECHILD, "the process of node %u ended", n + 1);
    }
}

/* Those who live may say first that a node is gone: that its process was killed explains it. */
static int failure(struct litmus_fleet *f)
{
    if (f->killed)
        return baton_fail(-ECHILD, "the process of node %u died of signal %d", f->killed,
                          f->killed_by);
    return baton_fail((int)f->shared->rc, "%s", f->shared->error);
}

/* Until `word` has reached `count`; `life` says whether anything moves. */
static int watch(struct litmus_fleet *f, const uint64_t *word, uint64_t count, const uint64_t *life,
                 uint64_t patience_ns)
{
    struct litmus_shared *s = f->shared;
    uint64_t seen = baton_word_load(life), since = baton_clock_ns();
    for (unsigned turn = 0; baton_word_load(word) < count; turn++) {
        look_for_dead(f);
        if (baton_word_load(&s->stop) && baton_clock_ns() - since > LEAVE_NS / 10)
            break;
        uint64_t now = baton_clock_ns(), is = baton_word_load(life);
        if (is != seen) {
            seen = is;
            since = now;
        }
        if (now - since > patience_ns)
            litmus_fail(s, -ETIMEDOUT, "nothing has moved for %.0f s in round %llu",
                        (double)patience_ns / 1e9, (unsigned long long)is);
        poll(NULL, 0, turn < 20 ? 0 : 1);
    }
    if (!baton_word_load(&s->stop))
        return 0;
    end_all(f);
    return failure(f);
}

/* ---- The fleet */

static int start_processes(struct litmus_fleet *f)
{
    fflush(NULL);
    for (unsigned n = 0; n < f->nodes; n++) {
        f->pid[n] = fork();
        if (f->pid[n] < 0) {
            int rc = baton_fail(-errno, "the process of node %u could not be made", n + 1);
            f->pid[n] = 0;
            end_all(f);
            return rc;
        }
        if (!f->pid[n])
            child_main(f, n);
    }
    return watch(f, &f->shared->ready, f->nodes, &f->shared->ready, SETUP_NS);
}

static int write_options(struct litmus_fleet *f)
{
    /* Litmus tests do with words what a program should not: what comes of it is what they ask. */
    const char *standard = strcmp(f->opts.fabric, "sim") ? "" : "driver=random,misuse=ignore";
    bool meets = baton_net_meets(f->opts.fabric);
    if (meets && f->here)
        standard = BATON_NET_ALONE;
    if (meets && !f->here) {
        int rc = baton_net_place_make(&f->place);
        if (rc)
            return rc;
        f->met = true;
        standard = f->place.options;
    }
    return baton_options_join(f->options, sizeof(f->options), standard, f->opts.options);
}

static int count_nodes(struct litmus_fleet *f)
{
    unsigned needed = 0;
    for (unsigned i = 0; i < f->jobs_n; i++)
        needed = f->jobs[i].plan.nodes > needed ? f->jobs[i].plan.nodes : needed;
    unsigned asked = f->opts.given ? crew_nodes(f->opts.given) : f->opts.nodes;
    if (asked && asked < needed)
        return baton_fail(-EINVAL, "there is a test that needs %u nodes, and the cluster has %u",
                          needed, asked);
    if (asked > LITMUS_NODES_MAX)
        return baton_fail(-EINVAL, "a cluster of %u nodes: tests run on at most %u", asked,
                          LITMUS_NODES_MAX);
    f->nodes = asked > needed ? asked : needed;
    return 0;
}

static int measure(struct litmus_fleet *f)
{
    unsigned width = 0;
    for (unsigned i = 0; i < f->jobs_n; i++) {
        const struct litmus_plan *plan = &f->jobs[i].plan;
        size_t bytes = litmus_segment_bytes(plan, f->opts.settings.batch);
        width = plan->width > width ? plan->width : width;
        f->segment_bytes = bytes > f->segment_bytes ? bytes : f->segment_bytes;
    }
    if (f->opts.given) {
        litmus_far_lay(&f->far, f->segment_bytes, f->opts.settings.batch, width);
        f->segment_bytes = f->far.end;
    }
    return f->segment_bytes <= SEGMENT_MOST
               ? 0
               : baton_fail(-E2BIG, "%u instances of this test need more than %zu MiB on a node",
                            f->opts.settings.batch, SEGMENT_MOST >> 20);
}

const char *litmus_fabric_missing(const char *fabric)
{
    static char words[160];
    int n = snprintf(words, sizeof(words), "it is not in this build; there is:");
    for (const char *const *f = baton_fabrics(); *f; f++) {
        if (!strcmp(*f, fabric))
            return baton_fabric_unavailable(fabric);
        n += snprintf(words + n, sizeof(words) - (size_t)n, " %s", *f);
        n = n < (int)sizeof(words) ? n : (int)sizeof(words) - 1;
    }
    return words;
}

const char *litmus_kind_missing(const char *kind)
{
    static char words[256];
    int n = 0;
    for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k; k++) {
        if (!strcmp((*k)->name, kind))
            return NULL;
        n += snprintf(words + n, sizeof(words) - (size_t)n, " %s", (*k)->name);
        n = n < (int)sizeof(words) ? n : (int)sizeof(words) - 1;
    }
    return words;
}

struct litmus_fleet *litmus_fleet_create(const struct litmus_fleet_opts *opts)
{
    struct litmus_fleet *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    f->opts = *opts;
    f->here = opts->in_process || crew_is_simulated(opts->fabric);
    snprintf(f->name, sizeof(f->name), "litmus-%ld", (long)getpid());
    return f;
}

/* Why a run would not end. */
static const char *endless(const struct litmus_plan *plan)
{
    if (litmus_plan_has(plan, LITMUS_STUCK))
        return "it polls what no operation answers, so no run of it ends";
    if (litmus_plan_has(plan, LITMUS_ASSUME) &&
        (litmus_plan_has(plan, LITMUS_AWAIT) || litmus_plan_has(plan, LITMUS_GET_UNTIL) ||
         litmus_plan_has(plan, LITMUS_ACQUIRE)))
        return "a thread that an assume ends would keep its locks, and others wait for them";
    return NULL;
}

int litmus_fleet_add(struct litmus_fleet *f, const struct baton_program *program,
                     enum litmus_model model, uint64_t runs, const char **reason)
{
    struct litmus_job *more = realloc(f->jobs, (f->jobs_n + 1) * sizeof(*more));
    if (!more)
        return -ENOMEM;
    f->jobs = more;
    struct litmus_plan *plan = &more[f->jobs_n].plan;
    int rc = litmus_plan_init(plan, program, model, reason);
    if (rc)
        return rc;
    const char *why = endless(plan);
    if (why) {
        litmus_plan_fini(plan);
        *reason = why;
        return -EOPNOTSUPP;
    }
    litmus_plan_spread(plan);
    more[f->jobs_n].runs = runs;
    return (int)f->jobs_n++;
}

int litmus_fleet_start(struct litmus_fleet *f)
{
    int rc = count_nodes(f);
    if (!rc)
        rc = measure(f);
    if (!rc)
        rc = share(f);
    if (f->opts.given)
        return rc ? rc : given_open(f);
    if (!rc)
        rc = write_options(f);
    if (!rc)
        rc = f->here ? nodes_open(f, 0, f->nodes) : start_processes(f);
    return rc;
}

int litmus_fleet_run(struct litmus_fleet *f, unsigned job, const struct litmus_tally **tally)
{
    struct litmus_shared *s = f->shared;
    litmus_tally_begin(s->tally, f->jobs[job].plan.width);
    s->tally->undoes = baton_word_load(&s->undoes);
    memset(s->progress, 0, sizeof(s->progress));
    s->round = s->done = s->closed = 0;
    *tally = s->tally;
    int rc;
    if (f->here || f->opts.given) {
        rc = run_job(f, &f->jobs[job]);
        rc = rc && baton_word_load(&s->stop) ? failure(f) : rc;
        return rc && f->opts.given ? crew_tell(f->opts.given, rc) : rc;
    }
    baton_word_store(&s->job, job + 1);
    return watch(f, &s->done, f->nodes, &s->round, 2 * f->opts.settings.patience_ns);
}

void litmus_fleet_destroy(struct litmus_fleet *f)
{
    if (f->here || f->opts.given)
        nodes_close(f);
    if (f->shared) {
        uint64_t begin = baton_clock_ns();
        baton_word_store(&f->shared->quit, 1);
        for (unsigned n = 0; n < f->nodes; n++)
            while (f->pid[n] && baton_clock_ns() - begin < LEAVE_NS) {
                if (waitpid(f->pid[n], NULL, WNOHANG) == f->pid[n])
                    f->pid[n] = 0;
                else
                    poll(NULL, 0, 1);
            }
        end_all(f);
        munmap(f->shared, f->shared->bytes);
    }
    /* Killed nodes leave their memory; others have left nothing. */
    if (!strcmp(f->opts.fabric, "shm"))
        (void)baton_shm_clean(f->name, NULL, NULL);
    if (f->met)
        baton_net_place_remove(&f->place);
    for (unsigned i = 0; i < f->jobs_n; i++)
        litmus_plan_fini(&f->jobs[i].plan);
    free(f->jobs);
    free(f);
}

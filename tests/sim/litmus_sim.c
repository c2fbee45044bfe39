/* SPDX-License-Identifier: MIT */
/* Litmus programs under the exhaustive driver; see litmus_sim.h. */
#include "litmus_sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <baton/sim.h>

#include "bench/litmus_locks.h"
#include "bench/litmus_plan.h"
#include "bench/litmus_thread.h"
#include "../no_lock.h"
#include "second.h"

/* What observers keep: how each thread has ended, and its registers. */
struct seen {
    int64_t how;
    int64_t reg[LITMUS_REGS_MAX];
};

enum { RUNNING, DONE, NO_RUN };

struct run {
    const struct litmus_plan *plan;
    struct litmus_word *word;
    struct seen *seen;
    int64_t *loc, *row;
    void (*add)(void *arg, const int64_t *row);
    void *arg;
    const char *kind;                      /* of its locks; null: there are none */
    struct baton_ep *ep[LITMUS_NODES_MAX]; /* who has opened, beside the threads */
    struct litmus_tables tables[LITMUS_NODES_MAX];
    struct litmus_holder holder[SIM_THREADS_MAX];
};

struct member {
    struct run *run;
    unsigned number;
};

static int lock(void *arg, struct baton_ep *ep, unsigned which, bool acquire)
{
    return litmus_holder_lock(arg, ep, which, 0, acquire);
}

/* A wait for others that nobody ends is over at some time; so that run counts as no run. */
#define DEADLINE_NS 1000000

static int body(struct baton_ep *ep, unsigned thread, void *arg)
{
    const struct member *m = arg;
    const struct litmus_thread *t = &m->run->plan->thread[m->number];
    struct seen *seen = &m->run->seen[m->number];
    int64_t reg[LITMUS_REGS_MAX] = {0};
    const struct litmus_harness harness = {.lock = lock, .arg = &m->run->holder[m->number]};
    int rc = litmus_thread_run(ep, t, m->run->word, DEADLINE_NS, &harness, reg);
    seen->how = rc ? NO_RUN : DONE;
    memcpy(seen->reg, reg, t->regs_n * sizeof(*reg));
    return rc < 0 ? rc : 0;
}

static void end(void *arg)
{
    struct run *r = arg;
    const struct litmus_plan *plan = r->plan;
    const int64_t *reg[SIM_THREADS_MAX];
    for (unsigned t = 0; t < plan->threads_n; t++) {
        if (r->seen[t].how != DONE)
            return;
        reg[t] = r->seen[t].reg;
    }
    for (unsigned i = 0; i < plan->locs_n; i++)
        r->loc[i] = (int64_t)*r->word[i].here;
    litmus_plan_row(plan, reg, r->loc, r->row);
    r->add(r->arg, r->row);
}

static int open_locks(struct run *r, struct baton_cluster *cluster)
{
    const struct litmus_plan *plan = r->plan;
    int rc = 0;
    for (unsigned n = 0; n < plan->nodes && !rc; n++) {
        rc = baton_ep_open(baton_cluster_node(cluster, n), &r->ep[n]);
        if (!rc)
            rc = litmus_tables_make(&r->tables[n], r->ep[n], plan, r->kind, 1, 0);
    }
    for (unsigned n = 0; n < plan->nodes && !rc; n++)
        rc = litmus_tables_open(&r->tables[n], r->ep[n], plan, 0, 0);
    for (unsigned t = 0; t < plan->threads_n && !rc; t++) {
        const unsigned n = plan->thread[t].node;
        rc = litmus_holder_open(&r->holder[t], r->ep[n], &r->tables[n], plan, 1);
    }
    return rc;
}

static void close_locks(void *arg)
{
    struct run *r = arg;
    for (unsigned t = 0; t < r->plan->threads_n; t++)
        if (r->holder[t].waiter)
            (void)litmus_holder_close(&r->holder[t], r->ep[r->plan->thread[t].node]);
    for (unsigned own = 0; own < 2; own++)
        for (unsigned n = 0; n < r->plan->nodes; n++)
            if (r->ep[n])
                (void)litmus_tables_close(&r->tables[n], r->ep[n], own);
    for (unsigned n = 0; n < r->plan->nodes; n++)
        if (r->ep[n])
            (void)baton_ep_close(r->ep[n]);
}

/* A segment on each node, with a word for each location, also those of other nodes. */
static int place(struct baton_cluster *cluster, void *arg)
{
    struct run *r = arg;
    const struct litmus_plan *plan = r->plan;
    for (unsigned n = 0; n < plan->nodes; n++) {
        struct baton_node *node = baton_cluster_node(cluster, n);
        baton_gptr base;
        int rc = baton_segment_create(node, (plan->locs_n + 1) * sizeof(uint64_t),
                                      BATON_READ | BATON_WRITE | BATON_ATOMIC, NULL, 0, &base);
        for (unsigned i = 0; i < plan->locs_n && !rc; i++) {
            struct litmus_word *w = &r->word[i];
            void *here;
            if (plan->loc[i].node != n)
                continue;
            w->at = base + i * sizeof(uint64_t);
            rc = baton_ptr(node, w->at, 8, &here);
            if (!rc)
                *(w->here = here) = (uint64_t)plan->loc[i].init;
        }
        if (rc)
            return rc;
    }
    return r->kind ? open_locks(r, cluster) : 0;
}

/* With the threads in each other's places. */
static uint64_t ghost_hash(void *arg, const uint8_t *to)
{
    const struct second_program *p = arg;
    const struct run *r = p->arg;
    uint64_t sum = 0;
    for (unsigned t = 0; t < p->threads_n; t++) {
        uint64_t h = (to[t] + (uint64_t)r->seen[t].how * 16 + 1) * UINT64_C(0x9e3779b97f4a7c15);
        for (unsigned i = 0; i < r->plan->thread[t].regs_n; i++) {
            h = (h ^ (uint64_t)r->seen[t].reg[i]) * UINT64_C(0xff51afd7ed558ccd);
            h ^= h >> 32;
        }
        sum += h * UINT64_C(0xc4ceb9fe1a85ec53);
    }
    return sum;
}

/* Nobody looks at the ghost before the end, so its changes order nothing, whoever is where. */
static bool nowhere(void *arg, unsigned thread)
{
    return false;
}

static int explore(struct run *r, const struct litmus_sim_opts *opts, struct second_result *out)
{
    const struct litmus_plan *plan = r->plan;
    struct member member[SIM_THREADS_MAX];
    struct sim_explore x = SIM_EXPLORE_STANDARD;
    struct second_program p = {
        .nodes = plan->nodes,
        .threads_n = plan->threads_n,
        .setup = place,
        .close = r->kind ? close_locks : NULL,
        .ghost = r->seen,
        .ghost_bytes = plan->threads_n * sizeof(*r->seen),
        .polls = litmus_plan_has(plan, LITMUS_GET_UNTIL),
        .end = end,
        .arg = r,
        .flags = opts->swap ? BATON_CLUSTER_SWAP : 0,
    };
    for (unsigned t = 0; t < plan->threads_n; t++) {
        member[t] = (struct member){r, t};
        p.team[t] = (struct baton_team){plan->thread[t].node, 1, body, &member[t]};
    }
    if (opts->by == LITMUS_SIM_NAIVE)
        return second_naive(&p, opts->most, out);
    if (opts->by == LITMUS_SIM_SLEEP)
        return second_sleep(&p, opts->most, out);
    x.naive = opts->naive;
    x.digests = opts->digests;
    x.self_check = opts->self_check;
    x.seconds_max = opts->seconds_max;
    x.inside = opts->future ? nowhere : NULL;
    uint8_t classes[SIM_THREADS_MAX];
    for (unsigned t = 0; t < plan->threads_n; t++)
        classes[t] = (uint8_t)(t == opts->twin ? 0 : t);
    if (opts->twin) {
        x.classes = classes;
        x.ghost_hash = ghost_hash;
    }
    int rc = second_real(&p, &x, out);
    free(x.found);
    return rc;
}

int litmus_sim_run(const struct litmus_plan *plan, const struct litmus_sim_opts *opts,
                   void (*add)(void *arg, const int64_t *row), void *arg,
                   struct litmus_sim_result *result)
{
    struct run r = {.plan = plan, .add = add, .arg = arg, .kind = opts->kind};
    struct second_result out = {0};
    double begin = (double)clock() / CLOCKS_PER_SEC;
    int rc = -ENOMEM;
    *result = (struct litmus_sim_result){0};
    if (plan->threads_n > SIM_THREADS_MAX)
        return -E2BIG;
    if (opts->kind && !strcmp(opts->kind, nothing.name))
        (void)baton_lock_register(&nothing);
    r.word = calloc(plan->locs_n + 1, sizeof(*r.word));
    r.loc = calloc(plan->locs_n + 1, sizeof(*r.loc));
    r.row = calloc(plan->width + 1, sizeof(*r.row));
    r.seen = calloc(plan->threads_n + 1, sizeof(*r.seen));
    if (r.word && r.loc && r.row && r.seen)
        rc = explore(&r, opts, &out);
    snprintf(result->text, sizeof(result->text), "%s", rc ? baton_error_detail() : out.text);
    if (!rc && !out.complete)
        rc = -ETIME;
    if (!rc && (out.failed || out.stuck))
        rc = -EPROTO;
    result->states = out.states;
    result->runs = out.runs;
    result->seconds = (double)clock() / CLOCKS_PER_SEC - begin;
    free(r.word);
    free(r.loc);
    free(r.row);
    free(r.seen);
    return rc;
}

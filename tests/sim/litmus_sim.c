/* SPDX-License-Identifier: MIT */
/* Litmus programs under the exhaustive driver; see litmus_sim.h. */
#include "litmus_sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/sim.h>

#include "bench/litmus_plan.h"
#include "bench/litmus_thread.h"
#include "sim/explore.h"

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
};

struct member {
    struct run *run;
    unsigned number;
};

/* A wait for others that nobody ends is over at some time; so that run counts as no run. */
#define DEADLINE_NS 1000000

static int body(struct baton_ep *ep, unsigned thread, void *arg)
{
    const struct member *m = arg;
    const struct litmus_thread *t = &m->run->plan->thread[m->number];
    struct seen *seen = &m->run->seen[m->number];
    int64_t reg[LITMUS_REGS_MAX] = {0};
    int rc = litmus_thread_run(ep, t, m->run->word, DEADLINE_NS, NULL, reg);
    seen->how = rc ? NO_RUN : DONE;
    memcpy(seen->reg, reg, t->regs_n * sizeof(*reg));
    return rc < 0 ? rc : 0;
}

static const char * final(void *arg)
{
    struct run *r = arg;
    const struct litmus_plan *plan = r->plan;
    const int64_t *reg[SIM_THREADS_MAX];
    for (unsigned t = 0; t < plan->threads_n; t++) {
        if (r->seen[t].how != DONE)
            return NULL;
        reg[t] = r->seen[t].reg;
    }
    for (unsigned i = 0; i < plan->locs_n; i++)
        r->loc[i] = (int64_t)*r->word[i].here;
    litmus_plan_row(plan, reg, r->loc, r->row);
    r->add(r->arg, r->row);
    return NULL;
}

/* A segment on each node, with a word for each location, also those of other nodes. */
static int place(struct baton_cluster *cluster, struct run *r)
{
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
    return 0;
}

static int explore(struct run *r, const struct litmus_sim_opts *opts, struct sim_explore *x)
{
    const struct litmus_plan *plan = r->plan;
    struct member member[SIM_THREADS_MAX];
    struct baton_team team[SIM_THREADS_MAX];
    struct baton_cluster *cluster;
    struct baton_cluster_opts how = BATON_CLUSTER_OPTS;
    how.fabric = "sim";
    how.options = "driver=exhaustive,misuse=ignore";
    how.nodes = plan->nodes;
    how.arena_bytes = 64 << 10;
    how.flags = opts->swap ? BATON_CLUSTER_SWAP : 0;
    int rc = baton_cluster_open(&how, &cluster);
    if (rc)
        return rc;
    for (unsigned t = 0; t < plan->threads_n; t++) {
        member[t] = (struct member){r, t};
        team[t] = (struct baton_team){plan->thread[t].node, 1, body, &member[t]};
    }
    rc = place(cluster, r);
    if (!rc)
        rc = sim_explore_attach(cluster, x);
    if (!rc)
        rc = baton_run(cluster, team, plan->threads_n);
    (void)baton_cluster_close(cluster);
    return rc;
}

int litmus_sim_run(const struct litmus_plan *plan, const struct litmus_sim_opts *opts,
                   void (*add)(void *arg, const int64_t *row), void *arg,
                   struct litmus_sim_result *result)
{
    struct run r = {.plan = plan, .add = add, .arg = arg};
    struct sim_explore x = SIM_EXPLORE_STANDARD;
    int rc = -ENOMEM;
    *result = (struct litmus_sim_result){0};
    if (plan->threads_n > SIM_THREADS_MAX)
        return -E2BIG;
    r.word = calloc(plan->locs_n + 1, sizeof(*r.word));
    r.loc = calloc(plan->locs_n + 1, sizeof(*r.loc));
    r.row = calloc(plan->width + 1, sizeof(*r.row));
    r.seen = calloc(plan->threads_n + 1, sizeof(*r.seen));
    x.naive = opts->naive;
    x.digests = opts->digests;
    x.self_check = opts->self_check;
    x.seconds_max = opts->seconds_max;
    x.ghost = r.seen;
    x.ghost_bytes = plan->threads_n * sizeof(*r.seen);
    x.final = final;
    x.arg = &r;
    if (r.word && r.loc && r.row && r.seen)
        rc = explore(&r, opts, &x);
    if (!rc && x.verdict == SIM_UNKNOWN)
        rc = -ETIME;
    snprintf(result->text, sizeof(result->text), "%s", x.text[0] ? x.text : baton_error_detail());
    result->states = x.states;
    result->runs = x.runs;
    result->passes = x.passes;
    result->terminals = x.terminals;
    result->seconds = x.seconds;
    free(x.found);
    free(r.word);
    free(r.loc);
    free(r.row);
    free(r.seen);
    return rc;
}

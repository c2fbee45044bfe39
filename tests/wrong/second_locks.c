/* SPDX-License-Identifier: MIT */
/*
 * Locks by three explorers: the exhaustive driver and the two of tests/sim/second.h. Each thread acquires the
 * lock some rounds, reads a counter, writes it back plus one, and releases. All explorers must find the
 * same final values and the same orders of service, or that somebody waits for ever; and what
 * `baton check lock` says of the configuration, with symmetry and all, must be right by that.
 *
 *     second_locks KIND CONFIG STATES RUNS    CONFIG as in configs.h; the bounds of the second explorers
 *     second_locks WRONG STATES RUNS          one of locks/, in the configuration that its file names
 *
 * A second explorer that hits its bound says so, and what it has found until then must be right; it is a failure
 * if both do.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <baton/error.h>

#include "../sim/second.h"
#include "configs.h"
#include "wrong.h"
#include "wrong_locks.h"

static const struct wrong_lock *const wrongs[] = {WRONG_LOCKS NULL};

#define ROUNDS_MAX 4u
#define SEEN_MAX (SIM_THREADS_MAX * ROUNDS_MAX)
#define ID 5

struct outcome {
    uint64_t counter;
    uint64_t seen[SEEN_MAX]; /* by thread and round: the counter as it was found */
};

struct outcomes {
    struct outcome *at;
    size_t n, room;
};

struct run;

struct member {
    struct run *run;
    struct baton_waiter *waiter;
    struct baton_lock lock;
    uint64_t *buffer;
    unsigned number;
};

struct run {
    const struct check_lock *config;
    struct baton_ep *ep[1 + SIM_THREADS_MAX];
    struct baton_table *table[1 + SIM_THREADS_MAX];
    struct member member[SIM_THREADS_MAX];
    uint64_t *counter;
    baton_gptr at;
    struct outcome ghost;
    struct outcomes *out;
};

static unsigned threads_of(const struct check_lock *c)
{
    return c->local + c->remote;
}

static unsigned node_of(const struct check_lock *c, unsigned thread)
{
    return thread < c->local ? 0 : 1 + thread - c->local;
}

/* ---- A thread */

static int section(const struct member *m, struct baton_ep *ep, uint64_t *seen)
{
    struct run *r = m->run;
    if (r->config->data == CHECK_DATA_CPU && m->number < r->config->local) {
        *seen = baton_load(ep, r->counter);
        baton_store(ep, r->counter, *seen + 1);
        return 0;
    }
    baton_get(ep, m->buffer, r->at, 8, ID);
    int rc = baton_wait(ep, ID);
    *seen = *m->buffer;
    baton_put64(ep, r->at, *seen + 1, 0);
    return rc;
}

static int body(struct baton_ep *ep, unsigned thread, void *arg)
{
    const struct member *m = arg;
    uint64_t *seen = &m->run->ghost.seen[ROUNDS_MAX * m->number];
    for (unsigned round = 0; round < m->run->config->rounds; round++) {
        uint64_t found = 0;
        int rc = baton_lock_acquire(&m->lock, ep, m->waiter);
        if (!rc)
            rc = section(m, ep, &found);
        seen[round] = found;
        if (!rc)
            rc = baton_lock_release(&m->lock, ep, m->waiter);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- Setting up */

static int open_thread(struct run *r, unsigned t)
{
    struct member *m = &r->member[t];
    unsigned node = node_of(r->config, t);
    int rc = baton_waiter_open(r->ep[node], &m->waiter);
    if (!rc)
        rc = baton_table_lock(r->table[node], 0, &m->lock);
    m->run = r;
    m->number = t;
    m->buffer = rc ? NULL : baton_ep_alloc(r->ep[node], 64, 64);
    return rc || m->buffer ? rc : -ENOMEM;
}

static int setup(struct baton_cluster *cluster, void *arg)
{
    struct run *r = arg;
    const struct check_lock *c = r->config;
    struct baton_table_opts opts = {
        .size = sizeof(opts), .kind = c->kind->name, .count = 1, .params = c->params};
    void *memory;
    int rc = baton_segment_create(baton_cluster_node(cluster, 0), 8, BATON_READ | BATON_WRITE, NULL,
                                  0, &r->at);
    if (!rc)
        rc = baton_ptr(baton_cluster_node(cluster, 0), r->at, 8, &memory);
    r->counter = rc ? NULL : memory;
    for (unsigned n = 0; n <= c->remote && !rc; n++) {
        rc = baton_ep_open(baton_cluster_node(cluster, n), &r->ep[n]);
        if (!rc && n == 0)
            rc = baton_table_create(r->ep[n], "lock", &opts, &r->table[n]);
        else if (!rc)
            rc = baton_table_open(r->ep[n], "lock", BATON_NEVER, &r->table[n]);
    }
    for (unsigned t = 0; t < threads_of(c) && !rc; t++)
        rc = open_thread(r, t);
    return rc;
}

static void close_all(void *arg)
{
    struct run *r = arg;
    for (unsigned n = 1 + r->config->remote; n-- > 0;) {
        if (r->table[n])
            (void)baton_table_close(r->ep[n], r->table[n]);
        if (r->ep[n])
            (void)baton_ep_close(r->ep[n]);
    }
}

/* ---- Outcomes */

static void end(void *arg)
{
    struct run *r = arg;
    struct outcomes *o = r->out;
    r->ghost.counter = *r->counter;
    for (size_t i = 0; i < o->n; i++)
        if (!memcmp(&o->at[i], &r->ghost, sizeof(r->ghost)))
            return;
    if (o->n == o->room) {
        o->room = o->room ? 2 * o->room : 16;
        o->at = realloc(o->at, o->room * sizeof(*o->at));
        if (!o->at)
            abort();
    }
    o->at[o->n++] = r->ghost;
    r->ghost.counter = 0;
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct outcome));
}

static bool lost(const struct outcomes *o, const struct check_lock *c)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->at[i].counter != (uint64_t)threads_of(c) * c->rounds)
            return true;
    return false;
}

/* ---- The three */

enum { REAL, NAIVE, SLEEP, EXPLORERS };

struct found {
    struct second_result result;
    struct outcomes outcomes;
};

static int explore(const struct check_lock *c, int by, uint64_t most, struct found *f)
{
    struct run r = {.config = c, .out = &f->outcomes};
    struct sim_explore x = SIM_EXPLORE_STANDARD;
    struct second_program p = {.nodes = 1 + c->remote,
                               .threads_n = threads_of(c),
                               .setup = setup,
                               .close = close_all,
                               .ghost = &r.ghost,
                               .ghost_bytes = sizeof(r.ghost),
                               .polls = true,
                               .end = end,
                               .arg = &r};
    for (unsigned t = 0; t < p.threads_n; t++)
        p.team[t] = (struct baton_team){node_of(c, t), 1, body, &r.member[t]};
    int rc = by == REAL    ? second_real(&p, &x, &f->result)
             : by == NAIVE ? second_naive(&p, most, &f->result)
                           : second_sleep(&p, most, &f->result);
    free(x.found);
    if (f->outcomes.n)
        qsort(f->outcomes.at, f->outcomes.n, sizeof(*f->outcomes.at), compare);
    return rc;
}

/* Who was stopped has found something of what the driver has found; the driver stops when somebody is stuck. */
static bool agrees(const struct found *real, const struct found *f)
{
    const struct outcomes *all = &real->outcomes, *some = &f->outcomes;
    if (real->result.stuck)
        return f->result.stuck || !f->result.complete;
    if (f->result.stuck || (f->result.complete && some->n != all->n))
        return false;
    for (size_t i = 0; i < some->n; i++)
        if (!all->n || !bsearch(&some->at[i], all->at, all->n, sizeof(*all->at), compare))
            return false;
    return true;
}

static bool check(const struct check_lock *c, const char *text, const uint64_t *most)
{
    static const char *const names[] = {"the driver", "naively", "a tree of runs"};
    struct found found[EXPLORERS] = {0};
    struct sim_explore x;
    unsigned complete = 0;
    bool good = true;
    for (int by = 0; by < EXPLORERS; by++) {
        struct found *f = &found[by];
        clock_t begin = clock();
        int rc = explore(c, by, most[by], f);
        printf("%s %s, %s: %zu outcomes%s%s, %" PRIu64 " states, %" PRIu64 " runs, %" PRIu64
               " steps, %.2f s%s%s\n",
               c->kind->name, text, names[by], f->outcomes.n,
               lost(&f->outcomes, c) ? ", lost update" : "", f->result.stuck ? ", stuck" : "",
               f->result.states, f->result.runs, f->result.steps,
               (double)(clock() - begin) / CLOCKS_PER_SEC, f->result.text[0] ? ": " : "",
               f->result.text);
        good &= !rc && !f->result.failed && (by ? agrees(&found[REAL], f) : f->result.complete);
        complete += by && f->result.complete;
    }
    bool broken = found[REAL].result.stuck || lost(&found[REAL].outcomes, c);
    good &= config_check(c, 100, &x) && x.verdict == (broken ? SIM_VIOLATED : SIM_VERIFIED);
    printf("%s %s: baton check: %s\n", c->kind->name, text,
           broken ? x.text : "Verified, as it should be");
    for (int by = 0; by < EXPLORERS; by++)
        free(found[by].outcomes.at);
    return good && complete;
}

static const struct wrong_lock *wrong_of(const char *name)
{
    for (unsigned i = 0; wrongs[i]; i++)
        if (!strcmp(wrongs[i]->ops->name, name))
            return wrongs[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const struct wrong_lock *wrong = argc == 4 ? wrong_of(argv[1]) : NULL;
    const struct baton_lock_ops *kind = wrong       ? wrong->ops
                                        : argc == 5 ? baton_lock_kind(argv[1])
                                                    : NULL;
    const char *text = wrong ? wrong->check : argc == 5 ? argv[2] : "";
    struct check_lock config;
    if (!kind || (wrong && baton_lock_register(kind)) || !config_read(&config, kind, text) ||
        config.rounds > ROUNDS_MAX) {
        printf("usage: second_locks KIND CONFIG STATES RUNS | WRONG STATES RUNS\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    config.no_fcfs = true;
    const uint64_t most[EXPLORERS] = {0, strtoull(argv[argc - 2], NULL, 10),
                                      strtoull(argv[argc - 1], NULL, 10)};
    return !check(&config, text, most);
}

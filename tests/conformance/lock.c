/* SPDX-License-Identifier: MIT */
/*
 * Cases: each kind of lock under contention. Exclusion, exact counters, the release contract, order of
 * service by doorways, tokens, tries in between, counters near their wraps, nesting, few processors.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work.h"

struct shape {
    unsigned local, nodes, threads;
};

/* Small teams: every way in which two classes of threads can meet. */
static const struct shape small[] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 1, 2},
                                     {0, 1, 2}, {0, 3, 1}, {3, 1, 0}, {3, 1, 3}, {1, 3, 1}};
#define SMALL (sizeof(small) / sizeof(small[0]))

static struct work shaped(const struct shape *s, uint64_t seed)
{
    return (struct work){
        .local = s->local, .nodes = s->nodes, .threads = s->threads, .locks = 1, .seed = seed};
}

static int run_and_forget(const struct conf *c, struct work *w, uint64_t *overlaps)
{
    int rc = work_run(c, w);
    if (overlaps && w->shared)
        *overlaps += w->shared->overlaps;
    if (w->shared)
        munmap(w->shared, sizeof(*w->shared));
    if (rc)
        return conf_fail(
            __FILE__, __LINE__,
            "%u local, %u x %u remote threads, %u locks, first ticket 0x%llx, schedule "
            "seed %llu",
            w->local, w->nodes, w->threads, w->locks, (unsigned long long)w->first_ticket,
            (unsigned long long)w->seed);
    return 0;
}

/* Many schedules of small teams in a simulated world. */
static int schedules(struct conf *c, uint64_t count, unsigned rounds, uint64_t *overlaps)
{
    for (uint64_t i = 0; i < count; i++) {
        struct work w = shaped(&small[i % SMALL], c->seed * 1000000 + i);
        w.rounds = rounds;
        w.locks = i % 7 == 0 ? 2 : 1;
        w.tries = i % 3 == 0 ? 3 : 0;
        OK(run_and_forget(c, &w, overlaps));
    }
    return 0;
}

static int case_exclusion(struct conf *c)
{
    uint64_t overlaps = 0;
    if (conf_is(c, CONF_SIMULATED)) {
        OK(schedules(c, conf_rounds(c, 2500), 4, &overlaps));
        CHECK(overlaps > conf_rounds(c, 2500));
        return 0;
    }
    static const struct shape shapes[] = {{2, 1, 2}, {1, 2, 1}, {0, 2, 1}, {2, 1, 1}};
    for (unsigned i = 0; i < 4; i++) {
        struct work w = shaped(&shapes[i], c->seed + i);
        w.until_ns = 250000000;
        w.tries = i % 2 ? 2 : 0;
        w.locks = i == 3 ? WORK_LOCKS : 1;
        w.hold_ns = i == 1 ? 1000 : 0;
        OK(run_and_forget(c, &w, &overlaps));
    }
    CHECK(overlaps); /* else nobody ever waited, and nothing was shown */
    return 0;
}

static int case_soak(struct conf *c)
{
    uint64_t end = conf_clock_ns() + conf_soak_ns(c), overlaps = 0;
    struct conf one = *c;
    for (uint64_t s = c->seed; conf_clock_ns() < end; s++) {
        conf_at_seed(one.seed = s);
        if (conf_is(c, CONF_SIMULATED)) {
            OK(schedules(&one, 500, 4 + (unsigned)(s % 8), &overlaps));
        } else {
            struct work w = shaped(&small[s % SMALL], s);
            w.until_ns = 1000000000;
            w.tries = s % 3;
            w.locks = 1 + s % WORK_LOCKS;
            w.hold_ns = s % 2 ? 1000 : 0;
            OK(run_and_forget(c, &w, &overlaps));
        }
    }
    printf("  %llu entries found somebody waiting\n", (unsigned long long)overlaps);
    return 0;
}

/* Tickets start just before the numbers at which something might overflow. */
static int case_wrap(struct conf *c)
{
    static const uint64_t firsts[] = {
        (1u << 20) - 3, (1u << 28) - 3, ((uint64_t)1 << 44) - 3, 1, 7, 8};
    for (unsigned i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++)
        for (uint64_t n = 0; n < (conf_is(c, CONF_SIMULATED) ? conf_rounds(c, 200) : 1); n++) {
            struct work w = shaped(&small[n % SMALL], c->seed * 10000 + n);
            w.first_ticket = firsts[i];
            w.rounds = conf_is(c, CONF_SIMULATED) ? 5 : conf_rounds(c, 5000);
            w.tries = n % 2 ? 2 : 0;
            OK(run_and_forget(c, &w, NULL));
        }
    return 0;
}

/* Every parameter at its bounds. */
static int case_params(struct conf *c)
{
    if (!c->kind->params)
        return 0;
    for (unsigned p = 0; p < BATON_LOCK_PARAMS_MAX && c->kind->params[p].name; p++)
        for (unsigned most = 0; most < 2; most++)
            for (uint64_t n = 0; n < (conf_is(c, CONF_SIMULATED) ? conf_rounds(c, 300) : 1); n++) {
                uint64_t params[BATON_LOCK_PARAMS_MAX];
                struct work w = shaped(&small[n % SMALL], c->seed * 10000 + n);
                baton_lock_param_defaults(c->kind, params);
                params[p] = most ? c->kind->params[p].most : c->kind->params[p].least;
                w.params = params;
                w.rounds = conf_is(c, CONF_SIMULATED) ? 5 : conf_rounds(c, 5000);
                if (run_and_forget(c, &w, NULL))
                    return conf_fail(__FILE__, __LINE__, "with %s %llu", c->kind->params[p].name,
                                     (unsigned long long)params[p]);
            }
    return 0;
}

/* ---- Few processors, many threads */

static int case_one_cpu(struct conf *c)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof(all), &all))
        return conf_skip("sched_getaffinity does not work here");
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
            break;
        }
    if (sched_setaffinity(0, sizeof(one), &one))
        return conf_skip("sched_setaffinity does not work here");
    struct work w = {
        .local = 2, .nodes = 1, .threads = 2, .locks = 1, .until_ns = 150000000, .seed = 1};
    return run_and_forget(c, &w, NULL);
}

static int case_crowd(struct conf *c)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = 8 * (unsigned)(cpus < 1 ? 1 : cpus);
    if (threads > WORK_THREADS)
        threads = WORK_THREADS;
    uint64_t overlaps = 0;
    struct work w = {.local = threads / 2,
                     .nodes = 2,
                     .threads = threads / 4,
                     .locks = 1,
                     .until_ns = 200000000,
                     .seed = 1};
    OK(run_and_forget(c, &w, &overlaps));
    CHECK(overlaps);
    return 0;
}

/* ---- Nesting: three locks in one thread, two of one table and one of another kind's */

struct nest {
    struct work w;
    const char *other;
    uint64_t entries[3], inside[3];
};

static int nest_body(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct nest *n = arg;
    struct baton_table *table[2];
    struct baton_lock lock[3];
    struct baton_waiter *waiter[3];
    OK(baton_table_open(ep, "locks", BATON_NEVER, &table[0]));
    OK(baton_table_open(ep, "other", BATON_NEVER, &table[1]));
    OK(baton_table_lock(table[0], 0, &lock[0]));
    OK(baton_table_lock(table[1], 0, &lock[1]));
    OK(baton_table_lock(table[0], 1, &lock[2]));
    for (unsigned i = 0; i < 3; i++)
        OK(baton_waiter_open(ep, &waiter[i]));
    for (uint64_t r = 0; r < n->w.rounds; r++) {
        unsigned from =
            (unsigned)(r + thread) % 3; /* one, two or all three of them, in one order */
        for (unsigned i = from; i < 3; i++) {
            OK(baton_lock_acquire(&lock[i], ep, waiter[i]));
            CHECK(!n->inside[i]);
            n->inside[i] = 1;
        }
        uint64_t before[3] = {n->entries[0], n->entries[1], n->entries[2]};
        baton_delay(ep, 200);
        for (unsigned i = from; i < 3; i++)
            n->entries[i] = before[i] + 1;
        /* Released in another order than taken. */
        for (unsigned j = 0; j < 3 - from; j++) {
            unsigned i = from + (j + (unsigned)r) % (3 - from);
            n->inside[i] = 0;
            OK(baton_lock_release(&lock[i], ep, waiter[i]));
        }
    }
    for (unsigned i = 0; i < 3; i++)
        OK(baton_waiter_close(ep, waiter[i]));
    OK(baton_table_close(ep, table[1]));
    return baton_table_close(ep, table[0]);
}

static int nest_once(struct conf *c, const char *other, const struct shape *s, uint64_t seed,
                     uint64_t rounds)
{
    struct nest n = {.other = other, .w = {.rounds = rounds}};
    struct baton_cluster *cluster;
    struct baton_ep *ep;
    struct baton_table *table[2];
    OK(conf_open(c, s->nodes + 1, seed, &cluster));
    OK(baton_ep_open(baton_cluster_node(cluster, 0), &ep));
    struct baton_table_opts opts = {sizeof(opts), c->kind->name, 2, NULL, 0};
    OK(baton_table_create(ep, "locks", &opts, &table[0]));
    opts.kind = other;
    opts.count = 1;
    OK(baton_table_create(ep, "other", &opts, &table[1]));
    struct baton_team teams[8];
    unsigned t = 0;
    teams[t++] = (struct baton_team){0, s->local, nest_body, &n};
    for (unsigned i = 1; i <= s->nodes; i++)
        teams[t++] = (struct baton_team){i, s->threads, nest_body, &n};
    if (baton_run(cluster, teams, t))
        return conf_fail(__FILE__, __LINE__, "with %s, seed %llu", other, (unsigned long long)seed);
    uint64_t all = (s->local + s->nodes * s->threads) * rounds;
    EQUAL(n.entries[2], all);
    CHECK(n.entries[1] <= all && n.entries[0] <= n.entries[1] && n.entries[0]);
    OK(baton_table_close(ep, table[1]));
    OK(baton_table_close(ep, table[0]));
    OK(baton_ep_close(ep));
    return baton_cluster_close(cluster);
}

static int case_nested(struct conf *c)
{
    bool simulated = conf_is(c, CONF_SIMULATED);
    for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k; k++) {
        if (strncmp((*k)->name, "wrong", 5) == 0)
            continue;
        for (uint64_t i = 0; i < (simulated ? conf_rounds(c, 60) : 1); i++)
            OK(nest_once(c, (*k)->name, &small[i % SMALL], c->seed * 1000 + i,
                         simulated ? 6 : conf_rounds(c, 3000)));
    }
    return 0;
}

const struct conf_case conf_lock_cases[] = {
    {"exclusion", "one holder at a time, nothing lost, order of service, tokens",
     CONF_ONE_PROCESS | CONF_PROCS, case_exclusion, 0},
    {"wrap", "tickets that pass the bounds of their fields", CONF_ONE_PROCESS, case_wrap, 0},
    {"params", "each parameter at its bounds", CONF_ONE_PROCESS, case_params, 0},
    {"nested", "three locks of two kinds in one thread", CONF_ONE_PROCESS, case_nested, 0},
    {"one-cpu", "four threads on one processor", CONF_NATIVE, case_one_cpu, 0},
    {"crowd", "eight times more threads than processors", CONF_NATIVE, case_crowd, 0},
    {"soak", "exclusion for as long as BATON_SOAK_SECONDS says", CONF_ONE_PROCESS | CONF_PROCS,
     case_soak, "soak"},
    {0},
};

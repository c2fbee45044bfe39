/* SPDX-License-Identifier: MIT */
/*
 * usage: random_test KIND SECONDS [SEED]
 *
 * A kind of lock in random runs of the simulated world, with and without faults, chains in order and not,
 * with the NIC's weaknesses really happening. In every run: nobody is in together with another, every holder
 * finds the counter as the one before left it, and no misuse of words is reported. Without deaths and
 * losses: every call succeeds. After deaths and losses, faults end, a survivor repairs the table, and the
 * survivors must all get the lock again. Some runs are made twice: the same seed gives the same unseed.
 *
 * SECONDS may be "soak": then BATON_SOAK_SECONDS. With a SEED, that run only, told in words.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <baton/lock.h>
#include <baton/sim.h>

#include "base/random.h"

#define NODES 3
#define THREADS_MAX 3
#define ROUNDS 6

struct run {
    const char *kind;
    uint64_t seed;
    bool lossy; /* there may be deaths and losses */
    unsigned nodes, threads[NODES], rounds;
    struct baton_cluster *cluster;
    struct baton_ep *ep[NODES];
    struct baton_table *table[NODES];
    baton_gptr counter;
    uint64_t *counter_cpu;
    /* What the holder alone touches. */
    unsigned owner;
    uint64_t expected;
    bool finished[NODES][THREADS_MAX];
    unsigned entries, wrong;
    char text[256];
};

struct team {
    struct run *run;
    unsigned node;
};

static int wrong(struct run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!r->wrong++)
        vsnprintf(r->text, sizeof(r->text), format, args);
    va_end(args);
    return -EPROTO;
}

/* What an error of a lossy run may be. Anything else is wrong in any run. */
static bool is_fault(int rc)
{
    return rc == -EHOSTDOWN || rc == -EOWNERDEAD || rc == -ENOTRECOVERABLE || rc == -ECANCELED ||
           rc == -ENOTCONN || rc == -EDEADLK;
}

static int section(struct run *r, unsigned node, unsigned self, struct baton_ep *ep,
                   uint64_t *scratch)
{
    int rc = 0;
    if (r->owner)
        return wrong(r, "%u is in together with %u", self, r->owner);
    r->owner = self;
    r->entries++;
    if (node == 0) {
        *scratch = baton_load(ep, r->counter_cpu);
    } else {
        baton_get(ep, scratch, r->counter, 8, 1);
        rc = baton_wait(ep, 1);
    }
    if (!rc) {
        uint64_t seen = *scratch;
        if (seen != r->expected)
            return wrong(r, "%u finds %" PRIu64 " where %" PRIu64 " was left", self, seen,
                         r->expected);
        r->expected = seen + 1;
        if (node == 0)
            baton_store(ep, r->counter_cpu, seen + 1);
        else
            rc = baton_put64(ep, r->counter, seen + 1, 0);
    }
    if (r->owner != self)
        return wrong(r, "%u came in while %u was", r->owner, self);
    r->owner = 0;
    return rc;
}

static int rounds(struct run *r, unsigned node, unsigned self, struct baton_ep *ep)
{
    struct baton_waiter *waiter;
    struct baton_lock lock;
    uint64_t *scratch = baton_ep_alloc(ep, 64, 64);
    int rc = scratch ? baton_waiter_open(ep, &waiter) : -ENOMEM;
    if (rc)
        return wrong(r, "no memory for a waiter");
    rc = baton_table_lock(r->table[node], 0, &lock);
    for (unsigned i = 0; i < r->rounds && !rc && !r->wrong; i++) {
        if ((rc = baton_lock_acquire(&lock, ep, waiter)))
            break;
        rc = section(r, node, self, ep, scratch);
        if (rc == -EPROTO)
            return rc;
        int release_rc = baton_lock_release(&lock, ep, waiter);
        rc = rc ? rc : release_rc;
    }
    int close_rc = baton_waiter_close(ep, waiter);
    return rc ? rc : close_rc;
}

static int body(struct baton_ep *ep, unsigned thread, void *arg)
{
    const struct team *t = arg;
    struct run *r = t->run;
    int rc = rounds(r, t->node, 1 + t->node * THREADS_MAX + thread, ep);
    /* A thread that dies before its last stores have left its buffer has not finished: they are lost. */
    baton_mfence(ep);
    r->finished[t->node][thread] = true;
    if (rc && rc != -EPROTO && !(r->lossy && is_fault(rc)))
        wrong(r, "%s: %s", baton_strerror(rc), baton_error_detail());
    return 0;
}

static int start(struct run *r, struct baton_team *teams, struct team *args)
{
    unsigned n = 0;
    for (unsigned node = 0; node < r->nodes; node++) {
        if (baton_node_state(r->cluster, node) != BATON_NODE_ALIVE)
            continue;
        args[node] = (struct team){r, node};
        teams[n++] = (struct baton_team){node, r->threads[node], body, &args[node]};
    }
    return n ? baton_run(r->cluster, teams, n) : 0;
}

/* Whether a thread died while its node lived, which nobody is told: then nothing can be repaired. */
static bool lonely_death(const struct run *r)
{
    for (unsigned node = 0; node < r->nodes; node++)
        for (unsigned t = 0; t < r->threads[node]; t++)
            if (!r->finished[node][t] && baton_node_state(r->cluster, node) == BATON_NODE_ALIVE)
                return true;
    return false;
}

static void heal(struct run *r, struct baton_team *teams, struct team *args)
{
    unsigned before = r->entries, threads = 0;
    int rc = 0;
    if (baton_node_state(r->cluster, 0) != BATON_NODE_ALIVE || lonely_death(r))
        return;
    baton_sim_calm(r->cluster);
    /* All survivors ask for it, as programs do: the first repairs, the others learn of it. */
    for (unsigned node = 0; node < r->nodes && !rc; node++)
        if (baton_node_state(r->cluster, node) == BATON_NODE_ALIVE)
            rc = baton_table_reinit(r->ep[node], r->table[node]);
    if (rc) {
        wrong(r, "reinit: %s: %s", baton_strerror(rc), baton_error_detail());
        return;
    }
    r->owner = 0;
    r->expected = *r->counter_cpu;
    r->rounds = 2;
    r->lossy = false;
    for (unsigned node = 0; node < r->nodes; node++)
        if (baton_node_state(r->cluster, node) == BATON_NODE_ALIVE)
            threads += r->threads[node];
    rc = start(r, teams, args);
    if (rc)
        wrong(r, "after the repair: %s: %s", baton_strerror(rc), baton_error_detail());
    if (r->entries != before + 2 * threads)
        wrong(r, "after the repair: %u entries of %u", r->entries - before, 2 * threads);
}

static void fail(struct run *r, const char *what, int rc)
{
    wrong(r, "%s: %s: %s", what, baton_strerror(rc), baton_error_detail());
}

static uint64_t one(const char *kind, uint64_t seed, bool tell, bool *good)
{
    struct baton_random random;
    struct run r = {.kind = kind, .seed = seed};
    struct baton_team teams[NODES];
    struct team args[NODES];
    struct baton_table_opts opts = {.size = sizeof(opts), .kind = kind, .count = 1};
    struct baton_cluster_opts world = BATON_CLUSTER_OPTS;
    struct baton_sim_counts counts;
    uint64_t params[BATON_LOCK_PARAMS_MAX];
    char described[300] = "";
    void *pointer;
    int rc;
    baton_random_init(&random, seed);
    static const char *const faults[] = {"driver=random", "driver=random,faults=delay+pause",
                                         "driver=random,faults=kill-node+drop",
                                         "driver=random,faults=all"};
    unsigned which = (unsigned)baton_random_below(&random, 4);
    bool swap = baton_random_below(&random, 2);
    r.lossy = which >= 2;
    r.nodes = 2 + (unsigned)baton_random_below(&random, NODES - 1);
    for (unsigned n = 0; n < r.nodes; n++)
        r.threads[n] = 1 + (unsigned)baton_random_below(&random, THREADS_MAX);
    r.rounds = 1 + (unsigned)baton_random_below(&random, ROUNDS);
    baton_lock_param_defaults(baton_lock_kind(kind), params);
    if (!strcmp(kind, "merge") && baton_random_below(&random, 2))
        baton_lock_param_set(baton_lock_kind(kind), params, "slots=1");
    opts.params = params;

    world.fabric = "sim";
    world.nodes = r.nodes;
    world.arena_bytes = 64 << 10;
    world.seed = seed;
    world.flags = swap ? BATON_CLUSTER_SWAP : 0;
    world.options = faults[which];
    if ((rc = baton_cluster_open(&world, &r.cluster))) {
        printf("cluster: %s\n", baton_error_detail());
        exit(1);
    }
    baton_sim_describe(r.cluster, described, sizeof(described));
    for (unsigned n = 0; n < r.nodes && !rc; n++)
        rc = baton_ep_open(baton_cluster_node(r.cluster, n), &r.ep[n]);
    if (!rc)
        rc = baton_segment_create(baton_cluster_node(r.cluster, 0), 8,
                                  BATON_READ | BATON_WRITE | BATON_ATOMIC, NULL, 0, &r.counter);
    if (!rc)
        rc = baton_ptr(baton_cluster_node(r.cluster, 0), r.counter, 8, &pointer);
    if (!rc)
        rc = baton_table_create(r.ep[0], "t", &opts, &r.table[0]);
    for (unsigned n = 1; n < r.nodes && !rc; n++)
        rc = baton_table_open(r.ep[n], "t", 0, &r.table[n]);
    if (rc) {
        printf("making the run: %s: %s\n", baton_strerror(rc), baton_error_detail());
        exit(1);
    }
    r.counter_cpu = pointer;
    rc = start(&r, teams, args);
    baton_sim_counts(r.cluster, &counts);
    bool lossy = r.lossy;
    if (rc && !lossy)
        fail(&r, "run", rc);
    if (lossy && !r.wrong)
        heal(&r, teams, args);
    for (unsigned i = 0; i < baton_sim_misuses(r.cluster) && i < 3; i++)
        wrong(&r, "false report: %s", baton_sim_misuse(r.cluster, i));

    for (unsigned n = r.nodes; n-- > 0;) {
        rc = baton_table_close(r.ep[n], r.table[n]);
        if (rc && !lossy)
            fail(&r, "closing", rc);
        baton_ep_close(r.ep[n]);
    }
    if ((rc = baton_cluster_close(r.cluster)))
        fail(&r, "closing", rc);
    if (tell || r.wrong)
        printf("%s: %u nodes, %u+%u+%u threads, %u rounds%s; %s\n  %u entries; unseed %016" PRIx64
               "\n",
               kind, r.nodes, r.threads[0], r.threads[1], r.threads[2], r.rounds,
               swap ? ", swap" : "", described, r.entries, counts.unseed);
    if (r.wrong)
        printf("  WRONG: %s; again with: random_test %s 0 %" PRIu64 "\n", r.text, kind, seed);
    *good = !r.wrong;
    return counts.unseed;
}

int main(int argc, char **argv)
{
    bool good;
    if (argc < 3 || !baton_lock_kind(argv[1])) {
        fprintf(stderr, "usage: random_test KIND SECONDS [SEED]\n");
        return 2;
    }
    if (argc > 3) {
        one(argv[1], strtoull(argv[3], NULL, 0), true, &good);
        return !good;
    }
    bool soak = !strcmp(argv[2], "soak");
    const char *seconds = soak ? getenv("BATON_SOAK_SECONDS") : argv[2];
    double limit = seconds ? atof(seconds) : 60;
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    uint64_t first = soak ? (uint64_t)time(NULL) << 20 : 1, seed = first;
    double passed;
    do {
        uint64_t unseed = one(argv[1], seed, false, &good);
        if (good && seed % 16 == 0 && one(argv[1], seed, false, &good) != unseed && good) {
            printf("%s: seed %" PRIu64 " gives two unseeds\n", argv[1], seed);
            return 1;
        }
        if (!good)
            return 1;
        seed++;
        clock_gettime(CLOCK_MONOTONIC, &now);
        passed = (double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9;
    } while (passed < limit);
    printf("%s: %" PRIu64 " runs from seed %" PRIu64 ", all as they should be\n", argv[1],
           seed - first, first);
    return 0;
}

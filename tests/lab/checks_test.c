/* SPDX-License-Identifier: MIT */
/*
 * Shows that the benchmark's two ways to look at waiters find the same: threads begin, end their doorways, enter
 * and give up in random order, some locks let many pass, and both ways have to count the same bypasses and
 * overlaps. An argument is the seed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton/fabric.h>

#include "base/random.h"
#include "bench/checks.h"

#define THREADS 40u
#define LOCKS 3u

enum { AWAY, BEGUN, BEHIND };

struct way {
    struct bench_lock_check checks[LOCKS];
    struct bench_line lines[THREADS];
    struct baton_waiter waiters[THREADS];
    struct bench_findings found;
};

static struct way ways[2]; /* [1]: as for coroutines */
static unsigned state[THREADS], lock_of[THREADS];

static void begin(unsigned t, unsigned lock, uint64_t now)
{
    for (unsigned i = 0; i < 2; i++) {
        struct way *w = &ways[i];
        bench_check_begin(&w->lines[t], i ? &w->checks[lock] : NULL, lock, now, &w->waiters[t]);
    }
    lock_of[t] = lock;
    state[t] = BEGUN;
}

static void doorway(unsigned t, struct baton_ep *ep)
{
    for (unsigned i = 0; i < 2; i++) {
        struct baton_waiter *w = &ways[i].waiters[t];
        w->doorway(w->doorway_arg, ep, w);
    }
    state[t] = BEHIND;
}

static void enter(unsigned t)
{
    for (unsigned i = 0; i < 2; i++) {
        struct way *w = &ways[i];
        struct bench_lock_check *check = &w->checks[lock_of[t]];
        uint64_t counter = bench_check_enter(check, w->lines, THREADS, t, 0, &w->found);
        bench_check_leave(check, t, counter, &w->found);
    }
    state[t] = AWAY;
}

static void give_up(unsigned t)
{
    for (unsigned i = 0; i < 2; i++)
        bench_check_give_up(&ways[i].lines[t]);
    state[t] = AWAY;
}

static int same(void)
{
    const struct bench_findings *a = &ways[0].found, *b = &ways[1].found;
    if (a->bypasses == b->bypasses && a->overlaps == b->overlaps && !a->exclusion_violations &&
        !b->exclusion_violations)
        return 1;
    printf("all lines: %" PRIu64 " bypasses, %" PRIu64 " overlaps; the first: %" PRIu64 ", %" PRIu64
           "\n",
           a->bypasses, a->overlaps, b->bypasses, b->overlaps);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    struct baton_ep *ep;
    struct baton_random r;
    opts.fabric = "sim";
    opts.name = "checks-test";
    opts.nodes = 1;
    if (baton_cluster_open(&opts, &cluster) || baton_ep_open(baton_cluster_self(cluster), &ep))
        return 1;
    baton_random_init(&r, seed);
    for (unsigned i = 0; i < 200000; i++) {
        unsigned t = (unsigned)baton_random_below(&r, THREADS);
        unsigned what = (unsigned)baton_random_below(&r, 16);
        if (what < 4)
            baton_delay(ep, what);
        if (state[t] == AWAY)
            begin(t, (unsigned)baton_random_below(&r, LOCKS), baton_now(ep));
        else if (!what)
            give_up(t);
        else if (state[t] == BEGUN && what > 1) /* else a lock without a doorway */
            doorway(t, ep);
        else
            enter(t);
        if (!same()) {
            printf("seed %" PRIu64 ", step %u\n", seed, i);
            return 1;
        }
    }
    if (!ways[0].found.bypasses || !ways[0].found.overlaps) {
        printf("seed %" PRIu64 ": nothing was found\n", seed);
        return 1;
    }
    baton_ep_close(ep);
    return baton_cluster_close(cluster) ? 1 : 0;
}

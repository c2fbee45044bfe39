/* SPDX-License-Identifier: MIT */
/* The lock benchmark on a given cluster. */
#include "bench/lock_given.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench/lock_part.h"

#define GRACE_S 60
#define START_NS UINT64_C(10000000) /* for all to hear of it */

/* Calls the start when the threads of all nodes are ready, and the end when another node has failed. */
struct starter {
    pthread_t thread;
    const struct bench_config *config;
    struct bench_shared *shared;
    unsigned threads; /* here */
    uint64_t over;    /* they have ended */
    int rc;
    char words[256];
};

static void *starter_main(void *arg)
{
    struct starter *s = arg;
    struct bench_shared *shared = s->shared;
    const struct bench_config *c = s->config;
    while (baton_word_load(&shared->ready) < s->threads && !baton_word_load(&shared->stop))
        poll(NULL, 0, 1);
    if (baton_word_load(&shared->stop))
        return NULL;
    s->rc = crew_meet(c->given, c->nodes, BENCH_SETUP_NS);
    if (s->rc) {
        snprintf(s->words, sizeof(s->words), "%s", baton_error_detail());
        baton_word_store(&shared->stop, 1);
        return NULL;
    }
    baton_word_store(&shared->begin_ns, baton_clock_ns() + START_NS);
    while (!baton_word_load(&s->over)) {
        if (crew_stopped(c->given))
            baton_word_store(&shared->stop, 1);
        poll(NULL, 0, 10);
    }
    return NULL;
}

static int run_threads(const struct bench_config *c, struct bench_part *p,
                       struct bench_shared *shared)
{
    struct starter s = {.config = c, .shared = shared, .threads = p->teams[0].threads};
    int rc = -pthread_create(&s.thread, NULL, starter_main, &s);
    if (rc)
        return baton_fail(rc, "a thread could not be made");
    rc = baton_run(p->cluster, p->teams, p->count);
    if (rc)
        baton_word_store(&shared->stop, 1); /* perhaps none has become ready */
    baton_word_store(&s.over, 1);
    pthread_join(s.thread, NULL);
    return s.rc ? baton_fail(s.rc, "%s", s.words) : rc;
}

/* Node 0 adds up. */
static int take(void *arg, unsigned node, const void *bytes, size_t size)
{
    struct bench_sum *sum = arg;
    if (size != sizeof(*sum))
        return baton_fail(-EPROTO, "node %u counts in another way", node);
    bench_sum_add(sum, bytes);
    return 0;
}

int bench_given_run(const struct bench_config *c, const struct baton_lock_ops *kind,
                    const uint64_t *params, struct bench_shared *shared, struct bench_sum *sum)
{
    uint64_t patience = (uint64_t)((c->warmup_s + c->duration_s + c->cooldown_s + GRACE_S) * 1e9);
    struct bench_part p = {.first = crew_self(c->given), .count = 1};
    /* Node 0 may be measuring what a lock costs it alone. */
    int rc = crew_meet(c->given, c->nodes, patience);
    if (!rc)
        rc = bench_part_open(c, kind, params, NULL, shared, &p);
    if (!rc)
        rc = run_threads(c, &p, shared);
    bench_sum_threads(c, shared, sum);
    if (sum->rc)
        rc = baton_fail((int)sum->rc, "%s: %s", kind->name, sum->error);
    if (!rc)
        rc = crew_meet(c->given, c->nodes, patience); /* nobody holds a lock any more */
    sum->counters = bench_part_counters(c, &p);
    if (rc)
        rc = crew_tell(c->given, rc); /* before what others use is gone */
    char words[240];
    snprintf(words, sizeof(words), "%s", baton_error_detail());
    int close_rc = bench_part_close(c, &p, NULL, !rc);
    if (rc)
        return baton_fail(rc, "%s", words);
    return close_rc ? close_rc : crew_gather(c->given, sum, sizeof(*sum), patience, take, sum);
}

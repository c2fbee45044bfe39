/* SPDX-License-Identifier: MIT */
/*
 * usage: ucx_test MODE CASE..
 *
 * Shows what only the ucx world has: refusals in words, the program's own handlers of signals, long transfers,
 * stale addresses, a node that is stopped or leaves, puts without an answer, gets that are held, threads that
 * sleep, nothing left behind, and what locks cost.
 * Over tcp on loopback; MODE is am or rma.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <baton/barrier.h>
#include <baton/fabric.h>
#include <baton/lock.h>

#include "../nodes_check.h"
#include "fabric/net_place.h"

static const char *mode;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void nap_ms(unsigned ms)
{
    nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

/* ---- A cluster in this process */

enum { NODES = 3 };

struct rig {
    struct baton_cluster *cluster;
    struct baton_node *node[NODES];
    baton_gptr at[NODES];
    uint64_t *word[NODES];
    struct baton_ep *ep; /* on node 0 */
    uint64_t *mine;
};

static char options[300];

static struct baton_cluster_opts opts_with(const char *more)
{
    struct baton_cluster_opts o = BATON_CLUSTER_OPTS;
    snprintf(options, sizeof(options), "mode=%s,tls=tcp%s%s%s", mode,
             strcmp(mode, "rma") ? "" : ",allow_torn=1", more ? "," : "", more ? more : "");
    o.fabric = "ucx";
    o.nodes = NODES;
    o.options = options;
    return o;
}

static void rig_open(struct rig *r)
{
    struct baton_cluster_opts o = opts_with(NULL);
    RC(baton_cluster_open(&o, &r->cluster), 0);
    for (unsigned n = 0; n < NODES; n++) {
        void *memory;
        r->node[n] = baton_cluster_node(r->cluster, n);
        RC(baton_segment_create(r->node[n], 4096, ALL, NULL, 0, &r->at[n]), 0);
        RC(baton_ptr(r->node[n], r->at[n], 4096, &memory), 0);
        r->word[n] = memory;
    }
    RC(baton_ep_open(r->node[0], &r->ep), 0);
    r->mine = baton_ep_alloc(r->ep, 4096, 64);
    CHECK(r->mine, "no memory");
}

static void rig_close(struct rig *r)
{
    RC(baton_ep_close(r->ep), 0);
    RC(baton_cluster_close(r->cluster), 0);
}

/* ---- Refusals */

static void refused(const char *with, int want, const char *word, const char *other)
{
    struct baton_cluster *cluster;
    struct baton_cluster_opts o = BATON_CLUSTER_OPTS;
    o.fabric = "ucx";
    o.nodes = 2;
    o.options = with;
    RC(baton_cluster_open(&o, &cluster), want);
    CHECK(strstr(baton_error_detail(), word) && strstr(baton_error_detail(), other),
          "%s: \"%s\" and \"%s\" are not in the words", with, word, other);
}

static void case_refuse(void)
{
    refused("mode=xm", -EINVAL, "mode=xm", "am");
    refused("tls=posix", -EINVAL, "tls=posix", "dead peers");
    refused("tls=tcp+sm", -EINVAL, "tls=sm", "shm");
    refused("tls=warp", -EHOSTDOWN, "tls=warp", "ucx_info");
    refused("dev=wire77", -EHOSTDOWN, "dev=wire77", "interface");
    refused("dev=lo,tls=rc", -EHOSTDOWN, "dev=lo", "no RDMA device is on that interface");
    refused("timeout_ms=1", -EINVAL, "timeout_ms", "10");
    refused("moed=am", -EINVAL, "moed", "mode");
}

/* ---- Handlers of signals */

static void on_signal(int signal) {}

/* What was there before it is opened, of the program or of a sanitizer, is there after it. */
static void case_signals(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    struct rig r;
    struct sigaction own = {.sa_handler = on_signal}, before[4], after;
    RC(sigaction(SIGBUS, &own, NULL), 0);
    for (unsigned i = 0; i < 4; i++)
        RC(sigaction(signals[i], NULL, &before[i]), 0);
    rig_open(&r);
    for (unsigned i = 0; i < 4; i++) {
        RC(sigaction(signals[i], NULL, &after), 0);
        CHECK(after.sa_handler == before[i].sa_handler, "signal %d has %p", signals[i],
              (void *)after.sa_handler);
    }
    rig_close(&r);
}

/* ---- Long transfers */

static void case_long(void)
{
    enum { BYTES = 20 << 20 };
    struct rig r;
    baton_gptr far, near;
    void *there, *here;
    rig_open(&r);
    RC(baton_segment_create(r.node[1], BYTES, ALL, NULL, 0, &far), 0);
    RC(baton_segment_create(r.node[0], BYTES, 0, NULL, 0, &near), 0);
    RC(baton_ptr(r.node[1], far, BYTES, &there), 0);
    RC(baton_ptr(r.node[0], near, BYTES, &here), 0);
    for (uint64_t i = 0; i < BYTES / 8; i++)
        ((uint64_t *)here)[i] = i * 0x9e3779b97f4a7c15u;
    RC(baton_put(r.ep, far, here, BYTES, 1), 0);
    RC(baton_gfence(r.ep, (const uint16_t[]){1}, 1), 0);
    RC(baton_wait(r.ep, 1), 0);
    CHECK(!memcmp(here, there, BYTES), "the put is not whole");
    memset(here, 0, BYTES);
    RC(baton_get(r.ep, here, far, BYTES, 1), 0);
    RC(baton_rfence(r.ep, 1), 0);
    RC(baton_put64(r.ep, r.at[1], 3, 2), 0);
    RC(baton_wait(r.ep, 2), 0);
    RC(baton_wait(r.ep, 1), 0);
    CHECK(!memcmp(here, there, BYTES), "the get is not whole");
    /* One that does not fit fails as a whole, and what is behind it with it. */
    memset(here, 1, BYTES);
    RC(baton_put(r.ep, far + 4096, here, BYTES, 1), 0);
    RC(baton_put64(r.ep, r.at[1], 4, 2), 0);
    RC(baton_wait(r.ep, 1), -ERANGE);
    RC(baton_wait(r.ep, 2), -ECANCELED);
    CHECK(((uint64_t *)there)[512] == 512 * 0x9e3779b97f4a7c15u, "a part of it has been put");
    RC(baton_ep_reset(r.ep, 1), 0);
    RC(baton_rfaa(r.ep, r.mine, r.at[1], 1, 1), 0);
    RC(baton_wait(r.ep, 1), 0);
    rig_close(&r);
}

/* ---- Memory that was taken back */

static int hammer(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct rig *r = arg;
    uint64_t *got = baton_ep_alloc(ep, 64, 64);
    for (unsigned i = 0; i < 60; i++) {
        RC(baton_rfaa(ep, got, r->at[1] + 512, 1, 1), 0);
        RC(baton_wait(ep, 1), 0);
    }
    baton_ep_free(ep, got);
    return 0;
}

static int renew(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct rig *r = arg;
    for (unsigned i = 0; i < 60; i++) {
        baton_gptr at;
        void *memory;
        RC(baton_segment_create(r->node[1], 4096, ALL, NULL, 0, &at), 0);
        RC(baton_ptr(r->node[1], at, 4096, &memory), 0);
        RC(baton_put64(ep, at, i, 1), 0);
        RC(baton_wait(ep, 1), 0);
        for (unsigned w = 1; w < 512; w++)
            CHECK(!((uint64_t *)memory)[w], "memory that is not new");
        RC(baton_segment_destroy(r->node[1], at), 0);
        RC(baton_put64(ep, at, 99, 1), 0);
        RC(baton_wait(ep, 1), -EKEYREJECTED);
        RC(baton_ep_reset(ep, 1), 0);
    }
    return 0;
}

/* Segments come and go, and those who use others of the node do not notice. */
static void case_stale(void)
{
    struct rig r;
    rig_open(&r);
    struct baton_team teams[] = {{0, 2, hammer, &r}, {2, 1, renew, &r}};
    RC(baton_run(r.cluster, teams, 2), 0);
    CHECK(r.word[1][64] == 120, "%" PRIu64 " of 120", r.word[1][64]);
    rig_close(&r);
}

/* ---- Nothing is left behind */

static unsigned entries_of(const char *folder)
{
    unsigned n = 0;
    DIR *d = opendir(folder);
    CHECK(d, "%s", folder);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* UCX gives descriptors of a connection back when its thread has heard of the end. */
static unsigned descriptors(unsigned most)
{
    unsigned n = entries_of("/proc/self/fd");
    for (unsigned i = 0; i < 500 && n > most; i++) {
        nap_ms(10);
        n = entries_of("/proc/self/fd");
    }
    return n;
}

static void case_leaks(void)
{
    struct rig r;
    unsigned before = entries_of("/proc/self/fd"), threads, with;
    for (unsigned round = 0; round < 3; round++) {
        rig_open(&r);
        RC(baton_put64(r.ep, r.at[1], 1, 1), 0);
        RC(baton_wait(r.ep, 1), 0);
        with = entries_of("/proc/self/fd");
        threads = entries_of("/proc/self/task");
        for (unsigned i = 0; i < 12; i++) {
            struct baton_ep *ep;
            RC(baton_ep_open(r.node[i % NODES], &ep), 0);
            for (unsigned n = 0; n < NODES; n++)
                RC(baton_put64(ep, r.at[n], i, 1), 0);
            RC(baton_wait(ep, 1), 0);
            RC(baton_ep_close(ep), 0);
        }
        unsigned then = descriptors(with);
        CHECK(then <= with, "descriptors: %u, then %u", with, then);
        CHECK(entries_of("/proc/self/task") == threads, "threads: %u, then %u", threads,
              entries_of("/proc/self/task"));
        rig_close(&r);
        if (round == 0)
            before = descriptors(before); /* UCX keeps a few for the process */
        CHECK(descriptors(before) <= before, "descriptors: %u, then %u", before,
              descriptors(before));
    }
}

/* ---- Threads sleep */

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void case_idle(void)
{
    struct rig r;
    rig_open(&r);
    for (unsigned n = 1; n < NODES; n++)
        RC(baton_put64(r.ep, r.at[n], 1, 1), 0);
    RC(baton_wait(r.ep, 1), 0);
    nap_ms(50);
    double before = cpu_s();
    nap_ms(1000);
    double used = cpu_s() - before;
    printf("%d nodes with connections use %.1f ms of processor time in an idle second\n", NODES,
           used * 1e3);
    CHECK(used < 0.05, "that is no sleep");
    rig_close(&r);
}

/* ---- Answers that nobody waits for */

/* Puts that nobody has an id for are done all the same, and what is wrong with one is told by who covers it. */
static void case_quiet(void)
{
    struct rig r;
    const uint16_t one = 1;
    rig_open(&r);
    for (uint64_t round = 1; round <= 3; round++) {
        for (uint64_t i = 0; i < 200; i++) {
            RC(baton_put64(r.ep, r.at[1] + 8 * i, round * 1000 + i, 0), 0);
            RC(baton_put64(r.ep, r.at[2] + 8 * i, round * 1000 + i, 0), 0);
            if (i % 3 != 1)
                RC(baton_flush(r.ep), 0);
        }
        if (round % 2)
            RC(baton_wait_all(r.ep), 0);
        else
            RC(baton_gfence(r.ep, (const uint16_t[]){1, 2}, 2), 0);
        for (uint64_t i = 0; i < 200; i++)
            CHECK(baton_word_load(&r.word[1][i]) == round * 1000 + i &&
                      baton_word_load(&r.word[2][i]) == round * 1000 + i,
                  "word %" PRIu64 " of round %" PRIu64 " is not there", i, round);
    }
    for (unsigned all = 0; all < 2; all++) {
        RC(baton_put64(r.ep, r.at[1], 1, 0), 0);
        RC(baton_flush(r.ep), 0);
        RC(baton_put64(r.ep, r.at[1] + (UINT64_C(1) << 40), 1, 0), 0);
        RC(baton_flush(r.ep), 0);
        RC(baton_put64(r.ep, r.at[1] + 8, 2, 0), 0);
        RC(all ? baton_wait_all(r.ep) : baton_gfence(r.ep, &one, 1), -EKEYREJECTED);
        RC(baton_ep_reset(r.ep, 1), 0);
        RC(baton_put64(r.ep, r.at[1] + 8, 3, 0), 0);
        RC(baton_wait_all(r.ep), 0);
        CHECK(baton_word_load(&r.word[1][1]) == 3, "a put after the reset is not there");
    }
    rig_close(&r);
}

/* ---- A node that is stopped */

static struct {
    uint64_t at;
} * shared;

static struct baton_cluster *join(const struct baton_net_place *place, int first)
{
    struct baton_cluster *cluster;
    char more[256];
    snprintf(more, sizeof(more), "timeout_ms=400,%s", place->options);
    struct baton_cluster_opts o = opts_with(more);
    o.nodes = 2;
    o.first = first;
    RC(baton_cluster_open(&o, &cluster), 0);
    return cluster;
}

/* In a child: node 1, with memory whose address the others get. */
static struct baton_cluster *join_with_words(const struct baton_net_place *place)
{
    baton_gptr at;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct baton_cluster *cluster = join(place, 1);
    RC(baton_segment_create(baton_cluster_self(cluster), 4096, ALL, NULL, 0, &at), 0);
    baton_word_store(&shared->at, at);
    return cluster;
}

static void be_stopped(const struct baton_net_place *place)
{
    (void)join_with_words(place);
    for (;;)
        pause();
}

/* What was under way when the node fell silent may happen later, but not once the caller has begun anew. */
static void case_stopped(void)
{
    struct baton_net_place place;
    struct baton_ep *ep;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    RC(baton_net_place_make(&place), 0);
    pid_t child = fork();
    if (!child)
        be_stopped(&place);
    struct baton_cluster *cluster = join(&place, 0);
    RC(baton_ep_open(baton_cluster_self(cluster), &ep), 0);
    uint64_t *got = baton_ep_alloc(ep, 64, 64);
    while (!baton_word_load(&shared->at))
        nap_ms(1);
    RC(baton_rfaa(ep, got, shared->at, 1, 1), 0);
    RC(baton_wait(ep, 1), 0);
    RC(kill(child, SIGSTOP), 0);
    CHECK(waitpid(child, NULL, WUNTRACED) == child, "it does not stop");
    uint64_t begin = now_ns();
    RC(baton_rfaa(ep, got, shared->at, 100, 1), 0);
    RC(baton_wait(ep, 1), -EHOSTDOWN);
    uint64_t took = (now_ns() - begin) / 1000000;
    printf("a stopped node is an error after %" PRIu64 " ms, with timeout_ms=400\n", took);
    RC(kill(child, SIGCONT), 0);
    while (baton_ep_reset(ep, 1)) {
        CHECK(now_ns() - begin < UINT64_C(60000000000), "no way back");
        nap_ms(10);
    }
    RC(baton_get(ep, got, shared->at, 8, 1), 0);
    RC(baton_wait(ep, 1), 0);
    uint64_t first = *got;
    CHECK(first == 1 || first == 101, "%" PRIu64, first);
    for (unsigned i = 0; i < 20; i++) {
        RC(baton_get(ep, got, shared->at, 8, 1), 0);
        RC(baton_wait(ep, 1), 0);
        CHECK(*got == first, "it has happened after all: %" PRIu64, *got);
        nap_ms(5);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    RC(baton_ep_close(ep), 0);
    RC(baton_cluster_close(cluster), 0);
    baton_net_place_remove(&place);
}

/* ---- A node that leaves */

static void be_left(const struct baton_net_place *place)
{
    struct baton_cluster *cluster = join_with_words(place);
    while (baton_word_load(&shared->at))
        nap_ms(1);
    RC(baton_cluster_close(cluster), 0);
    _exit(0);
}

/* What was put to a node that leaves later was done: no error is left for the end. */
static void case_left(void)
{
    struct baton_net_place place;
    struct baton_ep *ep;
    int status;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    RC(baton_net_place_make(&place), 0);
    pid_t child = fork();
    if (!child)
        be_left(&place);
    struct baton_cluster *cluster = join(&place, 0);
    RC(baton_ep_open(baton_cluster_self(cluster), &ep), 0);
    while (!baton_word_load(&shared->at))
        nap_ms(1);
    for (unsigned i = 0; i < 3; i++) {
        RC(baton_put64(ep, shared->at + 8 * i, 1, 0), 0);
        RC(baton_flush(ep), 0);
    }
    nap_ms(300);
    baton_word_store(&shared->at, 0);
    CHECK(waitpid(child, &status, 0) == child && !status, "the other one: %d", status);
    RC(baton_ep_close(ep), 0);
    RC(baton_cluster_close(cluster), 0);
    baton_net_place_remove(&place);
}

/* ---- Gets that are held by the node that is asked */

struct held {
    struct rig *r;
    unsigned rounds;
    uint64_t ns; /* that the wait took */
};

static int held_wait(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct held *h = arg;
    uint64_t *got = baton_ep_alloc(ep, 8, 8);
    const struct baton_until is_one = {.word = got, .mask = UINT64_MAX, .value = 1};
    struct baton_stats stats;
    struct baton_wait wait;
    int rc;
    const uint64_t begin = now_ns();
    baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
    do {
        baton_get(ep, got, h->r->at[1], 8, 1);
        rc = baton_wait_until(ep, 1, &is_one, 1, &wait);
    } while (!rc && *got != 1 && !(rc = baton_relax(ep, &wait)));
    baton_ep_stats(ep, &stats);
    h->rounds = (unsigned)stats.waited_round_trips;
    h->ns = now_ns() - begin;
    baton_ep_free(ep, got);
    return rc;
}

static int held_store(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct held *h = arg;
    nap_ms(400);
    baton_store(ep, h->r->word[1], 1);
    return 0;
}

static int held_take_away(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct held *h = arg;
    nap_ms(100);
    return baton_segment_destroy(h->r->node[1], h->r->at[1]);
}

/*
 * A thread of the node stores what is waited for, after 400 ms or, on a busy machine, more: some round trips, where
 * polling would take thousands. A segment that is taken back ends the wait.
 */
static void case_held(void)
{
    struct rig r;
    rig_open(&r);
    struct held h = {.r = &r};
    struct baton_team waits = {0, 1, held_wait, &h}, stores = {1, 1, held_store, &h},
                      takes = {1, 1, held_take_away, &h};
    double before = cpu_s();
    RC(baton_run(r.cluster, (const struct baton_team[]){waits, stores}, 2), 0);
    printf("%u round trips in %" PRIu64 " ms of waiting, %.1f ms of processor time\n", h.rounds,
           h.ns / 1000000, (cpu_s() - before) * 1e3);
    CHECK(h.rounds <= 60 || h.rounds <= h.ns * 60 / 400000000, "it is not held");
    r.word[1][0] = 0;
    RC(baton_run(r.cluster, (const struct baton_team[]){waits, takes}, 2), -EKEYREJECTED);
    rig_close(&r);
}

/* ---- What locks cost, against what they are made of */

enum { COST_ROUNDS = 300, REPEATS = 3, REPEATS_MOST = 30 };
enum { RAW, HAND, MERGE, TICKET, FARLOCK, WAYS };
static const char *const kinds[WAYS] = {
    [MERGE] = "merge", [TICKET] = "ticket", [FARLOCK] = "farlock"};
static const double most[WAYS] = {[MERGE] = 2.0, [TICKET] = 2.0, [FARLOCK] = 5.0};

struct priced {
    struct baton_table *made, *table;
    struct baton_lock lock;
    struct baton_waiter *waiter;
};

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static uint64_t median(uint64_t *ns)
{
    qsort(ns, COST_ROUNDS, sizeof(*ns), by_value);
    return ns[COST_ROUNDS / 2];
}

static void one_way(struct rig *r, unsigned way, uint64_t i, const struct priced *p)
{
    if (way == RAW) {
        RC(baton_rcas(r->ep, r->mine, r->at[1] + 256, i, i + 1, 1), 0);
        RC(baton_wait(r->ep, 1), 0);
    } else if (way == HAND) {
        RC(baton_rfaa(r->ep, r->mine, r->at[1] + 64, 1, 1), 0);
        RC(baton_order(r->ep, 1), 0);
        RC(baton_get(r->ep, r->mine + 1, r->at[1] + 128, 16, 1), 0);
        RC(baton_wait(r->ep, 1), 0);
        RC(baton_rfence(r->ep, 1), 0);
        RC(baton_put64(r->ep, r->at[1] + 128, i, 0), 0);
        RC(baton_flush(r->ep), 0);
    } else {
        RC(baton_lock_acquire(&p[way].lock, r->ep, p[way].waiter), 0);
        RC(baton_lock_release(&p[way].lock, r->ep, p[way].waiter), 0);
    }
}

/* The medians of one repeat, if they are better. One way after the other, so that a slow moment of the machine
 * meets all of them. */
static void measure(struct rig *r, const struct priced *p, uint64_t *best)
{
    static uint64_t ns[COST_ROUNDS], value;
    for (unsigned way = 0; way < WAYS; way++) {
        RC(baton_settle(r->ep, 1), 0);
        for (unsigned i = 0; i < COST_ROUNDS; i++) {
            uint64_t begin = now_ns();
            one_way(r, way, way == RAW ? value++ : i, p);
            ns[i] = now_ns() - begin;
        }
        uint64_t m = median(ns);
        best[way] = m < best[way] ? m : best[way];
    }
}

/*
 * In mode rma over tcp each chain has a look behind it, which a raw rcas, being one chain, pays once, and a
 * lock at each of its chains: how that compares is printed, and only what is made of the same chains is held.
 */
static bool within(const uint64_t *best)
{
    bool all = (double)best[MERGE] <= 1.15 * (double)best[HAND];
    for (unsigned way = MERGE; way < WAYS && !strcmp(mode, "am"); way++)
        all &= (double)best[way] <= most[way] * (double)best[RAW];
    return all;
}

/* As often as it takes until the bounds are met, since the best of a busy machine comes late. */
static void case_cost(void)
{
    uint64_t best[WAYS];
    struct priced p[WAYS];
    struct rig r;
    struct baton_ep *host;
    memset(best, 0xff, sizeof(best));
    rig_open(&r);
    RC(baton_ep_open(r.node[1], &host), 0);
    for (unsigned way = MERGE; way < WAYS; way++) {
        struct baton_table_opts t = {sizeof(t), kinds[way], 1, NULL, 0};
        RC(baton_table_create(host, kinds[way], &t, &p[way].made), 0);
        RC(baton_table_open(r.ep, kinds[way], 0, &p[way].table), 0);
        RC(baton_table_lock(p[way].table, 0, &p[way].lock), 0);
        RC(baton_waiter_open(r.ep, &p[way].waiter), 0);
    }
    for (unsigned n = 0; n < REPEATS_MOST && (n < REPEATS || !within(best)); n++)
        measure(&r, p, best);
    printf(
        "mode %s, best medians in us: rcas %.1f; rfaa + get, put by hand %.1f; acquire + release "
        "of merge %.1f, ticket %.1f, farlock %.1f: %.2f, %.2f, %.2f rcas; merge %.2f of by hand\n",
        mode, (double)best[RAW] / 1e3, (double)best[HAND] / 1e3, (double)best[MERGE] / 1e3,
        (double)best[TICKET] / 1e3, (double)best[FARLOCK] / 1e3,
        (double)best[MERGE] / (double)best[RAW], (double)best[TICKET] / (double)best[RAW],
        (double)best[FARLOCK] / (double)best[RAW], (double)best[MERGE] / (double)best[HAND]);
    CHECK(within(best), "that is more than 2.0, 2.0, 5.0 (am) and 1.15");
    for (unsigned way = MERGE; way < WAYS; way++) {
        RC(baton_waiter_close(r.ep, p[way].waiter), 0);
        RC(baton_table_close(r.ep, p[way].table), 0);
        RC(baton_table_close(host, p[way].made), 0);
    }
    RC(baton_ep_close(host), 0);
    rig_close(&r);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"refuse", case_refuse},   {"signals", case_signals}, {"long", case_long},
    {"stale", case_stale},     {"leaks", case_leaks},     {"idle", case_idle},
    {"stopped", case_stopped}, {"cost", case_cost},       {"quiet", case_quiet},
    {"left", case_left},       {"held", case_held},
};

int main(int argc, char **argv)
{
    bool any = false;
    setvbuf(stdout, NULL, _IOLBF, 0);
    mode = argc > 1 ? argv[1] : "am";
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int a = 2; a < argc; a++)
            if (!strcmp(argv[a], cases[i].name)) {
                uint64_t begin = now_ns();
                cases[i].run();
                printf("%s holds, %" PRIu64 " ms\n", cases[i].name, (now_ns() - begin) / 1000000);
                any = true;
            }
    return any ? 0 : 2;
}

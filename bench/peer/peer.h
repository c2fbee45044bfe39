/* SPDX-License-Identifier: MIT */
/*
 * What the clients of bench/peers have in common: a loop that times pairs of acquire and release, processes that
 * do so at the same time, and the line that tells what came out. A header, because each client is one source that
 * the compiler of its own library builds.
 */
#ifndef BATON_BENCH_PEER_H
#define BATON_BENCH_PEER_H

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <baton/barrier.h>

#define PEER_SAMPLES 32768u
#define PEER_CLIENTS_MAX 64u
#define PEER_WARMUP_NS UINT64_C(200000000)
#define PEER_PAIRS_LEAST 16u /* however long the machine is busy with other things */

/* What one client has measured: all pairs, and the times of some of them. */
struct peer_times {
    uint64_t pairs, ns;
    uint64_t stride; /* one pair of so many is kept */
    uint32_t n;
    uint32_t sample_ns[PEER_SAMPLES];
};

/* One acquire and release; 0, or something is wrong and has been said. */
typedef int (*peer_pair_fn)(void *arg);

static inline uint64_t peer_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* When there is no room any more, every second sample goes. */
static inline void peer_keep(struct peer_times *t, uint64_t ns)
{
    if (t->pairs++ % t->stride)
        return;
    if (t->n == PEER_SAMPLES) {
        for (uint32_t i = 0; i < PEER_SAMPLES / 2; i++)
            t->sample_ns[i] = t->sample_ns[2 * i];
        t->n = PEER_SAMPLES / 2;
        t->stride *= 2;
        if ((t->pairs - 1) % t->stride)
            return;
    }
    t->sample_ns[t->n++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static inline int peer_measure(double seconds, peer_pair_fn pair, void *arg, struct peer_times *t)
{
    uint64_t begin = peer_now() + PEER_WARMUP_NS, end = begin + (uint64_t)(seconds * 1e9);
    t->pairs = t->ns = t->n = 0;
    t->stride = 1;
    for (uint64_t before = peer_now(); before < end || t->pairs < PEER_PAIRS_LEAST;) {
        int rc = pair(arg);
        if (rc)
            return rc;
        uint64_t after = peer_now();
        if (before >= begin) {
            peer_keep(t, after - before);
            t->ns = after - begin;
        }
        before = after;
    }
    return 0;
}

static inline int peer_compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/*
 * The line about clients that ran at the same time. Clients that were faster have more pairs than others, and each
 * of their samples stands for as many; the strides are made equal first.
 */
static inline int peer_print(const char *name, const char *way, const char *version,
                             struct peer_times *times, unsigned clients, const char *check)
{
    uint64_t pairs = 0, stride = 1;
    double per_second = 0;
    size_t n = 0;
    uint32_t *all = calloc((size_t)clients * PEER_SAMPLES, sizeof(*all));
    if (!all)
        return 1;
    for (unsigned c = 0; c < clients; c++)
        stride = times[c].stride > stride ? times[c].stride : stride;
    for (unsigned c = 0; c < clients; c++) {
        pairs += times[c].pairs;
        per_second += times[c].ns ? (double)times[c].pairs / ((double)times[c].ns / 1e9) : 0;
        for (uint32_t i = 0; i < times[c].n; i += (uint32_t)(stride / times[c].stride))
            all[n++] = times[c].sample_ns[i];
    }
    qsort(all, n, sizeof(*all), peer_compare);
    if (n)
        printf("{\"peer\":\"%s\",\"way\":\"%s\",\"version\":\"%s\",\"clients\":%u,\"pairs\":%llu,"
               "\"per_second\":%.1f,\"median_us\":%.3f,\"p99_us\":%.3f,\"check\":\"%s\"}\n",
               name, way, version, clients, (unsigned long long)pairs, per_second, all[n / 2] / 1e3,
               all[n * 99 / 100] / 1e3, check);
    free(all);
    fflush(stdout);
    if (!n)
        fprintf(stderr, "%s: not one pair in the time\n", name);
    return n == 0;
}

/* ---- Clients as processes that this one makes */

struct peer_shared {
    uint64_t sections; /* plain: only who holds the lock counts here */
    uint64_t clients, ready, go, over;
    struct peer_times times[];
};

struct peer_client {
    unsigned number;
    double seconds;
    struct peer_shared *shared;
    uint64_t entered; /* by this client */
    void *arg;        /* of peer_run */
};

/* In the section: an update is lost when two are in it together. */
static inline void peer_section(struct peer_client *c)
{
    c->shared->sections++;
    c->entered++;
}

static inline size_t peer_shared_bytes(unsigned clients)
{
    return sizeof(struct peer_shared) + clients * sizeof(struct peer_times);
}

/* A client is connected: waits for the others, then measures. */
static inline int peer_begin(struct peer_client *c, peer_pair_fn pair)
{
    baton_word_faa(&c->shared->ready, 1);
    while (!baton_word_load(&c->shared->go))
        poll(NULL, 0, 1);
    return peer_measure(c->seconds, pair, c, &c->shared->times[c->number]);
}

/* It needs the others no more; waits until nobody does. */
static inline void peer_end(struct peer_client *c)
{
    baton_word_faa(&c->shared->over, 1);
    while (baton_word_load(&c->shared->over) < c->shared->clients)
        poll(NULL, 0, 1);
}

/*
 * Runs `body` in as many processes, which connect and call peer_begin, and prints the line. What all have entered
 * has to be what was counted in the section.
 */
static inline int peer_run(const char *name, const char *way, const char *version, unsigned clients,
                           double seconds, int (*body)(struct peer_client *), void *arg)
{
    struct peer_shared *s = mmap(NULL, peer_shared_bytes(clients), PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t *entered = mmap(NULL, PEER_CLIENTS_MAX * sizeof(*entered), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid[PEER_CLIENTS_MAX];
    uint64_t sum = 0;
    int bad = 0;
    if (s == MAP_FAILED || entered == MAP_FAILED || clients > PEER_CLIENTS_MAX)
        return 1;
    s->clients = clients;
    for (unsigned i = 0; i < clients; i++) {
        pid[i] = fork();
        if (!pid[i]) {
            struct peer_client c = {i, seconds, s, 0, arg};
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm((unsigned)seconds + 60);
            int rc = body(&c);
            entered[i] = c.entered;
            _exit(rc != 0);
        }
    }
    for (int ms = 0; baton_word_load(&s->ready) < clients && ms < 30000; ms++)
        poll(NULL, 0, 1);
    baton_word_store(&s->go, 1);
    for (unsigned i = 0; i < clients; i++) {
        int status = 1;
        bad |= pid[i] < 0 || waitpid(pid[i], &status, 0) < 0 || status;
        sum += entered[i];
    }
    if (bad)
        return 1;
    return peer_print(name, way, version, s->times, clients,
                      sum == s->sections ? "exclusive" : "NOT EXCLUSIVE") ||
           sum != s->sections;
}

#endif

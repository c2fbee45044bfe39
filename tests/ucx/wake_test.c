/* SPDX-License-Identifier: MIT */
/*
 * usage: wake_test [SEED]
 *
 * Shows that no wake-up is lost in mode am: whoever sleeps in an await for what a remote operation writes is woken
 * by it, whatever the operation, and from wherever it comes. A sleeper that is missed looks again after a
 * millisecond by itself, so here the kernel is told to let it sleep for half a minute, by a call of the C library
 * that stands in this program. The call is also late now and then, so that much is written just when a thread is
 * about to fall asleep.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <baton/barrier.h>
#include <baton/fabric.h>

#include "../late.h"
#include "../nodes_check.h"

enum { SLEEP_S = 30, ROUNDS = 1500, MOST_WAITERS = 8, APART = 16, LATEST_NS = 400000 };
enum { ASLEEP_EVERY = 30 }; /* rounds */
#define LIMIT_NS (SLEEP_S * UINT64_C(1000000000) / 2)
#define END UINT64_MAX

static uint64_t sleeps, wakes;
static __thread uint64_t *asleep; /* of a waiter: not 0 while it sleeps */

static void linger(void)
{
    static __thread uint64_t state;
    state = (state ? state : (uint64_t)gettid()) * 6364136223846793005u + 1442695040888963407u;
    if (state >> 63)
        late_sleep_ns((state >> 33) % LATEST_NS);
}

/* Of an await and of who wakes it: the C library's own calls for this do not come here. */
long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long arg[6];
    va_list list;
    va_start(list, number);
    for (unsigned i = 0; i < 6; i++)
        arg[i] = va_arg(list, long);
    va_end(list);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_futex)
        linger();
    if (number != SYS_futex || (arg[1] & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET)
        return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
    struct timespec end = *(const struct timespec *)arg[3];
    end.tv_sec += SLEEP_S;
    baton_word_faa(&sleeps, 1);
    if (asleep)
        baton_word_store(asleep, 1);
    long rc = real(number, arg[0], arg[1], arg[2], &end, arg[4], arg[5]);
    if (asleep)
        baton_word_store(asleep, 0);
    baton_word_faa(&wakes, !rc);
    return rc;
}

struct trial {
    baton_gptr at[2]; /* of each node: words of the waiters, on node 0; of the writer */
    uint64_t *word[2];
    unsigned waiters, writer; /* node of the writer */
    uint64_t asleep[MOST_WAITERS];
    uint64_t random;
};

static uint64_t draw(struct trial *t, uint64_t below)
{
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    return (t->random >> 33) % below;
}

static baton_gptr answer_at(const struct trial *t)
{
    return t->at[t->writer] + MOST_WAITERS * APART * 8;
}

/* Answers with what it is given. */
static int wait_here(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct trial *t = arg;
    const uint64_t *word = t->word[0] + thread * APART;
    asleep = &t->asleep[thread];
    for (uint64_t seen = 0;;) {
        struct baton_cond given[2] = {baton_until_not(word, UINT64_MAX, seen),
                                      baton_until_is(word + 9, UINT64_MAX, 1)};
        struct baton_wait wait;
        baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
        RC(baton_await(ep, given, 2, &wait), 0);
        seen = baton_load(ep, word);
        if (seen == END)
            return 0;
        RC(baton_put64(ep, answer_at(t), seen, 0), 0);
        RC(baton_flush(ep), 0);
    }
}

/* Writes `value`, and its own result or source is `mine`. */
static void give(struct trial *t, struct baton_ep *ep, uint64_t *mine, unsigned waiter,
                 uint64_t before, uint64_t value)
{
    baton_gptr at = t->at[0] + waiter * APART * 8;
    switch (draw(t, 4)) {
    case 0:
        RC(baton_put64(ep, at, value, 0), 0);
        break;
    case 1:
        RC(baton_rfaa(ep, mine, at, value - before, 1), 0);
        break;
    case 2:
        RC(baton_rcas(ep, mine, at, before, value, 1), 0);
        break;
    default:
        mine[0] = value;
        RC(baton_put(ep, at, mine, 64, 1), 0);
    }
    RC(baton_flush(ep), 0);
    RC(baton_wait(ep, 1), 0);
}

static int write_there(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct trial *t = arg;
    uint64_t *mine = baton_ep_alloc(ep, 64, 64), before[MOST_WAITERS] = {0}, slowest = 0;
    const uint64_t *answer = t->word[t->writer] + MOST_WAITERS * APART;
    CHECK(mine, "no memory");
    memset(mine, 0, 64);
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        const unsigned waiter = (unsigned)draw(t, t->waiters);
        struct baton_cond answered = baton_until_is(answer, UINT64_MAX, i);
        struct baton_wait wait;
        /* Where a yield takes as long as another process likes, nobody would fall asleep in time. */
        while (i % ASLEEP_EVERY == 0 && !baton_word_load(&t->asleep[waiter]))
            late_sleep_ns(LATEST_NS);
        baton_delay(ep, draw(t, LATEST_NS));
        uint64_t begin = late_clock_ns();
        give(t, ep, mine, waiter, before[waiter], i);
        before[waiter] = i;
        baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
        RC(baton_await(ep, &answered, 1, &wait), 0);
        uint64_t took = late_clock_ns() - begin;
        slowest = took > slowest ? took : slowest;
        CHECK(took < LIMIT_NS, "a wake-up is lost in round %" PRIu64, i);
    }
    for (unsigned i = 0; i < t->waiters; i++)
        RC(baton_put64(ep, t->at[0] + i * APART * 8, END, 1), 0);
    RC(baton_wait(ep, 1), 0);
    baton_ep_free(ep, mine);
    printf("%u waiters, written from node %u: the slowest answer came after %" PRIu64 " us\n",
           t->waiters, t->writer, slowest / 1000);
    return 0;
}

static void trial(unsigned waiters, unsigned writer, uint64_t seed)
{
    struct baton_cluster_opts o = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    struct trial t = {.waiters = waiters, .writer = writer, .random = seed};
    const struct baton_team teams[] = {{0, waiters, wait_here, &t}, {writer, 1, write_there, &t}};
    const uint64_t sleeps_before = baton_word_load(&sleeps), wakes_before = baton_word_load(&wakes);
    o.fabric = "ucx";
    o.nodes = 2;
    o.options = "mode=am,tls=tcp";
    RC(baton_cluster_open(&o, &cluster), 0);
    for (unsigned n = 0; n < 2; n++) {
        void *memory;
        RC(baton_segment_create(baton_cluster_node(cluster, n), 4096, ALL, NULL, 0, &t.at[n]), 0);
        RC(baton_ptr(baton_cluster_node(cluster, n), t.at[n], 4096, &memory), 0);
        t.word[n] = memory;
    }
    RC(baton_run(cluster, teams, 2), 0);
    RC(baton_cluster_close(cluster), 0);
    printf("%" PRIu64 " sleeps, %" PRIu64 " ended by being woken\n",
           baton_word_load(&sleeps) - sleeps_before, baton_word_load(&wakes) - wakes_before);
}

int main(int argc, char **argv)
{
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : late_clock_ns();
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("seed %" PRIu64 "\n", seed);
    for (unsigned writer = 0; writer < 2; writer++) {
        trial(1, writer, seed);
        trial(MOST_WAITERS, writer, seed);
    }
    CHECK(baton_word_load(&wakes) > ROUNDS / 10, "hardly anybody slept");
    return 0;
}

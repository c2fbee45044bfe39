/* SPDX-License-Identifier: MIT */
/*
 * Time, waiting, words and teams where threads are real.
 *
 * Waiting gets gentler with time: pause, then yield, then sleep from 50 us up to 1 ms. With fewer CPUs than
 * threads the one that is waited for must get the CPU soon, hence the short spin. Where operations on memory of this
 * process are executed by it, who sleeps until words change is woken by them.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "fabric/world.h"

enum { SPINS = 128, YIELDS = 64 };
#define SLEEP_LEAST_NS 50000u
#define SLEEP_MOST_NS 1000000u
#define GROUP_LOOK_NS 100000000u

uint64_t baton_native_now(struct baton_layer *l, struct baton_epx *ep)
{
    return baton_clock_ns();
}

static void sleep_ns(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    nanosleep(&t, NULL);
}

void baton_native_delay(struct baton_layer *l, struct baton_epx *ep, uint64_t ns)
{
    uint64_t begin = baton_clock_ns();
    if (ns >= SLEEP_LEAST_NS)
        sleep_ns(ns - SLEEP_LEAST_NS);
    while (baton_clock_ns() - begin < ns)
        baton_cpu_pause();
}

static bool holds(const struct baton_cond *c)
{
    return ((baton_word_load(c->word) & c->mask) == c->value) != (c->negate != 0);
}

static bool any_holds(const struct baton_cond *conds, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (holds(&conds[i]))
            return true;
    return false;
}

/* ---- Sleepers, and who wakes them */

/* The half of it that changes with each addition. */
static uint32_t *futex_of(uint64_t *word)
{
    return (uint32_t *)word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* Sleeps so long, or until a wake for one of the words; true if it was that. */
static bool sleep_for(struct baton_node *node, const struct baton_cond *conds, unsigned n,
                      uint64_t ns)
{
    const uint64_t until = baton_clock_ns() + ns;
    const struct timespec t = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    uint32_t kinds = 0;
    for (unsigned i = 0; i < n; i++)
        kinds |= baton_native_kinds(conds[i].word, 8);
    /*
     * Dekker with baton_native_wake: if I miss what is written, it sees me (tests/litmus/cpu-sb-mfence.litmus:
     * Never). A wake behind the load of `wakes` keeps me from falling asleep, and with one before it I see what
     * that was for (cpu-mp.litmus: Never).
     */
    baton_word_faa(&node->sleepers, 1);
    baton_fence_after_rmw();
    const uint32_t wakes = (uint32_t)baton_word_load(&node->wakes);
    const bool woken = any_holds(conds, n) ||
                       !syscall(SYS_futex, futex_of(&node->wakes),
                                FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, wakes, &t, NULL, kinds) ||
                       errno == EAGAIN;
    baton_word_faa(&node->sleepers, UINT64_MAX);
    return woken;
}

void baton_native_wake(struct baton_node *node, uint32_t kinds)
{
    if (!kinds)
        return;
    baton_fence_full();
    if (!baton_word_peek(&node->sleepers))
        return;
    baton_word_faa(&node->wakes, 1);
    syscall(SYS_futex, futex_of(&node->wakes), FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, INT_MAX,
            NULL, NULL, kinds);
}

/*
 * One step of patience, for conditions if there are some; after the spins it also looks whether waiting still
 * makes sense.
 */
static int be_patient(struct baton_epx *ep, const struct baton_cond *conds, unsigned n,
                      struct baton_wait *wait)
{
    uint32_t turn = wait->turns++;
    if (turn < SPINS) {
        baton_cpu_pause();
        return 0;
    }
    if (turn < SPINS + YIELDS) {
        sched_yield();
    } else {
        uint32_t doublings = (turn - SPINS - YIELDS) / 4;
        uint64_t ns = doublings < 5 ? SLEEP_LEAST_NS << doublings : SLEEP_MOST_NS;
        ns = ns < SLEEP_MOST_NS ? ns : SLEEP_MOST_NS;
        if (!n)
            sleep_ns(ns);
        else if (sleep_for(ep->nodep, conds, n, ns))
            wait->turns = turn; /* which was not slept out */
    }
    uint64_t now = baton_clock_ns();
    if (now >= wait->deadline_ns)
        return -ETIMEDOUT;
    if (baton_word_load(&ep->nodep->deaths) == wait->deaths) {
        if (!wait->checked_ns)
            wait->checked_ns = now;
        if (now - wait->checked_ns < GROUP_LOOK_NS)
            return 0;
    }
    wait->checked_ns = now;
    return baton_group_check(ep, wait);
}

int baton_native_await(struct baton_layer *l, struct baton_epx *ep, const struct baton_cond *conds,
                       unsigned n, struct baton_wait *wait)
{
    if (any_holds(conds, n))
        return 0;
    ep->stats.awaits_blocked++;
    wait->turns = 0;
    for (;;) {
        int rc = be_patient(ep, conds, n, wait);
        if (any_holds(conds, n))
            return 0;
        if (rc)
            return rc;
    }
}

int baton_native_relax(struct baton_layer *l, struct baton_epx *ep, struct baton_wait *wait)
{
    /*
     * A turn has cost remote operations: pause longer each time, by a random amount so that many pollers do
     * not march in step. With others before us there is no hurry, and one of them may need this CPU.
     */
    if (wait->ahead > 1 && wait->turns < SPINS)
        wait->turns = SPINS;
    if (wait->turns < 8) {
        wait->seed = wait->seed * 1664525u + 1013904223u + (uint32_t)(uintptr_t)ep;
        uint32_t pauses = (wait->seed >> 16) & ((2u << wait->turns) - 1);
        while (pauses--)
            baton_cpu_pause();
        wait->turns++;
        return 0;
    }
    if (wait->turns < SPINS)
        wait->turns = SPINS;
    return be_patient(ep, NULL, 0, wait);
}

uint64_t baton_native_load(struct baton_layer *l, struct baton_epx *ep, const uint64_t *word)
{
    return baton_word_load(word);
}

void baton_native_store(struct baton_layer *l, struct baton_epx *ep, uint64_t *word, uint64_t value)
{
    baton_word_store(word, value);
}

uint64_t baton_native_swap(struct baton_layer *l, struct baton_epx *ep, uint64_t *word,
                           uint64_t value)
{
    return baton_word_swap(word, value);
}

uint64_t baton_native_cas(struct baton_layer *l, struct baton_epx *ep, uint64_t *word,
                          uint64_t expected, uint64_t desired)
{
    return baton_word_cas(word, expected, desired);
}

uint64_t baton_native_faa(struct baton_layer *l, struct baton_epx *ep, uint64_t *word, uint64_t add)
{
    return baton_word_faa(word, add);
}

void baton_native_mfence(struct baton_layer *l, struct baton_epx *ep)
{
    baton_fence_full();
}

/* ---- Teams */

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    enum { GATE_SHUT, GATE_GO, GATE_CANCEL } state;
};

struct member {
    pthread_t thread;
    struct gate *gate;
    struct baton_cluster *cluster;
    const struct baton_team *team;
    unsigned index;
    int rc;
};

/* A body that starts teams of its own would wait for threads that its caller knows nothing of; the
 * simulated worlds can not do that at all. */
static __thread bool in_team;

static void *member_main(void *arg)
{
    struct member *m = arg;
    pthread_mutex_lock(&m->gate->lock);
    while (m->gate->state == GATE_SHUT)
        pthread_cond_wait(&m->gate->opened, &m->gate->lock);
    bool go = m->gate->state == GATE_GO;
    pthread_mutex_unlock(&m->gate->lock);
    if (!go)
        return NULL;
    in_team = true;
    m->rc = baton_team_member(m->cluster, m->team, m->index);
    return NULL;
}

int baton_run_threads(struct baton_cluster *cluster, const struct baton_team *teams, unsigned count)
{
    size_t total = 0, made = 0;
    if (in_team)
        return baton_fail(-EINVAL, "baton_run inside of baton_run");
    for (unsigned i = 0; i < count; i++)
        total += teams[i].threads;
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, GATE_SHUT};
    struct member *members = calloc(total ? total : 1, sizeof(*members));
    if (!members)
        return -ENOMEM;
    int rc = 0;
    for (unsigned i = 0; i < count && !rc; i++)
        for (unsigned t = 0; t < teams[i].threads && !rc; t++) {
            struct member *m = &members[made];
            *m = (struct member){.gate = &gate, .cluster = cluster, .team = &teams[i], .index = t};
            rc = -pthread_create(&m->thread, NULL, member_main, m);
            if (rc)
                baton_fail(rc, "thread %zu of %zu could not be made", made + 1, total);
            else
                made++;
        }
    pthread_mutex_lock(&gate.lock);
    gate.state = rc ? GATE_CANCEL : GATE_GO;
    pthread_cond_broadcast(&gate.opened);
    pthread_mutex_unlock(&gate.lock);
    for (size_t i = 0; i < made; i++)
        pthread_join(members[i].thread, NULL);
    for (size_t i = 0; i < made && !rc; i++)
        rc = members[i].rc;
    pthread_cond_destroy(&gate.opened);
    pthread_mutex_destroy(&gate.lock);
    free(members);
    return rc;
}

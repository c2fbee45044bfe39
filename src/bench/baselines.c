/* SPDX-License-Identifier: MIT */
/*
 * Locks of one machine that ours are measured beside on shm: pthread mutexes (plain and robust, both
 * process-shared) and the ticket and MCS locks of Concurrency Kit. They live in memory that all processes of
 * a run share, and are plugged in as kinds of lock, so that the same threads drive them.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/error.h"
#include "bench/lock_bench.h"

#ifdef BATON_HAVE_CK
#include <ck_spinlock.h>
#endif

union slot {
    pthread_mutex_t mutex;
#ifdef BATON_HAVE_CK
    ck_spinlock_ticket_t ticket;
    ck_spinlock_mcs_t mcs;
#endif
    char line[64];
};

static struct {
    union slot *plain, *robust, *ticket, *mcs;
    unsigned locks;
#ifdef BATON_HAVE_CK
    struct {
        ck_spinlock_mcs_context_t context;
        char pad[64 - sizeof(ck_spinlock_mcs_context_t)];
    } * contexts; /* by thread */
    uint64_t *contexts_used;
    unsigned contexts_n;
#endif
    void *map;
    size_t bytes;
} shared;

static void mutex_init(pthread_mutex_t *m, int robust)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    if (robust)
        pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(m, &attr);
    pthread_mutexattr_destroy(&attr);
}

int bench_baseline_prepare(unsigned locks, unsigned threads)
{
    size_t slots = (size_t)locks * sizeof(union slot);
    shared.bytes = 4 * slots + 4096 + (size_t)(threads + 1) * 64;
    shared.map =
        mmap(NULL, shared.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared.map == MAP_FAILED) {
        shared.map = NULL;
        return baton_fail(-ENOMEM, "no memory for the baselines' locks");
    }
    shared.locks = locks;
    shared.plain = shared.map;
    shared.robust = shared.plain + locks;
    shared.ticket = shared.robust + locks;
    shared.mcs = shared.ticket + locks;
    for (unsigned i = 0; i < locks; i++) {
        mutex_init(&shared.plain[i].mutex, 0);
        mutex_init(&shared.robust[i].mutex, 1);
#ifdef BATON_HAVE_CK
        ck_spinlock_ticket_init(&shared.ticket[i].ticket);
        ck_spinlock_mcs_init(&shared.mcs[i].mcs);
#endif
    }
#ifdef BATON_HAVE_CK
    char *rest = (char *)(shared.mcs + locks);
    shared.contexts_used = (uint64_t *)rest;
    shared.contexts = (void *)(rest + 64);
    shared.contexts_n = threads;
#endif
    return 0;
}

void bench_baseline_finish(void)
{
    if (shared.map)
        munmap(shared.map, shared.bytes);
    shared.map = NULL;
}

/* The benchmark makes one table per host; a lock's place in all of them together chooses the slot. */
static unsigned slot_of(const struct baton_lock *lock)
{
    return (unsigned)((baton_gptr_offset(lock->line) / 64 + lock->host) % shared.locks);
}

static int plain_acquire(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *w,
                         struct baton_wait *wait)
{
    return -pthread_mutex_lock(&shared.plain[slot_of(lock)].mutex);
}

static int plain_release(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *w)
{
    return -pthread_mutex_unlock(&shared.plain[slot_of(lock)].mutex);
}

static int robust_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                          struct baton_waiter *w, struct baton_wait *wait)
{
    return -pthread_mutex_lock(&shared.robust[slot_of(lock)].mutex);
}

static int robust_release(const struct baton_lock *lock, struct baton_ep *ep,
                          struct baton_waiter *w)
{
    return -pthread_mutex_unlock(&shared.robust[slot_of(lock)].mutex);
}

static void no_init(const uint64_t *params, uint64_t *words, uint64_t first) {}

static const struct baton_lock_ops plain_ops = {
    .size = sizeof(struct baton_lock_ops),
    .name = "pthread",
    .summary = "process-shared mutex of pthreads",
    .init = no_init,
    .acquire = plain_acquire,
    .release = plain_release,
};

static const struct baton_lock_ops robust_ops = {
    .size = sizeof(struct baton_lock_ops),
    .name = "pthread-robust",
    .summary = "process-shared robust mutex of pthreads",
    .init = no_init,
    .acquire = robust_acquire,
    .release = robust_release,
};

#ifdef BATON_HAVE_CK
static int ticket_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                          struct baton_waiter *w, struct baton_wait *wait)
{
    ck_spinlock_ticket_lock(&shared.ticket[slot_of(lock)].ticket);
    return 0;
}

static int ticket_release(const struct baton_lock *lock, struct baton_ep *ep,
                          struct baton_waiter *w)
{
    ck_spinlock_ticket_unlock(&shared.ticket[slot_of(lock)].ticket);
    return 0;
}

/* The queue node must have one address in all processes: taken from the shared pool at first use. */
static ck_spinlock_mcs_context_t *context_of(struct baton_waiter *w)
{
    if (!w->own[BATON_WAITER_WORDS - 1])
        w->own[BATON_WAITER_WORDS - 1] =
            baton_word_faa(shared.contexts_used, 1) % shared.contexts_n + 1;
    return &shared.contexts[w->own[BATON_WAITER_WORDS - 1] - 1].context;
}

static int mcs_acquire(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *w,
                       struct baton_wait *wait)
{
    ck_spinlock_mcs_lock(&shared.mcs[slot_of(lock)].mcs, context_of(w));
    return 0;
}

static int mcs_release(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *w)
{
    ck_spinlock_mcs_unlock(&shared.mcs[slot_of(lock)].mcs, context_of(w));
    return 0;
}

static const struct baton_lock_ops ticket_ops = {
    .size = sizeof(struct baton_lock_ops),
    .name = "ck-ticket",
    .summary = "ticket spinlock of Concurrency Kit",
    .init = no_init,
    .acquire = ticket_acquire,
    .release = ticket_release,
};

static const struct baton_lock_ops mcs_ops = {
    .size = sizeof(struct baton_lock_ops),
    .name = "ck-mcs",
    .summary = "MCS spinlock of Concurrency Kit",
    .init = no_init,
    .acquire = mcs_acquire,
    .release = mcs_release,
};
#endif

static const struct baton_lock_ops *const all[] = {
    &plain_ops,  &robust_ops,
#ifdef BATON_HAVE_CK
    &ticket_ops, &mcs_ops,
#endif
    NULL,
};

int bench_register_baselines(void)
{
    int rc = 0;
    for (const struct baton_lock_ops *const *k = all; *k && !rc; k++)
        rc = baton_lock_register(*k);
    return rc;
}

bool bench_is_baseline(const struct baton_lock_ops *kind)
{
    for (const struct baton_lock_ops *const *k = all; *k; k++)
        if (*k == kind)
            return true;
    return false;
}

const char *bench_ck_missing(void)
{
#ifdef BATON_HAVE_CK
    return NULL;
#else
    return "built without Concurrency Kit (libck-dev)";
#endif
}

static double best_of_five(void (*million)(void))
{
    double best = 0;
    for (int round = 0; round < 5; round++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        million();
        clock_gettime(CLOCK_MONOTONIC, &b);
        double ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 1e6;
        if (!best || ns < best)
            best = ns;
    }
    return best;
}

enum { MILLION = 1000000 };

static void plain_million(void)
{
    for (int i = 0; i < MILLION; i++) {
        pthread_mutex_lock(&shared.plain[0].mutex);
        pthread_mutex_unlock(&shared.plain[0].mutex);
    }
}

static void robust_million(void)
{
    for (int i = 0; i < MILLION; i++) {
        pthread_mutex_lock(&shared.robust[0].mutex);
        pthread_mutex_unlock(&shared.robust[0].mutex);
    }
}

#ifdef BATON_HAVE_CK
static void ticket_million(void)
{
    for (int i = 0; i < MILLION; i++) {
        ck_spinlock_ticket_lock(&shared.ticket[0].ticket);
        ck_spinlock_ticket_unlock(&shared.ticket[0].ticket);
    }
}

static void mcs_million(void)
{
    ck_spinlock_mcs_context_t context;
    for (int i = 0; i < MILLION; i++) {
        ck_spinlock_mcs_lock(&shared.mcs[0].mcs, &context);
        ck_spinlock_mcs_unlock(&shared.mcs[0].mcs, &context);
    }
}
#endif

double bench_baseline_pair_ns(const struct baton_lock_ops *kind)
{
#ifdef BATON_HAVE_CK
    if (kind == &ticket_ops)
        return best_of_five(ticket_million);
    if (kind == &mcs_ops)
        return best_of_five(mcs_million);
#endif
    return best_of_five(kind == &robust_ops ? robust_million : plain_million);
}

/* SPDX-License-Identifier: MIT */
/* One thread of the lock benchmark. */
#include "bench/worker.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/random.h"
#include "fabric/world.h"

static size_t part(size_t *total, size_t bytes)
{
    size_t at = *total;
    *total += (bytes + 4095) & ~(size_t)4095;
    return at;
}

struct bench_shared *bench_shared_create(const struct bench_config *config, unsigned threads)
{
    size_t total = 0;
    size_t head = part(&total, sizeof(struct bench_shared));
    size_t results = part(&total, threads * sizeof(struct bench_thread));
    size_t lines = part(&total, threads * sizeof(struct bench_line));
    size_t checks = part(&total, config->locks * sizeof(struct bench_lock_check));
    size_t zipf = part(&total, config->locks * sizeof(double));
    size_t closed = part(&total, config->nodes * sizeof(uint64_t));
    char *memory = mmap(NULL, total, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    struct bench_shared *s = (struct bench_shared *)(memory + head);
    s->bytes = total;
    s->threads_n = threads;
    s->locks_n = config->locks;
    s->threads = (struct bench_thread *)(memory + results);
    s->lines = (struct bench_line *)(memory + lines);
    s->checks = (struct bench_lock_check *)(memory + checks);
    s->closed = (uint64_t *)(memory + closed);
    if (config->zipf > 0) {
        double sum = 0;
        s->zipf = (double *)(memory + zipf);
        for (unsigned i = 0; i < config->locks; i++)
            s->zipf[i] = sum += pow(i + 1, -config->zipf);
        for (unsigned i = 0; i < config->locks; i++)
            s->zipf[i] /= sum;
    }
    return s;
}

void bench_shared_destroy(struct bench_shared *shared)
{
    munmap(shared, shared->bytes);
}

static unsigned choose_lock(const struct bench_shared *s, struct baton_random *random)
{
    if (!s->zipf)
        return (unsigned)baton_random_below(random, s->locks_n);
    double x = baton_random_unit(random);
    unsigned low = 0, high = s->locks_n - 1;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (s->zipf[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A lock: its number over all hosts, its host, and its number there. */
struct chosen {
    unsigned index, host, in_table;
};

static struct chosen choose(const struct bench_node *node, struct baton_random *random)
{
    unsigned index = choose_lock(node->shared, random);
    if (node->hosts == 1)
        return (struct chosen){index, node->host, index};
    return (struct chosen){index, index % node->hosts, index / node->hosts};
}

static uint64_t remote_ops(const struct baton_stats *s)
{
    uint64_t sum = 0;
    for (unsigned k = 0; k < BATON_OP_KINDS; k++)
        sum += s->ops[k];
    return sum;
}

static void pin(unsigned thread)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof(allowed), &allowed))
        return;
    unsigned count = (unsigned)CPU_COUNT(&allowed), want = thread % count;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && !want--) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof(one), &one);
            return;
        }
}

/* Everybody begins together, so that the first to come does not measure an empty cluster. */
static uint64_t wait_for_start(struct baton_ep *ep, struct bench_shared *s)
{
    baton_word_faa(&s->ready, 1);
    uint64_t begin;
    while (!(begin = baton_word_load(&s->begin_ns))) {
        if (baton_word_load(&s->stop))
            return 0;
        baton_delay(ep, 100000);
    }
    return begin;
}

bool bench_is_fault(int rc)
{
    return rc == -EHOSTDOWN || rc == -EOWNERDEAD || rc == -ENOTRECOVERABLE || rc == -ECANCELED ||
           rc == -ENOTCONN || rc == -EDEADLK;
}

static int give_up(const struct bench_config *config, struct bench_thread *t,
                   struct bench_shared *s, int rc, const char *what)
{
    if (config->faults && bench_is_fault(rc))
        return 0; /* this thread's part ends, the others go on */
    t->rc = rc;
    snprintf(t->error, sizeof(t->error), "%s: %s%s%s", what, baton_strerror(rc),
             *baton_error_detail() ? "; " : "", baton_error_detail());
    baton_word_store(&s->stop, 1);
    return rc;
}

/* ---- The checks, where their words are */

struct check_way {
    const struct bench_node *node;
    struct bench_shared *s;
    unsigned self;
    bool is_far;
    struct bench_far_thread far;
    struct bench_lock_check copy; /* of what is far */
};

static void way_init(struct check_way *w, const struct bench_node *node, struct baton_ep *ep,
                     unsigned thread)
{
    *w = (struct check_way){.node = node,
                            .s = node->shared,
                            .self = node->first_thread + thread,
                            .is_far = node->config->given != NULL};
    if (w->is_far)
        bench_far_init(&w->far, &node->far, ep, w->self, thread);
}

static int way_begin(struct check_way *w, const struct chosen *lock, uint64_t now,
                     struct baton_waiter *waiter)
{
    bench_check_begin(&w->s->lines[w->self], w->node->simulated ? &w->s->checks[lock->index] : NULL,
                      lock->index, now, waiter);
    return w->is_far ? bench_far_begin(&w->far, lock->host, lock->index) : 0;
}

static int way_enter(struct check_way *w, const struct chosen *lock, uint64_t token,
                     uint64_t *counter, struct bench_findings *f)
{
    if (w->is_far)
        return bench_far_enter(&w->far, lock->host, lock->index, lock->in_table, &w->copy,
                               w->s->lines, token, counter, f);
    *counter = bench_check_enter(&w->s->checks[lock->index], w->s->lines, w->s->threads_n, w->self,
                                 token, f);
    return 0;
}

static int way_leave(struct check_way *w, const struct chosen *lock, uint64_t counter,
                     struct bench_findings *f)
{
    if (w->is_far)
        return bench_far_leave(&w->far, lock->host, lock->in_table, &w->copy, counter, f);
    bench_check_leave(&w->s->checks[lock->index], w->self, counter, f);
    return 0;
}

/* Until the time is over, or something fails; holds no lock at the end. */
static int rounds(struct baton_ep *ep, unsigned thread, const struct bench_node *node,
                  struct baton_waiter *waiter)
{
    const struct bench_config *config = node->config;
    struct bench_shared *s = node->shared;
    unsigned self = node->first_thread + thread;
    struct bench_thread *t = &s->threads[self];
    struct baton_random random;
    struct baton_stats before, after;
    int rc;
    if (config->pin && !node->simulated)
        pin(self);
    baton_random_init(&random, config->seed * 1000003 + self);
    struct check_way way;
    way_init(&way, node, ep, thread);

    uint64_t begin = node->simulated ? baton_now(ep) : wait_for_start(ep, s);
    uint64_t measure = begin + (uint64_t)(config->warmup_s * 1e9);
    uint64_t end = measure + (uint64_t)(config->duration_s * 1e9);
    uint64_t over = end + (uint64_t)(config->cooldown_s * 1e9);
    uint64_t start = baton_now(ep);
    while (start < over && !baton_word_load(&s->stop)) {
        const struct chosen chosen = choose(node, &random);
        struct baton_lock lock;
        if ((rc = baton_table_lock(node->tables[chosen.host], chosen.in_table, &lock)))
            return give_up(config, t, s, rc, "lock of a table");
        bool is_local = lock.local != NULL;
        struct bench_class *class = is_local ? &t->local : &t->remote;

        start = baton_now(ep);
        if ((rc = way_begin(&way, &chosen, start, waiter)))
            return give_up(config, t, s, rc, "the words of the checks");
        if (way.is_far)
            start = baton_now(ep); /* what that costs is not the lock's */
        baton_ep_stats(ep, &before);
        rc = baton_lock_acquire(&lock, ep, waiter);
        uint64_t entered = baton_now(ep);
        if (rc) {
            bench_check_give_up(&s->lines[self]);
            return give_up(config, t, s, rc, "acquire");
        }
        baton_ep_stats(ep, &after);
        class->round_trips_acquire += after.waited_round_trips - before.waited_round_trips;
        class->ops_acquire += remote_ops(&after) - remote_ops(&before);
        uint64_t counter;
        rc = way_enter(&way, &chosen, baton_lock_token(waiter), &counter, &t->findings);
        uint64_t work = is_local ? config->local_cs_ns : config->remote_cs_ns;
        if (!rc && work)
            baton_delay(ep, work);
        if (!rc)
            rc = way_leave(&way, &chosen, counter, &t->findings);

        bool failed = rc;
        if (failed)
            rc = give_up(config, t, s, rc, "the words of the checks");

        uint64_t leaving = baton_now(ep);
        baton_ep_stats(ep, &before);
        /* Whatever has failed: the others wait for it. */
        int released = baton_lock_release(&lock, ep, waiter);
        if (failed)
            return rc;
        if (released)
            return give_up(config, t, s, released, "release");
        baton_ep_stats(ep, &after);
        class->round_trips_release += after.waited_round_trips - before.waited_round_trips;
        class->ops_release += remote_ops(&after) - remote_ops(&before);
        class->entries++;
        t->entries++;
        uint64_t next = baton_now(ep);
        bool measured = entered >= measure && entered < end;
        if (config->log) {
            const struct bench_entry entry = {.begin = start,
                                              .doorway = s->lines[self].doorway_end,
                                              .entered = entered,
                                              .leaving = leaving,
                                              .left = next,
                                              .thread = self,
                                              .lock = chosen.index,
                                              .local = is_local,
                                              .measured = measured};
            if ((rc = bench_log_add(config->log, &entry)))
                return give_up(config, t, s, rc, "the record of the run");
        }
        if (measured) {
            baton_hist_add(&class->latency, entered - start);
            class->hold_ns += leaving - entered;
            class->holds++;
            t->acquisitions++;
            t->cycle_ns += next - start;
            t->cycles++;
        }
        start = next;
    }
    t->done = 1;
    return 0;
}

int bench_thread_body(struct baton_ep *ep, unsigned thread, void *arg)
{
    const struct bench_node *node = arg;
    const struct bench_config *config = node->config;
    struct bench_shared *s = node->shared;
    struct baton_waiter *waiter;
    int rc = baton_waiter_open(ep, &waiter);
    if (rc)
        return give_up(config, &s->threads[node->first_thread + thread], s, rc, "opening a waiter");
    rc = rounds(ep, thread, node, waiter);
    /* After a failure too: what the last release has left on its way may be lost with it, and this is who notices. */
    int close_rc = baton_waiter_close(ep, waiter);
    if (rc)
        return rc;
    return config->faults && bench_is_fault(close_rc) ? 0 : close_rc;
}

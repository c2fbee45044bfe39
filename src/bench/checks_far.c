/* SPDX-License-Identifier: MIT */
/* The benchmark's checks in far memory. */
#include "bench/checks_far.h"

enum { OWNER, COUNTER, TOKEN, WORDS = 4 };

size_t bench_far_bytes(unsigned threads, uint64_t locks)
{
    return 8 * ((size_t)threads + WORDS * locks);
}

size_t bench_far_local_bytes(unsigned threads)
{
    return (8 * ((size_t)threads + WORDS) + 63) & ~(size_t)63;
}

void bench_far_init(struct bench_far_thread *t, const struct bench_far *far, struct baton_ep *ep,
                    unsigned self, unsigned here)
{
    *t = (struct bench_far_thread){
        .far = far,
        .ep = ep,
        .self = self,
        .words = (uint64_t *)(far->room + here * bench_far_local_bytes(far->threads)),
    };
}

static bool is_here(const struct bench_far_thread *t, unsigned host)
{
    return host == t->far->node;
}

/* Where word `i` of the host is. */
static int put(struct bench_far_thread *t, unsigned host, uint64_t i, uint64_t value)
{
    if (!is_here(t, host))
        return baton_put64(t->ep, t->far->base[host] + 8 * i, value, 0);
    baton_store(t->ep, t->far->own + i, value);
    return 0;
}

static uint64_t first_word(const struct bench_far_thread *t, uint64_t index)
{
    return t->far->threads + WORDS * index;
}

/* The words of a lock, and those of the threads if they are wanted too, behind all that was put there. */
static int get(struct bench_far_thread *t, unsigned host, uint64_t index, bool threads)
{
    uint64_t *of_lock = t->words + t->far->threads;
    int rc = 0;
    if (is_here(t, host)) {
        for (unsigned i = 0; threads && i < t->far->threads; i++)
            t->words[i] = baton_load(t->ep, t->far->own + i);
        for (unsigned i = 0; i < WORDS; i++)
            of_lock[i] = baton_load(t->ep, t->far->own + first_word(t, index) + i);
        return 0;
    }
    baton_order(t->ep, host);
    if (threads)
        rc = baton_get(t->ep, t->words, t->far->base[host], 8 * (size_t)t->far->threads, 1);
    if (!rc)
        rc = baton_get(t->ep, of_lock, t->far->base[host] + 8 * first_word(t, index), 8 * WORDS, 1);
    return rc ? rc : baton_wait(t->ep, 1);
}

int bench_far_begin(struct bench_far_thread *t, unsigned host, uint64_t lock)
{
    if (is_here(t, host))
        return put(t, host, t->self, lock + 1);
    baton_order(t->ep, host); /* after the 0 of the last time */
    int rc = put(t, host, t->self, lock + 1);
    return rc ? rc : baton_order(t->ep, host);
}

static bool others_wait(const struct bench_far_thread *t, uint64_t lock)
{
    for (unsigned i = 0; i < t->far->threads; i++)
        if (i != t->self && t->words[i] == lock + 1)
            return true;
    return false;
}

int bench_far_enter(struct bench_far_thread *t, unsigned host, uint64_t lock, uint64_t index,
                    struct bench_lock_check *check, struct bench_line *lines, uint64_t token,
                    uint64_t *counter, struct bench_findings *f)
{
    uint64_t *of_lock = t->words + t->far->threads, overlaps = f->overlaps;
    int rc = get(t, host, index, true);
    if (rc)
        return rc;
    *check = (struct bench_lock_check){
        .owner = of_lock[OWNER], .counter = of_lock[COUNTER], .token = of_lock[TOKEN]};
    *counter = bench_check_enter(check, lines, t->far->threads, t->self, token, f);
    f->overlaps = overlaps + others_wait(t, lock);
    rc = put(t, host, first_word(t, index) + OWNER, check->owner);
    if (!rc)
        rc = put(t, host, first_word(t, index) + TOKEN, check->token);
    return rc ? rc : put(t, host, t->self, 0);
}

int bench_far_leave(struct bench_far_thread *t, unsigned host, uint64_t index,
                    struct bench_lock_check *check, uint64_t counter, struct bench_findings *f)
{
    int rc = get(t, host, index, false);
    if (rc)
        return rc;
    check->owner = t->words[t->far->threads + OWNER];
    bench_check_leave(check, t->self, counter, f);
    rc = put(t, host, first_word(t, index) + COUNTER, check->counter);
    return rc ? rc : put(t, host, first_word(t, index) + OWNER, check->owner);
}

uint64_t bench_far_counters(const struct bench_far *far, uint64_t locks)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; far->own && i < locks; i++)
        sum += baton_word_load(far->own + far->threads + WORDS * i + COUNTER);
    return sum;
}

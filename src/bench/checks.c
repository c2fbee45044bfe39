/* SPDX-License-Identifier: MIT */
/* What the benchmark checks at every entry. Own file: the plain words must really be read and written. */
#include "bench/checks.h"

static void doorway(void *arg, struct baton_ep *ep, struct baton_waiter *w)
{
    struct bench_line *line = arg;
    baton_word_store(&line->doorway_end, baton_now(ep));
}

void bench_check_begin(struct bench_line *line, uint64_t lock, uint64_t now, struct baton_waiter *w)
{
    w->doorway = doorway;
    w->doorway_arg = line;
    baton_word_store(&line->doorway_end, UINT64_MAX);
    baton_word_store(&line->begin, now);
    baton_word_store(&line->lock, lock + 1);
}

void bench_check_give_up(struct bench_line *line)
{
    baton_word_store(&line->lock, 0);
}

uint64_t bench_check_enter(struct bench_lock_check *check, struct bench_line *lines,
                           unsigned lines_n, unsigned self, uint64_t token,
                           struct bench_findings *f)
{
    struct bench_line *line = &lines[self];
    uint64_t lock = line->lock, begin = line->begin;
    bool overlap = false;

    if (check->owner)
        f->exclusion_violations++;
    check->owner = self + 1;
    baton_word_store(&line->lock, 0);
    for (unsigned i = 0; i < lines_n; i++) {
        if (baton_word_load(&lines[i].lock) != lock)
            continue;
        overlap = true;
        if (baton_word_load(&lines[i].doorway_end) < begin)
            f->bypasses++;
    }
    f->overlaps += overlap;
    /* Kinds with tickets show their order in the token; groups share one. */
    if (token && token < check->token)
        f->bypasses++;
    check->token = token;
    return check->counter;
}

void bench_check_leave(struct bench_lock_check *check, unsigned self, uint64_t counter,
                       struct bench_findings *f)
{
    check->counter = counter + 1;
    if (check->owner != self + 1)
        f->exclusion_violations++;
    check->owner = 0;
}

/* SPDX-License-Identifier: MIT */
/* What the benchmark checks at every entry. Own file: the plain words must really be read and written. */
#include "bench/checks.h"

#include <stdbool.h>

/* ---- Coroutines: the waiters of a lock behind their doorways */

static void line_add(struct bench_line *line)
{
    struct bench_lock_check *c = line->check;
    struct bench_line *before = c->last;
    /* Threads may be ahead of the simulation's time, each a little. */
    while (before && before->doorway_end > line->doorway_end)
        before = before->prev;
    line->prev = before;
    line->next = before ? before->next : c->first;
    *(line->next ? &line->next->prev : &c->last) = line;
    *(before ? &before->next : &c->first) = line;
}

static void line_remove(struct bench_line *line)
{
    struct bench_lock_check *c = line->check;
    c->waiting--;
    if (line->doorway_end == UINT64_MAX)
        return;
    *(line->next ? &line->next->prev : &c->last) = line->prev;
    *(line->prev ? &line->prev->next : &c->first) = line->next;
}

static bool look_at_first(const struct bench_lock_check *check, uint64_t begin,
                          struct bench_findings *f)
{
    for (const struct bench_line *l = check->first; l && l->doorway_end < begin; l = l->next)
        f->bypasses++;
    return check->waiting;
}

/* ---- Else: everybody's line */

static bool look_at_all(const struct bench_line *lines, unsigned lines_n, uint64_t lock,
                        uint64_t begin, struct bench_findings *f)
{
    bool overlap = false;
    for (unsigned i = 0; i < lines_n; i++) {
        if (baton_word_load(&lines[i].lock) != lock)
            continue;
        overlap = true;
        if (baton_word_load(&lines[i].doorway_end) < begin)
            f->bypasses++;
    }
    return overlap;
}

/* ---- Both */

static void doorway(void *arg, struct baton_ep *ep, struct baton_waiter *w)
{
    struct bench_line *line = arg;
    baton_word_store(&line->doorway_end, baton_now(ep));
    if (line->check)
        line_add(line);
}

void bench_check_begin(struct bench_line *line, struct bench_lock_check *check, uint64_t lock,
                       uint64_t now, struct baton_waiter *w)
{
    w->doorway = doorway;
    w->doorway_arg = line;
    line->check = check;
    if (check)
        check->waiting++;
    baton_word_store(&line->doorway_end, UINT64_MAX);
    baton_word_store(&line->begin, now);
    baton_word_store(&line->lock, lock + 1);
}

void bench_check_give_up(struct bench_line *line)
{
    baton_word_store(&line->lock, 0);
    if (line->check)
        line_remove(line);
}

uint64_t bench_check_enter(struct bench_lock_check *check, struct bench_line *lines,
                           unsigned lines_n, unsigned self, uint64_t token,
                           struct bench_findings *f)
{
    struct bench_line *line = &lines[self];
    uint64_t lock = line->lock, begin = line->begin;

    if (check->owner)
        f->exclusion_violations++;
    check->owner = self + 1;
    bench_check_give_up(line);
    f->entries++;
    f->overlaps +=
        line->check ? look_at_first(check, begin, f) : look_at_all(lines, lines_n, lock, begin, f);
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

/* SPDX-License-Identifier: MIT */
/* Fairness from the log of a run: the bound of first come, first served, overtaking, time without a ticket. */
#include "bench/fair.h"

#include <errno.h>
#include <stdlib.h>

/* One lock while its acquisitions are gone through in time. */
struct replay {
    const struct bench_entry *
        *waiting;     /* who has begun and not entered, in the order of beginnings */
    uint32_t *passed; /* by how many each of them has been overtaken */
    unsigned waiting_n, room;
    const struct bench_entry *last; /* who entered last */
};

static int by_lock_and_begin(const void *a, const void *b)
{
    const struct bench_entry *x = a, *y = b;
    if (x->lock != y->lock)
        return x->lock < y->lock ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int by_entered(const void *a, const void *b)
{
    const struct bench_entry *x = *(const struct bench_entry *const *)a;
    const struct bench_entry *y = *(const struct bench_entry *const *)b;
    if (x->entered != y->entered)
        return x->entered < y->entered ? -1 : 1;
    return x < y ? -1 : x > y;
}

static unsigned class_of(const struct bench_entry *e)
{
    return e->local ? FAIR_LOCAL : FAIR_REMOTE;
}

static uint64_t hand_over(const struct bench_entry *from, const struct bench_entry *to,
                          uint64_t one_way)
{
    if (from->local && to->local)
        return 0;
    return from->local || to->local ? one_way : 3 * one_way;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* When `e` could enter at the earliest if the lock was freed at `free_at` by `from` (null: nobody yet). */
static uint64_t earliest(const struct bench_entry *from, uint64_t free_at,
                         const struct bench_entry *e, uint64_t one_way)
{
    uint64_t alone = e->begin + (e->local ? 0 : 2 * one_way);
    return from ? later(alone, free_at + hand_over(from, e, one_way)) : alone;
}

static uint64_t bound_of(const struct replay *r, const struct bench_entry *e, uint64_t one_way)
{
    const struct bench_entry *from = r->last;
    uint64_t free_at = from ? from->leaving : 0;
    /* Who has left before e began has handed over to nobody if nobody waits: then e finds a free lock. */
    if (from && !r->waiting_n && free_at <= e->begin)
        from = NULL;
    for (unsigned i = 0; i < r->waiting_n; i++) {
        const struct bench_entry *w = r->waiting[i];
        free_at = earliest(from, free_at, w, one_way) + (w->leaving - w->entered);
        from = w;
    }
    return earliest(from, free_at, e, one_way) - e->begin;
}

static int begins(struct replay *r, const struct bench_entry *e, uint64_t one_way,
                  struct bench_fair *out)
{
    if (e->measured) {
        uint64_t bound = bound_of(r, e, one_way);
        baton_hist_add(&out->bound, bound);
        baton_hist_add(&out->class_bound[class_of(e)], bound);
    }
    if (r->waiting_n == r->room) {
        unsigned room = r->room ? 2 * r->room : 128;
        const struct bench_entry **waiting = realloc(r->waiting, room * sizeof(*waiting));
        if (!waiting)
            return -ENOMEM;
        r->waiting = waiting;
        uint32_t *passed = realloc(r->passed, room * sizeof(*passed));
        if (!passed)
            return -ENOMEM;
        r->passed = passed;
        r->room = room;
    }
    r->passed[r->waiting_n] = 0;
    r->waiting[r->waiting_n++] = e;
    return 0;
}

static void enters(struct replay *r, const struct bench_entry *e, struct bench_fair *out)
{
    unsigned class = class_of(e), at = 0;
    while (r->waiting[at] != e)
        r->passed[at++]++;
    if (e->measured) {
        baton_hist_add(&out->latency, e->entered - e->begin);
        baton_hist_add(&out->overtaken[class], r->passed[at]);
        if (e->doorway != UINT64_MAX) {
            baton_hist_add(&out->doorway[class], e->doorway - e->begin);
            baton_hist_add(&out->ticketed[class], e->entered - e->doorway);
        }
        out->entries++;
        out->switches += r->last && r->last->local != e->local;
    }
    r->waiting_n--;
    for (; at < r->waiting_n; at++) {
        r->waiting[at] = r->waiting[at + 1];
        r->passed[at] = r->passed[at + 1];
    }
    r->last = e;
}

/* The acquisitions of one lock, in the order of beginnings. */
static int study_lock(struct bench_entry *of, size_t count, const struct bench_entry **order,
                      struct replay *r, uint64_t one_way, struct bench_fair *out)
{
    size_t begun = 0;
    for (size_t i = 0; i < count; i++)
        order[i] = &of[i];
    qsort(order, count, sizeof(*order), by_entered);
    r->waiting_n = 0;
    r->last = NULL;
    for (size_t entered = 0; entered < count; entered++) {
        while (begun < count &&
               (of[begun].begin < order[entered]->entered || &of[begun] <= order[entered])) {
            int rc = begins(r, &of[begun++], one_way, out);
            if (rc)
                return rc;
        }
        enters(r, order[entered], out);
    }
    return 0;
}

int bench_fair_study(struct bench_log *log, unsigned locks, double measured_s, uint64_t one_way_ns,
                     struct bench_fair *out)
{
    struct replay r = {0};
    int rc = 0;
    const struct bench_entry **order = malloc((log->count ? log->count : 1) * sizeof(*order));
    if (!order)
        return -ENOMEM;
    qsort(log->entries, log->count, sizeof(*log->entries), by_lock_and_begin);
    for (size_t first = 0, next; first < log->count && !rc; first = next) {
        for (next = first; next < log->count && log->entries[next].lock == log->entries[first].lock;
             next++)
            ;
        rc = study_lock(log->entries + first, next - first, order, &r, one_way_ns, out);
    }
    out->time_ns += measured_s * 1e9 * locks;
    free(r.waiting);
    free(r.passed);
    free(order);
    return rc;
}

static double mean_waiting(const struct bench_fair *f, const struct baton_hist *h)
{
    return f->time_ns > 0 ? h->sum / f->time_ns : 0;
}

double bench_fair_unticketed(const struct bench_fair *f, unsigned class)
{
    return mean_waiting(f, &f->doorway[class]);
}

double bench_fair_tickets(const struct bench_fair *f, unsigned class)
{
    return mean_waiting(f, &f->ticketed[class]);
}

void bench_fair_merge(struct bench_fair *into, const struct bench_fair *from)
{
    baton_hist_merge(&into->latency, &from->latency);
    baton_hist_merge(&into->bound, &from->bound);
    for (unsigned c = 0; c < FAIR_CLASSES; c++) {
        baton_hist_merge(&into->class_bound[c], &from->class_bound[c]);
        baton_hist_merge(&into->doorway[c], &from->doorway[c]);
        baton_hist_merge(&into->ticketed[c], &from->ticketed[c]);
        baton_hist_merge(&into->overtaken[c], &from->overtaken[c]);
    }
    into->entries += from->entries;
    into->switches += from->switches;
    into->time_ns += from->time_ns;
}

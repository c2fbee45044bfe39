/* SPDX-License-Identifier: MIT */
/* Adds up what the threads of a lock benchmark report. */
#include "bench/lock_sum.h"

#include <stdio.h>
#include <string.h>

static void add_class(struct bench_class *into, const struct bench_class *from)
{
    baton_hist_merge(&into->latency, &from->latency);
    into->hold_ns += from->hold_ns;
    into->holds += from->holds;
    into->round_trips_acquire += from->round_trips_acquire;
    into->round_trips_release += from->round_trips_release;
    into->ops_acquire += from->ops_acquire;
    into->ops_release += from->ops_release;
    into->entries += from->entries;
}

static void add_findings(struct bench_findings *into, const struct bench_findings *from)
{
    into->exclusion_violations += from->exclusion_violations;
    into->bypasses += from->bypasses;
    into->overlaps += from->overlaps;
    into->entries += from->entries;
}

void bench_sum_threads(const struct bench_config *c, const struct bench_shared *s,
                       struct bench_sum *sum)
{
    for (unsigned i = 0; i < s->threads_n; i++) {
        const struct bench_thread *t = &s->threads[i];
        if (t->rc && !sum->rc) {
            sum->rc = t->rc;
            snprintf(sum->error, sizeof(sum->error), "thread %u: %s", i, t->error);
        }
        add_class(&sum->local, &t->local);
        add_class(&sum->remote, &t->remote);
        add_findings(&sum->findings, &t->findings);
        sum->acquisitions += t->acquisitions;
        sum->entries += t->entries;
        sum->cycle_ns += t->cycle_ns;
        sum->cycles += t->cycles;
        sum->ended += c->faults && !t->done;
        sum->squares += (double)t->acquisitions * (double)t->acquisitions;
    }
}

void bench_sum_add(struct bench_sum *into, const struct bench_sum *from)
{
    if (from->rc && !into->rc) {
        into->rc = from->rc;
        memcpy(into->error, from->error, sizeof(into->error));
    }
    add_class(&into->local, &from->local);
    add_class(&into->remote, &from->remote);
    add_findings(&into->findings, &from->findings);
    into->acquisitions += from->acquisitions;
    into->entries += from->entries;
    into->counters += from->counters;
    into->cycle_ns += from->cycle_ns;
    into->cycles += from->cycles;
    into->ended += from->ended;
    into->squares += from->squares;
}

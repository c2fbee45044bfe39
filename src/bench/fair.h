/* SPDX-License-Identifier: MIT */
/*
 * How fair a simulated run was, worked out from its log.
 *
 * The bound of an acquisition is the time that it would have waited, at least, under any lock that serves
 * first come, first served: when it begins, some others hold the lock or wait for it. Their sections, as
 * long as they really were, come first, in the order in which they began, and between two of them lies the
 * cheapest hand-over that the contract of release permits:
 *
 *     local to local    nothing (the two share a cache line)
 *     local to remote   one way: a message to the waiter
 *     remote to local   one way: the put that the host's CPU sees
 *     remote to remote  three ways: a put and what wakes the waiter leave together and arrive after one;
 *                       the waiter is on another queue pair, and has to get the deciding word itself
 *
 * Nobody remote enters before one round trip. The rest of the section of who is inside counts from the
 * instant of the beginning, so the bound is exact in what it adds up.
 */
#ifndef BATON_BENCH_FAIR_H
#define BATON_BENCH_FAIR_H

#include "base/hist.h"
#include "bench/log.h"

enum { FAIR_LOCAL, FAIR_REMOTE, FAIR_CLASSES };

/* Over the measured acquisitions; times in ns. Zeroed memory is empty; runs are pooled by adding. */
struct bench_fair {
    struct baton_hist latency, bound; /* all threads */
    struct baton_hist class_bound[FAIR_CLASSES];
    struct baton_hist
        doorway[FAIR_CLASSES]; /* waited before the doorway's end; kinds that have one */
    struct baton_hist ticketed[FAIR_CLASSES]; /* waited after it */
    struct baton_hist
        overtaken[FAIR_CLASSES]; /* by how many that began later: a count, not a time */
    uint64_t entries,
        switches;   /* entries; those whose predecessor in the lock was of the other class */
    double time_ns; /* measured time, times the number of locks */
};

/* `one_way_ns`: see above. -ENOMEM. Sorts the log. */
int bench_fair_study(struct bench_log *log, unsigned locks, double measured_s, uint64_t one_way_ns,
                     struct bench_fair *out);

/*
 * Mean number of threads of a class, for one lock, that wait without a ticket (still in the doorway), and
 * with one, at a time: the time that all of them waited over the time of the run.
 */
double bench_fair_unticketed(const struct bench_fair *f, unsigned class);
double bench_fair_tickets(const struct bench_fair *f, unsigned class);

void bench_fair_merge(struct bench_fair *into, const struct bench_fair *from);

#endif

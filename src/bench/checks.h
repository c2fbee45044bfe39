/* SPDX-License-Identifier: MIT */
/*
 * What the benchmark checks at every entry. The owner and counter words are plain memory that only the holder
 * of the lock touches: whoever finds somebody else's mark in them was not alone.
 *
 * Bypasses: every thread has a line {lock, begin, doorway_end}. `begin` is taken before acquire is called,
 * `doorway_end` when the kind says that its doorway is over. Who enters looks at the waiters of its lock: one
 * whose doorway had ended before the entrant began has been bypassed. Clock readings are only compared when
 * they are strictly apart, so that nobody is accused wrongly.
 */
#ifndef BATON_BENCH_CHECKS_H
#define BATON_BENCH_CHECKS_H

#include <baton/lock.h>

/*
 * Where threads are coroutines, a lock knows its waiters, in the order in which their doorways ended, and who
 * enters looks at the first: to look at all lines would cost 12,000 threads more than all else.
 */
struct bench_line {
    uint64_t lock; /* index + 1 while waiting, else 0 */
    uint64_t begin;
    uint64_t doorway_end;           /* UINT64_MAX: not yet */
    struct bench_lock_check *check; /* coroutines: of the lock; else null */
    struct bench_line *next,
        *prev; /* coroutines: by doorway_end, while waiting behind the doorway */
    uint64_t pad[2];
};

struct bench_lock_check {
    uint64_t owner;   /* plain */
    uint64_t counter; /* plain */
    uint64_t token;   /* plain: of the last holder */
    uint64_t waiting; /* coroutines: lines that name this lock */
    struct bench_line *first, *last;
    uint64_t pad[2];
};

struct bench_findings {
    uint64_t entries, exclusion_violations, bypasses;
    uint64_t overlaps; /* entries that left somebody waiting */
};

/* Before acquire; hooks the waiter's doorway. `check`: the lock's where threads are coroutines, else null. */
void bench_check_begin(struct bench_line *line, struct bench_lock_check *check, uint64_t lock,
                       uint64_t now, struct baton_waiter *w);

/* The lock is held: looks at the waiters, marks the lock. Returns the counter as it is. */
uint64_t bench_check_enter(struct bench_lock_check *check, struct bench_line *lines,
                           unsigned lines_n, unsigned self, uint64_t token,
                           struct bench_findings *f);

/* About to be released: writes the counter that was read at entry, plus one. */
void bench_check_leave(struct bench_lock_check *check, unsigned self, uint64_t counter,
                       struct bench_findings *f);

/* The acquire has failed: nobody waits any more. */
void bench_check_give_up(struct bench_line *line);

#endif

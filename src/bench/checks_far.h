/* SPDX-License-Identifier: MIT */
/*
 * The words that the benchmark checks, for processes that share no memory: they lie on the locks' host, and who
 * holds the lock reads and writes them as a program would its data, by CPU there and by one-sided operations
 * elsewhere. Nobody waits for the last of these writes: the release covers them. On each host
 *
 *     a word for each thread of the run    the lock that it waits for + 1, else 0
 *     four words for each of its locks     owner, counter, token as in struct bench_lock_check, one unused
 *
 * A thread writes its word before it posts anything of an acquire, and so the entrant sees who waits. When
 * somebody's doorway has ended is known to the process of that thread only.
 */
#ifndef BATON_BENCH_CHECKS_FAR_H
#define BATON_BENCH_CHECKS_FAR_H

#include "bench/checks.h"

/* What the threads of one node know. */
struct bench_far {
    unsigned threads; /* of the run */
    unsigned node;    /* this one */
    baton_gptr *base; /* by host; null where there are no locks */
    uint64_t *own;    /* the words of this node, if it is a host */
    baton_gptr room_at;
    char *room; /* for what the threads here get */
};

/* A thread's part. */
struct bench_far_thread {
    const struct bench_far *far;
    struct baton_ep *ep;
    unsigned self;
    uint64_t *words; /* copies: of all threads' words, and then of one lock's */
};

size_t bench_far_bytes(unsigned threads, uint64_t locks); /* on a host */
size_t bench_far_local_bytes(unsigned threads);           /* of `room`, for each thread here */

/* `self` counts over the run, `here` over the node. */
void bench_far_init(struct bench_far_thread *t, const struct bench_far *far, struct baton_ep *ep,
                    unsigned self, unsigned here);

/* `lock` is a number over all hosts, `index` one among its host's. */
int bench_far_begin(struct bench_far_thread *t, unsigned host, uint64_t lock);

/* What bench_check_enter and bench_check_leave do to `check`, and before and after it the way to the host. */
int bench_far_enter(struct bench_far_thread *t, unsigned host, uint64_t lock, uint64_t index,
                    struct bench_lock_check *check, struct bench_line *lines, uint64_t token,
                    uint64_t *counter, struct bench_findings *f);
int bench_far_leave(struct bench_far_thread *t, unsigned host, uint64_t index,
                    struct bench_lock_check *check, uint64_t counter, struct bench_findings *f);

/* Of the locks of this node, when nobody runs any more. */
uint64_t bench_far_counters(const struct bench_far *far, uint64_t locks);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The work that the cases about locks let threads do: take a lock, do something that only a holder may do,
 * look whether anybody else has been there, release.
 *
 * Two things are watched. Words of this test's own memory, plain ones: who is inside, how many entries
 * there have been, the last fencing token, and who waits since when. And words on the lock's host that the
 * section gets and puts without waiting for the puts: the next holder must find them all, and what the
 * section gets without waiting must be as old as the section.
 */
#ifndef CONFORMANCE_WORK_H
#define CONFORMANCE_WORK_H

#include "suite.h"

#define WORK_THREADS 64
#define WORK_LOCKS 4 /* of a table that threads choose from */

struct work_lock {
    uint64_t inside, entries, token;
    uint64_t pad[5];
};

/* Of a thread that wants a lock: `begin` and `door` are numbers of a clock that counts events. */
struct work_slot {
    uint64_t lock; /* 1 + index that it waits for, 0: none */
    uint64_t begin;
    uint64_t door; /* where its doorway ended; 0: not yet */
    uint64_t entered;
    uint64_t pad[4];
};

/* Shared by all processes of a run. */
struct work_shared {
    uint64_t clock;
    uint64_t entries, overlaps; /* overlaps: entries that saw somebody wait */
    uint64_t here, done, go;    /* for meeting each other */
    struct work_lock locks[WORK_LOCKS];
    struct work_slot slots[WORK_THREADS];
};

struct work {
    const struct conf *c;
    struct work_shared *shared;
    const char *kind;
    unsigned local;   /* threads of the host node */
    unsigned nodes;   /* others */
    unsigned threads; /* of each of them */
    unsigned locks;
    uint64_t rounds;
    uint64_t
        until_ns; /* or: rounds without number until then (natively), each thread at least one */
    uint64_t first_ticket;
    const uint64_t *params; /* null: the standard ones */
    uint64_t seed;
    unsigned tries;   /* of 10 attempts begin with a try */
    unsigned hold_ns; /* in the section */
    unsigned host;
};

/* Zeroed memory that processes made by fork share. */
void *work_memory(size_t bytes);

/* Runs it in the case's world: as threads, coroutines or processes. */
int work_run(const struct conf *c, struct work *w);

/* What a thread has in hand. */
struct worker {
    struct work *w;
    struct baton_ep *ep;
    struct baton_table *table;
    struct baton_lock locks[WORK_LOCKS];
    struct baton_waiter *waiter;
    struct work_slot *slot;
    baton_gptr data;
    uint64_t *local; /* the data by CPU, on the host */
    uint64_t *buffer;
    struct baton_random random;
};

/* The host's part before anybody else: makes table and data, publishes them. */
struct work_host {
    struct baton_table *table;
    baton_gptr data;
};
int work_prepare(struct work *w, struct baton_ep *ep, struct work_host *host);
int work_finish(struct work *w, struct baton_ep *ep, struct work_host *host);

int worker_open(struct worker *k, struct work *w, struct baton_ep *ep, unsigned thread);
int worker_close(struct worker *k);

/* Goes on with another waiter. */
void worker_use(struct worker *k, struct baton_waiter *waiter);

/* Acquires lock i and enters; the section, without leaving; leaves and releases. */
int worker_acquire(struct worker *k, unsigned i, bool try);
int worker_enter(struct worker *k, unsigned i);
int worker_leave(struct worker *k, unsigned i);
int worker_round(struct worker *k, unsigned i, bool try);

/* A body for baton_run: worker_open, rounds, worker_close. */
int worker_body(struct baton_ep *ep, unsigned thread, void *arg);

/* Number of a thread among all of a run. */
unsigned work_slot_of(const struct work *w, unsigned node, unsigned thread);

#endif

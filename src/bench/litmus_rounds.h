/* SPDX-License-Identifier: MIT */
/*
 * Runs of one litmus test on a fabric, by threads on its nodes. A round is `batch` instances of the test, each
 * with words of its own:
 *
 *     attendants  give the words of their node their first values              -- barrier
 *     threads     run their instances, disturbed as the round's pace says, then gfence all nodes
 *                                                                              -- barrier
 *     attendants  read the final values of their node's words                  -- barrier
 *     worker 0    counts the final states, while the next round begins
 *
 * After the last round nobody leaves before all have given up what they need to hold locks.
 *
 * In a given cluster the memory that they share is that of their node's process only. A barrier is then one of the
 * process and a meeting of the crew; the threads tell each other by puts that they are there; and worker 0 gets
 * what the others have before it counts.
 *
 * A worker is a thread of the test, and the first one of a node is its attendant; a node without threads has an
 * attendant all the same, since its words are its own business. Where the world is simulated there is one instance
 * at a time, and its schedule is the world's.
 */
#ifndef BATON_BENCH_LITMUS_ROUNDS_H
#define BATON_BENCH_LITMUS_ROUNDS_H

#include "bench/crew.h"
#include "bench/litmus_fleet.h"
#include "bench/litmus_locks.h"
#include "bench/litmus_pace.h"
#include "bench/litmus_thread.h"

#define LITMUS_WORKERS_MAX 32u /* threads and lone attendants of one test */

struct litmus_job {
    struct litmus_plan plan; /* its numbers are spread, see litmus_spread.h */
    uint64_t runs;
};

/* On a cache line of its own: how many instances this worker has begun, and when the last one begins. */
struct litmus_progress {
    uint64_t begun;
    uint64_t start, started; /* written by the first thread */
    uint64_t pad[5];
};

/* Memory of all processes of a run, if they are made for it; else of one. */
struct litmus_shared {
    uint64_t ready, left;     /* processes that have their node, that have given it back */
    uint64_t job;             /* 1 + the job that is running, 0 before the first */
    uint64_t done;            /* processes that are through with it */
    uint64_t closed;          /* processes that have no lock of others open any more */
    uint64_t quit;            /* there will be no more jobs */
    uint64_t stop;            /* 1 + who has failed first */
    uint64_t arrived, passed; /* barrier: workers that wait, barriers passed so far */
    uint64_t round;           /* of the job; a sign of life */
    uint64_t undoes;          /* the fabric may tear words, see struct litmus_tally */
    int64_t rc;               /* of who has failed */
    char error[240];
    baton_gptr base[LITMUS_NODES_MAX]; /* of each node's segment */
    struct litmus_progress progress[LITMUS_WORKERS_MAX];
    uint64_t *voids; /* by instance: 1 + the round in which it was no run */
    int64_t *rows;   /* by instance */
    struct litmus_tally *tally;
    size_t bytes;
};

/*
 * In a given cluster, where parts of a segment begin that others read or write: behind the words, on every node at
 * the same place.
 */
struct litmus_far {
    size_t begun; /* by thread: how many instances it has begun; written by it */
    size_t voids, rows;
    size_t copy_voids, copy_rows; /* node 0: of another node */
    size_t end;
};

/* A node of this process. */
struct litmus_place {
    struct litmus_shared *shared;
    const struct litmus_settings *settings;
    const struct litmus_job *job;
    unsigned node;
    struct litmus_tables tables; /* of the job */
    struct baton_ep *ep;         /* for setting up */
    char *memory;                /* of its segment */
    struct crew *crew;           /* of a given cluster, or null */
    struct litmus_far far;
};

unsigned litmus_workers(const struct litmus_plan *plan);
unsigned litmus_workers_on(const struct litmus_plan *plan, unsigned node);
size_t litmus_segment_bytes(const struct litmus_plan *plan, unsigned batch);
void litmus_far_lay(struct litmus_far *far, size_t begin, unsigned batch, unsigned width);

/* Numbers of a plan as they are to lie in memory. */
void litmus_plan_spread(struct litmus_plan *plan);

/* Bodies of the teams, their argument a place: all rounds of the job; one run of it. */
int litmus_rounds_body(struct baton_ep *ep, unsigned thread, void *place);
int litmus_once_body(struct baton_ep *ep, unsigned thread, void *place);

/* Simulated: the places of all nodes, before and after a run. */
void litmus_once_begin(struct litmus_place *places, unsigned count);
void litmus_once_end(struct litmus_place *places, unsigned count, uint64_t run);

/* The first failure of a run and its words are kept; all others end soon. */
void litmus_fail(struct litmus_shared *shared, int rc, const char *form, ...)
    __attribute__((format(printf, 3, 4)));

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A lock, explored: threads of the host and remote ones, each on a node of its own, acquire it some rounds,
 * do something that needs it, and release it. What is looked for in every run:
 *
 *     exclusion      nobody is in together. A section begins when acquire has returned, and ends as late as it
 *                    can: right before the first thing that release does and others can see
 *     lost update    the section is a read and a write of a counter that are two steps; at the end it is the
 *                    number of sections. With --data cpu also: the owner who wrote his name finds it at the end
 *     late get       with --data get: a get of the section that nobody waited for has read in the section
 *     deadlock       somebody has not ended and nothing can happen
 *     refused        with try: a try that was refused although no other thread had begun
 *     order          for kinds with BATON_LOCK_FCFS: whose doorway had ended before another's acquire began is
 *                    served before him. `begins` is as late as it can be
 *     misuse         words written by whom their declaration forbids; accesses outside of segments; errors
 *
 * Rounds after the first use the same waiter again.
 */
#ifndef BATON_CHECK_LOCK_CHECK_H
#define BATON_CHECK_LOCK_CHECK_H

#include <baton/lock.h>

#include "sim/explore.h"

enum check_data {
    CHECK_DATA_CPU, /* words of the host; the host's threads use the CPU */
    CHECK_DATA_PUT, /* words of the host; all use the NIC, and the last put is not waited for */
    CHECK_DATA_GET, /* the same, ending in a get that is not waited for */
    CHECK_DATA_OTHER_NODE, /* words of a third node, with a gfence before release */
    CHECK_DATA_KINDS
};

extern const char *const check_data_names[CHECK_DATA_KINDS];

/* How the threads of a class come in. Who does not get the lock goes on with the next round. */
enum check_enter {
    CHECK_ACQUIRE,
    CHECK_TRY,      /* baton_lock_try */
    CHECK_DEADLINE, /* baton_lock_acquire_until; the deadline comes at any moment at which one waits */
    CHECK_ENTER_KINDS
};

extern const char *const check_enter_names[CHECK_ENTER_KINDS];

struct check_lock {
    const struct baton_lock_ops *kind; /* registered */
    uint64_t params[BATON_LOCK_PARAMS_MAX];
    uint64_t first_ticket;
    unsigned local, remote, rounds;
    enum check_data data;
    enum check_enter local_enters, remote_enters;
    bool no_gfence; /* data on another node without the gfence that it needs: must be caught */
    bool swap;      /* without chain order: posts that nothing orders may change places */
    bool no_fcfs;   /* do not look at the order */
    bool no_symmetry, no_forget;
    void (*tell)(void *arg, const char *line);
    void *tell_arg;
};

/*
 * Explores (or follows) as `x` says, whose ghost and callbacks are filled in. 0 whatever the verdict; -errno:
 * -EOPNOTSUPP: the kind has no try or no deadlines.
 */
int check_lock_run(const struct check_lock *config, struct sim_explore *x);

/* " try=all deadline=local": how threads come in, if not by acquire; at most CHECK_ENTER_TEXT bytes. */
#define CHECK_ENTER_TEXT 40
void check_lock_enter_text(const struct check_lock *config, char *out);

/* Reads one of these: "try=all"; `who` is all, local, remote. False: it is none. */
bool check_lock_enter_read(struct check_lock *config, enum check_enter enter, const char *who);

/* "L0", "R1": the thread of that number. */
void check_lock_thread(const struct check_lock *config, unsigned thread, char *out, size_t bytes);

#endif

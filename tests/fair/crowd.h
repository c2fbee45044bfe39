/* SPDX-License-Identifier: MIT */
/*
 * A crowd of threads around one lock in the world `step` or under the random driver of `sim`, and what must hold for every fair kind.
 *
 * Every thread enters the lock several times and changes a counter on the host in one of several ways
 * that leave work on its way when the release begins. Checked at every entry and at the end: nobody else
 * is inside; no update was lost; a get that the section did not wait for has not seen a later section;
 * tokens rise; nobody whose doorway ended before another one began is served after it; everybody gets
 * through. One seed gives one schedule.
 */
#ifndef BATON_TEST_CROWD_H
#define BATON_TEST_CROWD_H

#include <baton/lock.h>

struct crowd {
    const char *kind;
    const char *setting[3]; /* of parameters, null: standard */
    unsigned local, remote, rounds;
    bool sim;    /* in the world sim, else step */
    bool swap;   /* what no order separates may change places */
    bool spread; /* every remote thread on a node of its own, else all on one */
    bool fcfs;
    unsigned
        bypass; /* how often a remote one may be passed by locals until the next remote one is in */
    uint64_t first_ticket;
    uint64_t seed;
};

struct crowd_result {
    int rc; /* of the run; -EDEADLK: somebody waits for ever */
    unsigned together, lost, leaked, token, bypasses, contended; /* entries that saw a waiter */
    uint64_t entries;
    uint64_t passed; /* how often somebody was passed by a local one as the bypass allows */
    uint64_t sleeps; /* how often remote threads were blocked by baton_await */
};

/* Whether everything held. */
bool crowd_good(const struct crowd_result *result);
void crowd_print(const struct crowd *crowd, const struct crowd_result *result);
void crowd_run(const struct crowd *crowd, struct crowd_result *result);

#endif

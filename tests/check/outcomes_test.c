/* SPDX-License-Identifier: MIT */
/*
 * What is taken at once changes no verdict and loses no outcome: each kind of lock in small sizes, with tries and
 * deadlines too, with and without looking at what threads may still do, and in the smallest with nothing taken at once at all.
 *
 * usage: outcomes_test KIND [soak]
 *
 * A soak ends with BATON_SOAK_SECONDS; what has not been explored by then is said.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "check/lock_check.h"
#include "check/standing.h"

struct size {
    unsigned local, remote, rounds;
    bool naive, soak;
};

static const struct size sizes[] = {
    {1, 1, 1, true, false},  {2, 0, 1, true, false}, {0, 2, 1, true, false},
    {1, 1, 2, false, false}, {2, 1, 1, false, true}, {1, 2, 1, false, true},
    {0, 2, 2, false, true},  {2, 0, 2, false, true}, {1, 1, 3, false, true},
};

static double ends; /* on this clock; 0: when all is explored */

static bool explored(const struct check_lock *config, struct sim_explore *x)
{
    if (ends > 0)
        x->seconds_max =
            ends > baton_clock_s(CLOCK_MONOTONIC) ? ends - baton_clock_s(CLOCK_MONOTONIC) : 1e-3;
    int rc = check_lock_run(config, x);
    free(x->found);
    x->found = NULL;
    if (rc)
        printf("not explored: %s\n", baton_strerror(rc));
    return !rc;
}

/* Without what threads say of what they know, too. Nothing taken at once: then nothing is exchanged either. */
static bool same(const struct check_lock *config, bool naive)
{
    struct check_lock alike = *config, *c = &alike;
    alike.no_symmetry = naive;
    struct sim_explore with = SIM_EXPLORE_STANDARD, without = SIM_EXPLORE_STANDARD;
    without.no_future = true;
    without.naive = naive;
    if (!explored(c, &with))
        return false;
    alike.no_forget = true;
    if (!explored(c, &without))
        return false;
    if (ends > 0 && (with.verdict == SIM_UNKNOWN || without.verdict == SIM_UNKNOWN)) {
        printf("%s %u+%ux%u: not explored to the end\n", c->kind->name, c->local, c->remote,
               c->rounds);
        return true;
    }
    bool equal = with.verdict == SIM_VERIFIED && without.verdict == SIM_VERIFIED &&
                 with.outcomes == without.outcomes && with.outcomes_sum == without.outcomes_sum;
    char enters[CHECK_ENTER_TEXT];
    check_lock_enter_text(c, enters);
    printf("%s %u+%ux%u %s%s%s%s: %" PRIu64 " states in %" PRIu64 " passes, %" PRIu64
           " outcomes; %s %" PRIu64 " states, %" PRIu64 " outcomes%s\n",
           c->kind->name, c->local, c->remote, c->rounds, check_data_names[c->data], enters,
           c->swap ? " swap" : "", c->no_fcfs ? " no-fcfs" : "", with.states, with.passes,
           with.outcomes, naive ? "naive" : "without", without.states, without.outcomes,
           equal ? "" : ": DIFFERENT");
    return equal;
}

/* The case of the standing set, in another size; the sizes of one variant are many, so only its first. */
static bool same_in_sizes(const struct check_lock *standing, bool soak)
{
    bool good = true;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct check_lock c = *standing;
        if (sizes[i].soak > soak)
            continue;
        c.local = sizes[i].local;
        c.remote = sizes[i].remote;
        c.rounds = sizes[i].rounds;
        good &= same(&c, false);
        if (sizes[i].naive && soak)
            good &= same(&c, true);
    }
    return good;
}

int main(int argc, char **argv)
{
    bool soak = argc > 2, good = argc > 1;
    const char *seconds = soak ? getenv("BATON_SOAK_SECONDS") : NULL;
    ends = seconds ? baton_clock_s(CLOCK_MONOTONIC) + atof(seconds) : 0;
    struct check_lock c, last = {0};
    for (unsigned i = 0; argc > 1 && check_standing(CHECK_FULL, i, &c); i++) {
        bool new = c.kind != last.kind || c.swap != last.swap || c.data != last.data ||
                   c.first_ticket != last.first_ticket || c.local_enters != last.local_enters ||
                   c.remote_enters != last.remote_enters ||
                   memcmp(c.params, last.params, sizeof(c.params)) != 0;
        last = c;
        if (strcmp(c.kind->name, argv[1]) != 0 || !new || c.rounds != 2 || c.local != 1)
            continue;
        good &= same_in_sizes(&c, soak);
    }
    return good ? 0 : 1;
}

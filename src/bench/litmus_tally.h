/* SPDX-License-Identifier: MIT */
/*
 * Counts of final states, in memory that the processes of a run share: one of them adds, the one that prints
 * reads when all is over.
 */
#ifndef BATON_BENCH_LITMUS_TALLY_H
#define BATON_BENCH_LITMUS_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LITMUS_STATES_MAX 4096u

struct litmus_state {
    uint64_t count;
    uint64_t first; /* the run, from 0, that ended so first */
};

struct litmus_tally {
    uint64_t runs,
        voids;     /* voids: runs of these that are none, such as those that break an assume */
    uint64_t lost; /* runs whose state found no room any more */
    bool undoes;   /* there a remote cas that fails may undo what others have written meanwhile */
    unsigned width, states_n;
    struct litmus_state state[LITMUS_STATES_MAX];
    uint32_t slot[2 * LITMUS_STATES_MAX]; /* index of a state + 1; 0 is free */
    int64_t row[];                        /* LITMUS_STATES_MAX * width */
};

size_t litmus_tally_bytes(unsigned width);
void litmus_tally_begin(struct litmus_tally *tally, unsigned width);
void litmus_tally_add(struct litmus_tally *tally, uint64_t run, const int64_t *row);

static inline const int64_t *litmus_tally_row(const struct litmus_tally *tally, unsigned state)
{
    return tally->row + (size_t)state * tally->width;
}

#endif

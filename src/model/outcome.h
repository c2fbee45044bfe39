/* SPDX-License-Identifier: MIT */
/*
 * A set of outcomes. An outcome is a row of `width` values: the final registers of every thread,
 * then the final values of the declared locations (program.h numbers the columns). Both engines
 * fill such a set, and two sets are compared as a whole: that is a much harder test of the engines
 * than comparing verdicts.
 */
#ifndef BATON_MODEL_OUTCOME_H
#define BATON_MODEL_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/program.h"

struct baton_outcomes {
    unsigned width;
    size_t n, cap;
    int64_t *rows;  /* n * width */
    uint32_t *slot; /* open addressing, row index + 1, 0 is free */
    size_t n_slots; /* power of two, or 0 */
};

void baton_outcomes_init(struct baton_outcomes *set, unsigned width);
void baton_outcomes_fini(struct baton_outcomes *set);
/* 1: added, 0: known already, -ENOMEM. */
int baton_outcomes_add(struct baton_outcomes *set, const int64_t *row);
bool baton_outcomes_has(const struct baton_outcomes *set, const int64_t *row);
bool baton_outcomes_equal(const struct baton_outcomes *a, const struct baton_outcomes *b);
/* Puts the rows in ascending order, first column first: the order in which they are printed. */
void baton_outcomes_sort(struct baton_outcomes *set);

static inline const int64_t *baton_outcomes_row(const struct baton_outcomes *set, size_t i)
{
    return set->rows + i * set->width;
}

/* Does the proposition under the quantifier hold of this outcome? */
bool baton_outcome_holds(const struct baton_program *program, const int64_t *row);
/* How many outcomes satisfy the proposition, and how many do not. */
void baton_outcomes_count(const struct baton_outcomes *set, const struct baton_program *program,
                          size_t *positive, size_t *negative);
/* Never without a positive one (also when there are none at all), Always without a negative one,
 * else Sometimes. */
enum baton_verdict baton_outcomes_verdict(size_t positive, size_t negative);
/* Is the quantified condition true of the set? */
bool baton_quantifier_holds(enum baton_quantifier quantifier, size_t positive, size_t negative);

#endif

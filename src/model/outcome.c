/* SPDX-License-Identifier: MIT */
/* Sets of outcomes: a hash set over rows of 64-bit values, and the condition evaluated on a row. */
#include "model/outcome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void baton_outcomes_init(struct baton_outcomes *set, unsigned width)
{
    *set = (struct baton_outcomes){.width = width};
}

void baton_outcomes_fini(struct baton_outcomes *set)
{
    free(set->rows);
    free(set->slot);
    *set = (struct baton_outcomes){0};
}

static uint64_t row_hash(const int64_t *row, unsigned width)
{
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (unsigned i = 0; i < width; i++) {
        h ^= (uint64_t)row[i];
        h *= 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

/* The slot that holds the row, or the free one where it belongs. The table must not be empty. */
static size_t find_slot(const struct baton_outcomes *set, const int64_t *row)
{
    size_t mask = set->n_slots - 1;
    size_t at = row_hash(row, set->width) & mask;
    while (set->slot[at] && memcmp(set->rows + (size_t)(set->slot[at] - 1) * set->width, row,
                                   set->width * sizeof(*row)) != 0)
        at = (at + 1) & mask;
    return at;
}

static void fill_slots(struct baton_outcomes *set)
{
    memset(set->slot, 0, set->n_slots * sizeof(*set->slot));
    for (size_t i = 0; i < set->n; i++)
        set->slot[find_slot(set, baton_outcomes_row(set, i))] = (uint32_t)i + 1;
}

static int grow(struct baton_outcomes *set)
{
    size_t cap = set->cap ? set->cap * 2 : 16;
    if (cap > UINT32_MAX / 4)
        return -ENOMEM;
    /* A program without registers and locations has one outcome of width 0; malloc(0) may be null.
     */
    int64_t *rows = realloc(set->rows, (cap * set->width + 1) * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    set->rows = rows;
    uint32_t *slot = realloc(set->slot, cap * 2 * sizeof(*slot));
    if (!slot)
        return -ENOMEM;
    set->slot = slot;
    set->cap = cap;
    set->n_slots = cap * 2;
    fill_slots(set);
    return 0;
}

int baton_outcomes_add(struct baton_outcomes *set, const int64_t *row)
{
    if (set->n == set->cap) {
        int rc = grow(set);
        if (rc)
            return rc;
    }
    size_t at = find_slot(set, row);
    if (set->slot[at])
        return 0;
    memcpy(set->rows + set->n * set->width, row, set->width * sizeof(*row));
    set->slot[at] = (uint32_t)++set->n;
    return 1;
}

bool baton_outcomes_has(const struct baton_outcomes *set, const int64_t *row)
{
    return set->n && set->slot[find_slot(set, row)];
}

bool baton_outcomes_equal(const struct baton_outcomes *a, const struct baton_outcomes *b)
{
    if (a->n != b->n || a->width != b->width)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!baton_outcomes_has(b, baton_outcomes_row(a, i)))
            return false;
    return true;
}

static int row_compare(const void *a, const void *b, void *arg)
{
    const int64_t *x = a, *y = b;
    const unsigned *width = arg;
    for (unsigned i = 0; i < *width; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

void baton_outcomes_sort(struct baton_outcomes *set)
{
    if (set->n < 2)
        return;
    qsort_r(set->rows, set->n, set->width * sizeof(*set->rows), row_compare, &set->width);
    fill_slots(set);
}

static int64_t cond_value(const struct baton_cond_value *v, const int64_t *row)
{
    return v->is_column ? row[v->value] : v->value;
}

/* Recursion is bounded: the parser limits the depth of a condition to BATON_COND_DEPTH_MAX. */
static bool cond_holds(const struct baton_program *program, unsigned at, const int64_t *row)
{
    const struct baton_cond *c = &program->cond[at];
    switch (c->kind) {
    case BATON_COND_AND:
        return cond_holds(program, c->left, row) && cond_holds(program, c->right, row);
    case BATON_COND_OR:
        return cond_holds(program, c->left, row) || cond_holds(program, c->right, row);
    case BATON_COND_NOT:
        return !cond_holds(program, c->left, row);
    case BATON_COND_EQ:
        return cond_value(&c->a, row) == cond_value(&c->b, row);
    case BATON_COND_NE:
        return cond_value(&c->a, row) != cond_value(&c->b, row);
    }
    return false;
}

bool baton_outcome_holds(const struct baton_program *program, const int64_t *row)
{
    return !program->n_conds || cond_holds(program, program->cond_root, row);
}

void baton_outcomes_count(const struct baton_outcomes *set, const struct baton_program *program,
                          size_t *positive, size_t *negative)
{
    size_t p = 0;
    for (size_t i = 0; i < set->n; i++)
        p += baton_outcome_holds(program, baton_outcomes_row(set, i));
    *positive = p;
    *negative = set->n - p;
}

enum baton_verdict baton_outcomes_verdict(size_t positive, size_t negative)
{
    if (!positive)
        return BATON_NEVER;
    return negative ? BATON_SOMETIMES : BATON_ALWAYS;
}

bool baton_quantifier_holds(enum baton_quantifier quantifier, size_t positive, size_t negative)
{
    switch (quantifier) {
    case BATON_EXISTS:
        return positive > 0;
    case BATON_NOT_EXISTS:
        return positive == 0;
    case BATON_FORALL:
        return negative == 0;
    }
    return false;
}

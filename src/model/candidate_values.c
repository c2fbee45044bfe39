/* SPDX-License-Identifier: MIT */
/*
 * The values of a candidate execution. They follow from who reads from whom; a value is unknown while
 * it depends on a read that is not decided, or on itself (which the orders forbid, but a damaged stamp
 * table may not).
 */
#include "model/candidate.h"

static bool eval(struct baton_candidate *c, unsigned thread, unsigned at,
                 const struct baton_expr *expr, int64_t *value);

/* Looks a value up; false: the caller must work it out and store it. A value that is being worked out
 * counts as unknown, so that values which depend on themselves come to an end. */
static bool recall(struct baton_candidate *c, struct baton_memo *memo)
{
    if (memo->age == c->age)
        return true;
    *memo = (struct baton_memo){.age = c->age};
    return false;
}

bool baton_candidate_read_value(struct baton_candidate *c, unsigned part, int64_t *value)
{
    struct baton_memo *memo = &c->memo[part];
    if (!recall(c, memo)) {
        const struct baton_part *p = &c->part[part];
        int source = c->source[part];
        if (p->loc < 0)
            memo->known = eval(c, p->thread, p->op, &baton_candidate_op(c, part)->a, &memo->value);
        else if (source >= 0)
            memo->known = baton_candidate_write_value(c, (unsigned)source, &memo->value);
        else if (source == BATON_SOURCE_INIT) {
            memo->known = true;
            memo->value = c->program->loc[p->loc].init;
        }
    }
    *value = memo->value;
    return memo->known;
}

/* Sums wrap around as 64-bit words do. */
static int64_t sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

bool baton_candidate_write_value(struct baton_candidate *c, unsigned part, int64_t *value)
{
    const struct baton_part *p = &c->part[part];
    const struct baton_op *op = baton_candidate_op(c, part);
    unsigned first = c->first_part[c->first_op[p->thread] + p->op];
    int64_t operand;
    switch (op->kind) {
    case BATON_OP_STORE:
    case BATON_OP_SCWRITE:
        return eval(c, p->thread, p->op, &op->a, value);
    case BATON_OP_CAS:
    case BATON_OP_SCCAS:
        return eval(c, p->thread, p->op, &op->b, value);
    case BATON_OP_RCAS:
        if (p->stamp == BATON_STAMP_NRW)
            return eval(c, p->thread, p->op, &op->b, value);
        return baton_candidate_read_value(c, first, value);
    case BATON_OP_FAA:
    case BATON_OP_SCFAA:
    case BATON_OP_RFAA:
        if (p->stamp == BATON_STAMP_NLW)
            return baton_candidate_read_value(c, first, value);
        if (!baton_candidate_read_value(c, first, value) ||
            !eval(c, p->thread, p->op, &op->a, &operand))
            return false;
        *value = sum(*value, operand);
        return true;
    default:
        return baton_candidate_read_value(c, first, value);
    }
}

/* The value of a register just before operation `at` of its thread. */
static bool reg_value(struct baton_candidate *c, unsigned thread, unsigned at, int reg,
                      int64_t *value)
{
    const struct baton_op *op = c->program->thread[thread].op;
    while (at-- > 0) {
        if (op[at].reg != reg)
            continue;
        unsigned index = c->first_op[thread] + at;
        if (op[at].kind != BATON_OP_LET)
            return baton_candidate_read_value(c, c->first_part[index], value);
        struct baton_memo *memo = &c->memo[c->max_parts + index];
        if (!recall(c, memo))
            memo->known = eval(c, thread, at, &op[at].a, &memo->value);
        *value = memo->value;
        return memo->known;
    }
    *value = 0;
    return true;
}

static bool eval(struct baton_candidate *c, unsigned thread, unsigned at,
                 const struct baton_expr *expr, int64_t *value)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < expr->n; i++) {
        int64_t term = expr->term[i].value;
        if (expr->term[i].is_reg && !reg_value(c, thread, at, (int)term, &term))
            return false;
        total += expr->term[i].negative ? -(uint64_t)term : (uint64_t)term;
    }
    *value = (int64_t)total;
    return true;
}

/* The round of an implementation's loop that ends it reads one certain value. */
static bool ends_loop(const struct baton_op *op)
{
    return op->kind == BATON_OP_AWAIT || (op->kind == BATON_OP_GET && op->a.n);
}

bool baton_candidate_values_agree(struct baton_candidate *c)
{
    for (unsigned t = 0; t < c->program->n_threads; t++)
        for (unsigned i = 0; i < c->program->thread[t].n_ops; i++) {
            const struct baton_op *op = &c->program->thread[t].op[i];
            unsigned index = c->first_op[t] + i;
            int64_t left, right;
            if (op->kind == BATON_OP_ASSUME) {
                if (eval(c, t, i, &op->a, &left) && eval(c, t, i, &op->b, &right) && left != right)
                    return false;
            } else if (ends_loop(op)) {
                if (baton_candidate_read_value(c, c->first_part[index], &left) &&
                    eval(c, t, i, &op->a, &right) && left != right)
                    return false;
            } else if (baton_op_may_fail(op->kind)) {
                if (baton_candidate_read_value(c, c->first_part[index], &left) &&
                    eval(c, t, i, &op->a, &right) && (left == right) != c->succeeds[index])
                    return false;
            }
        }
    return true;
}

int baton_candidate_last_write(const struct baton_candidate *c, unsigned loc)
{
    unsigned first = c->first_write[loc], end = c->first_write[loc + 1];
    if (first == end)
        return -1;
    for (unsigned i = first; i < end; i++) {
        bool last = true;
        for (unsigned k = first; k < end && last; k++)
            last = k == i || baton_order_has(&c->order, BATON_ORDER_HB, c->write[k], c->write[i]);
        if (last)
            return c->write[i];
    }
    return -2;
}

bool baton_candidate_outcome(struct baton_candidate *c, int64_t *row, bool *known)
{
    const struct baton_program *program = c->program;
    bool all = true;
    for (unsigned t = 0; t < program->n_threads; t++) {
        const struct baton_thread *thread = &program->thread[t];
        for (unsigned r = 0; r < thread->n_shown; r++) {
            unsigned at = thread->column + r;
            known[at] = reg_value(c, t, thread->n_ops, (int)r, &row[at]);
            all = all && known[at];
        }
    }
    for (unsigned loc = 0; loc < program->n_shown_locs; loc++) {
        unsigned at = program->loc_column + loc;
        int last = baton_candidate_last_write(c, loc);
        row[at] = program->loc[loc].init;
        known[at] =
            last == -1 || (last >= 0 && baton_candidate_write_value(c, (unsigned)last, &row[at]));
        all = all && known[at];
    }
    return all;
}

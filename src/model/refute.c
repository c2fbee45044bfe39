/* SPDX-License-Identifier: MIT */
/*
 * Supposing, read by read and last write by last write, what would make a proposition true. What the
 * proposition depends on is supposed first, so that a contradiction comes early and says little more
 * than it must.
 */
#include "model/refute.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/proof.h"

struct refute {
    struct baton_candidate search;  /* decides fast */
    struct baton_candidate proving; /* the same program, with a log */
    const struct baton_program *program;
    const struct baton_engine_opts *opts;
    const struct baton_refute_ops *ops;
    bool negate;
    uint64_t explored, shape;
    unsigned n_proofs;
    struct baton_supposition *supposed;
    unsigned n_supposed;
    int64_t *row;
    bool *known;
    uint8_t *seen; /* per operation, while looking for an open read */
};

enum truth { NO, YES, OPEN };

static enum truth compare(const struct refute *r, const struct baton_cond *cond)
{
    const struct baton_cond_value *side[2] = {&cond->a, &cond->b};
    int64_t value[2];
    for (unsigned i = 0; i < 2; i++) {
        if (side[i]->is_column && !r->known[side[i]->value])
            return OPEN;
        value[i] = side[i]->is_column ? r->row[side[i]->value] : side[i]->value;
    }
    return (value[0] == value[1]) == (cond->kind == BATON_COND_EQ) ? YES : NO;
}

/* The proposition, as far as values are known. The depth of a condition is bounded. */
static enum truth judge(const struct refute *r, unsigned at)
{
    const struct baton_cond *cond = &r->program->cond[at];
    if (cond->kind == BATON_COND_EQ || cond->kind == BATON_COND_NE)
        return compare(r, cond);
    enum truth left = judge(r, cond->left);
    if (cond->kind == BATON_COND_NOT)
        return left == OPEN ? OPEN : left == YES ? NO : YES;
    enum truth decisive = cond->kind == BATON_COND_AND ? NO : YES;
    if (left == decisive)
        return left;
    enum truth right = judge(r, cond->right);
    return right == decisive ? right : left == OPEN ? OPEN : right;
}

static enum truth judge_all(const struct refute *r)
{
    enum truth truth = r->program->n_conds ? judge(r, r->program->cond_root) : YES;
    return truth == OPEN ? OPEN : (truth == YES) != r->negate ? YES : NO;
}

/*
 * The write to `loc` that is supposed to be last, or the only one; -1: none, -2: open. What the orders
 * imply does not count: where they leave only one write, that is part of what there is to tell.
 */
static int supposed_last(const struct refute *r, unsigned loc)
{
    const struct baton_candidate *c = &r->search;
    unsigned n = c->first_write[loc + 1] - c->first_write[loc];
    if (n < 2)
        return n ? c->write[c->first_write[loc]] : -1;
    for (unsigned i = 0; i < r->n_supposed; i++)
        if (!r->supposed[i].is_read && r->supposed[i].loc == loc)
            return r->supposed[i].write;
    return -2;
}

/* The outcome as far as what is supposed says it. */
static void find_outcome(struct refute *r)
{
    struct baton_candidate *c = &r->search;
    baton_candidate_outcome(c, r->row, r->known);
    for (unsigned loc = 0; loc < c->program->n_shown_locs; loc++) {
        unsigned at = c->program->loc_column + loc;
        int last = supposed_last(r, loc);
        r->row[at] = c->program->loc[loc].init;
        r->known[at] = last == -1 ||
                       (last >= 0 && baton_candidate_write_value(c, (unsigned)last, &r->row[at]));
    }
}

/* Open reads on which a value depends: each returns a part, or -1. */

static int behind_read(struct refute *r, unsigned part);
static int behind_reg(struct refute *r, unsigned thread, unsigned at, int reg);

static int behind_expr(struct refute *r, unsigned thread, unsigned at,
                       const struct baton_expr *expr)
{
    for (unsigned i = 0; i < expr->n; i++) {
        int read = expr->term[i].is_reg ? behind_reg(r, thread, at, (int)expr->term[i].value) : -1;
        if (read >= 0)
            return read;
    }
    return -1;
}

/* Everything that an operation computes with. */
static int behind_op(struct refute *r, unsigned thread, unsigned at)
{
    const struct baton_candidate *c = &r->search;
    unsigned index = c->first_op[thread] + at;
    if (r->seen[index])
        return -1;
    r->seen[index] = 1;
    for (unsigned p = c->first_part[index]; p < c->first_part[index + 1]; p++) {
        int read = c->part[p].reads ? behind_read(r, p) : -1;
        if (read >= 0)
            return read;
    }
    const struct baton_op *op = &c->program->thread[thread].op[at];
    int read = behind_expr(r, thread, at, &op->a);
    return read >= 0 ? read : behind_expr(r, thread, at, &op->b);
}

static int behind_read(struct refute *r, unsigned part)
{
    const struct baton_candidate *c = &r->search;
    int source = c->source[part];
    if (source == BATON_SOURCE_OPEN)
        return (int)part;
    return source < 0 ? -1 : behind_op(r, c->part[source].thread, c->part[source].op);
}

static int behind_reg(struct refute *r, unsigned thread, unsigned at, int reg)
{
    const struct baton_op *op = r->search.program->thread[thread].op;
    while (at-- > 0)
        if (op[at].reg == reg)
            return behind_op(r, thread, at);
    return -1;
}

/* What to suppose next, without the write it is about. False: nothing is left. */
static bool next_supposition(struct refute *r, struct baton_supposition *next)
{
    const struct baton_candidate *c = &r->search;
    const struct baton_program *program = c->program;
    memset(r->seen, 0, c->n_ops);
    int read = -1;
    for (unsigned t = 0; t < program->n_threads && read < 0; t++)
        for (unsigned i = 0; i < program->thread[t].n_shown && read < 0; i++) {
            unsigned column = program->thread[t].column + i;
            if (!r->known[column] && baton_program_cond_uses(r->program, column))
                read = behind_reg(r, t, program->thread[t].n_ops, (int)i);
        }
    for (unsigned loc = 0; loc < program->n_shown_locs && read < 0; loc++) {
        if (r->known[program->loc_column + loc] ||
            !baton_program_cond_uses(r->program, program->loc_column + loc))
            continue;
        int last = supposed_last(r, loc);
        if (last == -2) {
            *next = (struct baton_supposition){.loc = loc};
            return true;
        }
        read = behind_op(r, c->part[last].thread, c->part[last].op);
    }
    for (unsigned i = 0; i < c->n_reads && read < 0; i++)
        if (c->source[c->read[i]] == BATON_SOURCE_OPEN)
            read = c->read[i];
    if (read < 0)
        return false;
    *next = (struct baton_supposition){
        .is_read = true, .read = (unsigned)read, .loc = (unsigned)c->part[read].loc};
    return true;
}

static bool make_last(struct baton_candidate *c, unsigned write)
{
    for (unsigned i = 0; i < c->n_pairs; i++) {
        const struct baton_pair *p = &c->pair[i];
        if (p->kind != BATON_PAIR_MO || (p->a != write && p->b != write))
            continue;
        enum baton_pair_state way = p->b == write ? BATON_PAIR_FORWARD : BATON_PAIR_BACKWARD;
        if (c->decided[i] == BATON_PAIR_OPEN ? !baton_candidate_decide(c, i, way)
                                             : c->decided[i] != way)
            return false;
    }
    return true;
}

static bool suppose(struct baton_candidate *c, const struct baton_supposition *s)
{
    return s->is_read ? baton_candidate_read_from(c, s->read, s->write)
                      : make_last(c, (unsigned)s->write);
}

/* Proves the suppositions contradictory and hands the proof over. */
static int refuted(struct refute *r)
{
    struct baton_candidate *c = &r->proving;
    if (!r->ops->impossible)
        return 0;
    baton_candidate_shape(c, r->shape);
    bool broken = !c->possible;
    for (unsigned i = 0; i < r->n_supposed && !broken; i++)
        broken = !suppose(c, &r->supposed[i]);
    struct baton_proof *proof = NULL;
    int rc = 0;
    if (!r->ops->max_proofs || r->n_proofs++ < r->ops->max_proofs)
        rc = baton_proof_find(c, broken, &proof);
    if (rc)
        return rc;
    rc = r->ops->impossible(r->ops->arg, c, r->supposed, r->n_supposed, proof);
    baton_proof_free(proof);
    return rc;
}

static void unfit(const struct refute *r)
{
    if (r->ops->unfit)
        r->ops->unfit(r->ops->arg, r->row, r->known);
}

static int count(struct refute *r)
{
    r->explored++;
    if (r->opts->max_states && r->explored > r->opts->max_states)
        return -E2BIG;
    if (r->opts->stop && r->explored % 256 == 0 && r->opts->stop(r->opts->stop_arg))
        return -ETIME;
    return 0;
}

static int save(const struct baton_candidate *c, void **copy)
{
    *copy = malloc(c->state_size);
    if (!*copy)
        return -ENOMEM;
    memcpy(*copy, c->state, c->state_size);
    return 0;
}

static void restore(struct baton_candidate *c, const void *copy)
{
    memcpy(c->state, copy, c->state_size);
    c->age++;
}

/* Can the open pairs be ordered? 1: yes, and the candidate is complete now. */
static int complete(struct refute *r, unsigned from)
{
    struct baton_candidate *c = &r->search;
    while (from < c->n_pairs && c->decided[from] != BATON_PAIR_OPEN)
        from++;
    if (from == c->n_pairs)
        return 1;
    void *copy;
    int rc = save(c, &copy);
    if (rc)
        return rc;
    for (int way = BATON_PAIR_FORWARD; way <= BATON_PAIR_BACKWARD && !rc; way++) {
        rc = count(r);
        if (!rc && baton_candidate_decide(c, from, way) && baton_candidate_propagate(c))
            rc = complete(r, from + 1);
        if (!rc)
            restore(c, copy);
    }
    free(copy);
    return rc;
}

static int look(struct refute *r);

/* One supposition more; the candidate's state may be spoilt. */
static int try_write(struct refute *r, int write)
{
    struct baton_candidate *c = &r->search;
    struct baton_supposition *last = &r->supposed[r->n_supposed - 1];
    last->write = write;
    int rc = count(r);
    if (rc)
        return rc;
    if (!suppose(c, last) || !baton_candidate_propagate(c)) {
        /* A way in which the values do not fit either is no candidate and needs no proof. */
        if (!baton_candidate_values_agree(c))
            return 0;
        find_outcome(r);
        if (judge_all(r) != NO)
            return refuted(r);
        unfit(r);
        return 0;
    }
    return look(r);
}

/* The state as the suppositions leave it. It may be spoilt on return, unless that is 1. */
static int look(struct refute *r)
{
    struct baton_candidate *c = &r->search;
    if (!baton_candidate_values_agree(c))
        return 0;
    find_outcome(r);
    enum truth truth = judge_all(r);
    struct baton_supposition next;
    bool left = next_supposition(r, &next);
    if (truth == NO || (truth == OPEN && !left)) {
        unfit(r);
        return 0;
    }
    void *copy;
    int rc = save(c, &copy);
    if (rc)
        return rc;
    if (truth == YES) {
        /* Do the open pairs fit already? If not there is no need to suppose more. */
        rc = complete(r, 0);
        if (rc == 0)
            rc = refuted(r);
        else if (rc == 1 && left)
            goto suppose_more;
        else if (rc == 1 && r->ops->possible)
            r->ops->possible(r->ops->arg, c);
        free(copy);
        return rc;
    }
suppose_more:
    r->supposed[r->n_supposed++] = next;
    rc = 0;
    if (next.is_read) {
        restore(c, copy);
        rc = try_write(r, BATON_SOURCE_INIT);
    }
    for (unsigned i = c->first_write[next.loc]; i < c->first_write[next.loc + 1] && !rc; i++) {
        /* Nobody would suppose that an operation reads what it writes itself. */
        if (next.is_read && c->part[c->write[i]].op == c->part[next.read].op &&
            c->part[c->write[i]].thread == c->part[next.read].thread)
            continue;
        restore(c, copy);
        rc = try_write(r, c->write[i]);
    }
    r->n_supposed--;
    free(copy);
    return rc;
}

static int look_everywhere(struct refute *r)
{
    struct baton_candidate *c = &r->search;
    int rc = 0;
    for (r->shape = 0; r->shape >> c->n_choices == 0 && !rc; r->shape++) {
        baton_candidate_shape(c, r->shape);
        if (!baton_candidate_values_agree(c))
            continue;
        rc = c->possible && baton_candidate_propagate(c) ? look(r) : refuted(r);
    }
    return rc;
}

int baton_refute(const struct baton_program *program, enum baton_model model,
                 const struct baton_engine_opts *opts, bool negate,
                 const struct baton_refute_ops *ops)
{
    static const struct baton_engine_opts defaults;
    struct refute r = {
        .program = program, .opts = opts ? opts : &defaults, .ops = ops, .negate = negate};
    struct baton_stamps stamps = baton_stamps_default;
    baton_stamps_vary(&stamps, r.opts->variants);
    int rc = baton_candidate_init(&r.search, program, model, &stamps);
    if (rc)
        return rc;
    rc = baton_candidate_init(&r.proving, program, model, &stamps);
    if (rc)
        goto out_search;
    r.proving.logging = true;
    /* A supposition for every read and every location. */
    r.supposed = calloc(r.search.max_parts + program->width + 1, sizeof(*r.supposed));
    r.row = calloc(program->width + 1, sizeof(*r.row));
    r.known = calloc(program->width + 1, sizeof(*r.known));
    r.seen = calloc(r.search.n_ops + 1, sizeof(*r.seen));
    rc = r.supposed && r.row && r.known && r.seen ? look_everywhere(&r) : -ENOMEM;
    free(r.supposed);
    free(r.row);
    free(r.known);
    free(r.seen);
    baton_candidate_fini(&r.proving);
out_search:
    baton_candidate_fini(&r.search);
    return rc;
}

/* SPDX-License-Identifier: MIT */
/* Shrinking a program by copying it without one of its parts. */
#include "model/shrink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a copy leaves out. */
struct part {
    int thread; /* -1: nothing */
    int op;     /* -1: the whole thread */
    bool nodes; /* nodes above the last one in use */
};

struct copy {
    const struct baton_program *from;
    struct baton_program *to;
    struct part part;
    int loc[BATON_LOCS_MAX]; /* new index, or -1 while not needed */
    int lock[BATON_LOCKS_MAX];
    int sv[BATON_SVS_MAX];
};

static bool left_out(const struct copy *c, unsigned thread, unsigned op)
{
    return (int)thread == c->part.thread && (c->part.op < 0 || (int)op == c->part.op);
}

/* A wait must not lose the last of the operations that it waits for: it would change its meaning. */
static bool waits_named(const struct copy *c)
{
    for (unsigned t = 0; t < c->from->n_threads; t++) {
        const struct baton_thread *thread = &c->from->thread[t];
        for (unsigned i = 0; i < thread->n_ops; i++) {
            unsigned before = 0, after = 0;
            if (thread->op[i].kind != BATON_OP_WAIT || left_out(c, t, i))
                continue;
            for (unsigned k = 0; k < i; k++) {
                if (thread->op[k].kind == BATON_OP_WAIT || thread->op[k].id != thread->op[i].id)
                    continue;
                before++;
                after += !left_out(c, t, k);
            }
            if (before && !after)
                return false;
        }
    }
    return true;
}

static unsigned last_node(const struct copy *c)
{
    unsigned last = 1;
    for (unsigned t = 0; t < c->from->n_threads; t++) {
        const struct baton_thread *thread = &c->from->thread[t];
        if (thread->node > last)
            last = thread->node;
        for (unsigned i = 0; i < thread->n_ops; i++) {
            const struct baton_op *op = &thread->op[i];
            unsigned node = op->node;
            if (op->loc >= 0 && c->from->loc[op->loc].node > node)
                node = c->from->loc[op->loc].node;
            if (op->lock >= 0 && c->from->lock[op->lock].node > node)
                node = c->from->lock[op->lock].node;
            for (unsigned n = node + 1; n <= c->from->nodes; n++)
                if (op->sv >= 0 || op->nodes >> (n - 1) & 1)
                    node = n;
            if (node > last)
                last = node;
        }
    }
    return last;
}

static int copy_loc(struct copy *c, int old)
{
    const struct baton_loc *loc = &c->from->loc[old];
    if (c->loc[old] < 0)
        c->loc[old] = baton_program_add_loc(c->to, loc->name, loc->kind, loc->node, loc->init);
    return c->loc[old];
}

static int copy_lock(struct copy *c, int old)
{
    const struct baton_lock_decl *lock = &c->from->lock[old];
    if (c->lock[old] < 0)
        c->lock[old] = baton_program_add_lock(c->to, lock->name, lock->kind, lock->node);
    return c->lock[old];
}

static int copy_sv(struct copy *c, int old)
{
    const struct baton_sv *sv = &c->from->sv[old];
    if (c->sv[old] < 0)
        c->sv[old] = baton_program_add_sv(c->to, sv->name, sv->init);
    return c->sv[old];
}

static int copy_reg(struct copy *c, unsigned from_thread, unsigned to_thread, int old)
{
    return baton_program_add_reg(c->to, to_thread, c->from->thread[from_thread].reg[old]);
}

static int copy_expr(struct copy *c, unsigned from_thread, unsigned to_thread, struct baton_expr *e)
{
    for (unsigned i = 0; i < e->n; i++) {
        if (!e->term[i].is_reg)
            continue;
        int reg = copy_reg(c, from_thread, to_thread, (int)e->term[i].value);
        if (reg < 0)
            return reg;
        e->term[i].value = reg;
    }
    return 0;
}

static int copy_op(struct copy *c, unsigned from_thread, unsigned to_thread,
                   const struct baton_op *old)
{
    struct baton_op op = *old;
    int rc = 0;
    if (op.reg >= 0)
        rc = op.reg = copy_reg(c, from_thread, to_thread, op.reg);
    if (rc >= 0 && op.loc >= 0)
        rc = op.loc = copy_loc(c, op.loc);
    if (rc >= 0 && op.local >= 0)
        rc = op.local = copy_loc(c, op.local);
    if (rc >= 0 && op.id >= 0)
        rc = op.id = baton_program_add_id(c->to, c->from->id[op.id]);
    if (rc >= 0 && op.lock >= 0)
        rc = op.lock = copy_lock(c, op.lock);
    if (rc >= 0 && op.sv >= 0)
        rc = op.sv = copy_sv(c, op.sv);
    if (rc >= 0)
        rc = copy_expr(c, from_thread, to_thread, &op.a);
    if (rc >= 0)
        rc = copy_expr(c, from_thread, to_thread, &op.b);
    return rc < 0 ? rc : baton_program_add_op(c->to, to_thread, &op);
}

static int ask_nothing(struct baton_program *p)
{
    p->quantifier = BATON_EXISTS;
    p->n_conds = 0;
    int root = baton_program_add_cond(p, &(struct baton_cond){.kind = BATON_COND_EQ});
    if (root < 0)
        return root;
    p->cond_root = (unsigned)root;
    return 0;
}

/* 0 and an initialised `to`; -EINVAL when what is left would not be a program. */
static int copy_without(const struct baton_program *from, struct part part,
                        struct baton_program *to)
{
    struct copy c = {.from = from, .to = to, .part = part};
    memset(c.loc, -1, sizeof(c.loc));
    memset(c.lock, -1, sizeof(c.lock));
    memset(c.sv, -1, sizeof(c.sv));
    if (!waits_named(&c))
        return -EINVAL;
    baton_program_init(to);
    memcpy(to->name, from->name, sizeof(to->name));
    to->nodes = part.nodes ? last_node(&c) : from->nodes;
    int rc = 0;
    for (unsigned t = 0; t < from->n_threads && rc >= 0; t++) {
        const struct baton_thread *thread = &from->thread[t];
        if ((int)t == part.thread && part.op < 0)
            continue;
        int thread_new = rc = baton_program_add_thread(to, thread->node);
        for (unsigned i = 0; i < thread->n_ops && rc >= 0; i++)
            if (!left_out(&c, t, i))
                rc = copy_op(&c, t, (unsigned)thread_new, &thread->op[i]);
    }
    if (rc >= 0) {
        baton_program_seal(to);
        rc = ask_nothing(to);
    }
    if (rc < 0)
        baton_program_fini(to);
    return rc < 0 ? rc : 0;
}

/* Replaces `now` by a copy without `part` if that still shows it: 1; 0 if not. */
static int try(struct baton_program *now, struct part part, baton_shrink_fn shows, void *arg)
{
    struct baton_program less;
    int rc = copy_without(now, part, &less);
    if (rc)
        return rc == -EINVAL ? 0 : rc;
    if (!shows(&less, arg)) {
        baton_program_fini(&less);
        return 0;
    }
    baton_program_fini(now);
    *now = less;
    return 1;
}

/* Later operations go first: an earlier one may be what a later one waits for. */
static int try_all(struct baton_program *now, baton_shrink_fn shows, void *arg)
{
    int rc;
    for (int t = (int)now->n_threads - 1; t >= 0; t--) {
        if (now->n_threads > 1 && (rc = try(now, (struct part){t, -1, false}, shows, arg)) != 0)
            return rc;
        for (int i = (int)now->thread[t].n_ops - 1; i >= 0; i--)
            if ((rc = try(now, (struct part){t, i, false}, shows, arg)) != 0)
                return rc;
    }
    return 0;
}

int baton_program_shrink(const struct baton_program *program, baton_shrink_fn shows, void *arg,
                         struct baton_program *out)
{
    const struct part nothing = {-1, -1, false}, nodes = {-1, -1, true};
    int rc = copy_without(program, nothing, out);
    if (rc)
        return rc;
    do
        rc = try_all(out, shows, arg);
    while (rc > 0);
    if (!rc)
        rc = try(out, nodes, shows, arg);
    if (rc < 0)
        baton_program_fini(out);
    return rc < 0 ? rc : 0;
}

/* The first outcome that `a` has and `b` has not. */
static const int64_t *only_in(struct baton_outcomes *a, const struct baton_outcomes *b)
{
    baton_outcomes_sort(a);
    for (size_t i = 0; i < a->n; i++)
        if (!baton_outcomes_has(b, baton_outcomes_row(a, i)))
            return baton_outcomes_row(a, i);
    return NULL;
}

/* Has the set an outcome that is equal to `row` in the columns asked for? */
static bool has_like(const struct baton_outcomes *set, const int64_t *row, const bool *asked)
{
    for (size_t i = 0; i < set->n; i++) {
        const int64_t *other = baton_outcomes_row(set, i);
        unsigned column = 0;
        while (column < set->width && (!asked[column] || other[column] == row[column]))
            column++;
        if (column == set->width)
            return true;
    }
    return false;
}

static int ask_for(struct baton_program *p, const int64_t *row, const bool *asked)
{
    bool first = true;
    p->quantifier = BATON_EXISTS;
    p->n_conds = 0;
    for (unsigned i = 0; i < p->width; i++) {
        if (!asked[i])
            continue;
        struct baton_cond leaf = {.kind = BATON_COND_EQ, .a = {true, i}, .b = {false, row[i]}};
        int added = baton_program_add_cond(p, &leaf);
        if (!first && added >= 0) {
            struct baton_cond both = {
                .kind = BATON_COND_AND, .left = p->cond_root, .right = (unsigned)added};
            added = baton_program_add_cond(p, &both);
        }
        if (added < 0)
            return added;
        p->cond_root = (unsigned)added;
        first = false;
    }
    return first ? ask_nothing(p) : 0;
}

int baton_program_tell_apart(struct baton_program *program, struct baton_outcomes *a,
                             struct baton_outcomes *b)
{
    int who = 1;
    const struct baton_outcomes *without = b;
    const int64_t *row = only_in(a, b);
    if (!row) {
        row = only_in(b, a);
        without = a;
        who = 2;
    }
    if (!row)
        return 0;
    bool *asked = malloc(program->width * sizeof(*asked) + 1);
    if (!asked)
        return -ENOMEM;
    memset(asked, true, program->width * sizeof(*asked));
    for (unsigned i = 0; i < program->width; i++) {
        asked[i] = false;
        asked[i] = has_like(without, row, asked);
    }
    int rc = ask_for(program, row, asked);
    free(asked);
    return rc ? rc : who;
}

/* SPDX-License-Identifier: MIT */
/*
 * Makes the program an engine runs. Shared variables are written out under every model. Under impl
 * the locks, the sequentially consistent memory and the global fence become their implementations
 * over the primitive operations:
 *
 *   wlock  next (a word on the lock's node), mine (a word per thread), done (per thread, one word
 * on every node). acquire: rfaa mine <- next + 1; wait; v = mine; until the local copy of some
 * thread's done equals v. release: v = mine; done = v + 1 on the own node, then a put of it to
 * every other node. slock  acquire as wlock. release: gfence of all nodes, then as wlock. nlock
 * next and served on the lock's node, mine per thread. acquire: rfaa mine <- next + 1; wait; v =
 * mine; repeat get mine <- served, wait, until it is v; mine = v + 1. release: rfence; put served
 * <- mine. sc     the word and an nlock on its node, source and result words per thread. gfence one
 * get per node into words that nobody reads, then a wait.
 *
 * Loops are not unrolled. Only the round that ends a loop matters: an earlier round reads, waits
 * and changes nothing that another thread or a later operation could see, so a run with it is a run
 * without it. So the loop of a wlock is one `await`, and the loop of an nlock one get that reads
 * exactly the value v (its expression `a`).
 *
 * No operation of an implementation shares a work id with the program, and what an implementation
 * does not wait for has no id at all.
 */
#include "model/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

/* The words behind one lock, made when it is first used. */
struct lock_words {
    int next, served;
    int mine[BATON_THREADS_MAX];
    int done[BATON_THREADS_MAX]; /* wlock, slock: the copy on node 1; the others follow */
    int set[BATON_NODES_MAX];    /* the done words on a node */
};

struct lowering {
    const struct baton_program *in;
    struct baton_program *out;
    bool impl;
    int rc; /* the first failure; everything after it is skipped */
    unsigned thread, node, source;
    struct lock_words *lock; /* the declared locks, then one per location (for sc) */
    int id_acquire, id_data, id_fence;
    int fence_from[BATON_NODES_MAX];
    int fence_to[BATON_THREADS_MAX][BATON_NODES_MAX];
    int result[BATON_THREADS_MAX];
    int (*value)[BATON_THREADS_MAX]; /* per location: the word an sc write is put from */
};

static int keep(struct lowering *l, int rc)
{
    if (rc < 0 && !l->rc)
        l->rc = rc;
    return rc < 0 ? 0 : rc;
}

static void emit(struct lowering *l, struct baton_op op)
{
    op.source = l->source;
    if (!l->rc)
        keep(l, baton_program_add_op(l->out, l->thread, &op));
}

/* A hidden word; the name is only ever read by people. */
static int word(struct lowering *l, int *at, unsigned node, const char *of, const char *what)
{
    if (*at == NONE) {
        char name[BATON_NAME_MAX + 1];
        snprintf(name, sizeof(name), "%.30s.%.20s@%u", of, what, node);
        *at = keep(l, baton_program_add_loc(l->out, name, BATON_LOC_COPY, node, 0));
    }
    return *at;
}

static int thread_word(struct lowering *l, int *at, const char *of, const char *what)
{
    char name[24];
    snprintf(name, sizeof(name), "%.10s%u", what, l->thread);
    return word(l, at, l->node, of, name);
}

/* No id of a program has a dot in its name. */
static int hidden_id(struct lowering *l, int *id, const char *name)
{
    if (*id == NONE)
        *id = keep(l, baton_program_add_id(l->out, name));
    return *id;
}

static int ticket_reg(struct lowering *l)
{
    return keep(l, baton_program_add_reg(l->out, l->thread, "ticket.v"));
}

static void emit_store(struct lowering *l, int loc, struct baton_expr value)
{
    struct baton_op op = baton_op_make(BATON_OP_STORE);
    op.loc = loc;
    op.a = value;
    emit(l, op);
}

static void emit_load(struct lowering *l, int reg, int loc)
{
    struct baton_op op = baton_op_make(BATON_OP_LOAD);
    op.reg = reg;
    op.loc = loc;
    emit(l, op);
}

static void emit_remote(struct lowering *l, enum baton_op_kind kind, int local, int loc, int id,
                        const struct baton_expr *a, const struct baton_expr *b)
{
    struct baton_op op = baton_op_make(kind);
    op.local = local;
    op.loc = loc;
    op.id = id;
    if (a)
        op.a = *a;
    if (b)
        op.b = *b;
    emit(l, op);
}

static void emit_wait(struct lowering *l, int id)
{
    struct baton_op op = baton_op_make(BATON_OP_WAIT);
    op.id = id;
    emit(l, op);
}

static struct baton_expr plus_one(int reg)
{
    return (struct baton_expr){.n = 2, .term = {{.value = reg, .is_reg = true}, {.value = 1}}};
}

static void gfence(struct lowering *l, uint32_t nodes)
{
    int id = hidden_id(l, &l->id_fence, "gfence.");
    for (unsigned n = 1; n <= l->in->nodes; n++) {
        if (!(nodes & 1u << (n - 1)))
            continue;
        int from = word(l, &l->fence_from[n - 1], n, "gfence", "from");
        int to = thread_word(l, &l->fence_to[l->thread][n - 1], "gfence", "to");
        emit_remote(l, BATON_OP_GET, to, from, id, NULL, NULL);
    }
    emit_wait(l, id);
}

static void bcast(struct lowering *l, unsigned first_copy, uint32_t nodes, int id)
{
    for (unsigned n = 1; n <= l->in->nodes; n++)
        if (nodes & 1u << (n - 1))
            emit_remote(l, BATON_OP_PUT, (int)(first_copy + l->node - 1), (int)(first_copy + n - 1),
                        id, NULL, NULL);
}

static uint32_t all_nodes(const struct lowering *l)
{
    return (1u << l->in->nodes) - 1;
}

static uint32_t other_nodes(const struct lowering *l)
{
    return all_nodes(l) & ~(1u << (l->node - 1));
}

/* The first half of both ticket locks: the ticket is in `mine` and in the register. */
static int take_ticket(struct lowering *l, struct lock_words *w, unsigned node, const char *name)
{
    struct baton_expr one = baton_expr_const(1);
    int next = word(l, &w->next, node, name, "next");
    int mine = thread_word(l, &w->mine[l->thread], name, "mine");
    int id = hidden_id(l, &l->id_acquire, "acquire."), v = ticket_reg(l);
    emit_remote(l, BATON_OP_RFAA, mine, next, id, &one, NULL);
    emit_wait(l, id);
    emit_load(l, v, mine);
    return v;
}

/* The done words of all threads on all nodes: a waiter looks at every one of them, so all must be
 * there. */
static void wlock_words(struct lowering *l, struct lock_words *w, const char *name)
{
    for (unsigned t = 0; t < l->in->n_threads; t++) {
        if (w->done[t] != NONE)
            continue;
        for (unsigned n = 1; n <= l->in->nodes; n++) {
            char what[24];
            int at = NONE;
            snprintf(what, sizeof(what), "done%u", t);
            word(l, &at, n, name, what);
            if (n == 1)
                w->done[t] = at;
        }
    }
}

static void wlock_acquire(struct lowering *l, struct lock_words *w, unsigned node, const char *name)
{
    int v = take_ticket(l, w, node, name);
    wlock_words(l, w, name);
    int *set = &w->set[l->node - 1];
    if (*set == NONE && !l->rc) {
        *set = keep(l, baton_program_add_set(l->out));
        for (unsigned t = 0; t < l->in->n_threads && !l->rc; t++)
            keep(l, baton_program_add_member(l->out, (unsigned)w->done[t] + l->node - 1));
    }
    struct baton_op op = baton_op_make(BATON_OP_AWAIT);
    op.set = (unsigned)*set;
    op.a = baton_expr_reg((unsigned)v);
    emit(l, op);
}

static void wlock_release(struct lowering *l, struct lock_words *w, const char *name)
{
    int v = ticket_reg(l);
    wlock_words(l, w, name);
    emit_load(l, v, thread_word(l, &w->mine[l->thread], name, "mine"));
    emit_store(l, w->done[l->thread] + (int)l->node - 1, plus_one(v));
    bcast(l, (unsigned)w->done[l->thread], other_nodes(l), -1);
}

static void nlock_acquire(struct lowering *l, struct lock_words *w, unsigned node, const char *name)
{
    int v = take_ticket(l, w, node, name);
    struct baton_expr until = baton_expr_reg((unsigned)v);
    int served = word(l, &w->served, node, name, "served");
    int mine = w->mine[l->thread], id = l->id_acquire;
    emit_remote(l, BATON_OP_GET, mine, served, id, &until, NULL);
    emit_wait(l, id);
    emit_store(l, mine, plus_one(v));
}

static void nlock_release(struct lowering *l, struct lock_words *w, unsigned node, const char *name)
{
    struct baton_op op = baton_op_make(BATON_OP_RFENCE);
    op.node = node;
    emit(l, op);
    emit_remote(l, BATON_OP_PUT, thread_word(l, &w->mine[l->thread], name, "mine"),
                word(l, &w->served, node, name, "served"), -1, NULL, NULL);
}

static void lock_op(struct lowering *l, const struct baton_op *op)
{
    const struct baton_lock_decl *lock = &l->in->lock[op->lock];
    struct lock_words *w = &l->lock[op->lock];
    bool acquire = op->kind == BATON_OP_ACQ;
    if (lock->kind == BATON_LOCK_NLOCK) {
        if (acquire)
            nlock_acquire(l, w, lock->node, lock->name);
        else
            nlock_release(l, w, lock->node, lock->name);
        return;
    }
    if (acquire) {
        wlock_acquire(l, w, lock->node, lock->name);
        return;
    }
    if (lock->kind == BATON_LOCK_SLOCK)
        gfence(l, all_nodes(l));
    wlock_release(l, w, lock->name);
}

static void sc_op(struct lowering *l, const struct baton_op *op)
{
    const struct baton_loc *loc = &l->in->loc[op->loc];
    struct lock_words *w = &l->lock[l->in->n_locks + (unsigned)op->loc];
    nlock_acquire(l, w, loc->node, loc->name);
    if (op->kind == BATON_OP_SCWRITE) {
        int from = thread_word(l, &l->value[op->loc][l->thread], loc->name, "value");
        emit_store(l, from, op->a);
        emit_remote(l, BATON_OP_PUT, from, op->loc, -1, NULL, NULL);
        nlock_release(l, w, loc->node, loc->name);
        return;
    }
    enum baton_op_kind kind = op->kind == BATON_OP_SCREAD  ? BATON_OP_GET
                              : op->kind == BATON_OP_SCCAS ? BATON_OP_RCAS
                                                           : BATON_OP_RFAA;
    int to = thread_word(l, &l->result[l->thread], "sc", "result");
    int id = hidden_id(l, &l->id_data, "sc.");
    emit_remote(l, kind, to, op->loc, id, &op->a, &op->b);
    nlock_release(l, w, loc->node, loc->name);
    emit_wait(l, id);
    emit_load(l, op->reg, to);
}

static void lower_op(struct lowering *l, const struct baton_op *op)
{
    struct baton_op plain = *op;
    unsigned copy = op->sv >= 0 ? l->in->sv[op->sv].copy : 0;
    switch (op->kind) {
    case BATON_OP_SVWRITE:
        emit_store(l, (int)(copy + l->node - 1), op->a);
        break;
    case BATON_OP_SVREAD:
        emit_load(l, op->reg, (int)(copy + l->node - 1));
        break;
    case BATON_OP_BCAST:
        bcast(l, copy, op->nodes ? op->nodes : other_nodes(l), op->id);
        break;
    case BATON_OP_ACQ:
    case BATON_OP_REL:
        if (l->impl)
            lock_op(l, op);
        else
            emit(l, plain);
        break;
    case BATON_OP_SCWRITE:
    case BATON_OP_SCREAD:
    case BATON_OP_SCCAS:
    case BATON_OP_SCFAA:
        if (l->impl)
            sc_op(l, op);
        else
            emit(l, plain);
        break;
    case BATON_OP_GFENCE:
        if (l->impl)
            gfence(l, op->nodes);
        else
            emit(l, plain);
        break;
    default:
        emit(l, plain);
        break;
    }
}

/* Copies what lowering does not change; operations are emitted one by one afterwards. */
static int copy_frame(const struct baton_program *in, struct baton_program *out)
{
    memcpy(out->name, in->name, sizeof(out->name));
    out->nodes = in->nodes;
    int rc = 0;
    for (unsigned i = 0; i < in->n_locs && rc >= 0; i++)
        rc = baton_program_add_loc(out, in->loc[i].name, in->loc[i].kind, in->loc[i].node,
                                   in->loc[i].init);
    for (unsigned i = 0; i < in->n_locks && rc >= 0; i++)
        rc = baton_program_add_lock(out, in->lock[i].name, in->lock[i].kind, in->lock[i].node);
    for (unsigned i = 0; i < in->n_ids && rc >= 0; i++)
        rc = baton_program_add_id(out, in->id[i]);
    for (unsigned t = 0; t < in->n_threads && rc >= 0; t++) {
        rc = baton_program_add_thread(out, in->thread[t].node);
        for (unsigned i = 0; i < in->thread[t].n_shown && rc >= 0; i++)
            rc = baton_program_add_reg(out, t, in->thread[t].reg[i]);
    }
    if (rc < 0)
        return rc;
    baton_program_seal(out);
    out->quantifier = in->quantifier;
    for (unsigned i = 0; i < in->n_conds && rc >= 0; i++)
        rc = baton_program_add_cond(out, &in->cond[i]);
    out->cond_root = in->cond_root;
    return rc < 0 ? rc : 0;
}

static int lower_all(struct lowering *l)
{
    const struct baton_program *in = l->in;
    unsigned n_words = in->n_locks + in->n_locs;
    l->lock = malloc((n_words + 1) * sizeof(*l->lock));
    l->value = malloc((in->n_locs + 1) * sizeof(*l->value));
    if (!l->lock || !l->value)
        return -ENOMEM;
    /* All bits set is NONE in every int. */
    memset(l->lock, 0xff, n_words * sizeof(*l->lock));
    memset(l->value, 0xff, in->n_locs * sizeof(*l->value));
    memset(l->fence_from, 0xff, sizeof(l->fence_from));
    memset(l->fence_to, 0xff, sizeof(l->fence_to));
    memset(l->result, 0xff, sizeof(l->result));
    l->id_acquire = l->id_data = l->id_fence = NONE;
    for (l->thread = 0; l->thread < in->n_threads; l->thread++) {
        l->node = in->thread[l->thread].node;
        for (l->source = 0; l->source < in->thread[l->thread].n_ops && !l->rc; l->source++)
            lower_op(l, &in->thread[l->thread].op[l->source]);
    }
    return l->rc;
}

int baton_program_lower(const struct baton_program *program, enum baton_model model,
                        struct baton_program *out)
{
    const char *reason;
    int rc = baton_program_supports(program, model, &reason);
    if (rc)
        return rc;
    struct lowering l = {.in = program, .out = out, .impl = model == BATON_MODEL_IMPL};
    baton_program_init(out);
    rc = copy_frame(program, out);
    if (!rc)
        rc = lower_all(&l);
    free(l.lock);
    free(l.value);
    if (rc)
        baton_program_fini(out);
    return rc;
}

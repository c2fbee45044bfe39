/* SPDX-License-Identifier: MIT */
/* From the model's programs to threads for the contract; see litmus_plan.h. */
#include "bench/litmus_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/program.h"

/* Work ids of the contract that a program may use: 1 to this. */
#define IDS_MAX 63u

/* One thread on its way. */
struct making {
    const struct baton_program *program; /* lowered */
    const struct baton_thread *from;
    struct litmus_thread *to;
    unsigned result; /* location for what the sequentially consistent memory answers */
    uint8_t result_id;
    const char **reason;
    unsigned room;
    bool polls; /* then every remote operation has an id of its own */
    unsigned ids_n;
    uint8_t id[BATON_IDS_MAX + 1]; /* of the contract, by id of the program; 0: none yet */
    uint8_t own[BATON_OPS_MAX];    /* with polls: by operation */
};

static int refuse(struct making *m, const char *reason)
{
    *m->reason = reason;
    return -EOPNOTSUPP;
}

static struct litmus_sum sum_of(const struct baton_expr *e)
{
    struct litmus_sum sum = {.n = e->n};
    for (unsigned i = 0; i < e->n; i++) {
        sum.term[i].value = e->term[i].value;
        sum.term[i].is_reg = e->term[i].is_reg;
        sum.term[i].negative = e->term[i].negative;
    }
    return sum;
}

static unsigned index_of(int at)
{
    return at < 0 ? 0 : (unsigned)at;
}

static int add(struct making *m, const struct litmus_op *op)
{
    struct litmus_thread *t = m->to;
    if (t->ops_n == m->room) {
        unsigned room = 2 * m->room + 16;
        struct litmus_op *more = realloc(t->op, room * sizeof(*more));
        if (!more)
            return -ENOMEM;
        t->op = more;
        m->room = room;
    }
    t->op[t->ops_n++] = *op;
    return 0;
}

static int new_id(struct making *m, uint8_t *id)
{
    if (m->ids_n == IDS_MAX)
        return refuse(m, "a thread needs more work ids than the contract has");
    *id = (uint8_t)++m->ids_n;
    return 0;
}

/* The id under which a remote operation is posted. */
static int post_id(struct making *m, unsigned i, uint16_t *out)
{
    int id = m->from->op[i].id;
    uint8_t *known = m->polls ? &m->own[i] : &m->id[index_of(id)];
    int rc = 0;
    *out = 0;
    if (id < 0 && !m->polls)
        return 0;
    if (!*known)
        rc = new_id(m, known);
    *out = *known;
    return rc;
}

static int add_wait(struct making *m, struct litmus_op op, uint8_t id)
{
    op.act = LITMUS_WAIT;
    op.id = id;
    return add(m, &op);
}

/* With ids of their own, all of those that have the id have to be waited for. */
static int add_waits(struct making *m, unsigned i, struct litmus_op op)
{
    const struct baton_op *from = m->from->op;
    int rc = 0;
    if (!m->polls) {
        uint8_t *id = &m->id[index_of(from[i].id)];
        if (!*id)
            rc = new_id(m, id);
        return rc ? rc : add_wait(m, op, *id);
    }
    for (unsigned j = 0; j < i && !rc; j++)
        if (baton_op_is_remote(from[j].kind) && from[j].id == from[i].id)
            rc = add_wait(m, op, m->own[j]);
    return rc;
}

/* The k-th poll of a node waits for the k-th remote operation towards it. */
static int add_poll(struct making *m, unsigned i, struct litmus_op op)
{
    const struct baton_op *from = m->from->op;
    unsigned before = 0;
    for (unsigned j = 0; j < i; j++)
        before += from[j].kind == BATON_OP_POLL && from[j].node == from[i].node;
    for (unsigned j = 0; j < i; j++)
        if (baton_op_is_remote(from[j].kind) &&
            baton_op_towards(m->program, &from[j]) == from[i].node && before-- == 0)
            return add_wait(m, op, m->own[j]);
    op.act = LITMUS_STUCK;
    return add(m, &op);
}

static int add_await(struct making *m, const struct baton_op *from, struct litmus_op op)
{
    const struct baton_loc_set *set = &m->program->set[from->set];
    if (set->n > LITMUS_AWAITED_MAX)
        return refuse(m, "a lock has more words to wait for than one wait of the contract takes");
    op.act = LITMUS_AWAIT;
    op.awaited_n = set->n;
    for (unsigned i = 0; i < set->n; i++)
        op.awaited[i] = m->program->member[set->first + i];
    return add(m, &op);
}

/* ---- Libraries by locks */

static int add_lock(struct making *m, struct litmus_op op, enum litmus_act act, unsigned lock)
{
    op.act = act;
    op.lock = lock;
    return add(m, &op);
}

static int add_release(struct making *m, struct litmus_op op, unsigned lock)
{
    int rc = 0;
    if (m->program->lock[lock].kind == BATON_LOCK_SLOCK) {
        op.act = LITMUS_GFENCE;
        for (unsigned n = 0; n < m->program->nodes; n++)
            op.nodes[op.nodes_n++] = (uint16_t)n;
        rc = add(m, &op);
    }
    return rc ? rc : add_lock(m, op, LITMUS_RELEASE, lock);
}

static unsigned sc_lock(const struct making *m, const struct litmus_op *op)
{
    return m->program->n_locks + op->loc;
}

/* The word is touched by the card of its node only, so whoever is next sees it by way of the lock. */
static int add_sc(struct making *m, struct litmus_op op, enum litmus_act act)
{
    struct litmus_op wait = op, load = op;
    int rc = add_lock(m, op, LITMUS_ACQUIRE, sc_lock(m, &op));
    if (!rc && act != LITMUS_PUT_VALUE && !m->result_id)
        rc = new_id(m, &m->result_id);
    op.act = act;
    op.local = m->result;
    op.id = act == LITMUS_PUT_VALUE ? 0 : m->result_id;
    if (!rc)
        rc = add(m, &op);
    if (!rc)
        rc = add_lock(m, op, LITMUS_RELEASE, sc_lock(m, &op));
    if (rc || act == LITMUS_PUT_VALUE)
        return rc;
    rc = add_wait(m, wait, m->result_id);
    load.act = LITMUS_LOAD;
    load.loc = m->result;
    return rc ? rc : add(m, &load);
}

/* ---- All operations */

static enum litmus_act act_of(const struct baton_op *op)
{
    switch (op->kind) {
    case BATON_OP_STORE:
        return LITMUS_STORE;
    case BATON_OP_LOAD:
        return LITMUS_LOAD;
    case BATON_OP_LET:
        return LITMUS_LET;
    case BATON_OP_CAS:
        return LITMUS_CAS;
    case BATON_OP_FAA:
        return LITMUS_FAA;
    case BATON_OP_MFENCE:
        return LITMUS_MFENCE;
    case BATON_OP_ASSUME:
        return LITMUS_ASSUME;
    case BATON_OP_PUT:
        return op->local < 0 ? LITMUS_PUT_VALUE : LITMUS_PUT;
    case BATON_OP_RCAS:
        return LITMUS_RCAS;
    case BATON_OP_RFAA:
        return LITMUS_RFAA;
    case BATON_OP_RFENCE:
        return LITMUS_RFENCE;
    case BATON_OP_GFENCE:
        return LITMUS_GFENCE;
    default: /* a loop that was written out is one get with the value that ends it */
        return op->a.n ? LITMUS_GET_UNTIL : LITMUS_GET;
    }
}

static int add_op(struct making *m, unsigned i)
{
    const struct baton_op *from = &m->from->op[i];
    struct litmus_op op = {
        .act = act_of(from),
        .reg = index_of(from->reg),
        .loc = index_of(from->loc),
        .local = index_of(from->local),
        .a = sum_of(&from->a),
        .b = sum_of(&from->b),
        .source = from->source,
    };
    int rc = 0;
    switch (from->kind) {
    case BATON_OP_WAIT:
        return add_waits(m, i, op);
    case BATON_OP_POLL:
        return add_poll(m, i, op);
    case BATON_OP_AWAIT:
        return add_await(m, from, op);
    case BATON_OP_ACQ:
        return add_lock(m, op, LITMUS_ACQUIRE, index_of(from->lock));
    case BATON_OP_REL:
        return add_release(m, op, index_of(from->lock));
    case BATON_OP_SCWRITE:
        return add_sc(m, op, LITMUS_PUT_VALUE);
    case BATON_OP_SCREAD:
        return add_sc(m, op, LITMUS_GET);
    case BATON_OP_SCCAS:
        return add_sc(m, op, LITMUS_RCAS);
    case BATON_OP_SCFAA:
        return add_sc(m, op, LITMUS_RFAA);
    case BATON_OP_RFENCE:
        op.node = from->node - 1;
        break;
    case BATON_OP_GFENCE:
        for (unsigned n = 0; n < m->program->nodes; n++)
            if (from->nodes >> n & 1)
                op.nodes[op.nodes_n++] = (uint16_t)n;
        break;
    default:
        if (baton_op_is_remote(from->kind))
            rc = post_id(m, i, &op.id);
        break;
    }
    return rc ? rc : add(m, &op);
}

static int make_thread(struct litmus_plan *plan, const struct baton_program *p, unsigned t,
                       const char **reason)
{
    struct making m = {.program = p,
                       .from = &p->thread[t],
                       .to = &plan->thread[t],
                       .result = p->n_locs + t,
                       .reason = reason};
    int rc = 0;
    m.to->node = m.from->node - 1;
    m.to->regs_n = m.from->n_regs;
    plan->shown[t] = (struct litmus_shown){m.from->n_shown, m.from->column};
    for (unsigned i = 0; i < m.from->n_ops; i++)
        m.polls |= m.from->op[i].kind == BATON_OP_POLL;
    for (unsigned i = 0; i < m.from->n_ops && !rc; i++)
        rc = add_op(&m, i);
    return rc;
}

/* The declared locks, then one for each word of the sequentially consistent memory; a result word a thread. */
static void make_libraries(struct litmus_plan *plan, const struct baton_program *p)
{
    plan->locks_n = p->n_locks + p->n_locs;
    plan->held_most = p->n_locks + 1;
    for (unsigned i = 0; i < p->n_locks; i++)
        plan->lock_node[i] = p->lock[i].node - 1;
    for (unsigned i = 0; i < p->n_locs; i++)
        plan->lock_node[p->n_locks + i] =
            p->loc[i].kind == BATON_LOC_SC ? p->loc[i].node - 1 : LITMUS_HIDDEN;
    for (unsigned t = 0; t < p->n_threads; t++)
        plan->loc[plan->locs_n++] =
            (struct litmus_loc){.node = p->thread[t].node - 1, .column = LITMUS_HIDDEN};
}

static int make(struct litmus_plan *plan, const struct baton_program *p, bool locks,
                const char **reason)
{
    plan->nodes = p->nodes;
    plan->width = p->width;
    plan->thread = calloc(p->n_threads + 1, sizeof(*plan->thread));
    plan->shown = calloc(p->n_threads + 1, sizeof(*plan->shown));
    plan->loc = calloc(p->n_locs + p->n_threads + 1, sizeof(*plan->loc));
    plan->lock_node = calloc(p->n_locks + p->n_locs + 1, sizeof(*plan->lock_node));
    if (!plan->thread || !plan->shown || !plan->loc || !plan->lock_node)
        return -ENOMEM;
    plan->threads_n = p->n_threads;
    plan->locs_n = p->n_locs;
    for (unsigned i = 0; i < p->n_locs; i++)
        plan->loc[i] = (struct litmus_loc){
            .node = p->loc[i].node - 1,
            .init = p->loc[i].init,
            .column = i < p->n_shown_locs ? p->loc_column + i : LITMUS_HIDDEN,
        };
    if (locks)
        make_libraries(plan, p);
    int rc = 0;
    for (unsigned t = 0; t < p->n_threads && !rc; t++)
        rc = make_thread(plan, p, t, reason);
    return rc;
}

int litmus_plan_init(struct litmus_plan *plan, const struct baton_program *program,
                     enum litmus_model model, const char **reason)
{
    static const enum baton_model models[] = {[LITMUS_PRIMITIVE] = BATON_MODEL_TSO,
                                              [LITMUS_SPEC] = BATON_MODEL_SPEC,
                                              [LITMUS_IMPL] = BATON_MODEL_IMPL};
    enum baton_model as = models[model];
    struct baton_program lowered;
    *plan = (struct litmus_plan){0};
    int rc = baton_program_supports(program, as, reason);
    if (!rc)
        rc = baton_program_lower(program, as, &lowered);
    if (rc)
        return rc;
    rc = make(plan, &lowered, model == LITMUS_SPEC, reason);
    baton_program_fini(&lowered);
    if (rc)
        litmus_plan_fini(plan);
    return rc;
}

void litmus_plan_fini(struct litmus_plan *plan)
{
    for (unsigned t = 0; t < plan->threads_n; t++)
        free(plan->thread[t].op);
    free(plan->thread);
    free(plan->shown);
    free(plan->loc);
    free(plan->lock_node);
    *plan = (struct litmus_plan){0};
}

bool litmus_plan_has(const struct litmus_plan *plan, enum litmus_act act)
{
    for (unsigned t = 0; t < plan->threads_n; t++)
        for (unsigned i = 0; i < plan->thread[t].ops_n; i++)
            if (plan->thread[t].op[i].act == act)
                return true;
    return false;
}

void litmus_plan_row(const struct litmus_plan *plan, const int64_t *const *reg, const int64_t *loc,
                     int64_t *row)
{
    for (unsigned t = 0; t < plan->threads_n; t++)
        memcpy(row + plan->shown[t].column, reg[t], plan->shown[t].n * sizeof(*row));
    for (unsigned i = 0; i < plan->locs_n; i++)
        if (plan->loc[i].column != LITMUS_HIDDEN)
            row[plan->loc[i].column] = loc[i];
}

/* SPDX-License-Identifier: MIT */
/* The machine of a litmus program: numbering its steps, and the CPU's part of the rules. */
#include "model/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

static bool is_entry(enum baton_op_kind kind)
{
    return baton_op_is_remote(kind) || kind == BATON_OP_RFENCE;
}

static bool is_buffered(enum baton_op_kind kind)
{
    return kind == BATON_OP_STORE || is_entry(kind);
}

static enum baton_nic_kind nic_kind(enum baton_op_kind kind)
{
    switch (kind) {
    case BATON_OP_PUT:
        return BATON_NIC_PUT;
    case BATON_OP_GET:
        return BATON_NIC_GET;
    case BATON_OP_RCAS:
        return BATON_NIC_RCAS;
    case BATON_OP_RFAA:
        return BATON_NIC_RFAA;
    default:
        return BATON_NIC_FENCE;
    }
}

/* A get that ends a lowered loop: it reads the value of its expression, or does not read yet. */
static bool ends_loop(const struct baton_op *op)
{
    return op->kind == BATON_OP_GET && op->a.n;
}

static int new_step(struct baton_machine *m, struct baton_step step)
{
    m->step[m->n_steps] = step;
    return (int)m->n_steps++;
}

static void add_entry(struct baton_machine *m, unsigned t, unsigned i)
{
    const struct baton_op *op = &m->program->thread[t].op[i];
    struct baton_machine_op *mo = &m->op[t][i];
    unsigned e = m->n_entries++;
    enum baton_nic_kind kind = nic_kind(op->kind);
    m->entry[e] = (struct baton_nic_entry){
        .kind = kind,
        .constant = kind == BATON_NIC_PUT && op->local < 0,
        .remote = op->loc < 0 ? 0 : (uint64_t)op->loc,
        .local = op->local < 0 ? 0 : (uint64_t)op->local,
    };
    m->entry_op[e] = mo;
    mo->entry = (int)e;
    /* Taking a completion is a part of executing a poll and no step of its own. */
    for (int s = 0; s < BATON_NIC_POLL; s++)
        if (baton_nic_has(kind, (enum baton_nic_step)s))
            mo->step[s] = new_step(m, (struct baton_step){BATON_STEP_NIC, t, i, e, s});
}

/* Queue pairs in the order of threads and nodes; each one's entries in program order, side by side.
 */
static void add_entries(struct baton_machine *m)
{
    const struct baton_program *p = m->program;
    for (unsigned t = 0; t < p->n_threads; t++) {
        for (unsigned node = 1; node <= p->nodes; node++) {
            struct baton_machine_qp qp = {.thread = t, .node = node, .first = m->n_entries};
            for (unsigned i = 0; i < p->thread[t].n_ops; i++) {
                const struct baton_op *op = &p->thread[t].op[i];
                if (!is_entry(op->kind) || baton_op_towards(p, op) != node)
                    continue;
                m->entry_qp[m->n_entries] = m->n_qps;
                add_entry(m, t, i);
            }
            qp.n = m->n_entries - qp.first;
            if (qp.n)
                m->qp[m->n_qps++] = qp;
        }
    }
}

/* The k-th poll of a node takes the completion of the k-th remote operation towards it. */
static void match_polls(struct baton_machine *m)
{
    const struct baton_program *p = m->program;
    for (unsigned t = 0; t < p->n_threads; t++) {
        unsigned polls[BATON_NODES_MAX + 1] = {0};
        for (unsigned i = 0; i < p->thread[t].n_ops; i++) {
            const struct baton_op *op = &p->thread[t].op[i];
            if (op->kind != BATON_OP_POLL)
                continue;
            unsigned k = polls[op->node]++;
            for (unsigned j = 0; j < i && m->op[t][i].entry == NONE; j++) {
                const struct baton_op *remote = &p->thread[t].op[j];
                if (baton_op_is_remote(remote->kind) && baton_op_towards(p, remote) == op->node &&
                    k-- == 0)
                    m->op[t][i].entry = m->op[t][j].entry;
            }
            m->stuck |= m->op[t][i].entry == NONE;
        }
    }
}

/* Numbers the steps of the CPU, and lays out the words of stores in the buffers from word `at` on.
 */
static unsigned add_cpu(struct baton_machine *m, unsigned at)
{
    const struct baton_program *p = m->program;
    for (unsigned t = 0; t < p->n_threads; t++) {
        for (unsigned i = 0; i < p->thread[t].n_ops; i++) {
            enum baton_op_kind kind = p->thread[t].op[i].kind;
            struct baton_machine_op *mo = &m->op[t][i];
            *mo = (struct baton_machine_op){
                .drain = NONE, .entry = NONE, .buffer = NONE, .buffered = m->n_buffered[t]};
            for (int s = 0; s < BATON_NIC_STEPS; s++)
                mo->step[s] = NONE;
            mo->exec =
                new_step(m, (struct baton_step){.kind = BATON_STEP_EXEC, .thread = t, .op = i});
            if (!is_buffered(kind))
                continue;
            mo->drain =
                new_step(m, (struct baton_step){.kind = BATON_STEP_DRAIN, .thread = t, .op = i});
            m->buffered[t][m->n_buffered[t]++] = (uint8_t)i;
            if (kind == BATON_OP_STORE)
                mo->buffer = (int)at++;
        }
    }
    return at;
}

static void *array(size_t n, size_t size)
{
    return calloc(n ? n : 1, size);
}

static int allocate(struct baton_machine *m, size_t n_ops, size_t n_entries)
{
    const struct baton_program *p = m->program;
    m->step = array(2 * n_ops + BATON_NIC_POLL * n_entries, sizeof(*m->step));
    m->buffered = array(p->n_threads, sizeof(*m->buffered));
    m->entry = array(n_entries, sizeof(*m->entry));
    m->entry_qp = array(n_entries, sizeof(*m->entry_qp));
    m->entry_op = array(n_entries, sizeof(*m->entry_op));
    m->qp = array(n_entries, sizeof(*m->qp));
    bool ok = m->step && m->buffered && m->entry && m->entry_qp && m->entry_op && m->qp;
    for (unsigned t = 0; t < p->n_threads; t++) {
        m->op[t] = array(p->thread[t].n_ops, sizeof(*m->op[t]));
        ok = ok && m->op[t];
    }
    return ok ? 0 : -ENOMEM;
}

static void lay_out(struct baton_machine *m)
{
    const struct baton_program *p = m->program;
    unsigned at = p->n_locs;
    for (unsigned t = 0; t < p->n_threads; t++) {
        m->at_reg[t] = at;
        at += p->thread[t].n_regs;
    }
    at = add_cpu(m, at);
    m->at_value = at;
    add_entries(m);
    match_polls(m);
    at += 2 * m->n_entries;
    m->at_done = at;
    m->n_set_words = (m->n_steps + 63) / 64;
    at += m->n_set_words;
    m->n_key_words = at;
    m->at_flags = at * (unsigned)sizeof(int64_t);
    m->at_pc = m->at_flags + m->n_entries;
    m->at_drained = m->at_pc + p->n_threads;
    m->at_unit = m->at_drained + p->n_threads;
    m->n_words = (m->at_unit + p->nodes + 7) / 8;
}

int baton_machine_init(struct baton_machine *m, const struct baton_program *lowered,
                       unsigned variants)
{
    size_t n_ops = 0, n_entries = 0;
    *m = (struct baton_machine){.program = lowered, .variants = variants};
    for (unsigned t = 0; t < lowered->n_threads; t++) {
        n_ops += lowered->thread[t].n_ops;
        for (unsigned i = 0; i < lowered->thread[t].n_ops; i++)
            n_entries += is_entry(lowered->thread[t].op[i].kind);
    }
    if (2 * n_ops + BATON_NIC_POLL * n_entries > BATON_STEPS_MAX)
        return -E2BIG;
    int rc = allocate(m, n_ops, n_entries);
    if (rc)
        baton_machine_fini(m);
    else
        lay_out(m);
    return rc;
}

void baton_machine_fini(struct baton_machine *m)
{
    for (unsigned t = 0; t < BATON_THREADS_MAX; t++)
        free(m->op[t]);
    free(m->step);
    free(m->buffered);
    free(m->entry);
    free(m->entry_qp);
    free(m->entry_op);
    free(m->qp);
    *m = (struct baton_machine){0};
}

static uint8_t *bytes(int64_t *state)
{
    return (uint8_t *)state;
}

static unsigned pc_of(const struct baton_machine *m, const int64_t *state, unsigned t)
{
    return ((const uint8_t *)state)[m->at_pc + t];
}

static unsigned drained_of(const struct baton_machine *m, const int64_t *state, unsigned t)
{
    return ((const uint8_t *)state)[m->at_drained + t];
}

struct baton_nic_qp baton_machine_nic(const struct baton_machine *m, int64_t *state, unsigned qp)
{
    const struct baton_machine_qp *q = &m->qp[qp];
    return (struct baton_nic_qp){
        .n = q->n,
        .entry = m->entry + q->first,
        .flags = bytes(state) + m->at_flags + q->first,
        .value = (struct baton_nic_value *)(state + m->at_value) + q->first,
        .unit = bytes(state) + m->at_unit + q->node - 1,
        .variants = m->variants,
    };
}

static int64_t memory_load(void *arg, uint64_t location)
{
    return ((const int64_t *)arg)[location];
}

static void memory_store(void *arg, uint64_t location, int64_t value)
{
    ((int64_t *)arg)[location] = value;
}

/* Memory is the first part of a state. */
static struct baton_nic_memory memory_of(int64_t *state)
{
    return (struct baton_nic_memory){memory_load, memory_store, state};
}

void baton_machine_start(const struct baton_machine *m, int64_t *state)
{
    memset(state, 0, m->n_words * sizeof(*state));
    for (unsigned i = 0; i < m->program->n_locs; i++)
        state[i] = m->program->loc[i].init;
}

int64_t baton_machine_eval(const struct baton_machine *m, const int64_t *state, unsigned thread,
                           const struct baton_expr *expr)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < expr->n; i++) {
        const struct baton_term *term = &expr->term[i];
        uint64_t value =
            (uint64_t)(term->is_reg ? state[m->at_reg[thread] + term->value] : term->value);
        sum += term->negative ? -value : value;
    }
    return (int64_t)sum;
}

static bool blocked_by_step(struct baton_machine_blocker *why, int step)
{
    if (why)
        *why = (struct baton_machine_blocker){.by = BATON_BLOCKED_BY_STEP, .step = (unsigned)step};
    return false;
}

static bool blocked_for_ever(struct baton_machine_blocker *why)
{
    if (why)
        *why = (struct baton_machine_blocker){.by = BATON_BLOCKED_FOR_EVER};
    return false;
}

/* Says in steps of the machine what the NIC said of the entries of a queue pair. */
static bool blocked_by_nic(const struct baton_machine *m, const int64_t *state, unsigned entry,
                           const struct baton_nic_blocker *nic, struct baton_machine_blocker *why)
{
    if (!why)
        return false;
    const struct baton_machine_qp *qp = &m->qp[m->entry_qp[entry]];
    const struct baton_machine_op *mo;
    switch (nic->by) {
    case BATON_NIC_BY_POST:
        return blocked_by_step(why, m->entry_op[entry]->drain);
    case BATON_NIC_BY_STEP:
        mo = m->entry_op[qp->first + nic->at];
        if (nic->step != BATON_NIC_POLL)
            return blocked_by_step(why, mo->step[nic->step]);
        /* An older completion: its poll comes earlier in the program, as polls are matched in
         * order. */
        return blocked_for_ever(why);
    case BATON_NIC_BY_UNIT:
        for (unsigned e = 0; e < m->n_entries; e++) {
            unsigned flags = ((const uint8_t *)state)[m->at_flags + e];
            if (m->qp[m->entry_qp[e]].node == qp->node && m->entry[e].kind != BATON_NIC_PUT &&
                baton_nic_has(m->entry[e].kind, BATON_NIC_COMMIT) &&
                flags & baton_nic_bit(BATON_NIC_READ) && !(flags & baton_nic_bit(BATON_NIC_COMMIT)))
                return blocked_by_step(why, m->entry_op[e]->step[BATON_NIC_COMMIT]);
        }
        break;
    case BATON_NIC_BY_VALUE:
        *why = (struct baton_machine_blocker){.by = BATON_BLOCKED_BY_VALUE,
                                              .loc = (int)m->entry[entry].remote};
        break;
    }
    return false;
}

static bool buffer_empty(const struct baton_machine *m, const int64_t *state, unsigned t,
                         unsigned i, struct baton_machine_blocker *why)
{
    unsigned drained = drained_of(m, state, t);
    if (drained == m->op[t][i].buffered)
        return true;
    return blocked_by_step(why, m->op[t][m->buffered[t][drained]].drain);
}

/* Every earlier operation with the id must be acknowledged, also one that is still in the store
 * buffer. */
static bool wait_ready(const struct baton_machine *m, int64_t *state, unsigned t, unsigned i,
                       struct baton_machine_blocker *why)
{
    const struct baton_op *ops = m->program->thread[t].op;
    for (unsigned j = 0; j < i; j++) {
        if (!baton_op_is_remote(ops[j].kind) || ops[j].id != ops[i].id)
            continue;
        unsigned e = (unsigned)m->op[t][j].entry;
        struct baton_nic_qp qp = baton_machine_nic(m, state, m->entry_qp[e]);
        struct baton_nic_blocker nic;
        if (!baton_nic_acked(&qp, e - m->qp[m->entry_qp[e]].first, &nic))
            return blocked_by_nic(m, state, e, &nic, why);
    }
    return true;
}

static bool gfence_ready(const struct baton_machine *m, int64_t *state, unsigned t, unsigned i,
                         struct baton_machine_blocker *why)
{
    const struct baton_op *op = &m->program->thread[t].op[i];
    if (!buffer_empty(m, state, t, i, why))
        return false;
    for (unsigned q = 0; q < m->n_qps; q++) {
        if (m->qp[q].thread != t || !(op->nodes & 1u << (m->qp[q].node - 1)))
            continue;
        struct baton_nic_qp qp = baton_machine_nic(m, state, q);
        struct baton_nic_blocker nic;
        for (unsigned k = 0; k < qp.n; k++)
            if (qp.flags[k] & BATON_NIC_POSTED && !baton_nic_drained(&qp, k, &nic))
                return blocked_by_nic(m, state, m->qp[q].first + k, &nic, why);
    }
    return true;
}

/* The newest own store to the location that is still buffered, else memory. */
static int64_t load(const struct baton_machine *m, const int64_t *state, unsigned t, unsigned i,
                    int loc)
{
    for (unsigned k = m->op[t][i].buffered; k > drained_of(m, state, t); k--) {
        unsigned j = m->buffered[t][k - 1];
        const struct baton_op *op = &m->program->thread[t].op[j];
        if (op->kind == BATON_OP_STORE && op->loc == loc)
            return state[m->op[t][j].buffer];
    }
    return state[loc];
}

/* Each round of the loop would load the words, own buffered stores included. */
static bool await_ready(const struct baton_machine *m, const int64_t *state, unsigned t, unsigned i,
                        struct baton_machine_blocker *why)
{
    const struct baton_op *op = &m->program->thread[t].op[i];
    const struct baton_loc_set *set = &m->program->set[op->set];
    int64_t value = baton_machine_eval(m, state, t, &op->a);
    for (unsigned k = 0; k < set->n; k++)
        if (load(m, state, t, i, (int)m->program->member[set->first + k]) == value)
            return true;
    if (why)
        *why = (struct baton_machine_blocker){
            .by = BATON_BLOCKED_BY_VALUE, .loc = NONE, .set = op->set};
    return false;
}

static bool exec_ready(const struct baton_machine *m, int64_t *state, unsigned t, unsigned i,
                       struct baton_machine_blocker *why)
{
    const struct baton_op *op = &m->program->thread[t].op[i];
    unsigned pc = pc_of(m, state, t);
    if (pc < i)
        return blocked_by_step(why, m->op[t][pc].exec);
    switch (op->kind) {
    case BATON_OP_CAS:
    case BATON_OP_FAA:
    case BATON_OP_MFENCE:
        return buffer_empty(m, state, t, i, why);
    case BATON_OP_GFENCE:
        return gfence_ready(m, state, t, i, why);
    case BATON_OP_WAIT:
        return wait_ready(m, state, t, i, why);
    case BATON_OP_ASSUME:
        return baton_machine_eval(m, state, t, &op->a) == baton_machine_eval(m, state, t, &op->b) ||
               blocked_for_ever(why);
    case BATON_OP_AWAIT:
        return await_ready(m, state, t, i, why);
    case BATON_OP_POLL: {
        if (m->op[t][i].entry == NONE)
            return blocked_for_ever(why);
        unsigned e = (unsigned)m->op[t][i].entry, q = m->entry_qp[e];
        struct baton_nic_qp qp = baton_machine_nic(m, state, q);
        struct baton_nic_memory memory = memory_of(state);
        struct baton_nic_blocker nic;
        return baton_nic_ready(&qp, e - m->qp[q].first, BATON_NIC_POLL, &memory, &nic) ||
               blocked_by_nic(m, state, e, &nic, why);
    }
    default:
        return true;
    }
}

static bool drain_ready(const struct baton_machine *m, const int64_t *state, unsigned t, unsigned i,
                        struct baton_machine_blocker *why)
{
    unsigned drained = drained_of(m, state, t);
    if (drained < m->op[t][i].buffered)
        return blocked_by_step(why, m->op[t][m->buffered[t][drained]].drain);
    return pc_of(m, state, t) > i || blocked_by_step(why, m->op[t][i].exec);
}

static bool nic_ready(const struct baton_machine *m, int64_t *state, const struct baton_step *s,
                      struct baton_machine_blocker *why)
{
    unsigned q = m->entry_qp[s->entry];
    struct baton_nic_qp qp = baton_machine_nic(m, state, q);
    struct baton_nic_memory memory = memory_of(state);
    struct baton_nic_blocker nic;
    if (!baton_nic_ready(&qp, s->entry - m->qp[q].first, s->nic, &memory, &nic))
        return blocked_by_nic(m, state, s->entry, &nic, why);
    const struct baton_nic_entry *e = &m->entry[s->entry];
    if (s->nic != BATON_NIC_READ || !ends_loop(&m->program->thread[s->thread].op[s->op]) ||
        state[e->remote] == qp.value[s->entry - m->qp[q].first].to_local)
        return true;
    if (why)
        *why = (struct baton_machine_blocker){.by = BATON_BLOCKED_BY_VALUE, .loc = (int)e->remote};
    return false;
}

bool baton_machine_ready(const struct baton_machine *m, int64_t *state, unsigned step,
                         struct baton_machine_blocker *why)
{
    const struct baton_step *s = &m->step[step];
    switch (s->kind) {
    case BATON_STEP_EXEC:
        return exec_ready(m, state, s->thread, s->op, why);
    case BATON_STEP_DRAIN:
        return drain_ready(m, state, s->thread, s->op, why);
    case BATON_STEP_NIC:
        return nic_ready(m, state, s, why);
    }
    return false;
}

/* The operands of a request are fixed when it is posted. */
static void post_values(const struct baton_machine *m, int64_t *state, unsigned t, unsigned i)
{
    const struct baton_op *op = &m->program->thread[t].op[i];
    struct baton_nic_value *v = (struct baton_nic_value *)(state + m->at_value) + m->op[t][i].entry;
    switch (op->kind) {
    case BATON_OP_PUT:
    case BATON_OP_RFAA:
        v->to_remote = baton_machine_eval(m, state, t, &op->a);
        break;
    case BATON_OP_RCAS:
        v->to_local = baton_machine_eval(m, state, t, &op->a);
        v->to_remote = baton_machine_eval(m, state, t, &op->b);
        break;
    case BATON_OP_GET:
        v->to_local = baton_machine_eval(m, state, t, &op->a);
        break;
    default:
        break;
    }
}

static void exec(const struct baton_machine *m, int64_t *state, unsigned t, unsigned i)
{
    const struct baton_op *op = &m->program->thread[t].op[i];
    int64_t *reg = op->reg < 0 ? NULL : state + m->at_reg[t] + op->reg;
    switch (op->kind) {
    case BATON_OP_STORE:
        state[m->op[t][i].buffer] = baton_machine_eval(m, state, t, &op->a);
        break;
    case BATON_OP_LOAD:
        *reg = load(m, state, t, i, op->loc);
        break;
    case BATON_OP_LET:
        *reg = baton_machine_eval(m, state, t, &op->a);
        break;
    case BATON_OP_CAS: {
        /* Both operands before the register changes: it may be one of them. */
        int64_t expected = baton_machine_eval(m, state, t, &op->a);
        int64_t value = baton_machine_eval(m, state, t, &op->b);
        *reg = state[op->loc];
        if (state[op->loc] == expected)
            state[op->loc] = value;
        break;
    }
    case BATON_OP_FAA: {
        int64_t add = baton_machine_eval(m, state, t, &op->a);
        *reg = state[op->loc];
        state[op->loc] = (int64_t)((uint64_t)state[op->loc] + (uint64_t)add);
        break;
    }
    case BATON_OP_POLL: {
        unsigned e = (unsigned)m->op[t][i].entry, q = m->entry_qp[e];
        struct baton_nic_qp qp = baton_machine_nic(m, state, q);
        struct baton_nic_memory memory = memory_of(state);
        baton_nic_apply(&qp, e - m->qp[q].first, BATON_NIC_POLL, &memory);
        break;
    }
    default:
        if (is_entry(op->kind))
            post_values(m, state, t, i);
        break;
    }
    bytes(state)[m->at_pc + t]++;
}

static void drain(const struct baton_machine *m, int64_t *state, unsigned t, unsigned i)
{
    const struct baton_machine_op *mo = &m->op[t][i];
    if (mo->entry >= 0) {
        bytes(state)[m->at_flags + (unsigned)mo->entry] |= BATON_NIC_POSTED;
    } else {
        state[m->program->thread[t].op[i].loc] = state[mo->buffer];
        state[mo->buffer] = 0;
    }
    bytes(state)[m->at_drained + t]++;
}

static void set_done(const struct baton_machine *m, int64_t *state, unsigned step)
{
    state[m->at_done + step / 64] |= (int64_t)(UINT64_C(1) << step % 64);
}

void baton_machine_apply(const struct baton_machine *m, int64_t *state, unsigned step)
{
    const struct baton_step *s = &m->step[step];
    set_done(m, state, step);
    if (s->kind == BATON_STEP_EXEC) {
        exec(m, state, s->thread, s->op);
    } else if (s->kind == BATON_STEP_DRAIN) {
        drain(m, state, s->thread, s->op);
    } else {
        unsigned q = m->entry_qp[s->entry], at = s->entry - m->qp[q].first;
        struct baton_nic_qp qp = baton_machine_nic(m, state, q);
        struct baton_nic_memory memory = memory_of(state);
        baton_nic_apply(&qp, at, s->nic, &memory);
        /* A failed rcas has done its write's steps by not writing. */
        if (s->nic == BATON_NIC_READ && qp.entry[at].kind == BATON_NIC_RCAS &&
            qp.flags[at] & baton_nic_bit(BATON_NIC_COMMIT)) {
            set_done(m, state, (unsigned)m->op[s->thread][s->op].step[BATON_NIC_START]);
            set_done(m, state, (unsigned)m->op[s->thread][s->op].step[BATON_NIC_COMMIT]);
        }
    }
}

bool baton_machine_is_final(const struct baton_machine *m, const int64_t *state)
{
    for (unsigned w = 0; w < m->n_set_words; w++) {
        unsigned n = m->n_steps - w * 64;
        uint64_t all = n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
        if ((uint64_t)state[m->at_done + w] != all)
            return false;
    }
    return true;
}

void baton_machine_outcome(const struct baton_machine *m, const int64_t *state, int64_t *row)
{
    const struct baton_program *p = m->program;
    for (unsigned t = 0; t < p->n_threads; t++)
        memcpy(row + p->thread[t].column, state + m->at_reg[t],
               p->thread[t].n_shown * sizeof(*row));
    memcpy(row + p->loc_column, state, p->n_shown_locs * sizeof(*row));
}

/* SPDX-License-Identifier: MIT */
/* The relations behind the reduction, and the choice of the steps to try. reduce.h says why it is
 * sound. */
#include "model/reduce.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = BATON_NIC_FENCE + 1, REACHABLE_MAX = 1 << (BATON_NIC_STEPS + 1) };

static uint64_t *row(uint64_t *sets, const struct baton_reduction *r, unsigned i)
{
    return sets + (size_t)i * r->m->n_set_words;
}

static void add(uint64_t *set, unsigned step)
{
    set[step / 64] |= UINT64_C(1) << step % 64;
}

static bool has(const uint64_t *set, unsigned step)
{
    return set[step / 64] >> step % 64 & 1;
}

/* Iterates over the members of a set. */
#define FOR_EACH_IN(step, set, n_words)                                                            \
    for (unsigned w_ = 0; w_ < (n_words); w_++)                                                    \
        for (uint64_t left_ = (set)[w_];                                                           \
             left_ && ((step) = w_ * 64 + (unsigned)__builtin_ctzll(left_), true);                 \
             left_ &= left_ - 1)

/*
 * What steps need, asked from the NIC's own rules, so that the rules stand in one place. A rule
 * looks at the entry itself and at each other entry on its own, so one pair of entries at a time
 * tells all: a step needs exactly what is done in every condition of the older entry that lets the
 * step through. Of a younger entry nothing is needed: a step may come before it is posted.
 */
struct needs {
    uint8_t own[KINDS][BATON_NIC_STEPS];          /* bits of steps of the same entry */
    uint8_t older[KINDS][BATON_NIC_STEPS][KINDS]; /* of an older entry of a kind */
    uint8_t acked[KINDS], drained[KINDS];
};

static int64_t probe_load(void *arg, uint64_t location)
{
    return *(const int64_t *)arg;
}

static void probe_store(void *arg, uint64_t location, int64_t value) {}

/* All conditions that a lone entry of the kind can be in. An rcas is made to succeed and to fail.
 */
static unsigned reachable(enum baton_nic_kind kind, uint8_t *found)
{
    unsigned n = 2;
    found[0] = 0;
    found[1] = BATON_NIC_POSTED;
    for (unsigned i = 1; i < n; i++) {
        for (int s = 0; s < 2 * BATON_NIC_STEPS; s++) {
            int64_t word = s % 2;
            enum baton_nic_step step = s / 2;
            uint8_t flags = found[i], unit = 0;
            struct baton_nic_entry entry = {.kind = kind};
            struct baton_nic_value value = {0};
            struct baton_nic_qp qp = {
                .n = 1, .entry = &entry, .flags = &flags, .value = &value, .unit = &unit};
            struct baton_nic_memory memory = {probe_load, probe_store, &word};
            if (!baton_nic_has(kind, step) || flags & baton_nic_bit(step) ||
                !baton_nic_ready(&qp, 0, step, &memory, NULL))
                continue;
            baton_nic_apply(&qp, 0, step, &memory);
            if (!memchr(found, flags, n))
                found[n++] = flags;
        }
    }
    return n;
}

static uint8_t all_steps(enum baton_nic_kind kind)
{
    unsigned all = 0;
    for (int s = 0; s < BATON_NIC_STEPS; s++)
        if (baton_nic_has(kind, s))
            all |= baton_nic_bit(s);
    return (uint8_t)all;
}

static void find_needs(struct needs *needs, unsigned variants)
{
    uint8_t found[KINDS][REACHABLE_MAX];
    unsigned n[KINDS];
    int64_t word = 1;
    uint8_t unit = 0;
    struct baton_nic_memory memory = {probe_load, probe_store, &word};
    for (unsigned k = 0; k < KINDS; k++)
        n[k] = reachable(k, found[k]);

    for (unsigned k = 0; k < KINDS; k++) {
        struct baton_nic_entry entry[2] = {{.kind = k}, {.kind = k}};
        struct baton_nic_value value[2] = {0};
        uint8_t flags[2];
        struct baton_nic_qp one = {.n = 1,
                                   .entry = entry,
                                   .flags = flags,
                                   .value = value,
                                   .unit = &unit,
                                   .variants = variants};
        struct baton_nic_qp two = {.n = 2,
                                   .entry = entry,
                                   .flags = flags,
                                   .value = value,
                                   .unit = &unit,
                                   .variants = variants};
        needs->acked[k] = needs->drained[k] = all_steps(k);
        for (unsigned i = 0; i < n[k]; i++) {
            flags[0] = found[k][i];
            if (baton_nic_acked(&one, 0, NULL))
                needs->acked[k] &= flags[0];
            if (baton_nic_drained(&one, 0, NULL))
                needs->drained[k] &= flags[0];
        }
        for (int s = 0; s < BATON_NIC_STEPS; s++) {
            if (!baton_nic_has(k, s))
                continue;
            needs->own[k][s] = all_steps(k);
            for (unsigned i = 0; i < n[k]; i++) {
                flags[0] = found[k][i];
                if (!(flags[0] & baton_nic_bit(s)) && baton_nic_ready(&one, 0, s, &memory, NULL))
                    needs->own[k][s] &= flags[0];
            }
            flags[1] = (uint8_t)(BATON_NIC_POSTED | (all_steps(k) & ~baton_nic_bit(s)));
            for (unsigned older = 0; older < KINDS; older++) {
                needs->older[k][s][older] = all_steps(older);
                entry[0].kind = older;
                for (unsigned i = 0; i < n[older]; i++) {
                    flags[0] = found[older][i];
                    if (baton_nic_ready(&two, 1, s, &memory, NULL))
                        needs->older[k][s][older] &= flags[0];
                }
            }
            entry[0].kind = k;
        }
    }
}

/* Adds the steps of an entry that the bits say. */
static void add_bits(const struct baton_reduction *r, uint64_t *set, unsigned entry, unsigned bits)
{
    for (int s = 0; s < BATON_NIC_POLL; s++)
        if (bits & baton_nic_bit(s) && r->m->entry_op[entry]->step[s] >= 0)
            add(set, (unsigned)r->m->entry_op[entry]->step[s]);
}

static void add_entry_needs(const struct baton_reduction *r, uint64_t *set, unsigned entry,
                            enum baton_nic_step step, const struct needs *needs)
{
    const struct baton_machine *m = r->m;
    enum baton_nic_kind kind = m->entry[entry].kind;
    add_bits(r, set, entry, needs->own[kind][step]);
    for (unsigned e = m->qp[m->entry_qp[entry]].first; e < entry; e++)
        add_bits(r, set, e, needs->older[kind][step][m->entry[e].kind]);
}

static void add_exec_needs(const struct baton_reduction *r, uint64_t *set, unsigned t, unsigned i,
                           const struct needs *needs)
{
    const struct baton_machine *m = r->m;
    const struct baton_op *ops = m->program->thread[t].op, *op = &ops[i];
    const struct baton_machine_op *mo = m->op[t];
    if (i)
        add(set, (unsigned)mo[i - 1].exec);
    switch (op->kind) {
    case BATON_OP_CAS:
    case BATON_OP_FAA:
    case BATON_OP_MFENCE:
    case BATON_OP_GFENCE:
        if (mo[i].buffered)
            add(set, (unsigned)mo[m->buffered[t][mo[i].buffered - 1]].drain);
        break;
    case BATON_OP_POLL:
        if (mo[i].entry >= 0)
            add_entry_needs(r, set, (unsigned)mo[i].entry, BATON_NIC_POLL, needs);
        break;
    default:
        break;
    }
    for (unsigned j = 0; j < i; j++) {
        if (mo[j].entry < 0 || ops[j].kind == BATON_OP_POLL)
            continue;
        unsigned e = (unsigned)mo[j].entry;
        if (op->kind == BATON_OP_WAIT && ops[j].id == op->id && baton_op_is_remote(ops[j].kind))
            add_bits(r, set, e, needs->acked[m->entry[e].kind]);
        if (op->kind == BATON_OP_GFENCE && op->nodes & 1u << (m->qp[m->entry_qp[e]].node - 1))
            add_bits(r, set, e, needs->drained[m->entry[e].kind]);
    }
}

static void close_under_transitivity(struct baton_reduction *r)
{
    unsigned n = r->m->n_steps, words = r->m->n_set_words;
    for (unsigned k = 0; k < n; k++) {
        const uint64_t *through = row(r->must, r, k);
        for (unsigned i = 0; i < n; i++) {
            uint64_t *set = row(r->must, r, i);
            if (has(set, k))
                for (unsigned w = 0; w < words; w++)
                    set[w] |= through[w];
        }
    }
}

unsigned baton_reduction_partner(const struct baton_reduction *r, unsigned step)
{
    const struct baton_step *s = &r->m->step[step];
    return (unsigned)r->m->op[s->thread][s->op].step[BATON_NIC_LAND];
}

/* A LEAVE with a local write and no rfence behind it on its queue pair. */
static bool can_fuse(const struct baton_machine *m, const struct baton_step *s)
{
    if (s->kind != BATON_STEP_NIC || s->nic != BATON_NIC_LEAVE ||
        !baton_nic_has(m->entry[s->entry].kind, BATON_NIC_LAND))
        return false;
    const struct baton_machine_qp *qp = &m->qp[m->entry_qp[s->entry]];
    for (unsigned e = s->entry + 1; e < qp->first + qp->n; e++)
        if (m->entry[e].kind == BATON_NIC_FENCE)
            return false;
    return true;
}

static void find_must(struct baton_reduction *r)
{
    const struct baton_machine *m = r->m;
    struct needs needs;
    find_needs(&needs, m->variants);
    for (unsigned i = 0; i < m->n_steps; i++) {
        const struct baton_step *s = &m->step[i];
        const struct baton_machine_op *mo = &m->op[s->thread][s->op];
        uint64_t *set = row(r->must, r, i);
        switch (s->kind) {
        case BATON_STEP_EXEC:
            add_exec_needs(r, set, s->thread, s->op, &needs);
            break;
        case BATON_STEP_DRAIN:
            add(set, (unsigned)mo->exec);
            if (mo->buffered)
                add(set,
                    (unsigned)m->op[s->thread][m->buffered[s->thread][mo->buffered - 1]].drain);
            break;
        case BATON_STEP_NIC:
            add(set, (unsigned)mo->drain);
            add_entry_needs(r, set, s->entry, s->nic, &needs);
            r->fused[i] = can_fuse(m, s);
            if (r->fused[i]) {
                unsigned land = (unsigned)mo->step[BATON_NIC_LAND];
                add_entry_needs(r, set, s->entry, BATON_NIC_LAND, &needs);
                set[i / 64] &= ~(UINT64_C(1) << i % 64);
                set[land / 64] &= ~(UINT64_C(1) << land % 64);
            }
            break;
        }
    }
    close_under_transitivity(r);
}

/* The locations a step touches; -1 for none. A fused LEAVE writes like its LAND. */
static void accesses(const struct baton_reduction *r, unsigned step, int *reads, int *writes)
{
    const struct baton_machine *m = r->m;
    const struct baton_step *s = &m->step[step];
    const struct baton_op *op = &m->program->thread[s->thread].op[s->op];
    *reads = *writes = -1;
    if (s->kind == BATON_STEP_EXEC) {
        if (op->kind == BATON_OP_LOAD || op->kind == BATON_OP_CAS || op->kind == BATON_OP_FAA)
            *reads = op->loc;
        if (op->kind == BATON_OP_CAS || op->kind == BATON_OP_FAA)
            *writes = op->loc;
    } else if (s->kind == BATON_STEP_DRAIN) {
        if (op->kind == BATON_OP_STORE)
            *writes = op->loc;
    } else if (s->nic == BATON_NIC_READ) {
        *reads = op->kind == BATON_OP_PUT ? op->local : op->loc;
    } else if (s->nic == BATON_NIC_COMMIT) {
        *writes = op->loc;
    } else if (s->nic == BATON_NIC_LAND || r->fused[step]) {
        *writes = op->local;
    }
}

static bool awaits_value(const struct baton_reduction *r, const struct baton_step *s)
{
    const struct baton_op *op = &r->m->program->thread[s->thread].op[s->op];
    return op->kind == BATON_OP_GET && op->a.n && s->kind == BATON_STEP_NIC &&
           s->nic == BATON_NIC_READ;
}

static void find_accesses(struct baton_reduction *r)
{
    const struct baton_machine *m = r->m;
    for (unsigned i = 0; i < m->n_steps; i++) {
        const struct baton_step *s = &m->step[i];
        const struct baton_op *op = &m->program->thread[s->thread].op[s->op];
        int reads, writes;
        accesses(r, i, &reads, &writes);
        if (reads >= 0)
            add(row(r->readers, r, (unsigned)reads), i);
        if (writes >= 0)
            add(row(r->writers, r, (unsigned)writes), i);
        if (s->kind == BATON_STEP_EXEC && op->kind == BATON_OP_AWAIT)
            for (unsigned k = 0; k < m->program->set[op->set].n; k++)
                add(row(r->readers, r, m->program->member[m->program->set[op->set].first + k]), i);
    }
}

static void add_memory_conflicts(struct baton_reduction *r, unsigned i, uint64_t *set)
{
    const struct baton_machine *m = r->m;
    const struct baton_step *s = &m->step[i];
    int reads, writes;
    accesses(r, i, &reads, &writes);
    for (unsigned w = 0; w < m->n_set_words; w++) {
        if (reads >= 0 && !awaits_value(r, s))
            set[w] |= row(r->writers, r, (unsigned)reads)[w];
        if (writes >= 0)
            set[w] |=
                row(r->writers, r, (unsigned)writes)[w] | row(r->readers, r, (unsigned)writes)[w];
    }
    if (s->kind == BATON_STEP_NIC)
        return;
    unsigned u;
    FOR_EACH_IN(u, set, m->n_set_words)
    if (m->step[u].kind != BATON_STEP_NIC && m->step[u].thread == s->thread)
        set[u / 64] &= ~(UINT64_C(1) << u % 64);
}

static bool is_rmw_read(const struct baton_machine *m, unsigned i)
{
    const struct baton_step *s = &m->step[i];
    return s->kind == BATON_STEP_NIC && s->nic == BATON_NIC_READ &&
           (m->entry[s->entry].kind == BATON_NIC_RCAS || m->entry[s->entry].kind == BATON_NIC_RFAA);
}

/* The conflicts of NIC steps that are not about memory. */
static void add_nic_conflicts(struct baton_reduction *r, unsigned i, uint64_t *set)
{
    const struct baton_machine *m = r->m;
    const struct baton_step *s = &m->step[i];
    if (s->kind != BATON_STEP_NIC)
        return;
    const struct baton_machine_qp *qp = &m->qp[m->entry_qp[s->entry]];
    enum baton_nic_kind kind = m->entry[s->entry].kind;
    bool lands = baton_nic_has(kind, BATON_NIC_LAND);
    for (unsigned e = 0; e < m->n_entries; e++) {
        int read = m->entry_op[e]->step[BATON_NIC_READ];
        if (read < 0 || e == s->entry)
            continue;
        const struct baton_machine_qp *other = &m->qp[m->entry_qp[e]];
        enum baton_nic_kind other_kind = m->entry[e].kind;
        if (other->node == qp->node && is_rmw_read(m, i) && is_rmw_read(m, (unsigned)read))
            add(set, (unsigned)read);
        if (other != qp)
            continue;
        if (s->nic == BATON_NIC_LEAVE && lands && !r->fused[i] && e > s->entry &&
            other_kind == BATON_NIC_PUT)
            add(set, (unsigned)read);
        if (s->nic == BATON_NIC_START && e < s->entry && other_kind == BATON_NIC_GET)
            add(set, (unsigned)read);
        bool overtaking = (kind == BATON_NIC_RCAS && other_kind == BATON_NIC_GET && e > s->entry) ||
                          (kind == BATON_NIC_GET && other_kind == BATON_NIC_RCAS && e < s->entry);
        if (s->nic == BATON_NIC_READ && overtaking && m->variants & BATON_VARIANT_NAR_NRR)
            add(set, (unsigned)read);
    }
}

static void find_dep(struct baton_reduction *r)
{
    const struct baton_machine *m = r->m;
    find_accesses(r);
    for (unsigned i = 0; i < m->n_steps; i++) {
        uint64_t *set = row(r->dep, r, i);
        add_memory_conflicts(r, i, set);
        add_nic_conflicts(r, i, set);
        set[i / 64] &= ~(UINT64_C(1) << i % 64);
        /* What can only come after i never comes before it. */
        unsigned u;
        FOR_EACH_IN(u, set, m->n_set_words)
        if (has(row(r->must, r, u), i))
            set[u / 64] &= ~(UINT64_C(1) << u % 64);
    }
}

static uint64_t *new_sets(const struct baton_machine *m, size_t n)
{
    return calloc(n * m->n_set_words + 1, sizeof(uint64_t));
}

int baton_reduction_init(struct baton_reduction *r, const struct baton_machine *m, bool naive)
{
    *r = (struct baton_reduction){.m = m, .naive = naive};
    if (naive)
        return 0;
    r->must = new_sets(m, m->n_steps);
    r->dep = new_sets(m, m->n_steps);
    r->readers = new_sets(m, m->program->n_locs);
    r->writers = new_sets(m, m->program->n_locs);
    r->enabled = new_sets(m, 1);
    r->chosen = new_sets(m, 1);
    r->best = new_sets(m, 1);
    r->fused = calloc(m->n_steps + 1, sizeof(*r->fused));
    r->work = calloc(m->n_steps + 1, sizeof(*r->work));
    if (!r->must || !r->dep || !r->readers || !r->writers || !r->enabled || !r->chosen ||
        !r->best || !r->fused || !r->work) {
        baton_reduction_fini(r);
        return -ENOMEM;
    }
    find_must(r);
    find_dep(r);
    return 0;
}

void baton_reduction_fini(struct baton_reduction *r)
{
    free(r->must);
    free(r->dep);
    free(r->readers);
    free(r->writers);
    free(r->enabled);
    free(r->chosen);
    free(r->best);
    free(r->fused);
    free(r->work);
    *r = (struct baton_reduction){0};
}

/*
 * A step whose absence keeps `step` impossible. START and COMMIT of an rcas count as done when the
 * rcas fails, so it is the read that has to come first.
 */
static unsigned enabler(const struct baton_machine *m, const int64_t *state, unsigned step)
{
    const struct baton_step *s = &m->step[step];
    if (s->kind == BATON_STEP_NIC && m->entry[s->entry].kind == BATON_NIC_RCAS &&
        (s->nic == BATON_NIC_START || s->nic == BATON_NIC_COMMIT)) {
        unsigned read = (unsigned)m->op[s->thread][s->op].step[BATON_NIC_READ];
        if (!baton_machine_is_done(m, state, read))
            return read;
    }
    return step;
}

struct closing {
    struct baton_reduction *r;
    int64_t *state;
    const uint64_t *done;
    unsigned n_work, n_enabled;
};

static void close_over(struct closing *c, unsigned step)
{
    if (has(c->r->chosen, step) || has(c->done, step))
        return;
    add(c->r->chosen, step);
    c->r->work[c->n_work++] = step;
    c->n_enabled += has(c->r->enabled, step);
}

static void close_over_writers(struct closing *c, unsigned loc)
{
    unsigned u;
    FOR_EACH_IN(u, row(c->r->writers, c->r, loc), c->r->m->n_set_words)
    close_over(c, enabler(c->r->m, c->state, u));
}

/* Rule (2): puts a set into T without which the disabled step stays disabled. */
static void close_over_disabled(struct closing *c, unsigned step)
{
    struct baton_reduction *r = c->r;
    const struct baton_machine *m = r->m;
    unsigned first = enabler(m, c->state, step);
    if (first != step) {
        close_over(c, first);
        return;
    }
    const uint64_t *must = row(r->must, r, step);
    unsigned found = UINT32_MAX, u;
    FOR_EACH_IN(u, must, m->n_set_words)
    {
        if (has(c->done, u))
            continue;
        if (has(r->chosen, u)) /* one is enough, and it is there */
            return;
        if (found == UINT32_MAX || (has(r->enabled, u) && !has(r->enabled, found)))
            found = u;
    }
    if (found != UINT32_MAX) {
        close_over(c, enabler(m, c->state, found));
        return;
    }
    struct baton_machine_blocker why;
    if (baton_machine_ready(m, c->state, step, &why))
        return;
    if (why.by == BATON_BLOCKED_BY_STEP) {
        close_over(c, enabler(m, c->state, why.step));
    } else if (why.by == BATON_BLOCKED_BY_VALUE && why.loc >= 0) {
        close_over_writers(c, (unsigned)why.loc);
    } else if (why.by == BATON_BLOCKED_BY_VALUE) {
        const struct baton_loc_set *set = &m->program->set[why.set];
        for (unsigned k = 0; k < set->n; k++)
            close_over_writers(c, m->program->member[set->first + k]);
    }
}

/* Builds T from a seed into r->chosen; returns how many enabled steps it has, or gives up at
 * `bound`. */
static unsigned close_from(struct baton_reduction *r, int64_t *state, unsigned seed, unsigned bound)
{
    const struct baton_machine *m = r->m;
    struct closing c = {.r = r, .state = state, .done = (const uint64_t *)state + m->at_done};
    memset(r->chosen, 0, m->n_set_words * sizeof(*r->chosen));
    close_over(&c, seed);
    while (c.n_work && c.n_enabled < bound) {
        unsigned step = r->work[--c.n_work], u;
        if (!has(r->enabled, step)) {
            close_over_disabled(&c, step);
            continue;
        }
        FOR_EACH_IN(u, row(r->dep, r, step), m->n_set_words)
        close_over(&c, u);
    }
    return c.n_enabled;
}

/* Collects the enabled steps. A thread that can never go on makes the state worthless: then there
 * are none. */
static unsigned find_enabled(struct baton_reduction *r, int64_t *state, unsigned *steps)
{
    const struct baton_machine *m = r->m;
    const uint64_t *done = (const uint64_t *)state + m->at_done;
    unsigned n = 0;
    for (unsigned w = 0; w < m->n_set_words; w++) {
        unsigned n_here = m->n_steps - w * 64;
        uint64_t left = ~done[w] & (n_here >= 64 ? UINT64_MAX : (UINT64_C(1) << n_here) - 1);
        for (; left; left &= left - 1) {
            unsigned step = w * 64 + (unsigned)__builtin_ctzll(left);
            if (r->must) {
                const uint64_t *must = row(r->must, r, step);
                uint64_t missing = 0;
                for (unsigned k = 0; k < m->n_set_words; k++)
                    missing |= must[k] & ~done[k];
                if (missing)
                    continue;
            }
            struct baton_machine_blocker why;
            if (baton_machine_ready(m, state, step, &why))
                steps[n++] = step;
            else if (why.by == BATON_BLOCKED_FOR_EVER)
                return 0;
        }
    }
    return n;
}

unsigned baton_reduction_choose(struct baton_reduction *r, int64_t *state, unsigned *steps)
{
    const struct baton_machine *m = r->m;
    unsigned words = m->n_set_words, n = find_enabled(r, state, steps);
    if (r->naive || n < 2)
        return n;

    const uint64_t *done = (const uint64_t *)state + m->at_done;
    memset(r->enabled, 0, words * sizeof(*r->enabled));
    for (unsigned i = 0; i < n; i++) {
        const uint64_t *dep = row(r->dep, r, steps[i]);
        uint64_t undone = 0;
        for (unsigned w = 0; w < words; w++)
            undone |= dep[w] & ~done[w];
        if (!undone) {
            steps[0] = steps[i];
            return 1;
        }
        add(r->enabled, steps[i]);
    }
    unsigned bound = n;
    memcpy(r->best, r->enabled, words * sizeof(*r->best));
    for (unsigned i = 0; i < n && bound > 1; i++) {
        unsigned size = close_from(r, state, steps[i], bound);
        if (size >= bound)
            continue;
        bound = size;
        memcpy(r->best, r->chosen, words * sizeof(*r->best));
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < n; i++)
        if (has(r->best, steps[i]))
            steps[kept++] = steps[i];
    return kept;
}

unsigned baton_reduction_apply(const struct baton_reduction *r, int64_t *state, unsigned step)
{
    baton_machine_apply(r->m, state, step);
    if (r->naive || !r->fused[step])
        return 1;
    baton_machine_apply(r->m, state, baton_reduction_partner(r, step));
    return 2;
}

/* SPDX-License-Identifier: MIT */
/*
 * The NIC's rules: which step of which entry may happen, and what it does. The functions of model/nic.h are
 * these; they are here in the open for who takes millions of steps a second, with steps and memory that the
 * compiler knows.
 */
#ifndef BATON_MODEL_NIC_RULES_H
#define BATON_MODEL_NIC_RULES_H

#include "base/masked.h"

#include "model/nic.h"

#define NIC_RULE static inline __attribute__((always_inline, unused))

enum {
    NIC_READ = 1 << BATON_NIC_READ,
    NIC_STARTED = 1 << BATON_NIC_START,
    NIC_WRITTEN = 1 << BATON_NIC_COMMIT,
    NIC_LEFT = 1 << BATON_NIC_LEAVE,
    NIC_LANDED = 1 << BATON_NIC_LAND,
    NIC_POLLED = 1 << BATON_NIC_POLL,
};

NIC_RULE bool nic_has(enum baton_nic_kind kind, enum baton_nic_step step)
{
    switch (step) {
    case BATON_NIC_READ:
    case BATON_NIC_POLL:
        return kind != BATON_NIC_FENCE;
    case BATON_NIC_START:
    case BATON_NIC_COMMIT:
        return kind != BATON_NIC_GET && kind != BATON_NIC_FENCE;
    case BATON_NIC_LEAVE:
        return true;
    case BATON_NIC_LAND:
        return kind != BATON_NIC_PUT && kind != BATON_NIC_FENCE;
    case BATON_NIC_STEPS:
        break;
    }
    return false;
}

NIC_RULE bool nic_is_rmw(enum baton_nic_kind kind)
{
    return kind == BATON_NIC_RCAS || kind == BATON_NIC_RFAA;
}

NIC_RULE bool nic_blocked(struct baton_nic_blocker *why, unsigned at, enum baton_nic_step step)
{
    if (why)
        *why = (struct baton_nic_blocker){.by = BATON_NIC_BY_STEP, .at = at, .step = step};
    return false;
}

NIC_RULE bool nic_blocked_by(struct baton_nic_blocker *why, int by)
{
    if (why)
        *why = (struct baton_nic_blocker){.by = by};
    return false;
}

/* The first step of `need`, in the order of the enum, that entry `at` has not done blocks. */
NIC_RULE bool nic_has_done(const struct baton_nic_qp *qp, unsigned at, unsigned need,
                           struct baton_nic_blocker *why)
{
    unsigned missing = need & ~(unsigned)qp->flags[at];
    if (!missing)
        return true;
    return nic_blocked(why, at, (enum baton_nic_step)__builtin_ctz(missing));
}

/* What an older entry of kind `older` must have done before an entry of kind `kind` may read. */
NIC_RULE unsigned nic_needs_to_read(const struct baton_nic_qp *qp, enum baton_nic_kind kind,
                                    enum baton_nic_kind older)
{
    switch (older) {
    case BATON_NIC_PUT:
        /* A put reads in order; a remote read also comes after older remote writes. */
        return kind == BATON_NIC_PUT ? NIC_READ : NIC_READ | NIC_STARTED | NIC_WRITTEN;
    case BATON_NIC_GET:
        /* Gets do not block: their reads are unordered unless the variant says so. */
        return kind == BATON_NIC_GET && qp->variants & BATON_VARIANT_NRR_NRR ? NIC_READ : 0;
    case BATON_NIC_RCAS:
    case BATON_NIC_RFAA:
        if (kind == BATON_NIC_PUT)
            return qp->variants & BATON_VARIANT_NAR_NLR ? NIC_READ : 0;
        return NIC_READ | NIC_STARTED | NIC_WRITTEN;
    case BATON_NIC_FENCE:
        return NIC_LEFT;
    }
    return 0;
}

/* Under nar-nrr a get may read before an older rcas, which then can only fail: its write would come
 * too late. */
NIC_RULE bool nic_may_overtake(const struct baton_nic_qp *qp, unsigned at, unsigned older)
{
    return qp->variants & BATON_VARIANT_NAR_NRR && qp->entry[at].kind == BATON_NIC_GET &&
           qp->entry[older].kind == BATON_NIC_RCAS && !(qp->flags[older] & NIC_READ);
}

NIC_RULE bool nic_is_overtaken(const struct baton_nic_qp *qp, unsigned at)
{
    for (unsigned i = at + 1; i < qp->n; i++)
        if (qp->entry[i].kind == BATON_NIC_GET && qp->flags[i] & NIC_READ)
            return true;
    return false;
}

/*
 * A remote read pushes all that is in wbR ahead of it, also the writes of younger entries: a get that
 * they have passed sees them. So a get reads before a younger write has started or after it is in memory.
 */
NIC_RULE bool nic_pushed_ready(const struct baton_nic_qp *qp, unsigned at,
                               struct baton_nic_blocker *why)
{
    if (qp->free_reads)
        return true;
    for (unsigned i = at + 1; i < qp->n; i++)
        if ((qp->flags[i] & (NIC_STARTED | NIC_WRITTEN)) == NIC_STARTED)
            return nic_blocked(why, i, BATON_NIC_COMMIT);
    return true;
}

NIC_RULE bool nic_read_ready(const struct baton_nic_qp *qp, unsigned at,
                             const struct baton_nic_memory *memory, struct baton_nic_blocker *why)
{
    const struct baton_nic_entry *e = &qp->entry[at];
    for (unsigned i = 0; i < at; i++)
        if (!nic_may_overtake(qp, at, i) &&
            !nic_has_done(qp, i, nic_needs_to_read(qp, e->kind, qp->entry[i].kind), why))
            return false;
    if (e->kind == BATON_NIC_PUT) {
        /* The local read pushes pending local writes ahead of it. */
        for (unsigned i = 0; i < at; i++)
            if (nic_has(qp->entry[i].kind, BATON_NIC_LAND) &&
                (qp->flags[i] & (NIC_LEFT | NIC_LANDED)) == NIC_LEFT)
                return nic_blocked(why, i, BATON_NIC_LAND);
    } else if (!nic_pushed_ready(qp, at, why)) {
        return false;
    }
    if (nic_is_rmw(e->kind) && *qp->unit)
        return nic_blocked_by(why, BATON_NIC_BY_UNIT);
    if (e->kind == BATON_NIC_RCAS && qp->variants & BATON_VARIANT_NAR_NRR &&
        nic_is_overtaken(qp, at) && memory->load(memory->arg, e->remote) == qp->value[at].to_local)
        return nic_blocked_by(why, BATON_NIC_BY_VALUE);
    return true;
}

/* A remote write starts in the order of posting, after every older put and RMW; gets do not block
 * it. */
NIC_RULE bool nic_start_ready(const struct baton_nic_qp *qp, unsigned at,
                              struct baton_nic_blocker *why)
{
    for (unsigned i = 0; i < at; i++) {
        enum baton_nic_kind kind = qp->entry[i].kind;
        if (!nic_has_done(qp, i,
                          kind == BATON_NIC_FENCE ? NIC_LEFT
                          : kind == BATON_NIC_GET ? 0
                                                  : NIC_READ | NIC_STARTED,
                          why))
            return false;
    }
    return nic_has_done(qp, at, NIC_READ, why);
}

NIC_RULE bool nic_commit_ready(const struct baton_nic_qp *qp, unsigned at,
                               struct baton_nic_blocker *why)
{
    for (unsigned i = 0; i < at; i++)
        if (qp->flags[i] & NIC_STARTED && !nic_has_done(qp, i, NIC_WRITTEN, why))
            return false;
    return nic_has_done(qp, at, NIC_READ | NIC_STARTED, why);
}

/* At the head of the pipe: every older entry has left it whole, the AW of an RMW too. */
NIC_RULE bool nic_leave_ready(const struct baton_nic_qp *qp, unsigned at,
                              struct baton_nic_blocker *why)
{
    for (unsigned i = 0; i < at; i++)
        if (!nic_has_done(qp, i,
                          NIC_LEFT | (nic_is_rmw(qp->entry[i].kind) ? NIC_READ | NIC_STARTED : 0),
                          why))
            return false;
    switch (qp->entry[at].kind) {
    case BATON_NIC_PUT:
        return nic_has_done(qp, at, NIC_READ | NIC_STARTED, why);
    case BATON_NIC_FENCE:
        return true;
    default:
        return nic_has_done(qp, at, NIC_READ, why);
    }
}

NIC_RULE bool nic_land_ready(const struct baton_nic_qp *qp, unsigned at,
                             struct baton_nic_blocker *why)
{
    for (unsigned i = 0; i < at; i++)
        if (nic_has(qp->entry[i].kind, BATON_NIC_LAND) &&
            !nic_has_done(qp, i, NIC_LEFT | NIC_LANDED, why))
            return false;
    return nic_has_done(qp, at, NIC_LEFT, why);
}

NIC_RULE bool nic_poll_ready(const struct baton_nic_qp *qp, unsigned at,
                             struct baton_nic_blocker *why)
{
    for (unsigned i = 0; i <= at; i++) {
        enum baton_nic_kind kind = qp->entry[i].kind;
        if (kind == BATON_NIC_FENCE)
            continue;
        if (!nic_has_done(qp, i,
                          NIC_LEFT | (kind == BATON_NIC_PUT ? 0 : NIC_LANDED) |
                              (i < at ? NIC_POLLED : 0),
                          why))
            return false;
    }
    return true;
}

NIC_RULE bool nic_ready(const struct baton_nic_qp *qp, unsigned at, enum baton_nic_step step,
                        const struct baton_nic_memory *memory, struct baton_nic_blocker *why)
{
    if (!(qp->flags[at] & BATON_NIC_POSTED))
        return nic_blocked_by(why, BATON_NIC_BY_POST);
    switch (step) {
    case BATON_NIC_READ:
        return nic_read_ready(qp, at, memory, why);
    case BATON_NIC_START:
        return nic_start_ready(qp, at, why);
    case BATON_NIC_COMMIT:
        return nic_commit_ready(qp, at, why);
    case BATON_NIC_LEAVE:
        return nic_leave_ready(qp, at, why);
    case BATON_NIC_LAND:
        return nic_land_ready(qp, at, why);
    case BATON_NIC_POLL:
        return nic_poll_ready(qp, at, why);
    case BATON_NIC_STEPS:
        break;
    }
    return false;
}

NIC_RULE void nic_read_remote(const struct baton_nic_qp *qp, unsigned at,
                              const struct baton_nic_memory *memory)
{
    const struct baton_nic_entry *e = &qp->entry[at];
    struct baton_nic_value *v = &qp->value[at];
    int64_t old = memory->load(memory->arg, e->remote);
    bool writes = false;
    if (e->kind == BATON_NIC_RFAA) {
        uint64_t add = (uint64_t)v->to_remote;
        v->to_remote = (int64_t)(e->masked ? baton_masked_add((uint64_t)old, add, e->mask.compare)
                                           : (uint64_t)old + add);
        writes = true;
    } else if (e->kind == BATON_NIC_RCAS) {
        writes = e->masked ? !(((uint64_t)old ^ (uint64_t)v->to_local) & e->mask.compare)
                           : old == v->to_local;
        if (e->masked)
            v->to_remote =
                (int64_t)baton_masked_merge((uint64_t)old, (uint64_t)v->to_remote, e->mask.swap);
    }
    v->to_local = old;
    if (writes) {
        *qp->unit = 1;
    } else {
        v->to_remote = 0;
        if (e->kind == BATON_NIC_RCAS)
            qp->flags[at] |= NIC_STARTED | NIC_WRITTEN;
    }
}

NIC_RULE void nic_apply(const struct baton_nic_qp *qp, unsigned at, enum baton_nic_step step,
                        const struct baton_nic_memory *memory)
{
    const struct baton_nic_entry *e = &qp->entry[at];
    struct baton_nic_value *v = &qp->value[at];
    switch (step) {
    case BATON_NIC_READ:
        if (e->kind != BATON_NIC_PUT)
            nic_read_remote(qp, at, memory);
        else if (!e->constant)
            v->to_remote = memory->load(memory->arg, e->local);
        break;
    case BATON_NIC_COMMIT:
        memory->store(memory->arg, e->remote, v->to_remote);
        v->to_remote = 0;
        if (nic_is_rmw(e->kind))
            *qp->unit = 0;
        break;
    case BATON_NIC_LAND:
        memory->store(memory->arg, e->local, v->to_local);
        v->to_local = 0;
        break;
    default:
        break;
    }
    qp->flags[at] |= (uint8_t)baton_nic_bit(step);
}

#endif

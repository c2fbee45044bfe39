/* SPDX-License-Identifier: MIT */
/*
 * Which stamps each operation of the language has.
 */
#include "model/parts.h"

enum access { NONE = 0, READS = 1, WRITES = 2 };

static void add(struct baton_part *out, unsigned *n, enum baton_stamp stamp, unsigned node, int loc,
                unsigned access)
{
    out[(*n)++] = (struct baton_part){.stamp = stamp,
                                      .node = node,
                                      .loc = loc,
                                      .reads = access & READS,
                                      .writes = access & WRITES};
}

static void add_release(struct baton_part *out, unsigned *n, const struct baton_program *program,
                        const struct baton_lock_decl *lock)
{
    switch (lock->kind) {
    case BATON_LOCK_WLOCK:
        add(out, n, BATON_STAMP_CW, 0, -1, NONE);
        break;
    case BATON_LOCK_SLOCK:
        for (unsigned node = 1; node <= program->nodes; node++)
            add(out, n, BATON_STAMP_GF, node, -1, NONE);
        break;
    case BATON_LOCK_NLOCK:
        add(out, n, BATON_STAMP_RF, lock->node, -1, NONE);
        add(out, n, BATON_STAMP_NRW, lock->node, -1, NONE);
        break;
    }
}

unsigned baton_parts_of(const struct baton_program *program, unsigned thread, unsigned at,
                        bool succeeds, struct baton_part *out)
{
    const struct baton_op *op = &program->thread[thread].op[at];
    unsigned towards = op->loc >= 0 ? program->loc[op->loc].node : op->node;
    unsigned update = READS | (succeeds ? WRITES : NONE);
    unsigned n = 0;
    switch (op->kind) {
    case BATON_OP_STORE:
        add(out, &n, BATON_STAMP_CW, 0, op->loc, WRITES);
        break;
    case BATON_OP_LOAD:
    case BATON_OP_AWAIT: /* of the word that ends it, see await.h */
        add(out, &n, BATON_STAMP_CR, 0, op->loc, READS);
        break;
    case BATON_OP_CAS:
    case BATON_OP_FAA:
        add(out, &n, BATON_STAMP_CAS, 0, op->loc, update);
        break;
    case BATON_OP_MFENCE:
    case BATON_OP_ACQ:
        add(out, &n, BATON_STAMP_MF, 0, -1, NONE);
        break;
    case BATON_OP_WAIT:
    case BATON_OP_POLL:
        add(out, &n, BATON_STAMP_WT, 0, -1, NONE);
        break;
    case BATON_OP_RFENCE:
        add(out, &n, BATON_STAMP_RF, op->node, -1, NONE);
        break;
    case BATON_OP_GFENCE:
        for (unsigned node = 1; node <= BATON_NODES_MAX; node++)
            if (op->nodes >> (node - 1) & 1)
                add(out, &n, BATON_STAMP_GF, node, -1, NONE);
        break;
    case BATON_OP_PUT:
        add(out, &n, BATON_STAMP_NLR, towards, op->local, READS);
        add(out, &n, BATON_STAMP_NRW, towards, op->loc, WRITES);
        break;
    case BATON_OP_GET:
        add(out, &n, BATON_STAMP_NRR, towards, op->loc, READS);
        add(out, &n, BATON_STAMP_NLW, towards, op->local, WRITES);
        break;
    case BATON_OP_RCAS:
    case BATON_OP_RFAA:
        add(out, &n, BATON_STAMP_NAR, towards, op->loc, READS);
        if (succeeds)
            add(out, &n, BATON_STAMP_NRW, towards, op->loc, WRITES);
        add(out, &n, BATON_STAMP_NLW, towards, op->local, WRITES);
        break;
    case BATON_OP_REL:
        add_release(out, &n, program, &program->lock[op->lock]);
        break;
    case BATON_OP_SCWRITE:
        add(out, &n, BATON_STAMP_MF, 0, op->loc, WRITES);
        break;
    case BATON_OP_SCREAD:
        add(out, &n, BATON_STAMP_MF, 0, op->loc, READS);
        break;
    case BATON_OP_SCCAS:
    case BATON_OP_SCFAA:
        add(out, &n, BATON_STAMP_MF, 0, op->loc, update);
        break;
    default:
        break; /* let and assume only compute */
    }
    for (unsigned i = 0; i < n; i++) {
        out[i].thread = thread;
        out[i].op = at;
        out[i].library = op->kind >= BATON_OP_ACQ && op->kind <= BATON_OP_SCFAA;
    }
    return n;
}

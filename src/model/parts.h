/* SPDX-License-Identifier: MIT */
/*
 * The accesses that an operation consists of, as the axioms see it: a get is a NIC remote read and a
 * NIC local write. Each has a stamp, which says how program order binds it.
 */
#ifndef BATON_MODEL_PARTS_H
#define BATON_MODEL_PARTS_H

#include <stdbool.h>

#include "model/program.h"
#include "model/stamps.h"

struct baton_part {
    enum baton_stamp stamp;
    unsigned node; /* towards which node; 0: a CPU stamp */
    unsigned thread, op;
    int loc; /* -1: none, or the private source of a constant put */
    bool reads, writes;
    bool library; /* of a lock or of SC memory: orders effects, knows no order of issue */
};

enum { BATON_PARTS_MAX = BATON_NODES_MAX + 2 }; /* of one operation */

/*
 * Takes operation `at` of a thread apart, first what it reads, last where its result arrives; returns
 * the number of parts. A compare-and-swap that does not succeed has no write.
 */
unsigned baton_parts_of(const struct baton_program *program, unsigned thread, unsigned at,
                        bool succeeds, struct baton_part *out);

/* May this operation fail, and then not write? */
static inline bool baton_op_may_fail(enum baton_op_kind kind)
{
    return kind == BATON_OP_CAS || kind == BATON_OP_RCAS || kind == BATON_OP_SCCAS;
}

/* Parts that are issued and take effect at one instant: all but the writes that a buffer may hold. */
static inline bool baton_stamp_is_instant(enum baton_stamp stamp)
{
    return stamp != BATON_STAMP_CW && stamp != BATON_STAMP_NLW && stamp != BATON_STAMP_NRW;
}

#endif

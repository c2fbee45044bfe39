/* SPDX-License-Identifier: MIT */
/*
 * Remote operations where a CPU does them: the caller's own on shm, the host's in other worlds.
 *
 * A put is a store and a get a load, and the contract wants them in the order of the chain. Stores stay in
 * order by release, loads by acquire, and a load stays before later stores. What a CPU may exchange is a
 * store with a later load of another word, so the first get behind a store has a full fence before it. A
 * read-modify-write is that fence where the CPU says so.
 */
#ifndef BATON_FABRIC_CPU_OP_H
#define BATON_FABRIC_CPU_OP_H

#include "fabric/world.h"

/* The right that an operation needs; by kind. */
extern const unsigned baton_cpu_op_rights[BATON_OP_KINDS];

/* Why a segment [base, base + bytes) with these rights refuses the operation: words, or null. */
const char *baton_cpu_op_refusal(const struct baton_op *op, int rc, uint64_t base, uint64_t bytes,
                                 unsigned rights, char *text, size_t room);

BATON_INLINE void baton_cpu_copy(uint64_t *to, const uint64_t *from, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes / 8; i++)
        baton_word_store(to + i, baton_word_load(from + i));
}

/* A masked form tries again only when another one has changed the word, so one of them always ends. */
BATON_INLINE uint64_t baton_cpu_masked(const struct baton_op *op, uint64_t *word, bool *wrote)
{
    uint64_t old = baton_word_load(word), desired;
    while ((*wrote = baton_op_apply(op, old, &desired))) {
        uint64_t seen = baton_word_cas(word, old, desired);
        if (seen == old)
            break;
        old = seen;
    }
    return old;
}

/*
 * Does it. `stores`: a store from before may still be on its way to memory; returns whether that is so for
 * the next operation.
 */
BATON_INLINE bool baton_cpu_op(const struct baton_op *op, uint64_t *word, bool stores, bool *wrote)
{
    uint64_t old;
    switch (op->kind) {
    case BATON_OP_PUT:
        baton_cpu_copy(word, op->flags & BATON_OPF_INLINE ? &op->value : op->local, op->bytes);
        return true;
    case BATON_OP_GET:
        if (stores)
            baton_fence_full();
        baton_cpu_copy(op->local, word, op->bytes);
        return false; /* the result goes to memory of the caller, which no chain orders */
    default:
        break;
    }
    if (op->flags & BATON_OPF_MASKED) {
        if (stores)
            baton_fence_full(); /* a failing compare is a mere load */
        old = baton_cpu_masked(op, word, wrote);
    } else {
        if (stores)
            baton_fence_before_rmw();
        if (op->kind == BATON_OP_RFAA)
            old = baton_word_faa(word, op->value);
        else
            *wrote = (old = baton_word_cas(word, op->expected, op->value)) == op->expected;
    }
    baton_fence_after_rmw();
    baton_word_store(op->local, old);
    return false;
}

/* What it may have written, for baton_native_wake. `wrote`: as baton_cpu_op has left it. */
BATON_INLINE uint32_t baton_cpu_op_kinds(const struct baton_op *op, const uint64_t *word,
                                         bool wrote)
{
    return op->kind == BATON_OP_GET || (op->kind == BATON_OP_RCAS && !wrote)
               ? 0
               : baton_native_kinds(word, op->bytes);
}

#endif

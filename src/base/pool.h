/* SPDX-License-Identifier: MIT */
/*
 * Memory for simulations of thousands of threads. Each step touches another thread's, so what it costs is
 * decided by the processor's tables of pages: large pieces are asked for in huge pages, where the system has
 * such.
 *
 *     big     one piece of memory, zeroed
 *     pool    blocks of one size, zeroed when taken; all go with the pool
 *
 * Not for several threads at once.
 */
#ifndef BATON_BASE_POOL_H
#define BATON_BASE_POOL_H

#include <stddef.h>

/* Null: no memory. */
void *baton_big_make(size_t bytes);
void baton_big_drop(void *memory, size_t bytes);

struct baton_pool_chunk;

struct baton_pool {
    size_t bytes;                    /* of a block */
    void *spare;                     /* given back; each shows the next */
    char *fresh, *end;               /* never taken, in the last chunk */
    struct baton_pool_chunk *chunks; /* each twice as large as the one before, up to a bound */
};

void baton_pool_init(struct baton_pool *pool, size_t bytes);
void baton_pool_fini(struct baton_pool *pool);
void *baton_pool_take(struct baton_pool *pool); /* null: no memory */
void baton_pool_give(struct baton_pool *pool, void *block);

#endif

/* SPDX-License-Identifier: MIT */
/* Memory in huge pages, and blocks of it. */
#include "base/pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE ((size_t)2 << 20)
#define CHUNK_MOST (HUGE * 16)
#define LINE 64u

struct baton_pool_chunk {
    struct baton_pool_chunk *next;
    size_t bytes;
    char pad[LINE - sizeof(void *) - sizeof(size_t)];
};

static size_t whole(size_t bytes)
{
    return (bytes + HUGE - 1) & ~(HUGE - 1);
}

void *baton_big_make(size_t bytes)
{
    if (bytes < HUGE)
        return calloc(1, bytes);
    const size_t size = whole(bytes);
    char *map = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)map & (HUGE - 1);
    if (before)
        munmap(map, before);
    munmap(map + before + size, HUGE - before);
    /* A wish: without huge pages it is slower, and nothing else. */
    (void)madvise(map + before, size, MADV_HUGEPAGE);
    return map + before;
}

void baton_big_drop(void *memory, size_t bytes)
{
    if (bytes < HUGE)
        free(memory);
    else if (memory)
        munmap(memory, whole(bytes));
}

void baton_pool_init(struct baton_pool *pool, size_t bytes)
{
    *pool = (struct baton_pool){.bytes = (bytes + LINE - 1) & ~(size_t)(LINE - 1)};
}

void baton_pool_fini(struct baton_pool *pool)
{
    while (pool->chunks) {
        struct baton_pool_chunk *c = pool->chunks;
        pool->chunks = c->next;
        baton_big_drop(c, c->bytes);
    }
}

static char *more(struct baton_pool *pool)
{
    size_t bytes = pool->chunks ? 2 * pool->chunks->bytes : sizeof(struct baton_pool_chunk);
    if (bytes > CHUNK_MOST)
        bytes = CHUNK_MOST;
    if (bytes < pool->bytes + sizeof(struct baton_pool_chunk))
        bytes = pool->bytes + sizeof(struct baton_pool_chunk);
    struct baton_pool_chunk *c = baton_big_make(bytes);
    if (!c)
        return NULL;
    c->next = pool->chunks;
    c->bytes = bytes;
    pool->chunks = c;
    pool->end = (char *)c + bytes;
    return pool->fresh = (char *)(c + 1);
}

void *baton_pool_take(struct baton_pool *pool)
{
    char *block = pool->spare;
    if (block) {
        memcpy(&pool->spare, block, sizeof(pool->spare));
        return memset(block, 0, pool->bytes);
    }
    block = pool->fresh;
    if ((size_t)(pool->end - block) < pool->bytes && !(block = more(pool)))
        return NULL;
    pool->fresh = block + pool->bytes;
    return block;
}

void baton_pool_give(struct baton_pool *pool, void *block)
{
    if (!block)
        return;
    memcpy(block, &pool->spare, sizeof(pool->spare));
    pool->spare = block;
}

/* SPDX-License-Identifier: MIT */
/*
 * Memory of a node: its segments, and the arena that local operands and waiters are cut from.
 *
 * Posts look segments up without a lock, so a slot is valid exactly while its base is not 0: the base is
 * stored last when a segment is made and cleared first when it goes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/world.h"

/* A free or used stretch of the arena, in order of offset. Kept outside, so that no overrun reaches it. */
struct baton_arena_block {
    struct baton_arena_block *next;
    size_t offset, bytes;
    bool used;
};

static bool inside(const struct baton_segment *s, uint64_t at, uint64_t bytes, uint64_t base)
{
    return at >= base && at - base <= s->bytes && bytes <= s->bytes - (at - base);
}

const struct baton_segment *baton_segment_find(const struct baton_node *node, uint64_t offset,
                                               uint64_t bytes, int *rc)
{
    for (unsigned i = 0; i < BATON_SEGMENTS_MAX; i++) {
        const struct baton_segment *s = &node->segments[i];
        uint64_t base = baton_word_load(&s->base);
        if (!base || offset < base || offset - base >= s->bytes)
            continue;
        if (inside(s, offset, bytes, base))
            return s;
        *rc = -ERANGE;
        return NULL;
    }
    *rc = -EKEYREJECTED;
    return NULL;
}

bool baton_node_knows(const struct baton_node *node, const void *pointer, uint64_t bytes)
{
    for (unsigned i = 0; i < BATON_SEGMENTS_MAX; i++) {
        const struct baton_segment *s = &node->segments[i];
        if (baton_word_load(&s->base) && inside(s, (uintptr_t)pointer, bytes, (uintptr_t)s->memory))
            return true;
    }
    return false;
}

int baton_ptr(struct baton_node *node, baton_gptr at, size_t bytes, void **out)
{
    int rc;
    if (baton_gptr_node(at) != node->index)
        return baton_fail(-EREMOTE, "address %u+0x%" PRIx64 " is not memory of node %u",
                          baton_gptr_node(at), baton_gptr_offset(at), node->index);
    const struct baton_segment *s = baton_segment_find(node, baton_gptr_offset(at), bytes, &rc);
    if (!s)
        return baton_fail(rc, "%zu bytes at %u+0x%" PRIx64 " are not in one segment", bytes,
                          node->index, baton_gptr_offset(at));
    *out = s->memory + (baton_gptr_offset(at) - s->base);
    return 0;
}

baton_gptr baton_addr(struct baton_node *node, const void *pointer)
{
    for (unsigned i = 0; i < BATON_SEGMENTS_MAX; i++) {
        const struct baton_segment *s = &node->segments[i];
        uint64_t base = baton_word_load(&s->base);
        if (base && inside(s, (uintptr_t)pointer, 1, (uintptr_t)s->memory))
            return baton_gptr_make(node->index, base + ((uintptr_t)pointer - (uintptr_t)s->memory));
    }
    return BATON_NULL;
}

static bool words_fit(const struct baton_words *w, uint64_t bytes)
{
    uint64_t last = (bytes - 1) / 8 * 8; /* where the segment's last word begins */
    if (!w->count || w->offset & 7 || w->stride & 7 || w->offset > last)
        return false;
    return w->count == 1 || (w->stride && w->count - 1 <= (last - w->offset) / w->stride);
}

/* The slot is valid from the moment on in which it has its base. */
static void fill(struct baton_segment *slot, const struct baton_segment *s)
{
    slot->bytes = s->bytes;
    slot->memory = s->memory;
    slot->rights = s->rights;
    slot->words = s->words;
    slot->words_count = s->words_count;
    slot->world = s->world;
    baton_word_store(&slot->base, s->base);
}

int baton_segment_create(struct baton_node *node, size_t bytes, unsigned rights,
                         const struct baton_words *words, unsigned words_count, baton_gptr *out)
{
    const unsigned all = BATON_READ | BATON_WRITE | BATON_ATOMIC;
    int rc;
    if (!bytes || bytes > (UINT64_C(1) << 46))
        return baton_fail(-EINVAL, "a segment of %zu bytes: 1 to 2^46 are possible", bytes);
    if (rights & ~all)
        return baton_fail(-EINVAL, "rights 0x%x: read 1, write 2, atomic 4", rights);
    for (unsigned i = 0; i < words_count; i++)
        if (!words_fit(&words[i], bytes))
            return baton_fail(
                -EINVAL, "word declaration %u does not lie in the segment's %zu bytes", i, bytes);

    struct baton_words *copy = NULL;
    if (words_count) {
        copy = malloc(words_count * sizeof(*copy));
        if (!copy)
            return -ENOMEM;
        memcpy(copy, words, words_count * sizeof(*copy));
    }
    pthread_mutex_lock(&node->lock);
    unsigned slot = 0;
    while (slot < BATON_SEGMENTS_MAX && node->segments[slot].base)
        slot++;
    if (slot == BATON_SEGMENTS_MAX) {
        rc = baton_fail(-EBUSY, "node %u has %u segments, which is the limit", node->index,
                        BATON_SEGMENTS_MAX);
        goto unlock;
    }
    uint64_t size = (bytes + BATON_PAGE - 1) & ~(uint64_t)(BATON_PAGE - 1);
    if (node->next_base + size + BATON_PAGE >= UINT64_C(1) << 48) {
        rc = baton_fail(-ENOMEM, "node %u has used up its 48-bit space", node->index);
        goto unlock;
    }
    struct baton_segment s = {.base = node->next_base,
                              .bytes = size,
                              .rights = rights,
                              .words = copy,
                              .words_count = words_count};
    rc = node->cluster->ops->segment_create(node, slot, &s);
    if (rc)
        goto unlock;
    /* A page between segments, so that one word past the end belongs to nobody. */
    node->next_base = s.base + size + BATON_PAGE;
    fill(&node->segments[slot], &s);
    pthread_mutex_unlock(&node->lock);
    *out = baton_gptr_make(node->index, s.base);
    return 0;
unlock:
    pthread_mutex_unlock(&node->lock);
    free(copy);
    return rc;
}

static void destroy_locked(struct baton_node *node, unsigned slot)
{
    struct baton_segment gone = node->segments[slot];
    baton_word_store(&node->segments[slot].base, 0);
    node->cluster->ops->segment_destroy(node, slot, &gone);
    free(gone.words);
}

int baton_segment_destroy(struct baton_node *node, baton_gptr base)
{
    if (baton_gptr_node(base) != node->index)
        return baton_fail(-EREMOTE, "only the node that made a segment can destroy it");
    pthread_mutex_lock(&node->lock);
    unsigned slot = 0;
    while (slot < BATON_SEGMENTS_MAX &&
           (!node->segments[slot].base || node->segments[slot].base != baton_gptr_offset(base)))
        slot++;
    int rc = 0;
    if (slot == BATON_SEGMENTS_MAX)
        rc = baton_fail(-EKEYREJECTED, "no segment of node %u begins at 0x%" PRIx64, node->index,
                        baton_gptr_offset(base));
    else if (slot == 0)
        rc = baton_fail(-EINVAL, "the arena of node %u goes when the node does", node->index);
    else
        destroy_locked(node, slot);
    pthread_mutex_unlock(&node->lock);
    return rc;
}

/* ---- Arena */

void *baton_arena_alloc(struct baton_node *node, size_t bytes, size_t align)
{
    const struct baton_segment *arena = &node->segments[0];
    if (!bytes || bytes > arena->bytes || !align || align & (align - 1) || align > BATON_PAGE)
        return NULL;
    if (align < 8)
        align = 8;
    bytes = (bytes + 7) & ~(size_t)7;
    void *result = NULL;
    pthread_mutex_lock(&node->lock);
    for (struct baton_arena_block *b = node->arena; b; b = b->next) {
        size_t start = (b->offset + align - 1) & ~(align - 1);
        if (b->used || start - b->offset > b->bytes || b->bytes - (start - b->offset) < bytes)
            continue;
        size_t before = start - b->offset, after = b->bytes - before - bytes;
        struct baton_arena_block *used = b, *rest = NULL;
        if (before && !(used = malloc(sizeof(*used))))
            break;
        if (after && !(rest = malloc(sizeof(*rest)))) {
            if (before)
                free(used);
            break;
        }
        struct baton_arena_block *next = b->next;
        if (rest) {
            *rest = (struct baton_arena_block){next, start + bytes, after, false};
            next = rest;
        }
        *used = (struct baton_arena_block){next, start, bytes, true};
        if (before) {
            b->bytes = before;
            b->next = used;
        }
        result = arena->memory + start;
        memset(result, 0, bytes);
        break;
    }
    pthread_mutex_unlock(&node->lock);
    return result;
}

void baton_arena_free(struct baton_node *node, void *memory)
{
    size_t offset = (size_t)((char *)memory - node->segments[0].memory);
    pthread_mutex_lock(&node->lock);
    struct baton_arena_block *before = NULL, *b = node->arena;
    while (b && b->offset != offset) {
        before = b;
        b = b->next;
    }
    if (b && b->used) {
        b->used = false;
        struct baton_arena_block *n = b->next;
        if (n && !n->used) {
            b->bytes += n->bytes;
            b->next = n->next;
            free(n);
        }
        if (before && !before->used) {
            before->bytes += b->bytes;
            before->next = b->next;
            free(b);
        }
    }
    pthread_mutex_unlock(&node->lock);
}

size_t baton_arena_extent(const struct baton_node *node)
{
    size_t extent = 0;
    for (const struct baton_arena_block *b = node->arena; b; b = b->next)
        if (b->used)
            extent = b->offset + b->bytes;
    return extent;
}

int baton_arena_init(struct baton_node *node, size_t bytes)
{
    baton_gptr base;
    node->arena = calloc(1, sizeof(*node->arena));
    if (!node->arena)
        return -ENOMEM;
    int rc =
        baton_segment_create(node, bytes, BATON_READ | BATON_WRITE | BATON_ATOMIC, NULL, 0, &base);
    if (!rc)
        node->arena->bytes = node->segments[0].bytes;
    return rc;
}

void baton_memory_fini(struct baton_node *node)
{
    pthread_mutex_lock(&node->lock);
    for (unsigned i = BATON_SEGMENTS_MAX; i-- > 0;)
        if (node->segments[i].base)
            destroy_locked(node, i);
    pthread_mutex_unlock(&node->lock);
    while (node->arena) {
        struct baton_arena_block *b = node->arena;
        node->arena = b->next;
        free(b);
    }
}

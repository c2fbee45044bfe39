/* SPDX-License-Identifier: MIT */
/* A local node: its life, its memory, and where an operation works in it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "fabric/cpu_op.h"
#include "fabric/ucx_world.h"

/* Who takes memory back must not wait for ever while operations come in. */
static int memory_lock_init(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t a;
    pthread_rwlockattr_init(&a);
    pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    int rc = -pthread_rwlock_init(lock, &a);
    pthread_rwlockattr_destroy(&a);
    return rc;
}

int baton_ucx_node_open(struct ucx_world *w, struct baton_node *node, struct ucx_card *card,
                        struct ucx_node **out)
{
    struct ucx_node *n = calloc(1, sizeof(*n));
    if (!n)
        return -ENOMEM;
    n->world = w;
    n->node = node;
    int rc = memory_lock_init(&n->memory);
    if (rc)
        goto no_lock;
    if (getrandom(&n->life, sizeof(n->life), 0) != sizeof(n->life)) {
        rc = -EAGAIN;
        goto no_service;
    }
    *card = (struct ucx_card){
        .magic = UCX_MAGIC, .version = UCX_VERSION, .mode = w->mode, .life = n->life};
    rc = baton_ucx_service_open(n, card);
    if (rc)
        goto no_service;
    *out = n;
    return 0;
no_service:
    pthread_rwlock_destroy(&n->memory);
no_lock:
    free(n);
    return rc;
}

void baton_ucx_node_close(struct ucx_node *n)
{
    baton_ucx_service_close(n);
    pthread_rwlock_destroy(&n->memory);
    free(n);
}

/* ---- Segments */

int baton_ucx_segment_create(struct ucx_node *n, unsigned slot, struct baton_segment *s)
{
    void *memory = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    s->memory = memory;
    return 0;
}

void baton_ucx_segment_destroy(struct ucx_node *n, unsigned slot, struct baton_segment *s)
{
    /* Nobody finds the segment any more; who has found it is done when this lock is ours. */
    pthread_rwlock_wrlock(&n->memory);
    baton_word_store(&n->gone, n->gone + 1);
    munmap(s->memory, s->bytes);
    pthread_rwlock_unlock(&n->memory);
}

/* The base may go any moment; the rest of the slot stays as long as the memory lock is held. */
static bool find(const struct baton_node *node, uint64_t offset, struct baton_segment *out)
{
    for (unsigned i = 0; i < BATON_SEGMENTS_MAX; i++) {
        const struct baton_segment *s = &node->segments[i];
        uint64_t base = baton_word_load(&s->base);
        if (!base || offset - base >= s->bytes)
            continue;
        *out = *s;
        out->base = base;
        return true;
    }
    return false;
}

int baton_ucx_place(struct ucx_node *n, const struct baton_op *op, uint32_t before, uint32_t whole,
                    uint64_t **word, struct baton_segment *there)
{
    uint64_t offset = baton_gptr_offset(op->remote), start = offset - before;
    there->base = 0;
    if (op->kind == BATON_OP_GET && op->bytes == 8 && op->remote == baton_gfence_word(op->node)) {
        *word = &n->gone;
        return 0;
    }
    if (!find(n->node, start, there))
        return -EKEYREJECTED;
    if (whole > there->bytes - (start - there->base))
        return -ERANGE;
    if (!(there->rights & baton_cpu_op_rights[op->kind]))
        return -EACCES;
    *word = (uint64_t *)(there->memory + (offset - there->base));
    return 0;
}

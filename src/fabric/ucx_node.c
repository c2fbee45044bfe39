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

/* ---- Keys */

static void key_drop(struct ucx_node *n, struct ucx_key *k)
{
    if (!k)
        return;
    if (k->packed)
        UCX(ucp_rkey_buffer_release)(k->packed);
    UCX(ucp_mem_unmap)(n->world->context, k->memory);
    free(k);
}

/* Null in mode am, where only this process touches the memory. */
static int key_make(struct ucx_node *n, void *memory, size_t bytes, struct ucx_key **out)
{
    ucp_mem_map_params_t p = {.field_mask =
                                  UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                              .address = memory,
                              .length = bytes};
    *out = NULL;
    if (n->world->mode != UCX_MODE_RMA)
        return 0;
    struct ucx_key *k = calloc(1, sizeof(*k));
    if (!k)
        return -ENOMEM;
    ucs_status_t status = UCX(ucp_mem_map)(n->world->context, &p, &k->memory);
    if (status) {
        free(k);
    } else {
        status = UCX(ucp_rkey_pack)(n->world->context, k->memory, &k->packed, &k->bytes);
        if (!status) {
            *out = k;
            return 0;
        }
        k->packed = NULL;
        key_drop(n, k);
    }
    return baton_fail(-ENOMEM, "UCX does not register %zu bytes: %s; look at ulimit -l", bytes,
                      UCX(ucs_status_string)(status));
}

static int no_pages(size_t bytes)
{
    return baton_fail(-ENOMEM, "no memory for a segment of %zu bytes", bytes);
}

/* Zeroed pages; at `at` if that is not null, in place of what is there. */
static void *pages(void *at, size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0);
    void *memory = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* ---- The node */

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
    n->gone = pages(NULL, BATON_PAGE);
    rc = n->gone ? key_make(n, n->gone, BATON_PAGE, &n->gone_key) : no_pages(BATON_PAGE);
    if (rc)
        goto no_gone;
    if (getrandom(&n->life, sizeof(n->life), 0) != sizeof(n->life)) {
        rc = baton_fail(-EAGAIN, "the system has no random numbers yet");
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
    key_drop(n, n->gone_key);
no_gone:
    if (n->gone)
        munmap(n->gone, BATON_PAGE);
    pthread_rwlock_destroy(&n->memory);
no_lock:
    free(n);
    return rc;
}

void baton_ucx_node_close(struct ucx_node *n)
{
    baton_ucx_service_close(n);
    key_drop(n, n->gone_key);
    munmap(n->gone, BATON_PAGE);
    pthread_rwlock_destroy(&n->memory);
    free(n->places);
    free(n);
}

/* ---- Segments */

int baton_ucx_segment_create(struct ucx_node *n, unsigned slot, struct baton_segment *s)
{
    struct ucx_key *key;
    s->memory = pages(NULL, s->bytes);
    int rc = s->memory ? key_make(n, s->memory, s->bytes, &key) : no_pages(s->bytes);
    if (!rc)
        s->world = key;
    else if (s->memory)
        munmap(s->memory, s->bytes);
    return rc;
}

/*
 * Nobody finds the segment any more; who has found it is done when the memory lock is ours. What comes later
 * by UCX's software, which does not ask, must find some memory and not this one.
 */
void baton_ucx_segment_destroy(struct ucx_node *n, unsigned slot, struct baton_segment *s)
{
    pthread_rwlock_wrlock(&n->memory);
    baton_word_store(n->gone, *n->gone + 1);
    key_drop(n, s->world);
    if (!s->world || !n->world->software || !pages(s->memory, s->bytes))
        munmap(s->memory, s->bytes);
    pthread_rwlock_unlock(&n->memory);
}

/* The base may go any moment; the rest of the slot stays as long as the memory lock is held. */
bool baton_ucx_find(const struct ucx_node *n, uint64_t offset, struct baton_segment *out)
{
    const struct baton_node *node = n->node;
    for (unsigned i = 0; i < BATON_SEGMENTS_MAX; i++) {
        const struct baton_segment *s = &node->segments[i];
        uint64_t base = baton_word_load(&s->base);
        if (!base || offset - base >= s->bytes)
            continue;
        *out = (struct baton_segment){.base = base,
                                      .bytes = s->bytes,
                                      .memory = s->memory,
                                      .rights = s->rights,
                                      .world = s->world};
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
        *word = n->gone;
        return 0;
    }
    if (!baton_ucx_find(n, start, there))
        return -EKEYREJECTED;
    if (whole > there->bytes - (start - there->base))
        return -ERANGE;
    if (!(there->rights & baton_cpu_op_rights[op->kind]))
        return -EACCES;
    *word = (uint64_t *)(there->memory + (offset - there->base));
    return 0;
}

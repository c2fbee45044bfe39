/* SPDX-License-Identifier: MIT */
/* A local node on its device: protection domain, directory, and the memory that is the library's own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "fabric/verbs_world.h"

uint64_t baton_verbs_entry_sum(const struct verbs_directory_entry *e)
{
    uint64_t h = e->base + UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t rest[2] = {e->bytes, (uint64_t)e->rights << 32 | e->key};
    for (unsigned i = 0; i < 2; i++) {
        h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
        h += rest[i];
    }
    return h ^ h >> 31;
}

/* Pages of their own, so that a registration covers nothing else; known to the NIC as from `at`. */
static int memory_make(struct verbs_node *n, size_t bytes, uint64_t at, int access, void *out,
                       struct ibv_mr **mr)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    *mr = ibv_reg_mr_iova(n->pd, memory, bytes, at, (unsigned)access);
    if (!*mr) {
        int rc = baton_fail(-ENOMEM, "%s: %zu bytes can not be registered: %s; look at ulimit -l",
                            n->device->text, bytes, strerror(errno));
        munmap(memory, bytes);
        return rc;
    }
    memcpy(out, &memory, sizeof(memory));
    return 0;
}

static void memory_drop(void *memory, struct ibv_mr *mr)
{
    if (!mr)
        return;
    size_t bytes = mr->length;
    ibv_dereg_mr(mr);
    munmap(memory, bytes);
}

static void sum_entry(struct verbs_directory_entry *e)
{
    baton_word_store(&e->sum, baton_verbs_entry_sum(e));
}

int baton_verbs_node_open(struct verbs_world *w, struct baton_node *node,
                          struct verbs_device *device, struct verbs_node **out)
{
    struct verbs_node *n = calloc(1, sizeof(*n));
    unsigned nodes = w->cluster->nodes;
    uint32_t life[2];
    int rc = -ENOMEM;
    if (!n)
        return -ENOMEM;
    n->world = w;
    n->node = node;
    n->device = device;
    n->tested = calloc(nodes, sizeof(*n->tested));
    if (!n->tested || pthread_mutex_init(&n->slow, NULL))
        goto no_lock;
    n->pd = ibv_alloc_pd(device->context);
    if (!n->pd) {
        rc =
            baton_fail(-ENOMEM, "%s gives no protection domain: %s", device->text, strerror(errno));
        goto no_pd;
    }
    if (getrandom(life, sizeof(life), 0) != sizeof(life)) {
        rc = -EAGAIN;
        goto no_memory;
    }
    rc = memory_make(n, BATON_PAGE, 0, IBV_ACCESS_REMOTE_READ, &n->directory, &n->directory_mr);
    if (!rc)
        rc = memory_make(
            n, ((nodes * 8 + BATON_PAGE - 1) / BATON_PAGE) * BATON_PAGE, 0,
            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                (device->attr.atomic_cap != IBV_ATOMIC_NONE ? IBV_ACCESS_REMOTE_ATOMIC : 0),
            &n->probe, &n->probe_mr);
    if (!rc)
        rc = memory_make(n, BATON_PAGE, 0, IBV_ACCESS_LOCAL_WRITE, &n->scratch, &n->scratch_mr);
    if (rc)
        goto no_memory;
    n->directory->life = life[0] | 1;
    for (unsigned i = 0; i < BATON_SEGMENTS_MAX; i++)
        sum_entry(&n->directory->entries[i]);
    n->card = (struct verbs_card){.magic = VERBS_MAGIC,
                                  .version = VERBS_VERSION,
                                  .life = life[0] | 1,
                                  .lid = device->lid,
                                  .ethernet = device->ethernet,
                                  .mtu = (uint8_t)device->mtu,
                                  .service_key = life[1] & 0x7fffffff,
                                  .directory_key = n->directory_mr->rkey,
                                  .probe_key = n->probe_mr->rkey};
    memcpy(n->card.gid, device->gid.raw, sizeof(n->card.gid));
    rc = baton_verbs_service_open(n);
    if (rc)
        goto no_memory;
    *out = n;
    return 0;
no_memory:
    memory_drop(n->scratch, n->scratch_mr);
    memory_drop(n->probe, n->probe_mr);
    memory_drop(n->directory, n->directory_mr);
    ibv_dealloc_pd(n->pd);
no_pd:
    pthread_mutex_destroy(&n->slow);
no_lock:
    free(n->tested);
    free(n);
    return rc;
}

void baton_verbs_node_close(struct verbs_node *n)
{
    baton_verbs_service_close(n);
    memory_drop(n->scratch, n->scratch_mr);
    memory_drop(n->probe, n->probe_mr);
    memory_drop(n->directory, n->directory_mr);
    ibv_dealloc_pd(n->pd);
    pthread_mutex_destroy(&n->slow);
    free(n->tested);
    free(n);
}

/* ---- Segments */

static int access_for(const struct verbs_node *n, unsigned rights)
{
    int access = IBV_ACCESS_LOCAL_WRITE; /* results of this node's own operations */
    if (rights & BATON_READ)
        access |= IBV_ACCESS_REMOTE_READ;
    if (rights & BATON_WRITE)
        access |= IBV_ACCESS_REMOTE_WRITE;
    if (rights & BATON_ATOMIC && n->device->attr.atomic_cap != IBV_ATOMIC_NONE)
        access |= IBV_ACCESS_REMOTE_ATOMIC;
    return access;
}

int baton_verbs_segment_create(struct verbs_node *n, unsigned slot, struct baton_segment *s)
{
    struct ibv_mr *mr;
    int rc = memory_make(n, s->bytes, s->base, access_for(n, s->rights), &s->memory, &mr);
    if (rc)
        return rc;
    s->world = mr;
    struct verbs_directory_entry *e = &n->directory->entries[slot];
    /* Whoever reads in the middle of this finds that the sum does not fit, and reads again. */
    baton_word_store(&e->base, s->base);
    baton_word_store(&e->bytes, s->bytes);
    e->rights = s->rights;
    e->key = mr->rkey;
    sum_entry(e);
    return 0;
}

void baton_verbs_segment_destroy(struct verbs_node *n, unsigned slot, struct baton_segment *s)
{
    struct verbs_directory_entry *e = &n->directory->entries[slot];
    baton_word_store(&e->base, 0);
    sum_entry(e);
    memory_drop(s->memory, s->world);
}

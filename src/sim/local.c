/* SPDX-License-Identifier: MIT */
/* Memory and names of a cluster that lives in one process. */
#include "sim/local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct baton_local_name {
    struct baton_local_name *next;
    char name[BATON_NAME_MAX + 1];
    baton_gptr at;
};

struct baton_local_grave {
    struct baton_local_grave *next;
    char *memory;
    size_t mapped; /* bytes, if the memory was mapped; else it was allocated */
    uint8_t *notes;
};

/* Large memory is mapped: a thousand nodes have a thousand arenas, most of whose pages nobody touches. */
#define MAP_FROM ((size_t)256 << 10)

static char *memory_make(size_t bytes, size_t *mapped)
{
    *mapped = bytes >= MAP_FROM ? bytes : 0;
    if (*mapped) {
        char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return memory == MAP_FAILED ? NULL : memory;
    }
    char *memory = aligned_alloc(BATON_PAGE, bytes);
    if (memory)
        memset(memory, 0, bytes);
    return memory;
}

static void memory_drop(char *memory, size_t mapped)
{
    if (mapped)
        munmap(memory, mapped);
    else
        free(memory);
}

static struct baton_local *local_of(struct baton_node *node)
{
    return node->cluster->world;
}

int baton_local_open(struct baton_cluster *cluster, const struct baton_cluster_opts *opts)
{
    unsigned count = opts->local ? opts->local : cluster->nodes;
    unsigned first = opts->first < 0 ? 0 : (unsigned)opts->first;
    if (first + count > cluster->nodes)
        return baton_fail(-EINVAL, "nodes %u to %u: the cluster has %u places", first,
                          first + count - 1, cluster->nodes);
    for (unsigned i = 0; i < count; i++)
        if (!baton_cluster_add_node(cluster, first + i))
            return -ENOMEM; /* who opens the cluster frees the nodes that were made */
    return 0;
}

char *baton_local_resolve(struct baton_cluster *cluster, const struct baton_op *op, int *rc)
{
    static const unsigned needs[BATON_OP_KINDS] = {BATON_WRITE, BATON_READ, BATON_ATOMIC,
                                                   BATON_ATOMIC};
    struct baton_node *node = cluster->local[op->node];
    uint64_t offset = baton_gptr_offset(op->remote);
    if (!node) {
        *rc = -EHOSTDOWN;
        return NULL;
    }
    if (op->remote == baton_gfence_word(op->node) && op->kind == BATON_OP_GET)
        return node->segments[0].memory;
    const struct baton_segment *segment = baton_segment_find(node, offset, op->bytes, rc);
    if (!segment)
        return NULL;
    if ((segment->rights & needs[op->kind]) != needs[op->kind]) {
        *rc = -EACCES;
        return NULL;
    }
    return segment->memory + (offset - segment->base);
}

const uint64_t *baton_local_word(struct baton_cluster *cluster, baton_gptr at)
{
    struct baton_node *node = baton_cluster_node(cluster, baton_gptr_node(at));
    void *word;
    return node && !baton_ptr(node, at, 8, &word) ? word : NULL;
}

void baton_local_fini(struct baton_local *local)
{
    while (local->names) {
        struct baton_local_name *n = local->names;
        local->names = n->next;
        free(n);
    }
    while (local->graves) {
        struct baton_local_grave *g = local->graves;
        local->graves = g->next;
        memory_drop(g->memory, g->mapped);
        free(g->notes);
        free(g);
    }
}

enum baton_node_state baton_local_node_state(struct baton_cluster *cluster, unsigned index)
{
    return cluster->local[index] ? BATON_NODE_ALIVE : BATON_NODE_ABSENT;
}

int baton_local_segment_create(struct baton_node *node, unsigned slot,
                               struct baton_segment *segment)
{
    struct baton_local_grave *grave = calloc(1, sizeof(*grave));
    if (!grave)
        return -ENOMEM;
    segment->world = grave; /* made now, so that destroying can not fail */
    segment->memory = memory_make(segment->bytes, &grave->mapped);
    if (!segment->memory) {
        free(grave);
        return -ENOMEM;
    }
    return 0;
}

uint8_t *baton_local_segment_notes(const struct baton_segment *segment, uint64_t bytes)
{
    struct baton_local_grave *grave = segment->world;
    if (bytes)
        grave->notes = calloc(1, bytes);
    return grave->notes;
}

void baton_local_segment_destroy(struct baton_node *node, unsigned slot,
                                 struct baton_segment *segment)
{
    struct baton_local *local = local_of(node);
    struct baton_local_grave *grave = segment->world;
    grave->next = local->graves;
    grave->memory = segment->memory;
    local->graves = grave;
}

static struct baton_local_name **name_place(struct baton_node *node, const char *name)
{
    struct baton_local_name **n = &local_of(node)->names;
    while (*n && strcmp((*n)->name, name))
        n = &(*n)->next;
    return n;
}

int baton_local_name_publish(struct baton_node *node, const char *name, baton_gptr at)
{
    if (*name_place(node, name))
        return baton_fail(-EEXIST, "the name \"%s\" is published already", name);
    struct baton_local_name *n = calloc(1, sizeof(*n));
    if (!n)
        return -ENOMEM;
    memcpy(n->name, name, strlen(name)); /* checked by the caller: at most BATON_NAME_MAX */
    n->at = at;
    n->next = local_of(node)->names;
    local_of(node)->names = n;
    return 0;
}

int baton_local_name_withdraw(struct baton_node *node, const char *name)
{
    struct baton_local_name **n = name_place(node, name), *gone = *n;
    if (!gone)
        return baton_fail(-ENOENT, "the name \"%s\" is not published", name);
    *n = gone->next;
    free(gone);
    return 0;
}

int baton_local_name_find(struct baton_node *node, const char *name, baton_gptr *at)
{
    struct baton_local_name *n = *name_place(node, name);
    if (!n)
        return baton_fail(-ENOENT, "nobody has published the name \"%s\"", name);
    *at = n->at;
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * The world of one machine: nodes are processes, or several nodes of one process; segments are shared
 * memory; a remote operation is done by the caller's CPU.
 *
 * It can not show what a NIC does differently from a CPU: here a remote read-modify-write is atomic
 * with the host's own (capability GLOB), and nothing overtakes anything in a chain.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/options.h"
#include "fabric/shm_files.h"
#include "fabric/shm_world.h"

static const char *world_unavailable(void)
{
    return access(SHM_FOLDER, R_OK | W_OK | X_OK) ? SHM_FOLDER " is not there or not writable"
                                                  : NULL;
}

static int add_nodes(struct baton_cluster *cluster, struct shm_control *c)
{
    for (unsigned i = c->own_first; i < c->own_first + c->own_count; i++) {
        struct baton_node *node = baton_cluster_add_node(cluster, i);
        if (!node)
            return -ENOMEM;
        node->next_base = baton_word_load(&c->nodes[i].next_base);
    }
    return 0;
}

static int world_open(struct baton_cluster *cluster, const struct baton_cluster_opts *opts)
{
    static const char *const no_settings[] = {NULL};
    int rc = baton_options_check(opts->options, no_settings);
    if (rc)
        return rc;
    struct shm_world *w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    rc = baton_shm_control_open(&w->control, opts->name, opts->nodes, opts->first,
                                opts->local ? opts->local : 1);
    if (rc)
        goto no_control;
    w->cluster = cluster;
    cluster->world = w;
    cluster->nodes = (unsigned)w->control.header->nodes;
    cluster->caps = (struct baton_caps){.atomics = BATON_ATOMICS_GLOB,
                                        .masked = true,
                                        .word_atomic = true,
                                        .in_order_placement = true,
                                        .chain_order = true,
                                        .inline_max = 8};
    rc = -pthread_mutex_init(&w->lock, NULL);
    if (rc)
        goto no_lock;
    w->maps = calloc(cluster->nodes, sizeof(*w->maps));
    rc = w->maps ? add_nodes(cluster, &w->control) : -ENOMEM;
    if (!rc)
        rc = baton_shm_watch_begin(w);
    if (rc)
        goto no_watch;
    return 0;
no_watch:
    free(w->maps);
    pthread_mutex_destroy(&w->lock);
no_lock:
    baton_shm_control_close(&w->control);
no_control:
    free(w);
    return rc;
}

static void world_close(struct baton_cluster *cluster)
{
    struct shm_world *w = cluster->world;
    baton_shm_watch_end(w);
    baton_shm_map_fini(w);
    pthread_mutex_destroy(&w->lock);
    baton_shm_control_close(&w->control);
    free(w);
}

static enum baton_node_state world_node_state(struct baton_cluster *cluster, unsigned index)
{
    const struct shm_world *w = cluster->world;
    return shm_state_of(baton_word_load(&w->control.nodes[index].state));
}

static int world_segment_create(struct baton_node *node, unsigned slot,
                                struct baton_segment *segment)
{
    return baton_shm_map_create(node->cluster->world, node->index, slot, segment);
}

static void world_segment_destroy(struct baton_node *node, unsigned slot,
                                  struct baton_segment *segment)
{
    baton_shm_map_destroy(node->cluster->world, node->index, slot, segment->world);
}

static struct shm_control *control_of(struct baton_node *node)
{
    struct shm_world *w = node->cluster->world;
    return &w->control;
}

static int world_name_publish(struct baton_node *node, const char *name, baton_gptr at)
{
    return baton_shm_name_publish(control_of(node), node->index, name, at);
}

static int world_name_withdraw(struct baton_node *node, const char *name)
{
    return baton_shm_name_withdraw(control_of(node), node->index, name);
}

static int world_name_find(struct baton_node *node, const char *name, baton_gptr *at)
{
    return baton_shm_name_find(control_of(node), name, at);
}

const struct baton_world_ops baton_world_shm = {.size = sizeof(baton_world_shm),
                                                .name = "shm",
                                                .unavailable = world_unavailable,
                                                .open = world_open,
                                                .close = world_close,
                                                .node_state = world_node_state,
                                                .segment_create = world_segment_create,
                                                .segment_destroy = world_segment_destroy,
                                                .name_publish = world_name_publish,
                                                .name_withdraw = world_name_withdraw,
                                                .name_find = world_name_find,
                                                .ep_open = baton_shm_ep_open,
                                                .ep_close = baton_shm_ep_close};

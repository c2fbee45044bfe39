/* SPDX-License-Identifier: MIT */
/*
 * Memory and names of a cluster that lives in one process, for the worlds whose threads are coroutines.
 * cluster->world must point to a struct that begins with a struct baton_local.
 */
#ifndef BATON_SIM_LOCAL_H
#define BATON_SIM_LOCAL_H

#include "fabric/world.h"

struct baton_local {
    struct baton_local_name *names;
    struct baton_local_grave *graves;
};

/* Makes the nodes that the options ask for: all places, unless they say otherwise. */
int baton_local_open(struct baton_cluster *cluster, const struct baton_cluster_opts *opts);
void baton_local_fini(struct baton_local *local);

/* Where a remote operation takes effect; null and *rc if it may not. */
char *baton_local_resolve(struct baton_cluster *cluster, const struct baton_op *op, int *rc);

/* The word at this address, whichever node's it is; null: there is none. */
const uint64_t *baton_local_word(struct baton_cluster *cluster, baton_gptr at);

enum baton_node_state baton_local_node_state(struct baton_cluster *cluster, unsigned index);

/* A byte array that goes with a segment, zeroed: made when `bytes` is not 0, else what there is; may be null. */
uint8_t *baton_local_segment_notes(const struct baton_segment *segment, uint64_t bytes);

/* Memory of a destroyed segment stays until the cluster goes: late operations may still refer to it. */
int baton_local_segment_create(struct baton_node *node, unsigned slot,
                               struct baton_segment *segment);
void baton_local_segment_destroy(struct baton_node *node, unsigned slot,
                                 struct baton_segment *segment);

int baton_local_name_publish(struct baton_node *node, const char *name, baton_gptr at);
int baton_local_name_withdraw(struct baton_node *node, const char *name);
int baton_local_name_find(struct baton_node *node, const char *name, baton_gptr *at);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What most cases about the fabric start from: a cluster in this process, a segment with all rights on
 * each node, and one endpoint on node 0. In a simulated world that endpoint runs alone.
 */
#ifndef CONFORMANCE_RIG_H
#define CONFORMANCE_RIG_H

#include "suite.h"

#define RIG_NODES 4
#define RIG_WORDS 512 /* a page */
#define RIG_ALL (BATON_READ | BATON_WRITE | BATON_ATOMIC)

struct rig {
    struct baton_cluster *cluster;
    struct baton_node *node[RIG_NODES];
    baton_gptr at[RIG_NODES];
    uint64_t *word[RIG_NODES];
    struct baton_ep *ep; /* on node 0 */
    uint64_t *mine;      /* a page of node 0's arena */
};

int rig_open(const struct conf *c, struct rig *rig);
int rig_close(struct rig *rig);

/* A word of node n's segment. */
static inline baton_gptr rig_at(const struct rig *rig, unsigned n, unsigned word)
{
    return rig->at[n] + 8 * word;
}

/* The value of a word, read remotely: behind everything before it. */
int rig_read(struct rig *rig, unsigned n, unsigned word, uint64_t *out);

#endif

/* SPDX-License-Identifier: MIT */
/* The common start of the cases about the fabric. */
#include "rig.h"

int rig_open(const struct conf *c, struct rig *rig)
{
    OK(conf_open(c, RIG_NODES, c->seed, &rig->cluster));
    for (unsigned n = 0; n < RIG_NODES; n++) {
        void *memory;
        rig->node[n] = baton_cluster_node(rig->cluster, n);
        CHECK(rig->node[n]);
        OK(baton_segment_create(rig->node[n], RIG_WORDS * 8, RIG_ALL, NULL, 0, &rig->at[n]));
        OK(baton_ptr(rig->node[n], rig->at[n], RIG_WORDS * 8, &memory));
        rig->word[n] = memory;
    }
    OK(baton_ep_open(rig->node[0], &rig->ep));
    rig->mine = baton_ep_alloc(rig->ep, RIG_WORDS * 8, 64);
    CHECK(rig->mine);
    return 0;
}

int rig_close(struct rig *rig)
{
    baton_ep_free(rig->ep, rig->mine);
    OK(baton_ep_close(rig->ep));
    for (unsigned n = 0; n < RIG_NODES; n++)
        OK(baton_segment_destroy(rig->node[n], rig->at[n]));
    OK(baton_cluster_close(rig->cluster));
    return 0;
}

int rig_read(struct rig *rig, unsigned n, unsigned word, uint64_t *out)
{
    uint64_t *to = &rig->mine[RIG_WORDS - 1];
    OK(baton_rfence(rig->ep, n));
    OK(baton_get(rig->ep, to, rig_at(rig, n, word), 8, BATON_WID_USER_MAX));
    OK(baton_wait(rig->ep, BATON_WID_USER_MAX));
    *out = *to;
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Passing a message through memory of a third node, to be explored by `baton check`.
 *
 * The sender puts data on node 1 and a flag on node 0, where the receiver waits for it; the receiver then gets
 * the data. Puts towards one node land in order, puts towards two nodes do not: between them the sender needs a
 * gfence of node 1. A wait is not enough: it says that the put was accepted, not that it is visible. Built with
 * -DNO_FENCE the fence is forgotten and a wait stands in its place, and `baton check` shows what the receiver
 * may find.
 */
#include <baton/check.h>

struct state {
    uint64_t *flag;
    baton_gptr flag_at, data_at;
};

static int init(struct baton_cluster *cluster, void *state)
{
    struct state *s = state;
    void *flag;
    int rc = baton_segment_create(baton_cluster_node(cluster, 0), 8, BATON_READ | BATON_WRITE, NULL,
                                  0, &s->flag_at);
    if (!rc)
        rc = baton_segment_create(baton_cluster_node(cluster, 1), 8, BATON_READ | BATON_WRITE, NULL,
                                  0, &s->data_at);
    if (!rc)
        rc = baton_ptr(baton_cluster_node(cluster, 0), s->flag_at, 8, &flag);
    if (!rc)
        s->flag = flag;
    return rc;
}

static int sender(struct baton_ep *ep, void *state)
{
    struct state *s = state;
    baton_put64(ep, s->data_at, 42, 1);
#ifdef NO_FENCE
    int rc = baton_wait(ep, 1);
#else
    uint16_t node = 1;
    int rc = baton_gfence(ep, &node, 1);
#endif
    baton_put64(ep, s->flag_at, 1, 0);
    return rc;
}

static int receiver(struct baton_ep *ep, void *state)
{
    struct state *s = state;
    uint64_t *data = baton_ep_alloc(ep, 8, 8);
    const struct baton_cond sent = baton_until_is(s->flag, UINT64_MAX, 1);
    struct baton_wait wait;
    baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
    int rc = baton_await(ep, &sent, 1, &wait);
    baton_get(ep, data, s->data_at, 8, 1);
    if (!rc)
        rc = baton_wait(ep, 1);
    if (!rc && *data != 42)
        baton_check_fail(ep, "the flag is there and the data are not");
    return rc;
}

BATON_CHECK_PROGRAM(.name = "message", .nodes = 3, .state_bytes = sizeof(struct state),
                    .init = init, .threads = {{0, receiver}, {2, sender}});

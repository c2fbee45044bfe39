/* SPDX-License-Identifier: MIT */
/*
 * A get and a put of one word on one queue pair, to be explored: what a get may find that a put has passed.
 * The thread's own node has the word, so that a store of its CPU can take part too. What is wrong, WRONG says
 * of `got`, what the get found, and `left`, what is there at last. Built with any of
 *
 *     PUT_FIRST   the put is posted before the get, and waited for between them
 *     WAIT        the thread waits for the put before it stores
 *     STORE       the thread stores 1 at last
 *     SWAP        posts that nothing orders may change places
 */
#include <baton/check.h>

#ifndef SWAP
#define SWAP 0
#endif

enum { GOT = 1, PUT };

struct state {
    uint64_t *word;
    baton_gptr at;
};

static int init(struct baton_cluster *cluster, void *state)
{
    struct state *s = state;
    struct baton_node *node = baton_cluster_node(cluster, 0);
    void *word;
    int rc = baton_segment_create(node, 8, BATON_READ | BATON_WRITE, NULL, 0, &s->at);
    if (!rc)
        rc = baton_ptr(node, s->at, 8, &word);
    if (!rc)
        s->word = word;
    return rc;
}

static int thread(struct baton_ep *ep, void *state)
{
    struct state *s = state;
    uint64_t *buffer = baton_ep_alloc(ep, 8, 8);
    uint16_t node = 0;
    int rc = 0;
#ifdef PUT_FIRST
    baton_put64(ep, s->at, 42, PUT);
    rc = baton_wait(ep, PUT);
    baton_get(ep, buffer, s->at, 8, GOT);
#else
    baton_get(ep, buffer, s->at, 8, GOT);
    baton_put64(ep, s->at, 42, PUT);
#ifdef WAIT
    rc = baton_wait(ep, PUT);
#endif
#endif
#ifdef STORE
    baton_flush(ep);
    baton_store(ep, s->word, 1);
#endif
    if (!rc)
        rc = baton_wait(ep, GOT);
    if (!rc)
        rc = baton_gfence(ep, &node, 1);
    uint64_t got = *buffer, left = baton_load(ep, s->word);
    if (!rc && (WRONG))
        baton_check_fail(ep, "the get found what it should not");
    (void)got, (void)left;
    return rc;
}

BATON_CHECK_PROGRAM(.name = "get and put", .nodes = 2, .flags = SWAP ? BATON_CLUSTER_SWAP : 0,
                    .state_bytes = sizeof(struct state), .init = init, .threads = {{0, thread}});

/* SPDX-License-Identifier: MIT */
/*
 * A lock that is handed over by broadcast, to be explored by `baton check`.
 *
 * A ticket comes from a dispenser on node 0. Every thread has a word on every node, where it announces the
 * ticket that may enter after it; a waiter looks at the copies on its own node only, so nobody polls through
 * the network, and the announcement travels straight from the holder to the next one. The threads count in a
 * word of node 2, which is neither's own.
 *
 * What may the next holder rely on? The strong release ends everything that its thread has posted, towards all
 * nodes, before it announces: then the section may do what it likes. The weak release (-DWEAK) announces at
 * once: it lets one thread in at a time and promises nothing about operations that are still on their way, so a
 * put of the section may land after the next holder has looked. A section that waits for a read-modify-write
 * (-DWEAK -DRMW) is right with the weak one: that has happened when its wait has returned. -DOWN_NODE ends what
 * was posted towards the lock's node alone, which is not enough either.
 *
 * Source: the weak and the strong lock of "Specifying and Verifying RDMA Synchronisation", sections 4.2, 4.3.
 */
#include <baton/check.h>

enum { THREADS = 2, NODES = 3, DATA = 2, ROUNDS = 2 };

struct state {
    baton_gptr dispenser, counter;
    baton_gptr turns_at[THREADS]; /* one word a thread, on each thread's node */
    uint64_t *turns[THREADS];     /* the same, for who is there */
    uint64_t *count;
    uint64_t inside;
};

static int make(struct baton_cluster *cluster, unsigned node, size_t bytes, baton_gptr *at,
                uint64_t **words)
{
    void *p = NULL;
    int rc = baton_segment_create(baton_cluster_node(cluster, node), bytes,
                                  BATON_READ | BATON_WRITE | BATON_ATOMIC, NULL, 0, at);
    if (!rc)
        rc = baton_ptr(baton_cluster_node(cluster, node), *at, bytes, &p);
    *words = p;
    return rc;
}

static int init(struct baton_cluster *cluster, void *state)
{
    struct state *s = state;
    uint64_t *next;
    int rc = make(cluster, 0, 8, &s->dispenser, &next);
    if (!rc)
        rc = make(cluster, DATA, 8, &s->counter, &s->count);
    for (unsigned node = 0; !rc && node < THREADS; node++)
        rc = make(cluster, node, 8 * THREADS, &s->turns_at[node], &s->turns[node]);
    return rc;
}

static int acquire(struct baton_ep *ep, struct state *s, unsigned me, uint64_t *ticket)
{
    uint64_t *turns = s->turns[me];
    struct baton_wait wait;
    baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
    baton_rfaa(ep, ticket, s->dispenser, 1, 1);
    int rc = baton_wait(ep, 1);
    const struct baton_cond mine[THREADS] = {baton_until_is(&turns[0], UINT64_MAX, *ticket),
                                             baton_until_is(&turns[1], UINT64_MAX, *ticket)};
    while (!rc && baton_load(ep, &turns[0]) != *ticket && baton_load(ep, &turns[1]) != *ticket)
        rc = baton_await(ep, mine, THREADS, &wait);
    if (!rc && s->inside++)
        baton_check_fail(ep, "two threads are inside together");
    return rc;
}

static int release(struct baton_ep *ep, struct state *s, unsigned me, uint64_t ticket)
{
    int rc = 0;
    s->inside--;
#ifdef OWN_NODE
    const uint16_t ended[] = {0};
    rc = baton_gfence(ep, ended, 1);
#elif !defined WEAK
    const uint16_t ended[NODES] = {0, 1, 2};
    rc = baton_gfence(ep, ended, NODES);
#endif
    baton_store(ep, &s->turns[me][me], ticket + 1);
    baton_put64(ep, s->turns_at[1 - me] + 8 * me, ticket + 1, 0);
    int rung = baton_flush(ep);
    return rc ? rc : rung;
}

static int count(struct baton_ep *ep, struct state *s, uint64_t *seen)
{
#ifdef RMW
    baton_rfaa(ep, seen, s->counter, 1, 1);
#else
    baton_get(ep, seen, s->counter, 8, 1);
    int rc = baton_wait(ep, 1);
    if (rc)
        return rc;
    baton_put64(ep, s->counter, *seen + 1, 1);
#endif
    return baton_wait(ep, 1);
}

static int body(struct baton_ep *ep, struct state *s, unsigned me)
{
    uint64_t *words = baton_ep_alloc(ep, 16, 8);
    for (unsigned round = 0; round < ROUNDS; round++) {
        int rc = acquire(ep, s, me, &words[0]);
        if (!rc)
            rc = count(ep, s, &words[1]);
        if (!rc)
            rc = release(ep, s, me, words[0]);
        if (rc)
            return rc;
    }
    return 0;
}

static int first(struct baton_ep *ep, void *state)
{
    return body(ep, state, 0);
}

static int second(struct baton_ep *ep, void *state)
{
    return body(ep, state, 1);
}

static const char *all_counted(void *state)
{
    return *((struct state *)state)->count == THREADS * ROUNDS ? NULL : "an addition is lost";
}

BATON_CHECK_PROGRAM(.name = "broadcast lock", .nodes = NODES, .state_bytes = sizeof(struct state),
                    .init = init, .final = all_counted, .threads = {{0, first}, {1, second}});

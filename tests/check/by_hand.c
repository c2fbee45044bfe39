/* SPDX-License-Identifier: MIT */
/*
 * What bodies note by hand in their state is seen by others whenever a call of the contract has returned, also when
 * that call has touched nothing that others see; what goes wrong before the first call counts; and what goes round
 * by itself, or ends the process, is not verified.
 */
#include <baton/check.h>

#include <errno.h>
#include <stdlib.h>

struct state {
    uint64_t *lock;
    uint64_t inside;
};

static int init(struct baton_cluster *cluster, void *state)
{
    struct state *s = state;
    baton_gptr at;
    void *memory = NULL;
    int rc = baton_segment_create(baton_cluster_node(cluster, 0), 16,
                                  BATON_READ | BATON_WRITE | BATON_ATOMIC, NULL, 0, &at);
    if (!rc)
        rc = baton_ptr(baton_cluster_node(cluster, 0), at, 16, &memory);
    s->lock = memory;
    return rc;
}

#if defined(NO_LOCK) || defined(AT_START) || defined(LOCK)
static void enter(struct baton_ep *ep, struct state *s)
{
    if (s->inside++)
        baton_check_fail(ep, "two threads are inside together");
}
#endif

#if defined(NO_LOCK) || defined(AT_START)
static int body(struct baton_ep *ep, void *state)
{
    struct state *s = state;
#ifdef NO_LOCK
    baton_load(ep, s->lock);
#endif
    enter(ep, s);
    baton_mfence(ep);
    s->inside--;
    return 0;
}
#elif defined(SPINS)
static int body(struct baton_ep *ep, void *state)
{
    struct state *s = state;
    while (!baton_load(ep, s->lock))
        continue;
    return 0;
}
#elif defined(LEAVES)
static int body(struct baton_ep *ep, void *state)
{
    struct state *s = state;
    baton_load(ep, s->lock);
    LEAVES;
    return 0;
}
#elif defined(FAILS_LATE)
/* Only who looks too early does what fails; all others find their queue pair as it was. */
static int body(struct baton_ep *ep, void *state)
{
    struct state *s = state;
    baton_gptr at = baton_addr(baton_ep_node(ep), s->lock);
    baton_put64(ep, at, 1, 1);
    int rc = baton_wait(ep, 1);
    if (rc || baton_load(ep, s->lock)) {
        baton_put64(ep, at + 8, 1, 1);
        return baton_wait(ep, 1);
    }
    baton_put64(ep, at + (1 << 20), 1, 1);
    if (baton_wait(ep, 1) != -EKEYREJECTED)
        baton_check_fail(ep, "another error than that of the operation");
    return baton_ep_reset(ep, 0);
}
#elif defined(ENDED)
/* What it has fetched differs from run to run, and is there when it has ended. */
static int body(struct baton_ep *ep, void *state)
{
    struct state *s = state;
    uint64_t *seen = baton_ep_alloc(ep, 8, 8);
    baton_gptr at = baton_addr(baton_ep_node(ep), s->lock);
    baton_rfaa(ep, seen, at, 1, 1);
    int rc = baton_wait(ep, 1);
    baton_load(ep, s->lock + 1);
    return rc;
}
#elif defined(OUTSIDE)
static int body(struct baton_ep *ep, void *state)
{
    struct state *s = state;
    baton_put64(ep, baton_addr(baton_ep_node(ep), s->lock) + (1 << 20), 1, OUTSIDE);
    return 0;
}
#elif defined(RETURNS)
static int body(struct baton_ep *ep, void *state)
{
    return -1;
}
#else
static int body(struct baton_ep *ep, void *state)
{
    struct state *s = state;
    const struct baton_cond is_free = baton_until_is(s->lock, UINT64_MAX, 0);
    struct baton_wait wait;
    baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
    while (baton_cas(ep, s->lock, 0, 1))
        if (baton_await(ep, &is_free, 1, &wait))
            return -1;
    enter(ep, s);
    baton_store(ep, s->lock + 1, 1);
#ifndef LATE
    s->inside--;
#endif
    baton_store(ep, s->lock, 0);
    baton_mfence(ep);
#ifdef LATE
    s->inside--;
#endif
    return 0;
}
#endif

#ifdef ENDED
#define THIRD body
#else
#define THIRD NULL
#endif

BATON_CHECK_PROGRAM(.name = "by \"hand\"", .nodes = 1, .state_bytes = sizeof(struct state),
                    .init = init, .threads = {{0, body}, {0, body}, {0, THIRD}});

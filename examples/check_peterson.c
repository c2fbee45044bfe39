/* SPDX-License-Identifier: MIT */
/*
 * Peterson's lock between a CPU and a NIC, to be explored by `baton check`.
 *
 * Thread 0 lives where the lock is and uses its CPU; thread 1 is remote. Each raises its flag, says that the
 * other may go first (victim), and waits while the other's flag is up and it is the victim itself. On both
 * sides the flag must be visible before the victim, and both before the look at the other's flag. Built with
 * -DVICTIM_FIRST the remote thread puts them the other way round; with -DNO_FENCE the CPU's stores may still be
 * in its store buffer when it looks. Both let two threads in together, and `baton check` shows how.
 */
#include <baton/check.h>

struct state {
    uint64_t *words;
    baton_gptr at;
    uint64_t inside;
};

enum { FLAG_CPU, FLAG_NIC, VICTIM };
enum { CPU = 1, NIC = 2 };

static int init(struct baton_cluster *cluster, void *state)
{
    struct state *s = state;
    struct baton_node *node = baton_cluster_node(cluster, 0);
    void *words;
    int rc = baton_segment_create(node, 24, BATON_READ | BATON_WRITE, NULL, 0, &s->at);
    if (!rc)
        rc = baton_ptr(node, s->at, 24, &words);
    if (!rc)
        s->words = words;
    return rc;
}

static void enter(struct baton_ep *ep, struct state *s)
{
    baton_check_note(ep, "is inside");
    if (s->inside++)
        baton_check_fail(ep, "two threads are inside together");
}

static int cpu(struct baton_ep *ep, void *state)
{
    struct state *s = state;
    uint64_t *w = s->words;
    const struct baton_cond way[] = {baton_until_is(&w[FLAG_NIC], UINT64_MAX, 0),
                                     baton_until_not(&w[VICTIM], UINT64_MAX, CPU)};
    struct baton_wait wait;
    baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
    baton_store(ep, &w[FLAG_CPU], 1);
    baton_store(ep, &w[VICTIM], CPU);
#ifndef NO_FENCE
    baton_mfence(ep);
#endif
    while (baton_load(ep, &w[FLAG_NIC]) && baton_load(ep, &w[VICTIM]) == CPU)
        if (baton_await(ep, way, 2, &wait))
            return -1;
    enter(ep, s);
    baton_mfence(ep); /* something that takes its time */
    baton_load(ep, &w[VICTIM]);
    s->inside--;
    baton_store(ep, &w[FLAG_CPU], 0);
    return 0;
}

static int nic(struct baton_ep *ep, void *state)
{
    struct state *s = state;
    uint64_t *seen = baton_ep_alloc(ep, 24, 8);
    struct baton_wait wait;
    baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
#ifdef VICTIM_FIRST
    baton_put64(ep, s->at + 8 * VICTIM, NIC, 0);
    baton_order(ep, 0);
    baton_put64(ep, s->at + 8 * FLAG_NIC, 1, 0);
#else
    baton_put64(ep, s->at + 8 * FLAG_NIC, 1, 0);
    baton_order(ep, 0);
    baton_put64(ep, s->at + 8 * VICTIM, NIC, 0);
#endif
    baton_order(ep, 0);
    for (;;) {
        baton_get(ep, seen, s->at, 24, 1);
        int rc = baton_wait(ep, 1);
        if (rc || !seen[FLAG_CPU] || seen[VICTIM] != NIC)
            break;
        if (baton_relax(ep, &wait))
            return -1;
    }
    enter(ep, s);
    baton_get(ep, seen, s->at, 8, 1);
    int rc = baton_wait(ep, 1);
    s->inside--;
    baton_put64(ep, s->at + 8 * FLAG_NIC, 0, 0);
    return rc;
}

BATON_CHECK_PROGRAM(.name = "peterson", .nodes = 2, .state_bytes = sizeof(struct state),
                    .init = init, .threads = {{0, cpu}, {1, nic}});

/* SPDX-License-Identifier: MIT */
/*
 * A record that is read without a lock: a version before and after, odd while it is being written. One writer,
 * one reader, both remote, and posts that nothing orders may change places. As it is it is right; each of the
 * following makes it wrong:
 *
 *     NO_SECOND    the reader believes the record without looking at the version again
 *     ONE_GET      the reader gets version and data in one piece: its words are read in any order
 *     NO_RFENCE    the reader's gets of data and second version may change places
 *     ONE_PUT      the writer puts data and new version in one piece: its words land in any order
 *     NO_ORDER     the writer's puts of data and new version may change places
 *     NO_ODD       the writer does not say that it is writing
 */
#include <baton/check.h>

enum { VERSION, FIRST, SECOND, WORDS };

struct state {
    baton_gptr record;
};

static int init(struct baton_cluster *cluster, void *state)
{
    struct state *s = state;
    return baton_segment_create(baton_cluster_node(cluster, 0), 8 * WORDS, BATON_READ | BATON_WRITE,
                                NULL, 0, &s->record);
}

static int writer(struct baton_ep *ep, void *state)
{
    const baton_gptr record = ((struct state *)state)->record;
    uint64_t *fresh = baton_ep_alloc(ep, 8 * WORDS, 8);
    fresh[VERSION] = 2;
    fresh[FIRST] = fresh[SECOND] = 1;
#ifndef NO_ODD
    baton_put64(ep, record, 1, 0);
    baton_order(ep, 0);
#endif
#ifdef ONE_PUT
    baton_put(ep, record, fresh, 8 * WORDS, 1);
#else
    baton_put(ep, record + 8 * FIRST, &fresh[FIRST], 16, 1);
#ifndef NO_ORDER
    baton_order(ep, 0);
#endif
    baton_put64(ep, record, 2, 1);
#endif
    return baton_wait(ep, 1);
}

static int reader(struct baton_ep *ep, void *state)
{
    const baton_gptr record = ((struct state *)state)->record;
    uint64_t *seen = baton_ep_alloc(ep, 8 * WORDS, 8), *again = baton_ep_alloc(ep, 8, 8);
#ifdef ONE_GET
    baton_get(ep, seen, record, 8 * WORDS, 1);
#else
    baton_get(ep, seen, record, 8, 1);
    baton_rfence(ep, 0);
    baton_get(ep, &seen[FIRST], record + 8 * FIRST, 16, 1);
#endif
#ifndef NO_RFENCE
    baton_rfence(ep, 0);
#endif
#ifndef NO_SECOND
    baton_get(ep, again, record, 8, 1);
#endif
    int rc = baton_wait(ep, 1);
#ifdef NO_SECOND
    *again = seen[VERSION];
#endif
    if (rc || seen[VERSION] % 2 || seen[VERSION] != *again)
        return rc; /* being written: a real reader would try again */
    if (seen[FIRST] != seen[SECOND] || seen[FIRST] != seen[VERSION] / 2)
        baton_check_fail(ep, "the record is not what its version says");
    return 0;
}

BATON_CHECK_PROGRAM(.name = "seqlock", .nodes = 3, .flags = BATON_CLUSTER_SWAP,
                    .state_bytes = sizeof(struct state), .init = init,
                    .threads = {{1, writer}, {2, reader}});

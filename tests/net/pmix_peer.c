/* SPDX-License-Identifier: MIT */
/*
 * One rank of the test of clusters that a launcher starts: opens the net with no settings at all,
 * tells the others its square, and checks theirs.
 *
 *   usage: mpirun -n N pmix_peer N [OPTIONS [RANK]]
 *
 * The given rank does not come, and lives on; the others do not wait for it any longer than they are told to.
 */
#include "net_test.h"

/* Ended by the launcher, when the others are. */
static void stay_away(const char *rank)
{
    const char *mine = getenv("PMIX_RANK");
    CHECK(mine);
    while (!strcmp(mine, rank))
        pause();
}

int main(int argc, char **argv)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_net *net;
    CHECK(argc >= 2);
    unsigned n = (unsigned)atoi(argv[1]);
    opts.options = argc > 2 ? argv[2] : NULL;
    if (argc > 3) {
        stay_away(argv[3]);
        CHECK(baton_net_open(&opts, "test", &net) == -ETIMEDOUT);
        printf("rank %s does not come\n", argv[3]);
        return 1;
    }
    CHECK(!baton_net_open(&opts, "test", &net));
    unsigned me = baton_net_first(net);
    CHECK(baton_net_nodes(net) == n && baton_net_local(net) == 1);
    uint64_t square = (uint64_t)me * me, deadline = test_now() + PATIENCE_NS;
    CHECK(!baton_net_blob_set(net, me, 0, &square, sizeof(square)));
    for (unsigned i = 0; i < n; i++) {
        uint64_t got = 0;
        CHECK(!baton_net_blob_get(net, i, 0, &got, sizeof(got), NULL, deadline));
        CHECK(got == (uint64_t)i * i);
    }
    /* Nobody leaves before all have seen all. */
    CHECK(!baton_net_blob_set(net, me, 1, "seen", 4));
    for (unsigned i = 0; i < n; i++) {
        char seen[4];
        int rc = baton_net_blob_get(net, i, 1, seen, sizeof(seen), NULL, deadline);
        CHECK(rc == 0 || (rc == -EHOSTDOWN && baton_net_state(net, i) == BATON_NODE_LEFT));
    }
    baton_net_close(net);
    printf("rank %u of %u has met all\n", me, n);
    return 0;
}

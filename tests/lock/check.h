/* SPDX-License-Identifier: MIT */
/* What the tests of locks share: a check that ends the test with the place, and clusters. */
#ifndef BATON_TESTS_LOCK_CHECK_H
#define BATON_TESTS_LOCK_CHECK_H

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/lock.h>

#include "../plain_check.h"

#define CHECK_RC(call, wanted)                                                                     \
    do {                                                                                           \
        int check_rc = (call);                                                                     \
        if (check_rc != (wanted)) {                                                                \
            printf("%s:%d: %s: %d (%s; %s), not %d\n", __FILE__, __LINE__, #call, check_rc,        \
                   baton_strerror(check_rc), baton_error_detail(), (wanted));                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline struct baton_cluster *check_step(unsigned nodes, uint64_t seed, unsigned flags)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    opts.fabric = "step";
    opts.nodes = nodes;
    opts.seed = seed;
    opts.flags = flags;
    opts.arena_bytes = 256 << 10;
    CHECK_RC(baton_cluster_open(&opts, &cluster), 0);
    return cluster;
}

static inline struct baton_table_opts check_table(const char *kind, uint64_t count)
{
    struct baton_table_opts opts = {sizeof opts, kind, count, NULL, 0};
    return opts;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Cases: segments, the arena, names, teams. */
#include "rig.h"

/* ---- Segments */

static int case_segments(struct conf *c)
{
    struct baton_cluster *cluster;
    OK(conf_open(c, 2, c->seed, &cluster));
    struct baton_node *node = baton_cluster_node(cluster, 1);
    baton_gptr at[BATON_SEGMENTS_MAX], last = 0;
    EQUAL(baton_segment_create(node, 0, RIG_ALL, NULL, 0, &last), -EINVAL);
    EQUAL(baton_segment_create(node, SIZE_MAX, RIG_ALL, NULL, 0, &last), -EINVAL);
    EQUAL(baton_segment_create(node, 8, 8, NULL, 0, &last), -EINVAL);
    static const struct baton_words wrong[] = {
        {4096, 0, 1, BATON_WORD_PLAIN, BATON_WORD_VALUE}, /* begins behind the end */
        {4, 8, 1, BATON_WORD_PLAIN, BATON_WORD_VALUE},    /* half a word */
        {0, 8, 513, BATON_WORD_PLAIN, BATON_WORD_VALUE},  /* one too many */
        {0, 4, 2, BATON_WORD_PLAIN, BATON_WORD_VALUE},
        {0, 0, 2, BATON_WORD_PLAIN, BATON_WORD_VALUE},
        {0, 8, 0, BATON_WORD_PLAIN, BATON_WORD_VALUE},
        {8, UINT64_C(1) << 63, 3, BATON_WORD_PLAIN, BATON_WORD_VALUE}, /* wraps round */
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        EQUAL(baton_segment_create(node, 4096, RIG_ALL, &wrong[i], 1, &last), -EINVAL);
    /* In a segment that is no whole number of words the last one is the one that its end is in. */
    static const struct baton_words behind[] = {
        {8, 8, 2, BATON_WORD_PLAIN, BATON_WORD_VALUE},
        {8, 8, UINT64_C(1) << 60, BATON_WORD_PLAIN, BATON_WORD_VALUE},
        {16, 8, 1, BATON_WORD_PLAIN, BATON_WORD_VALUE},
    };
    for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++)
        EQUAL(baton_segment_create(node, 9, RIG_ALL, &behind[i], 1, &last), -EINVAL);
    EQUAL(baton_segment_create(node, 1, RIG_ALL, &behind[0], 1, &last), -EINVAL);
    EQUAL(last, 0);
    static const struct baton_words right[] = {
        {0, 8, 512, BATON_WORD_PLAIN, BATON_WORD_VALUE},
        {4088, 0, 1, BATON_WORD_NIC_RMW, BATON_WORD_ADDRESS}};
    unsigned n = 0;
    int rc;
    /* The arena is one of them. Bases rise, on pages, with room between. */
    while (n < BATON_SEGMENTS_MAX && !(rc = baton_segment_create(node, 4096 - n % 8, RIG_ALL, right,
                                                                 n % 8 ? 0 : 2, &at[n]))) {
        EQUAL(baton_gptr_node(at[n]), 1);
        EQUAL(baton_gptr_offset(at[n]) % 4096, 0);
        CHECK(baton_gptr_offset(at[n]) >= 4096);
        CHECK(at[n] >= last + 4096);
        last = at[n++];
    }
    EQUAL(rc, -EBUSY);
    EQUAL(n, BATON_SEGMENTS_MAX - 1);
    void *p;
    OK(baton_ptr(node, at[3], 4096, &p)); /* rounded up to a page, and zeroed */
    for (unsigned i = 0; i < 512; i++)
        EQUAL(((uint64_t *)p)[i], 0);
    EQUAL(baton_addr(node, p), at[3]);
    EQUAL(baton_addr(node, (char *)p + 4095), at[3] + 4095);
    EQUAL(baton_addr(node, &p), BATON_NULL);
    EQUAL(baton_ptr(node, at[3], 4097, &p), -ERANGE);
    EQUAL(baton_ptr(node, at[3] + 4096, 8, &p), -EKEYREJECTED);
    EQUAL(baton_ptr(node, BATON_NULL + baton_gptr_make(1, 0), 8, &p), -EKEYREJECTED);
    EQUAL(baton_ptr(baton_cluster_node(cluster, 0), at[3], 8, &p), -EREMOTE);
    EQUAL(baton_segment_destroy(baton_cluster_node(cluster, 0), at[3]), -EREMOTE);
    EQUAL(baton_segment_destroy(node, at[3] + 8), -EKEYREJECTED);
    EQUAL(baton_segment_destroy(node, baton_gptr_make(1, 0)), -EKEYREJECTED);
    /* The arena is not the program's to destroy. */
    struct baton_ep *ep;
    OK(baton_ep_open(node, &ep));
    void *mine = baton_ep_alloc(ep, 8, 8);
    CHECK(mine);
    EQUAL(baton_segment_destroy(node, baton_addr(node, mine) & ~(baton_gptr)4095), -EINVAL);
    EQUAL(*(uint64_t *)mine, 0);
    OK(baton_ep_close(ep));
    /* What goes makes room, at an address that has not been. */
    for (unsigned i = 0; i < 200; i++) {
        OK(baton_segment_destroy(node, at[i % n]));
        EQUAL(baton_segment_destroy(node, at[i % n]), -EKEYREJECTED);
        EQUAL(baton_ptr(node, at[i % n], 8, &p), -EKEYREJECTED);
        OK(baton_segment_create(node, 8, RIG_ALL, NULL, 0, &at[i % n]));
        CHECK(at[i % n] > last);
        last = at[i % n];
        OK(baton_ptr(node, last, 8, &p));
        EQUAL(*(uint64_t *)p, 0);
        *(uint64_t *)p = 1;
    }
    OK(baton_cluster_close(cluster));
    return 0;
}

/* ---- Arena */

static int case_arena(struct conf *c)
{
    struct baton_cluster *cluster;
    struct baton_ep *ep, *other;
    OK(conf_open(c, 2, c->seed, &cluster));
    OK(baton_ep_open(baton_cluster_node(cluster, 0), &ep));
    static char *got[1 << 14];
    static size_t bytes[1 << 14];
    CHECK(!baton_ep_alloc(ep, 8, 3));
    CHECK(strstr(baton_error_detail(), "no room for 8 bytes, aligned to 3"));
    CHECK(!baton_ep_alloc(ep, 8, 8192));
    CHECK(!baton_ep_alloc(ep, 0, 8));
    CHECK(!baton_ep_alloc(ep, SIZE_MAX, 8));
    CHECK(!baton_ep_alloc(ep, SIZE_MAX - 4096, 4096));
    baton_ep_free(ep, NULL);
    struct baton_random random;
    baton_random_init(&random, c->seed);
    for (unsigned round = 0; round < 4; round++) {
        unsigned n = 0;
        for (bool small = false;; n++) {
            size_t align = small ? 8 : (size_t)1 << baton_random_below(&random, 9);
            bytes[n] = small ? 8 : 1 + baton_random_below(&random, 200);
            got[n] = baton_ep_alloc(ep, bytes[n], align);
            if (!got[n] && small)
                break;
            if (!got[n]) {
                small = true; /* fill the gaps */
                n--;
                continue;
            }
            EQUAL((uintptr_t)got[n] % align, 0);
            EQUAL((uintptr_t)got[n] % 8, 0);
            for (size_t i = 0; i < bytes[n]; i++)
                EQUAL(got[n][i], 0);
            memset(got[n], 0x40 + n % 64, bytes[n]);
            CHECK(baton_addr(baton_cluster_node(cluster, 0), got[n]));
        }
        CHECK(n > 100);
        /* Endpoints need a little of it too, and say so. The other node's arena is its own. */
        EQUAL(baton_ep_open(baton_cluster_node(cluster, 0), &other), -ENOMEM);
        OK(baton_ep_open(baton_cluster_node(cluster, 1), &other));
        OK(baton_ep_close(other));
        for (unsigned i = 0; i < n; i++)
            for (size_t j = 0; j < bytes[i]; j++)
                EQUAL(got[i][j], 0x40 + i % 64); /* nothing overlaps */
        while (n) {
            unsigned i = (unsigned)baton_random_below(&random, n--);
            baton_ep_free(ep, got[i]);
            got[i] = got[n];
        }
        /* What was in pieces is whole again. */
        got[0] = baton_ep_alloc(ep, 60 << 10, 64);
        CHECK(got[0]);
        baton_ep_free(ep, got[0]);
    }
    OK(baton_ep_open(baton_cluster_node(cluster, 0), &other));
    /* Freed by any endpoint of the node. */
    void *p = baton_ep_alloc(ep, 64, 64);
    CHECK(p);
    baton_ep_free(other, p);
    OK(baton_ep_close(other));
    OK(baton_ep_close(ep));
    OK(baton_cluster_close(cluster));
    return 0;
}

/* ---- Names */

static int publisher(struct baton_ep *ep, unsigned thread, void *arg)
{
    baton_delay(ep, 5000000);
    return baton_name_publish(baton_ep_node(ep), "late", baton_gptr_make(1, 0x5000));
}

static int seeker(struct baton_ep *ep, unsigned thread, void *arg)
{
    baton_gptr at = 1;
    uint64_t begin = baton_now(ep);
    EQUAL(baton_name_lookup(ep, "late", begin + 10000000000u, &at), 0);
    EQUAL(at, baton_gptr_make(1, 0x5000));
    return 0;
}

static int case_names(struct conf *c)
{
    struct rig r;
    baton_gptr at = 1;
    char longest[BATON_NAME_MAX + 2];
    OK(rig_open(c, &r));
    EQUAL(baton_name_lookup(r.ep, "nobody", 0, &at), -ENOENT);
    EQUAL(baton_name_lookup(r.ep, "nobody", baton_now(r.ep) + 3000000, &at), -ETIMEDOUT);
    EQUAL(baton_name_lookup(r.ep, "nobody", 1, &at), -ETIMEDOUT); /* has passed */
    EQUAL(at, 1);
    OK(baton_name_publish(r.node[1], "root", r.at[1]));
    EQUAL(baton_name_publish(r.node[1], "root", r.at[1]), -EEXIST);
    EQUAL(baton_name_publish(r.node[2], "root", r.at[2]), -EEXIST);
    OK(baton_name_lookup(r.ep, "root", 0, &at));
    EQUAL(at, r.at[1]);
    OK(baton_name_publish(r.node[1], "roots", r.at[3])); /* no prefixes */
    OK(baton_name_lookup(r.ep, "root", 0, &at));
    EQUAL(at, r.at[1]);
    OK(baton_name_withdraw(r.node[1], "root"));
    EQUAL(baton_name_withdraw(r.node[1], "root"), -ENOENT);
    EQUAL(baton_name_lookup(r.ep, "root", 0, &at), -ENOENT);
    OK(baton_name_publish(r.node[2], "root", r.at[2]));
    OK(baton_name_lookup(r.ep, "root", 0, &at));
    EQUAL(at, r.at[2]);
    memset(longest, 'x', sizeof(longest));
    longest[BATON_NAME_MAX + 1] = 0;
    EQUAL(baton_name_publish(r.node[1], longest, r.at[1]), -EINVAL);
    EQUAL(baton_name_lookup(r.ep, longest, 0, &at), -EINVAL);
    longest[BATON_NAME_MAX] = 0;
    OK(baton_name_publish(r.node[1], longest, r.at[1]));
    OK(baton_name_lookup(r.ep, longest, 0, &at));
    EQUAL(at, r.at[1]);
    EQUAL(baton_name_publish(r.node[1], "", r.at[1]), -EINVAL);
    EQUAL(baton_name_withdraw(r.node[1], ""), -EINVAL);
    /* A name stays when its segment goes. */
    baton_gptr gone;
    OK(baton_segment_create(r.node[1], 8, RIG_ALL, NULL, 0, &gone));
    OK(baton_name_publish(r.node[1], "gone", gone));
    OK(baton_segment_destroy(r.node[1], gone));
    OK(baton_name_lookup(r.ep, "gone", 0, &at));
    EQUAL(at, gone);
    struct baton_team teams[] = {
        {1, 1, publisher, NULL}, {0, 2, seeker, NULL}, {2, 1, seeker, NULL}};
    OK(baton_run(r.cluster, teams, 3));
    OK(rig_close(&r));
    return 0;
}

/* ---- Teams */

struct roll {
    uint64_t here[RIG_NODES][8];
    struct baton_cluster *cluster;
};

static int count_me(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct roll *roll = arg;
    baton_word_faa(&roll->here[baton_node_index(baton_ep_node(ep))][thread], 1);
    struct baton_team none = {0, 1, count_me, NULL};
    EQUAL(baton_run(baton_ep_cluster(ep), &none, 1), -EINVAL);
    return 0;
}

static int fail_second(struct baton_ep *ep, unsigned thread, void *arg)
{
    /* The later ones fail first in time: it is the order of teams and threads that counts. */
    baton_delay(ep, 300000 * (4 - thread));
    return thread ? -(int)(100 + thread) : 0;
}

static int fail_close(struct baton_ep *ep, unsigned thread, void *arg)
{
    baton_put64(ep, baton_gptr_make(1, 0), 1, 1);
    return 0;
}

static int case_teams(struct conf *c)
{
    struct rig r;
    struct roll roll = {0};
    OK(rig_open(c, &r));
    struct baton_team teams[] = {
        {0, 3, count_me, &roll}, {1, 1, count_me, &roll}, {2, 0, count_me, &roll},
        {3, 8, count_me, &roll}, {1, 2, count_me, &roll},
    };
    OK(baton_run(r.cluster, teams, 5));
    for (unsigned n = 0; n < RIG_NODES; n++)
        for (unsigned t = 0; t < 8; t++)
            EQUAL(roll.here[n][t],
                  (n == 0 && t < 3) + (n == 1 && t < 1) + (n == 1 && t < 2) + (n == 3 && t < 8));
    OK(baton_run(r.cluster, teams, 0));
    struct baton_team fails[] = {{0, 4, fail_second, NULL}, {1, 1, fail_close, NULL}};
    EQUAL(baton_run(r.cluster, fails, 2), -101);
    EQUAL(baton_run(r.cluster, fails + 1, 1), -EKEYREJECTED);
    struct baton_team none[] = {{0, 1, NULL, NULL}, {RIG_NODES, 1, count_me, NULL}};
    EQUAL(baton_run(r.cluster, none, 1), -EINVAL);
    EQUAL(baton_run(r.cluster, none + 1, 1), -EINVAL);
    OK(rig_close(&r));
    return 0;
}

const struct conf_case conf_memory_cases[] = {
    {"segments", "64 of them, declarations checked, addresses not used again", CONF_ONE_PROCESS,
     case_segments, 0},
    {"arena", "aligned, zeroed, apart; full is an error", CONF_ONE_PROCESS, case_arena, 0},
    {"names", "publish, look up, wait for, withdraw", CONF_ONE_PROCESS, case_names, 0},
    {"teams", "baton_run: who runs, which result comes back", CONF_ONE_PROCESS, case_teams, 0},
    {0},
};

/* SPDX-License-Identifier: MIT */
/* Cases: clusters, posts and their errors, atomics, chains. What each call promises, and each error that it
 * can be brought to. */
#include <stdio.h>
#include <stdlib.h>

#include "fabric/layer.h"
#include "rig.h"

/* ---- Clusters */

/* The settings of a fabric: known ones, each once, with a value that is one. */
static int bad_settings(const struct conf *c, const char *settings, const char *said)
{
    struct baton_cluster_opts o = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster = NULL;
    o.fabric = c->world->fabric;
    o.name = c->cluster_name;
    o.options = settings;
    EQUAL(baton_cluster_open(&o, &cluster), -EINVAL);
    CHECK(!cluster && strstr(baton_error_detail(), said));
    return 0;
}

static int case_settings(struct conf *c)
{
    const char *own = c->world->options;
    char text[256];
    static const char *const unknown[] = {"nonsense=1", "nonsense", "=", "=1", ",", "fabric=shm"};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
        OK(bad_settings(c, unknown[i], "no setting"));
    if (own) {
        int n = (int)strcspn(own, "=");
        snprintf(text, sizeof(text), "%s,%.*s=other", own, n, own);
        OK(bad_settings(c, text, "twice"));
        snprintf(text, sizeof(text), "%.*s", n, own);
        OK(bad_settings(c, text, "no setting"));
        snprintf(text, sizeof(text), "%.*s=other,more=1", n, own);
        OK(bad_settings(c, text, "\"more\""));
    }
    if (!conf_is(c, CONF_UCX | CONF_UCX_RMA | CONF_VERBS))
        return 0;
    static const char *const numbers[] = {"", "0", "-1", "9", "600001", "1e3", "0x100", "100x",
                                          "10 0", "--", "18446744073709551716",
                                          /* the first 23 characters of it are a number in range */
                                          "00000000000000000000100000000"};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        snprintf(text, sizeof(text), "timeout_ms=%s", numbers[i]);
        OK(bad_settings(c, text, "timeout_ms="));
    }
    return 0;
}

static int bad_opts(const struct conf *c, struct baton_cluster_opts opts, int want)
{
    struct baton_cluster *cluster = NULL;
    EQUAL(conf_open_opts(c, &opts, &cluster), want);
    CHECK(!cluster); /* outputs are written on success only */
    CHECK(*baton_error_detail());
    return 0;
}

static int case_open(struct conf *c)
{
    struct baton_cluster_opts o = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster = NULL;
    OK(bad_opts(c, (o.size = sizeof(o) + 8, o), -EINVAL));
    OK(bad_opts(c, (o.size = 4, o), -EINVAL));
    o = (struct baton_cluster_opts)BATON_CLUSTER_OPTS;
    OK(bad_opts(c, (o.flags = 0x80, o), -EINVAL));
    o.flags = 0;
    OK(bad_opts(c, (o.nodes = BATON_NODES_MAX + 1, o), -EINVAL));
    o.nodes = 3;
    OK(bad_opts(c, (o.first = -2, o), -EINVAL));
    OK(bad_opts(c, (o.first = 3, o.local = 1, o), -EINVAL));
    OK(bad_opts(c, (o.first = 1, o.local = 3, o), -EINVAL));
    struct conf unknown = *c;
    unknown.options = "no-such-setting=1";
    o.first = -1;
    OK(bad_opts(&unknown, o, -EINVAL));
    CHECK(strstr(baton_error_detail(), "no-such-setting"));
    EQUAL(baton_cluster_open(NULL, &cluster), -EINVAL);
    o = (struct baton_cluster_opts)BATON_CLUSTER_OPTS;
    o.fabric = "carrier-pigeon";
    EQUAL(baton_cluster_open(&o, &cluster), -ENOENT);
    CHECK(strstr(baton_error_detail(), c->world->fabric)); /* among those that there are */
    CHECK(baton_fabric_unavailable("carrier-pigeon"));
    CHECK(!baton_fabric_unavailable(c->world->fabric));
    bool found = false;
    for (const char *const *f = baton_fabrics(); *f; f++)
        found |= !strcmp(*f, c->world->fabric);
    CHECK(found);

    /* A caller compiled against a shorter struct gets the defaults for the rest. */
    o = (struct baton_cluster_opts)BATON_CLUSTER_OPTS;
    o.nodes = 3;
    o.first = 1;
    o.local = 2;
    o.size = offsetof(struct baton_cluster_opts, arena_bytes);
    o.arena_bytes = 1;
    OK(conf_open_opts(c, &o, &cluster));
    EQUAL(baton_cluster_nodes(cluster), 3);
    CHECK(!baton_cluster_node(cluster, 0));
    CHECK(!baton_cluster_node(cluster, 3));
    CHECK(!baton_cluster_node(cluster, 70000));
    CHECK(baton_cluster_self(cluster) == baton_cluster_node(cluster, 1));
    EQUAL(baton_node_index(baton_cluster_node(cluster, 2)), 2);
    EQUAL(baton_node_state(cluster, 0), BATON_NODE_ABSENT);
    EQUAL(baton_node_state(cluster, 1), BATON_NODE_ALIVE);
    EQUAL(baton_node_state(cluster, 3), BATON_NODE_ABSENT);
    struct baton_caps caps;
    baton_cluster_caps(cluster, &caps);
    CHECK(caps.atomics != BATON_ATOMICS_NONE);
    /* Software RDMA devices tear words, and UCX promises nothing where it is the software. */
    CHECK(caps.word_atomic || conf_is(c, CONF_VERBS | CONF_UCX_RMA));
    CHECK(caps.chain_order == !conf_is(c, CONF_SWAP)); /* the settings were cut off above */
    CHECK(caps.held_gets == conf_is(c, CONF_UCX | CONF_UCX_RMA)); /* as here the mode was */

    struct baton_ep *ep;
    OK(baton_ep_open(baton_cluster_node(cluster, 2), &ep));
    CHECK(baton_ep_node(ep) == baton_cluster_node(cluster, 2));
    CHECK(baton_ep_cluster(ep) == cluster);
    EQUAL(baton_cluster_close(cluster), -EBUSY);
    EQUAL(baton_node_state(cluster, 1), BATON_NODE_ALIVE); /* nothing has changed */
    uint64_t *memory = baton_ep_alloc(ep, 8, 8);
    CHECK(memory);
    OK(baton_get(ep, memory, baton_addr(baton_ep_node(ep), memory), 8, 1));
    OK(baton_wait(ep, 1));

    /* Nobody is node 0: its faults come at the wait. */
    OK(baton_put64(ep, baton_gptr_make(0, 4096), 1, 1));
    EQUAL(baton_wait(ep, 1), -EHOSTDOWN);
    EQUAL(baton_ep_reset(ep, 0), -EHOSTDOWN);
    OK(baton_ep_close(ep));
    OK(baton_cluster_close(cluster));
    return 0;
}

/* ---- Errors at post */

struct bad_post {
    const char *what;
    int want;
    int (*post)(struct rig *rig, baton_wid id);
};

static uint64_t elsewhere[4]; /* memory that the contract does not know */

#define POST(name, call)                                                                           \
    static int name(struct rig *r, baton_wid id)                                                   \
    {                                                                                              \
        return call;                                                                               \
    }
POST(p_put_odd, baton_put(r->ep, r->at[1] + 4, r->mine, 8, id))
POST(p_put64_odd, baton_put64(r->ep, r->at[1] + 1, 1, id))
POST(p_get_odd, baton_get(r->ep, r->mine, r->at[1] + 4, 8, id))
POST(p_rcas_odd, baton_rcas(r->ep, r->mine, r->at[1] + 4, 0, 1, id))
POST(p_rfaa_odd, baton_rfaa(r->ep, r->mine, r->at[1] + 7, 1, id))
POST(p_put_none, baton_put(r->ep, r->at[1], r->mine, 0, id))
POST(p_put_len, baton_put(r->ep, r->at[1], r->mine, 12, id))
POST(p_get_none, baton_get(r->ep, r->mine, r->at[1], 0, id))
POST(p_get_len, baton_get(r->ep, r->mine, r->at[1], 1, id))
POST(p_get_long, baton_get(r->ep, r->mine, r->at[1], (size_t)BATON_TRANSFER_MAX + 8, id))
POST(p_put_huge, baton_put(r->ep, r->at[1], r->mine, ((size_t)1 << 32) + 8, id))
POST(p_local_odd, baton_get(r->ep, (char *)r->mine + 4, r->at[1], 8, id))
POST(p_put_stack, baton_put(r->ep, r->at[1], elsewhere, 8, id))
POST(p_get_stack, baton_get(r->ep, elsewhere, r->at[1], 8, id))
POST(p_rcas_stack, baton_rcas(r->ep, elsewhere, r->at[1], 0, 1, id))
POST(p_rfaa_stack, baton_rfaa(r->ep, elsewhere, r->at[1], 1, id))
POST(p_mcas_stack, baton_rcas_masked(r->ep, elsewhere, r->at[1], 0, 1, 1, 1, BATON_EMULATE, id))
POST(p_get_over, baton_get(r->ep, r->word[0] + RIG_WORDS - 1, r->at[1], 16, id))
POST(p_get_null, baton_get(r->ep, NULL, r->at[1], 8, id))
POST(p_node, baton_put64(r->ep, baton_gptr_make(RIG_NODES, 4096), 1, id))
POST(p_flags, baton_rfaa_masked(r->ep, r->mine, r->at[1], 1, 0, 2, id))

static const struct bad_post bad_posts[] = {
    {"put to half a word", -EINVAL, p_put_odd},
    {"put64 to an odd address", -EINVAL, p_put64_odd},
    {"get from half a word", -EINVAL, p_get_odd},
    {"rcas of half a word", -EINVAL, p_rcas_odd},
    {"rfaa of an odd address", -EINVAL, p_rfaa_odd},
    {"put of nothing", -EINVAL, p_put_none},
    {"put of a word and a half", -EINVAL, p_put_len},
    {"get of nothing", -EINVAL, p_get_none},
    {"get of one byte", -EINVAL, p_get_len},
    {"get of more than a transfer", -EINVAL, p_get_long},
    {"put whose length needs 33 bits", -EINVAL, p_put_huge},
    {"local operand at half a word", -EINVAL, p_local_odd},
    {"put from unknown memory", -EFAULT, p_put_stack},
    {"get to unknown memory", -EFAULT, p_get_stack},
    {"rcas into unknown memory", -EFAULT, p_rcas_stack},
    {"rfaa into unknown memory", -EFAULT, p_rfaa_stack},
    {"masked rcas into unknown memory", -EFAULT, p_mcas_stack},
    {"get that ends behind the segment", -EFAULT, p_get_over},
    {"get to null", -EFAULT, p_get_null},
    {"a node that can not be", -ERANGE, p_node},
    {"flags without meaning", -EINVAL, p_flags},
};

static int case_post_errors(struct conf *c)
{
    struct rig r;
    OK(rig_open(c, &r));
    for (size_t i = 0; i < sizeof(bad_posts) / sizeof(bad_posts[0]); i++) {
        const struct bad_post *b = &bad_posts[i];
        int rc = b->post(&r, 7);
        if (rc != b->want)
            return conf_fail(__FILE__, __LINE__, "%s: %d, not %d", b->what, rc, b->want);
        CHECK(*baton_error_detail());
        /* It comes back from the wait for its id, once, and from no other. */
        OK(baton_wait(r.ep, 8));
        EQUAL(baton_wait(r.ep, 7), b->want);
        OK(baton_wait(r.ep, 7));
        EQUAL(b->post(&r, 0), b->want);
        OK(baton_wait(r.ep, 7));
        EQUAL(baton_wait_all(r.ep), b->want);
        OK(baton_wait_all(r.ep));
        EQUAL(b->post(&r, 0), b->want);
        EQUAL(baton_gfence(r.ep, (const uint16_t[]){1}, 1), b->want);
        OK(baton_wait_all(r.ep));
    }
    /* Ids outside of the program's and the library's name no work. */
    EQUAL(baton_put64(r.ep, r.at[1], 1, BATON_WID_USER_MAX + 1), -EINVAL);
    EQUAL(baton_put64(r.ep, r.at[1], 1, BATON_WID_LIBRARY - 1), -EINVAL);
    EQUAL(baton_get(r.ep, r.mine, r.at[1], 8, 0x4000), -EINVAL);
    EQUAL(baton_rcas_masked(r.ep, r.mine, r.at[1], 0, 0, 0, 0, 0, 0x4000), -EINVAL);
    EQUAL(baton_wait(r.ep, 0), -EINVAL);
    EQUAL(baton_wait(r.ep, BATON_WID_USER_MAX + 1), -EINVAL);
    OK(baton_put64(r.ep, r.at[1], 1, BATON_WID_USER_MAX));
    OK(baton_wait(r.ep, BATON_WID_USER_MAX));
    OK(baton_put64(r.ep, r.at[1], 1, BATON_WID_LOCK));
    OK(baton_wait(r.ep, BATON_WID_LOCK));
    OK(baton_put64(r.ep, r.at[1], 1, 0xffff));
    OK(baton_wait(r.ep, 0xffff));
    EQUAL(baton_order(r.ep, RIG_NODES), -ERANGE);
    EQUAL(baton_rfence(r.ep, RIG_NODES), -ERANGE);
    struct baton_stats before, after;
    baton_ep_stats(r.ep, &before);
    EQUAL(baton_gfence(r.ep, (const uint16_t[]){1, RIG_NODES}, 2), -ERANGE);
    baton_ep_stats(r.ep, &after);
    EQUAL(after.ops[BATON_OP_GET], before.ops[BATON_OP_GET]); /* nothing was begun */
    EQUAL(baton_ep_reset(r.ep, RIG_NODES), -ERANGE);
    EQUAL(baton_ep_state(r.ep, RIG_NODES), -ERANGE);
    /* An error that nobody has collected comes from close; one of post breaks no queue pair. */
    OK(baton_ep_state(r.ep, 1));
    struct baton_ep *ep;
    OK(baton_ep_open(r.node[0], &ep));
    EQUAL(baton_get(ep, elsewhere, r.at[1], 8, 3), -EFAULT);
    EQUAL(baton_ep_close(ep), -EFAULT);
    OK(rig_close(&r));
    return 0;
}

/* ---- Faults of the peer */

struct fault {
    const char *what;
    int want;
    unsigned node;
    uint64_t offset; /* from the segment's start; or absolute */
    bool absolute;
    uint64_t bytes;
};

static const struct fault faults[] = {
    {"null", -EKEYREJECTED, 1, 0, true, 8},
    {"the page before all memory", -EKEYREJECTED, 1, 4088, true, 8},
    {"an address that never was", -EKEYREJECTED, 1, (uint64_t)1 << 40, true, 8},
    {"the last address there is", -EKEYREJECTED, 1, 0xfffffffffff8u, true, 8},
    {"one word behind the segment", -EKEYREJECTED, 1, RIG_WORDS * 8, false, 8},
    {"across the end", -ERANGE, 1, RIG_WORDS * 8 - 8, false, 16},
    {"own node, across the end", -ERANGE, 0, RIG_WORDS * 8 - 16, false, 24},
};

static int post_kind(struct rig *r, enum baton_op_kind kind, baton_gptr at, uint64_t bytes,
                     baton_wid id)
{
    switch (kind) {
    case BATON_OP_PUT:
        return baton_put(r->ep, at, r->mine, bytes, id);
    case BATON_OP_GET:
        return baton_get(r->ep, r->mine, at, bytes, id);
    case BATON_OP_RCAS:
        return baton_rcas(r->ep, r->mine, at, r->mine[0], 77, id);
    default:
        return baton_rfaa(r->ep, r->mine, at, 1, id);
    }
}

/* After a fault with id 9 towards `node` at `at`: what the contract says about everything else. */
static int check_broken(struct rig *r, unsigned node, baton_gptr at, enum baton_op_kind kind,
                        int want)
{
    struct baton_ep_fault fault;
    uint64_t value;
    char broken[24];
    /* Another error before, whose words are not those of this one. */
    EQUAL(baton_wait(r->ep, 64), -EINVAL);
    EQUAL(baton_wait(r->ep, 9), want);
    baton_ep_error(r->ep, &fault);
    CHECK(!strcmp(baton_error_detail(), fault.text));
    EQUAL(baton_ep_state(r->ep, node), want);
    EQUAL(fault.rc, want);
    EQUAL(fault.kind, kind);
    EQUAL(fault.node, node);
    EQUAL(fault.at, at);
    CHECK(*fault.text);
    OK(baton_wait(r->ep, 9)); /* said once */
    snprintf(broken, sizeof(broken), "node %u: ", node);
    EQUAL(baton_wait(r->ep, 64), -EINVAL);
    EQUAL(baton_put64(r->ep, rig_at(r, node, 0), 1, 9), -ENOTCONN);
    CHECK(strstr(baton_error_detail(), broken));
    EQUAL(baton_wait(r->ep, 9), -ENOTCONN);
    EQUAL(baton_wait(r->ep, 64), -EINVAL);
    EQUAL(baton_gfence(r->ep, (const uint16_t[]){(uint16_t)node}, 1), -ENOTCONN);
    CHECK(strstr(baton_error_detail(), broken));
    /* Others are untouched. */
    for (unsigned n = 0; n < RIG_NODES; n++)
        if (n != node) {
            OK(baton_ep_state(r->ep, n));
            OK(baton_put64(r->ep, rig_at(r, n, 5), n + 40, 1));
            OK(baton_wait(r->ep, 1));
            OK(rig_read(r, n, 5, &value));
            EQUAL(value, n + 40);
        }
    OK(baton_ep_reset(r->ep, node));
    OK(baton_ep_state(r->ep, node));
    OK(baton_put64(r->ep, rig_at(r, node, 5), 90, 1));
    OK(baton_wait(r->ep, 1));
    OK(rig_read(r, node, 5, &value));
    EQUAL(value, 90);
    OK(baton_settle(r->ep, node));
    return 0;
}

static int case_peer_faults(struct conf *c)
{
    struct rig r;
    OK(rig_open(c, &r));
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        for (unsigned kind = 0; kind < BATON_OP_KINDS; kind++) {
            const struct fault *f = &faults[i];
            baton_gptr at =
                f->absolute ? baton_gptr_make(f->node, f->offset) : r.at[f->node] + f->offset;
            if (f->bytes != 8 && kind > BATON_OP_GET)
                continue; /* atomics are one word */
            r.mine[0] = 123;
            OK(post_kind(&r, kind, at, f->bytes, 9));
            int rc = check_broken(&r, f->node, at, kind, f->want);
            if (rc)
                return conf_fail(__FILE__, __LINE__, "operation %u, %s", kind, f->what);
            EQUAL(r.mine[0], 123); /* results of what failed are as they were */
        }

    /* A segment that was destroyed: never somebody else's data, also when the room is wanted again. */
    baton_gptr stale, fresh;
    OK(baton_segment_create(r.node[1], 4096, RIG_ALL, NULL, 0, &stale));
    OK(baton_put64(r.ep, stale, 5, 1));
    OK(baton_wait(r.ep, 1));
    OK(baton_segment_destroy(r.node[1], stale));
    OK(baton_segment_create(r.node[1], 4096, RIG_ALL, NULL, 0, &fresh));
    CHECK(fresh != stale);
    for (unsigned kind = 0; kind < BATON_OP_KINDS; kind++) {
        OK(post_kind(&r, kind, stale, 8, 9));
        OK(check_broken(&r, 1, stale, kind, -EKEYREJECTED));
    }
    OK(baton_segment_destroy(r.node[1], fresh));
    OK(rig_close(&r));
    return 0;
}

/* Each of several faults has its own words, whichever was the last and whichever is heard of first. */
static int case_words_of_faults(struct conf *c)
{
    struct rig r;
    OK(rig_open(c, &r));
    for (unsigned last = 1; last < 3; last++) {
        for (unsigned i = 0; i < 2; i++) {
            unsigned n = i ? last : 3 - last;
            OK(baton_put64(r.ep, baton_gptr_make(n, UINT64_C(1) << 40), 1, n));
            CHECK(baton_settle(r.ep, n)); /* whose get has been cancelled */
        }
        for (unsigned i = 0; i < 2; i++) {
            unsigned n = i ? 3 - last : last;
            char says[2][16];
            snprintf(says[0], sizeof(says[0]), "node %u: ", n);
            snprintf(says[1], sizeof(says[1]), " at %u+0x", n);
            EQUAL(baton_wait(r.ep, n), -EKEYREJECTED);
            CHECK(strstr(baton_error_detail(), says[0]) || strstr(baton_error_detail(), says[1]));
        }
        for (unsigned n = 1; n < 3; n++)
            OK(baton_ep_reset(r.ep, n));
    }
    /* Of one id: the node that has failed is not the first. */
    OK(baton_put64(r.ep, r.at[1], 1, 1));
    OK(baton_put64(r.ep, baton_gptr_make(2, UINT64_C(1) << 40), 1, 1));
    EQUAL(baton_wait(r.ep, 64), -EINVAL);
    EQUAL(baton_wait(r.ep, 1), -EKEYREJECTED);
    CHECK(strstr(baton_error_detail(), " at 2+0x"));
    OK(baton_ep_reset(r.ep, 2));
    OK(rig_close(&r));
    return 0;
}

static int case_rights(struct conf *c)
{
    static const unsigned needs[BATON_OP_KINDS] = {BATON_WRITE, BATON_READ, BATON_ATOMIC,
                                                   BATON_ATOMIC};
    struct rig r;
    OK(rig_open(c, &r));
    for (unsigned rights = 0; rights <= RIG_ALL; rights++) {
        baton_gptr at;
        OK(baton_segment_create(r.node[1], 8, rights, NULL, 0, &at));
        for (unsigned kind = 0; kind < BATON_OP_KINDS; kind++) {
            OK(post_kind(&r, kind, at, 8, 9));
            if (rights & needs[kind])
                OK(baton_wait(r.ep, 9));
            else
                OK(check_broken(&r, 1, at, kind, -EACCES));
        }
        OK(baton_segment_destroy(r.node[1], at));
    }
    OK(rig_close(&r));
    return 0;
}

/* What stands behind a failed operation on its queue pair ends too; what stands before it does not. */
static int case_cancel(struct conf *c)
{
    struct rig r;
    OK(rig_open(c, &r));
    OK(baton_put64(r.ep, rig_at(&r, 1, 0), 1, 1));
    OK(baton_order(r.ep, 1));
    OK(baton_get(r.ep, r.mine, rig_at(&r, 1, 1), 8, 2));
    OK(baton_rfence(r.ep, 1));
    OK(baton_get(r.ep, r.mine + 8, baton_gptr_make(1, 64), 8, 3));
    OK(baton_rfence(r.ep, 1));
    OK(baton_put64(r.ep, rig_at(&r, 1, 2), 1, 4));
    OK(baton_put64(r.ep, rig_at(&r, 1, 3), 1, 0));
    OK(baton_put64(r.ep, rig_at(&r, 2, 3), 1, 5));
    OK(baton_wait(r.ep, 5));
    EQUAL(baton_wait(r.ep, 4), -ECANCELED);
    EQUAL(baton_wait(r.ep, 3), -EKEYREJECTED);
    OK(baton_wait(r.ep, 2));
    OK(baton_wait(r.ep, 1));
    EQUAL(baton_wait_all(r.ep), -ECANCELED); /* of the put without an id */
    OK(baton_wait_all(r.ep));
    EQUAL(baton_ep_state(r.ep, 1), -EKEYREJECTED); /* the first failure */
    EQUAL(r.word[1][2], 0); /* behind an rfence behind what failed: can not have happened */

    /* An error is the first among those with the id. A lost error of id 0 comes out of a gfence. */
    OK(baton_ep_reset(r.ep, 1));
    OK(baton_put64(r.ep, baton_gptr_make(1, 64), 1, 0));
    OK(baton_wait(r.ep, 1));
    EQUAL(baton_gfence(r.ep, (const uint16_t[]){1}, 1), -EKEYREJECTED);
    OK(baton_wait_all(r.ep));
    OK(baton_ep_reset(r.ep, 1));
    OK(baton_put64(r.ep, baton_gptr_make(1, 64), 1, 1));
    OK(baton_put64(r.ep, baton_gptr_make(2, 64), 1, 2));
    EQUAL(baton_wait_all(r.ep), -EKEYREJECTED);
    OK(baton_wait_all(r.ep));
    OK(baton_ep_reset(r.ep, 1));
    OK(baton_ep_reset(r.ep, 2));
    OK(rig_close(&r));
    return 0;
}

/* ---- The last word */

static int case_last_word(struct conf *c)
{
    const unsigned last = RIG_WORDS - 1;
    struct rig r;
    uint64_t value;
    OK(rig_open(c, &r));
    for (unsigned n = 0; n < 2; n++) { /* the own node by loopback, and another */
        baton_gptr at = rig_at(&r, n, last);
        OK(baton_put64(r.ep, at, 10, 1));
        OK(baton_rfence(r.ep, n));
        OK(baton_rcas(r.ep, &r.mine[0], at, 10, 20, 1));
        OK(baton_rfence(r.ep, n));
        OK(baton_rfaa(r.ep, &r.mine[1], at, 5, 1));
        OK(baton_rfence(r.ep, n));
        OK(baton_get(r.ep, &r.mine[2], at, 8, 1));
        OK(baton_wait(r.ep, 1));
        EQUAL(r.mine[0], 10);
        EQUAL(r.mine[1], 20);
        EQUAL(r.mine[2], 25);
        /* A whole segment in one transfer, to the last byte. */
        for (unsigned i = 0; i < last; i++)
            r.mine[i] = i * 3 + n;
        OK(baton_put(r.ep, rig_at(&r, n, 1), r.mine, last * 8, 1));
        OK(baton_wait(r.ep, 1));
        for (unsigned i = 0; i < last; i++) {
            OK(rig_read(&r, n, i + 1, &value));
            r.mine[i] = value;
            EQUAL(value, i * 3 + n);
            if (i > 20 && i < last - 3)
                i = last - 3;
        }
    }
    OK(rig_close(&r));
    return 0;
}

/* ---- Known answers of the atomics */

static const uint64_t interesting[] = {0,
                                       1,
                                       2,
                                       0x7f,
                                       0x80,
                                       0xff,
                                       0x0102030405060708,
                                       0x8000000000000000,
                                       0x7fffffffffffffff,
                                       UINT64_MAX,
                                       UINT64_MAX - 1,
                                       0x00000000ffffffff,
                                       0xffffffff00000000,
                                       0x5555555555555555};
#define INTERESTING (sizeof(interesting) / sizeof(interesting[0]))

/* The masked add in the most pedestrian way: bit by bit, a boundary bit stops the carry. */
static uint64_t add_in_fields(uint64_t old, uint64_t add, uint64_t boundary)
{
    uint64_t sum = 0, carry = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t total = (old >> bit & 1) + (add >> bit & 1) + carry;
        sum |= (total & 1) << bit;
        carry = boundary >> bit & 1 ? 0 : total >> 1;
    }
    return sum;
}

static uint64_t pick(struct baton_random *random)
{
    return baton_random_below(random, 2) ? interesting[baton_random_below(random, INTERESTING)]
                                         : baton_random_next(random);
}

/* One atomic of each kind against what arithmetic says; words around it must stay as they are. */
static int atomics_once(struct rig *r, struct baton_random *random, unsigned node, unsigned flags)
{
    uint64_t old = pick(random), a = pick(random), b = pick(random), m = pick(random),
             s = pick(random), value;
    if (baton_random_below(random, 2))
        a = old ^ (pick(random) & ~m); /* so that about half of the comparisons hold */
    unsigned word = 100 + (unsigned)baton_random_below(random, 8);
    baton_gptr at = rig_at(r, node, word);
    for (unsigned op = 0; op < 4; op++) {
        uint64_t want = 0;
        r->word[node][word - 1] = r->word[node][word + 1] = 0xfeedfacecafebeef;
        r->word[node][word] = old;
        switch (op) {
        case 0:
            if (flags)
                continue;
            OK(baton_rfaa(r->ep, r->mine, at, a, 1));
            want = old + a;
            break;
        case 1:
            if (flags)
                continue;
            OK(baton_rcas(r->ep, r->mine, at, a, b, 1));
            want = old == a ? b : old;
            break;
        case 2:
            OK(baton_rfaa_masked(r->ep, r->mine, at, a, m, flags, 1));
            want = add_in_fields(old, a, m);
            break;
        case 3:
            OK(baton_rcas_masked(r->ep, r->mine, at, a, m, b, s, flags, 1));
            want = (old & m) == (a & m) ? (old & ~s) | (b & s) : old;
            break;
        }
        OK(baton_wait(r->ep, 1));
        EQUAL(r->mine[0], old);
        OK(rig_read(r, node, word, &value));
        EQUAL(value, want);
        EQUAL(r->word[node][word - 1], 0xfeedfacecafebeef);
        EQUAL(r->word[node][word + 1], 0xfeedfacecafebeef);
    }
    return 0;
}

static int case_known_answers(struct conf *c)
{
    struct rig r;
    struct baton_random random;
    OK(rig_open(c, &r));
    struct baton_caps caps;
    baton_cluster_caps(r.cluster, &caps);
    baton_random_init(&random, c->seed);
    for (unsigned i = 0; i < conf_rounds(c, 20000); i++)
        OK(atomics_once(&r, &random, i % 2, caps.masked ? 0 : BATON_EMULATE));
    OK(rig_close(&r));
    return 0;
}

/* A failing compare-and-swap changes no byte of the segment. */
static int case_failed_cas(struct conf *c)
{
    static uint64_t before[RIG_WORDS];
    struct rig r;
    OK(rig_open(c, &r));
    for (unsigned i = 0; i < RIG_WORDS; i++)
        r.word[1][i] = i * 0x0101010101010101u;
    memcpy(before, r.word[1], sizeof(before));
    for (unsigned i = 0; i < RIG_WORDS; i++) {
        OK(baton_rcas(r.ep, &r.mine[0], rig_at(&r, 1, i), before[i] + 1, 0xdead, 1));
        OK(baton_rcas_masked(r.ep, &r.mine[1], rig_at(&r, 1, i), ~before[i], 1, ~before[i],
                             UINT64_MAX, BATON_EMULATE, 1));
        OK(baton_wait(r.ep, 1));
        EQUAL(r.mine[0], before[i]);
        EQUAL(r.mine[1], before[i]);
    }
    OK(baton_gfence(r.ep, (const uint16_t[]){1}, 1));
    CHECK(!memcmp(before, r.word[1], sizeof(before)));
    OK(rig_close(&r));
    return 0;
}

/* ---- Emulated masked atomics, as on a NIC that has none */

static void busybody_ring(struct baton_layer *l, struct baton_epx *ep, const struct baton_op *ops,
                          unsigned n)
{
    uint64_t *word = l->state;
    for (unsigned i = 0; i < n; i++) {
        if (ops[i].kind == BATON_OP_RCAS)
            *word += 2; /* somebody else is always faster */
        l->inner->ops->ring(l->inner, ep, &ops[i], 1);
    }
}

static void busybody_fini(struct baton_layer *l, struct baton_epx *ep)
{
    free(l);
}

static int case_emulated(struct conf *c)
{
    struct rig r;
    struct baton_random random;
    struct baton_stats before, after;
    OK(rig_open(c, &r));
    baton_epx(r.ep)->masked = false;
    baton_random_init(&random, c->seed);
    for (unsigned i = 0; i < conf_rounds(c, 5000); i++)
        OK(atomics_once(&r, &random, i % 2, BATON_EMULATE));
    EQUAL(baton_rcas_masked(r.ep, r.mine, r.at[1], 0, 0, 0, 0, 0, 3), -EOPNOTSUPP);
    EQUAL(baton_wait(r.ep, 3), -EOPNOTSUPP);
    EQUAL(baton_rfaa_masked(r.ep, r.mine, r.at[1], 0, 0, 0, 3), -EOPNOTSUPP);
    EQUAL(baton_wait(r.ep, 3), -EOPNOTSUPP);
    baton_ep_stats(r.ep, &before);
    OK(baton_rfaa_masked(r.ep, r.mine, r.at[1], 1, 0, BATON_EMULATE, 3));
    baton_ep_stats(r.ep, &after);
    EQUAL(after.waited_round_trips - before.waited_round_trips, 2);
    OK(baton_wait(r.ep, 3));
    baton_ep_stats(r.ep, &after);
    EQUAL(after.waited_round_trips - before.waited_round_trips,
          2); /* all of them inside the post */

    /* It gives up after 64 attempts, and has then not written. */
    static struct baton_ep_ops busybody;
    busybody = baton_layer_through;
    busybody.ring = busybody_ring;
    busybody.fini = busybody_fini;
    OK(baton_layer_push(baton_epx(r.ep), &busybody, r.word[1]));
    r.word[1][0] = 0;
    baton_ep_stats(r.ep, &before);
    EQUAL(baton_rfaa_masked(r.ep, r.mine, r.at[1], 1, 0, BATON_EMULATE, 3), -EAGAIN);
    baton_ep_stats(r.ep, &after);
    EQUAL(after.ops[BATON_OP_RCAS] - before.ops[BATON_OP_RCAS], 64);
    EQUAL(r.word[1][0], 128);
    EQUAL(baton_wait(r.ep, 3), -EAGAIN);
    OK(rig_close(&r));
    return 0;
}

/* ---- Chains */

static int case_chains(struct conf *c)
{
    struct rig r;
    struct baton_stats s;
    uint64_t value;
    OK(rig_open(c, &r));
    /* 100 operations to three nodes in turn: six doorbells of 16 and one of 4, each for all three. */
    for (unsigned i = 0; i < 100; i++)
        OK(baton_put64(r.ep, rig_at(&r, 1 + i % 3, i), 1000 + i, 0));
    OK(baton_wait_all(r.ep));
    baton_ep_stats(r.ep, &s);
    EQUAL(s.ops[BATON_OP_PUT], 100);
    EQUAL(s.bytes_put, 800);
    EQUAL(s.doorbells, 7 * 3);
    EQUAL(s.waited_round_trips, 1);
    for (unsigned i = 0; i < 100; i++) {
        OK(rig_read(&r, 1 + i % 3, i, &value));
        EQUAL(value, 1000 + i);
    }
    /* The 16th operation rings, the 15th does not. */
    baton_ep_stats(r.ep, &s);
    uint64_t rung = s.doorbells;
    for (unsigned i = 0; i < BATON_CHAIN_MAX - 1; i++)
        OK(baton_put64(r.ep, rig_at(&r, 1, i), i, 0));
    baton_ep_stats(r.ep, &s);
    EQUAL(s.doorbells, rung);
    OK(baton_put64(r.ep, rig_at(&r, 1, 15), 15, 0));
    baton_ep_stats(r.ep, &s);
    EQUAL(s.doorbells, rung + 1);
    OK(baton_flush(r.ep)); /* empty: nothing to ring */
    baton_ep_stats(r.ep, &s);
    EQUAL(s.doorbells, rung + 1);
    /* order and rfence do not ring. */
    OK(baton_put64(r.ep, rig_at(&r, 1, 0), 1, 0));
    OK(baton_order(r.ep, 1));
    OK(baton_rfence(r.ep, 1));
    baton_ep_stats(r.ep, &s);
    EQUAL(s.doorbells, rung + 1);
    OK(baton_flush(r.ep));
    baton_ep_stats(r.ep, &s);
    EQUAL(s.doorbells, rung + 2);
    OK(baton_wait_all(r.ep));
    /* Accepted is not there yet, and the CPU writes the same words now. */
    OK(baton_gfence(r.ep, (const uint16_t[]){0, 1, 2, 3}, 4));

    /* One id for work towards several nodes, many times over. */
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned n = 0; n < RIG_NODES; n++) {
            r.word[n][7] = round * 10 + n;
            OK(baton_get(r.ep, &r.mine[n], rig_at(&r, n, 7), 8, 1));
        }
        OK(baton_wait(r.ep, 1));
        for (unsigned n = 0; n < RIG_NODES; n++)
            EQUAL(r.mine[n], round * 10 + n);
    }
    /* gfence of all: what was put is there for the CPUs. */
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned n = 0; n < RIG_NODES; n++)
            OK(baton_put64(r.ep, rig_at(&r, n, 9), round + n, round % 2));
        OK(baton_gfence(r.ep, (const uint16_t[]){0, 1, 2, 3}, 4));
        for (unsigned n = 0; n < RIG_NODES; n++)
            EQUAL(r.word[n][9], round + n);
    }
    /* put64 takes its value at post; put's source is read until the wait. */
    value = 5;
    OK(baton_put64(r.ep, rig_at(&r, 1, 3), value, 1));
    value = 6;
    OK(baton_gfence(r.ep, (const uint16_t[]){1}, 1));
    EQUAL(r.word[1][3], 5);
    OK(baton_wait_all(r.ep));
    /* Long transfers in both directions. */
    const unsigned words = 40000;
    baton_gptr far;
    void *there;
    OK(baton_segment_create(r.node[1], words * 8, RIG_ALL, NULL, 0, &far));
    OK(baton_ptr(r.node[1], far, words * 8, &there));
    baton_gptr near;
    void *here;
    OK(baton_segment_create(r.node[0], words * 8, 0, NULL, 0, &near));
    OK(baton_ptr(r.node[0], near, words * 8, &here));
    for (unsigned i = 0; i < words; i++)
        ((uint64_t *)here)[i] = i;
    OK(baton_put(r.ep, far, here, words * 8, 1));
    OK(baton_gfence(r.ep, (const uint16_t[]){1}, 1));
    CHECK(!memcmp(here, there, words * 8));
    memset(here, 0, words * 8);
    OK(baton_get(r.ep, here, far, words * 8, 1));
    OK(baton_wait(r.ep, 1));
    CHECK(!memcmp(here, there, words * 8));
    OK(baton_segment_destroy(r.node[0], near));
    OK(baton_segment_destroy(r.node[1], far));
    OK(rig_close(&r));
    return 0;
}

/* Every call about nodes and ids that nothing was posted to. What others know of a node is theirs. */
static int case_unused(struct conf *c)
{
    struct rig r;
    struct baton_ep *ep;
    OK(rig_open(c, &r));
    OK(baton_ep_open(r.node[0], &ep));
    OK(baton_put64(r.ep, baton_gptr_make(1, 64), 1, 1));
    EQUAL(baton_wait(r.ep, 1), -EKEYREJECTED);
    for (unsigned n = 0; n < RIG_NODES; n++) {
        OK(baton_ep_state(ep, n));
        OK(baton_settle(ep, n));
    }
    OK(baton_wait(ep, 1));
    OK(baton_wait_all(ep));
    OK(baton_put64(ep, r.at[2], 5, 1));
    OK(baton_wait(ep, 1));
    OK(baton_wait(ep, 2)); /* of node 0, if of any, which has no work yet */
    OK(baton_wait_all(ep));
    OK(baton_order(ep, 0));
    OK(baton_ep_reset(ep, 3));
    OK(baton_gfence(ep, (const uint16_t[]){1, 2}, 2));
    EQUAL(r.word[2][0], 5);
    EQUAL(baton_ep_state(r.ep, 1), -EKEYREJECTED);
    OK(baton_ep_close(ep));
    OK(baton_ep_open(r.node[0], &ep));
    OK(baton_ep_close(ep));
    OK(baton_ep_reset(r.ep, 1));
    OK(rig_close(&r));
    return 0;
}

/* ---- Words by CPU */

static int case_words(struct conf *c)
{
    struct rig r;
    OK(rig_open(c, &r));
    uint64_t *w = r.word[0];
    EQUAL(baton_load(r.ep, w), 0);
    baton_store(r.ep, w, 5);
    EQUAL(baton_load(r.ep, w), 5);
    EQUAL(baton_swap(r.ep, w, 6), 5);
    EQUAL(baton_cas(r.ep, w, 5, 9), 6);
    EQUAL(baton_load(r.ep, w), 6);
    EQUAL(baton_cas(r.ep, w, 6, 9), 6);
    EQUAL(baton_faa(r.ep, w, UINT64_MAX), 9);
    EQUAL(baton_load(r.ep, w), 8);
    baton_mfence(r.ep);
    baton_mfence_after_rmw(r.ep);
    /* The same words for the NIC, by loopback. */
    OK(baton_get(r.ep, r.mine, r.at[0], 8, 1));
    OK(baton_wait(r.ep, 1));
    EQUAL(r.mine[0], 8);
    OK(baton_put64(r.ep, r.at[0], 11, 1));
    OK(baton_gfence(r.ep, (const uint16_t[]){0}, 1));
    EQUAL(baton_load(r.ep, w), 11);
    /* Nothing of this is a remote operation. */
    OK(rig_close(&r));
    return 0;
}

/* Every error has a sentence of its own; unknown numbers have one too. */
static int case_errors(struct conf *c)
{
    static const int all[] = {
        EINVAL,   EFAULT,       ENOMEM,    ENOENT,     EEXIST,  EPERM,           EAGAIN,
        ENOSYS,   EOPNOTSUPP,   EHOSTDOWN, ETIMEDOUT,  ERANGE,  EACCES,          ECANCELED,
        ENOTCONN, EKEYREJECTED, EBUSY,     EOWNERDEAD, EREMOTE, ENOTRECOVERABLE, EDEADLK};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        CHECK(*baton_strerror(-all[i]));
        for (size_t j = 0; j < i; j++)
            CHECK(strcmp(baton_strerror(-all[i]), baton_strerror(-all[j])));
    }
    CHECK(*baton_strerror(0));
    CHECK(*baton_strerror(-100000));
    return 0;
}

const struct conf_case conf_calls_cases[] = {
    {"open", "options, node numbers, states, capabilities of a cluster", CONF_ONE_PROCESS,
     case_open, 0},
    {"settings", "unknown ones, one twice, and what is no number are refused", CONF_ONE_PROCESS,
     case_settings, 0},
    {"errors", "every error has a sentence", CONF_ONE_PROCESS, case_errors, 0},
    {"post-errors", "wrong use is an error at post and once more at the wait", CONF_ONE_PROCESS,
     case_post_errors, 0},
    {"peer-faults", "wrong and stale addresses fail at the wait; reset heals", CONF_ONE_PROCESS,
     case_peer_faults, 0},
    {"words-of-faults", "of several faults each is told in its own words", CONF_ONE_PROCESS,
     case_words_of_faults, 0},
    {"rights", "each operation needs its right", CONF_ONE_PROCESS, case_rights, 0},
    {"cancel", "what stands behind a failure is cancelled, what stands before is not",
     CONF_ONE_PROCESS, case_cancel, 0},
    {"last-word", "all operations reach the last word of a segment", CONF_ONE_PROCESS,
     case_last_word, 0},
    {"known-answers", "atomics do what arithmetic says, masked ones too", CONF_ONE_PROCESS,
     case_known_answers, 0},
    {"failed-cas", "a failing rcas leaves memory alone", CONF_ONE_PROCESS, case_failed_cas, 0},
    {"emulated", "masked atomics by a loop where the NIC has none", CONF_ONE_PROCESS, case_emulated,
     0},
    {"chains", "long chains, several nodes, one id again and again", CONF_ONE_PROCESS, case_chains,
     0},
    {"unused", "waits, fences, resets of nodes that nothing was posted to", CONF_ONE_PROCESS,
     case_unused, 0},
    {"words", "loads, stores and read-modify-writes of own words", CONF_ONE_PROCESS, case_words, 0},
    {0},
};

/* SPDX-License-Identifier: MIT */
/*
 * What a remote operation may touch, and what it does there: rights, the last word of a segment and the
 * one behind it, destroyed segments, nodes that are not there, what follows a failure in a chain, masked
 * forms, long transfers. All of it twice: two nodes in one process, and towards another process.
 */
#include "shm_test.h"

enum { ALL = BATON_READ | BATON_WRITE | BATON_ATOMIC, BYTES = 8192 };

struct target {
    baton_gptr all, read, write, atomic, stale;
};

static void export_all(struct baton_node *node, struct target *t)
{
    CHECK_RC(baton_segment_create(node, BYTES, ALL, NULL, 0, &t->all), 0);
    CHECK_RC(baton_segment_create(node, BYTES, BATON_READ, NULL, 0, &t->read), 0);
    CHECK_RC(baton_segment_create(node, BYTES, BATON_WRITE, NULL, 0, &t->write), 0);
    CHECK_RC(baton_segment_create(node, BYTES, BATON_ATOMIC, NULL, 0, &t->atomic), 0);
    CHECK_RC(baton_segment_create(node, BYTES, ALL, NULL, 0, &t->stale), 0);
}

/* The four kinds, each on one word, each waited for: the errors. The queue pair is made new each time. */
static void try_kinds(struct baton_ep *ep, uint64_t *local, baton_gptr at, int put, int get,
                      int rcas, int rfaa)
{
    const int want[] = {put, get, rcas, rfaa};
    for (int kind = 0; kind < BATON_OP_KINDS; kind++) {
        if (kind == BATON_OP_PUT)
            CHECK_RC(baton_put64(ep, at, 1, 1), 0);
        else if (kind == BATON_OP_GET)
            CHECK_RC(baton_get(ep, local, at, 8, 1), 0);
        else if (kind == BATON_OP_RCAS)
            CHECK_RC(baton_rcas(ep, local, at, 1, 2, 1), 0);
        else
            CHECK_RC(baton_rfaa(ep, local, at, 1, 1), 0);
        int rc = baton_wait(ep, 1);
        CHECK(rc == want[kind], "kind %d at 0x%llx gave %d (%s)", kind, (unsigned long long)at, rc,
              baton_strerror(rc));
        if (rc) {
            struct baton_ep_fault fault;
            baton_ep_error(ep, &fault);
            CHECK(fault.rc == rc && (int)fault.kind == kind && fault.at == at && fault.text[0],
                  "%s", fault.text);
            CHECK_RC(baton_ep_reset(ep, baton_gptr_node(at)), 0);
        }
    }
}

static void borders(struct baton_ep *ep, uint64_t *local, const struct target *t)
{
    const int stale = -EKEYREJECTED;
    unsigned node = baton_gptr_node(t->all);
    try_kinds(ep, local, t->all + BYTES - 8, 0, 0, 0, 0);
    try_kinds(ep, local, t->all + BYTES, stale, stale, stale, stale);
    try_kinds(ep, local, t->all - 8, stale, stale, stale, stale);
    try_kinds(ep, local, baton_gptr_make(node, 0), stale, stale, stale, stale);
    try_kinds(ep, local, baton_gptr_make(node, (uint64_t)1 << 40), stale, stale, stale, stale);
    /* Begins inside, ends outside. */
    CHECK_RC(baton_get(ep, local, t->all + BYTES - 8, 16, 1), 0);
    CHECK_RC(baton_wait(ep, 1), -ERANGE);
    CHECK_RC(baton_ep_reset(ep, node), 0);
    CHECK_RC(baton_put(ep, t->all + BYTES - 8, local, 16, 1), 0);
    CHECK_RC(baton_wait(ep, 1), -ERANGE);
    CHECK_RC(baton_ep_reset(ep, node), 0);
}

static void rights(struct baton_ep *ep, uint64_t *local, const struct target *t)
{
    const int no = -EACCES;
    try_kinds(ep, local, t->all, 0, 0, 0, 0);
    try_kinds(ep, local, t->read, no, 0, no, no);
    try_kinds(ep, local, t->write, 0, no, no, no);
    try_kinds(ep, local, t->atomic, no, no, 0, 0);
}

static void effects(struct baton_ep *ep, uint64_t *local, const struct target *t)
{
    baton_gptr at = t->all + 64;
    CHECK_RC(baton_put64(ep, at, 0x1122334455667788, 1), 0);
    CHECK_RC(baton_rcas(ep, &local[0], at, 1, 2, 2), 0); /* fails */
    CHECK_RC(baton_rfaa(ep, &local[1], at, 1, 3), 0);
    CHECK_RC(baton_rcas_masked(ep, &local[2], at, 0x89, 0xff, 0xaa00, 0xff00, 0, 4), 0);
    CHECK_RC(baton_rcas_masked(ep, &local[3], at, 0x88, 0xff, 0, UINT64_MAX, 0, 4), 0); /* fails */
    CHECK_RC(baton_rfaa_masked(ep, &local[4], at, 0x00000000000000ff, 0x80, 0, 5), 0);
    CHECK_RC(baton_get(ep, &local[5], at, 8, 6), 0);
    CHECK_RC(baton_wait_all(ep), 0);
    static const uint64_t want[] = {0x1122334455667788, 0x1122334455667788, 0x1122334455667789,
                                    0x112233445566aa89, 0x112233445566aa89, 0x112233445566aa88};
    for (unsigned i = 0; i < 6; i++)
        CHECK(local[i] == want[i], "result %u is 0x%llx", i, (unsigned long long)local[i]);

    /* A long put and the get of it, 16 operations and more in one go. */
    for (unsigned i = 0; i < BYTES / 8; i++)
        local[i] = i * 0x9e3779b97f4a7c15u;
    CHECK_RC(baton_put(ep, t->all, local, BYTES, 1), 0);
    CHECK_RC(baton_wait(ep, 1), 0);
    for (unsigned i = 0; i < BYTES / 8; i++)
        local[i] = 0;
    for (unsigned i = 0; i < 32; i++)
        CHECK_RC(baton_get(ep, local + i * (BYTES / 256), t->all + i * (BYTES / 32), BYTES / 32, 1),
                 0);
    CHECK_RC(baton_wait(ep, 1), 0);
    for (unsigned i = 0; i < BYTES / 8; i++)
        CHECK(local[i] == i * 0x9e3779b97f4a7c15u, "word %u is 0x%llx", i,
              (unsigned long long)local[i]);
}

/* Behind a failure nothing happens towards that node, and everything towards others. */
static void after_failure(struct baton_ep *ep, uint64_t *local, const struct target *t)
{
    unsigned node = baton_gptr_node(t->all);
    baton_gptr own = baton_addr(baton_ep_node(ep), &local[8]);
    CHECK_RC(baton_put64(ep, t->all + 128, 5, 1), 0);
    CHECK_RC(baton_wait(ep, 1), 0);
    local[8] = 0;
    CHECK_RC(baton_put64(ep, t->read, 1, 1), 0);
    CHECK_RC(baton_put64(ep, t->all + 128, 6, 2), 0);
    CHECK_RC(baton_put64(ep, own, 9, 3), 0);
    CHECK_RC(baton_wait(ep, 3), 0);
    CHECK_RC(baton_wait(ep, 2), -ECANCELED);
    CHECK_RC(baton_wait(ep, 1), -EACCES);
    CHECK(local[8] == 9, "%llu", (unsigned long long)local[8]);
    CHECK_RC(baton_ep_reset(ep, node), 0);
    CHECK_RC(baton_get(ep, local, t->all + 128, 8, 1), 0);
    CHECK_RC(baton_wait(ep, 1), 0);
    CHECK(local[0] == 5, "%llu", (unsigned long long)local[0]);
}

static void absent(struct baton_ep *ep, uint64_t *local, unsigned node)
{
    uint16_t nodes[] = {(uint16_t)node};
    CHECK_RC(baton_get(ep, local, baton_gptr_make(node, 4096), 8, 1), 0);
    CHECK_RC(baton_wait(ep, 1), -EHOSTDOWN);
    CHECK_RC(baton_ep_reset(ep, node), -EHOSTDOWN);
    CHECK(baton_gfence(ep, nodes, 1) < 0, "a fence through a node that is not there");
    baton_wait_all(ep);
}

/* `gone` destroys t->stale at its owner. */
static void everything(struct baton_ep *ep, const struct target *t, void (*gone)(void *), void *arg)
{
    uint64_t *local = baton_ep_alloc(ep, BYTES, 64);
    uint16_t nodes[] = {(uint16_t)baton_gptr_node(t->all)};
    CHECK(local, "arena");
    effects(ep, local, t);
    borders(ep, local, t);
    rights(ep, local, t);
    after_failure(ep, local, t);
    CHECK_RC(baton_gfence(ep, nodes, 1), 0);
    CHECK_RC(baton_get(ep, local, t->stale, 8, 1), 0);
    CHECK_RC(baton_wait(ep, 1), 0);
    gone(arg);
    try_kinds(ep, local, t->stale, -EKEYREJECTED, -EKEYREJECTED, -EKEYREJECTED, -EKEYREJECTED);
    try_kinds(ep, local, t->all, 0, 0, 0, 0);
    absent(ep, local, 3);
    baton_ep_free(ep, local);
}

static void destroy_local(void *arg)
{
    struct target *t = arg;
    struct baton_cluster **c = (struct baton_cluster **)(t + 1);
    CHECK_RC(baton_segment_destroy(baton_cluster_node(*c, baton_gptr_node(t->stale)), t->stale), 0);
}

static void in_process(const char *name)
{
    struct {
        struct target t;
        struct baton_cluster *c;
    } x;
    struct baton_ep *ep;
    CHECK_RC(test_open(name, 4, -1, 2, &x.c), 0);
    export_all(baton_cluster_node(x.c, 1), &x.t);
    CHECK_RC(baton_ep_open(baton_cluster_node(x.c, 0), &ep), 0);
    everything(ep, &x.t, destroy_local, &x);
    CHECK_RC(baton_cluster_close(x.c), -EBUSY);
    CHECK_RC(baton_ep_close(ep), 0);
    CHECK_RC(baton_cluster_close(x.c), 0);
    CHECK(!test_files(name, ""), "%u files are left", test_files(name, ""));
}

struct shared {
    struct target t;
    uint64_t step;
};

static void destroy_there(void *arg)
{
    struct shared *sh = arg;
    baton_word_store(&sh->step, 2);
    test_until(&sh->step, 3);
}

static void owner(const char *name, struct shared *sh)
{
    struct baton_cluster *c;
    CHECK_RC(test_open(name, 4, 1, 1, &c), 0);
    export_all(baton_cluster_self(c), &sh->t);
    baton_word_store(&sh->step, 1);
    test_until(&sh->step, 2);
    CHECK_RC(baton_segment_destroy(baton_cluster_self(c), sh->t.stale), 0);
    baton_word_store(&sh->step, 3);
    test_until(&sh->step, 4);
    CHECK_RC(baton_cluster_close(c), 0);
    exit(0);
}

static void two_processes(const char *name)
{
    struct shared *sh = test_shared(sizeof(*sh));
    struct baton_cluster *c;
    struct baton_ep *ep;
    pid_t pid = test_fork();
    if (!pid)
        owner(name, sh);
    CHECK_RC(test_open(name, 4, 0, 1, &c), 0);
    CHECK_RC(baton_ep_open(baton_cluster_self(c), &ep), 0);
    test_until(&sh->step, 1);
    everything(ep, &sh->t, destroy_there, sh);
    /* An orderly leave is not a death, and the node is down all the same. */
    baton_word_store(&sh->step, 4);
    test_join(pid);
    CHECK(baton_node_state(c, 1) == BATON_NODE_LEFT, "%d", (int)baton_node_state(c, 1));
    uint64_t *local = baton_ep_alloc(ep, 8, 8);
    CHECK_RC(baton_get(ep, local, sh->t.all, 8, 1), 0);
    CHECK_RC(baton_wait(ep, 1), -EHOSTDOWN);
    CHECK_RC(baton_ep_close(ep), 0);
    CHECK_RC(baton_cluster_close(c), 0);
    CHECK(!test_files(name, ""), "%u files are left", test_files(name, ""));
}

int main(void)
{
    const char *name = test_name("access");
    in_process(name);
    two_processes(name);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Shows that a table which has to be marked, and could not be at the time, is marked by what its handle is used for
 * next, for every kind of lock on shm: a release fails, and as there is no memory for another way to the host the
 * mark fails with it. Later there is memory again: who then acquires by that handle is told, and so are the others;
 * if the handle is only closed, the others are told all the same.
 */
#include "check.h"

enum { HOST, FAILS, NODES, BLOCKS_MOST = 8192 };

static const char *kind;

struct part {
    struct baton_ep *ep;
    struct baton_table *table;
    struct baton_lock lock;
    struct baton_waiter *waiter;
};

static void part_open(struct baton_cluster *cluster, unsigned node, struct part *p)
{
    struct baton_table_opts opts = check_table(kind, 1);
    CHECK_RC(baton_ep_open(baton_cluster_node(cluster, node), &p->ep), 0);
    CHECK_RC(node == HOST ? baton_table_create(p->ep, "t", &opts, &p->table)
                          : baton_table_open(p->ep, "t", 0, &p->table),
             0);
    CHECK_RC(baton_table_lock(p->table, 0, &p->lock), 0);
    CHECK_RC(baton_waiter_open(p->ep, &p->waiter), 0);
}

static bool is_notice(int rc)
{
    return rc == -EOWNERDEAD || rc == -ENOTRECOVERABLE;
}

/* The first operation of the release fails, when the arena has no room for another endpoint. */
static void release_in_vain(struct part *p)
{
    static void *blocks[BLOCKS_MOST];
    unsigned n = 0;
    struct baton_fault_rule rules[BATON_OP_KINDS];
    for (unsigned i = 0; i < BATON_OP_KINDS; i++)
        rules[i] = (struct baton_fault_rule){i, 1, -EACCES, 0};
    CHECK_RC(baton_lock_acquire(&p->lock, p->ep, p->waiter), 0);
    CHECK_RC(baton_ep_faults(p->ep, rules, BATON_OP_KINDS), 0);
    while (n < BLOCKS_MOST && (blocks[n] = baton_ep_alloc(p->ep, 64, 8)))
        n++;
    CHECK(n < BLOCKS_MOST);
    CHECK(baton_lock_release(&p->lock, p->ep, p->waiter));
    while (n)
        baton_ep_free(p->ep, blocks[--n]);
    CHECK_RC(baton_waiter_close(p->ep, p->waiter), 0);
    (void)baton_ep_close(p->ep);
}

static void run(bool goes_on)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    struct part host, other;
    char name[BATON_NAME_MAX + 1];
    snprintf(name, sizeof name, "mark-%ld", (long)getpid());
    opts.name = name;
    opts.nodes = opts.local = NODES;
    opts.arena_bytes = 64 << 10;
    CHECK_RC(baton_cluster_open(&opts, &cluster), 0);
    part_open(cluster, HOST, &host);
    part_open(cluster, FAILS, &other);
    release_in_vain(&other);
    CHECK_RC(baton_ep_open(baton_cluster_node(cluster, FAILS), &other.ep), 0);
    if (goes_on) {
        CHECK_RC(baton_waiter_open(other.ep, &other.waiter), 0);
        CHECK_RC(baton_lock_acquire(&other.lock, other.ep, other.waiter), -ENOTRECOVERABLE);
        CHECK_RC(baton_waiter_close(other.ep, other.waiter), 0);
    }
    CHECK_RC(baton_table_close(other.ep, other.table), 0);
    CHECK_RC(baton_ep_close(other.ep), 0);
    CHECK(is_notice(baton_lock_acquire(&host.lock, host.ep, host.waiter)));
    CHECK_RC(baton_waiter_close(host.ep, host.waiter), 0);
    CHECK_RC(baton_table_close(host.ep, host.table), 0);
    CHECK_RC(baton_ep_close(host.ep), 0);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

int main(void)
{
    const char *why = baton_fabric_unavailable("shm");
    if (why) {
        printf("skipped: shm: %s\n", why);
        return 77;
    }
    for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k; k++) {
        kind = (*k)->name;
        for (int goes_on = 0; goes_on < 2; goes_on++) {
            check_within(60, kind);
            run(goes_on);
        }
    }
    return 0;
}

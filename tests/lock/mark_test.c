/* SPDX-License-Identifier: MIT */
/*
 * Shows that a table which has to be marked, and could not be at the time, is marked by what its handle is used for
 * next, for every kind of lock on shm: a release fails, or what it has put may be lost afterwards, and as there is no
 * memory for another way to the host the mark fails with it. Later there is memory again: who then acquires by that
 * handle is told, and so are the others; if the handle is only closed, the others are told all the same.
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

static void *blocks[BLOCKS_MOST];
static unsigned blocks_n;

/* Of the arena: there is no room for another endpoint then. */
static void fill(struct part *p)
{
    while (blocks_n < BLOCKS_MOST && (blocks[blocks_n] = baton_ep_alloc(p->ep, 64, 8)))
        blocks_n++;
    CHECK(blocks_n < BLOCKS_MOST);
}

static void empty(struct part *p)
{
    while (blocks_n)
        baton_ep_free(p->ep, blocks[--blocks_n]);
}

/* The first operation of the release fails. */
static void release_in_vain(struct part *p)
{
    struct baton_fault_rule rules[BATON_OP_KINDS];
    for (unsigned i = 0; i < BATON_OP_KINDS; i++)
        rules[i] = (struct baton_fault_rule){i, 1, -EACCES, 0};
    CHECK_RC(baton_lock_acquire(&p->lock, p->ep, p->waiter), 0);
    CHECK_RC(baton_ep_faults(p->ep, rules, BATON_OP_KINDS), 0);
    fill(p);
    CHECK(baton_lock_release(&p->lock, p->ep, p->waiter));
    empty(p);
    CHECK_RC(baton_waiter_close(p->ep, p->waiter), 0);
    (void)baton_ep_close(p->ep);
}

/* The release goes well, and what it has put may be lost with an operation behind it; false: it waited for all. */
static bool lose_release(struct part *p)
{
    const baton_gptr nowhere = baton_gptr_make(HOST, UINT64_C(1) << 40);
    CHECK_RC(baton_lock_acquire(&p->lock, p->ep, p->waiter), 0);
    CHECK_RC(baton_lock_release(&p->lock, p->ep, p->waiter), 0);
    CHECK_RC(baton_put64(p->ep, nowhere, 1, 1), 0);
    CHECK_RC(baton_wait(p->ep, 1), -EKEYREJECTED);
    bool lost = p->ep->lost;
    fill(p);
    CHECK(baton_waiter_close(p->ep, p->waiter) || !lost);
    empty(p);
    (void)baton_ep_close(p->ep);
    return lost;
}

static void uses(struct part *p, bool lost)
{
    CHECK_RC(baton_lock_acquire(&p->lock, p->ep, p->waiter), lost ? -ENOTRECOVERABLE : 0);
    if (!lost)
        CHECK_RC(baton_lock_release(&p->lock, p->ep, p->waiter), 0);
    CHECK_RC(baton_waiter_close(p->ep, p->waiter), 0);
}

/* Whether something was lost. */
static bool run(bool late, bool goes_on)
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
    bool lost = !late || lose_release(&other);
    if (!late)
        release_in_vain(&other);
    CHECK_RC(baton_ep_open(baton_cluster_node(cluster, FAILS), &other.ep), 0);
    if (goes_on) {
        CHECK_RC(baton_waiter_open(other.ep, &other.waiter), 0);
        uses(&other, lost);
    }
    CHECK_RC(baton_table_close(other.ep, other.table), 0);
    CHECK_RC(baton_ep_close(other.ep), 0);
    /* Who has to wait is told, and who comes new. */
    if (!late)
        CHECK(is_notice(baton_lock_acquire(&host.lock, host.ep, host.waiter)));
    part_open(cluster, FAILS, &other);
    uses(&other, lost);
    CHECK_RC(baton_table_close(other.ep, other.table), 0);
    CHECK_RC(baton_ep_close(other.ep), 0);
    CHECK_RC(baton_waiter_close(host.ep, host.waiter), 0);
    CHECK_RC(baton_table_close(host.ep, host.table), 0);
    CHECK_RC(baton_ep_close(host.ep), 0);
    CHECK_RC(baton_cluster_close(cluster), 0);
    return lost;
}

int main(void)
{
    unsigned late = 0;
    const char *why = baton_fabric_unavailable("shm");
    if (why) {
        printf("skipped: shm: %s\n", why);
        return 77;
    }
    for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k; k++) {
        kind = (*k)->name;
        for (int goes_on = 0; goes_on < 2; goes_on++) {
            check_within(60, kind);
            (void)run(false, goes_on);
            late += run(true, goes_on);
        }
    }
    CHECK(late);
    return 0;
}

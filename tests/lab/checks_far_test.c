/* SPDX-License-Identifier: MIT */
/*
 * Shows that the benchmark's checks in far memory find what they are for. Two threads use the words of one lock, one
 * on its host and one elsewhere, without any lock: alone one after the other they find nothing, and see each other
 * wait; when they are in together that is found, whoever comes second, and an update is lost that the counter lacks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <baton/fabric.h>

#include "../plain_check.h"
#include "bench/checks_far.h"

enum { NODES = 2, THREADS = 2, LOCKS = 3, INDEX = 1, LOCK = 7 };

static struct user {
    struct baton_ep *ep;
    struct bench_far far;
    struct bench_far_thread thread;
    struct bench_lock_check check;
    struct bench_line lines[THREADS]; /* what a process knows of its own threads */
    struct baton_waiter waiter;
    struct bench_findings found;
    uint64_t counter, entries;
} users[NODES];

static struct baton_cluster *cluster;
static baton_gptr base[NODES];

static void *segment(struct baton_node *node, size_t bytes, baton_gptr *at)
{
    void *memory;
    CHECK(!baton_segment_create(node, bytes, BATON_READ | BATON_WRITE, NULL, 0, at));
    CHECK(!baton_ptr(node, *at, bytes, &memory));
    return memory;
}

static void open_all(void)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    char name[BATON_NAME_MAX + 1];
    snprintf(name, sizeof(name), "checks-far-%ld", (long)getpid());
    opts.name = name;
    opts.nodes = opts.local = NODES;
    CHECK(!baton_cluster_open(&opts, &cluster));
    for (unsigned n = 0; n < NODES; n++) {
        struct user *u = &users[n];
        struct baton_node *node = baton_cluster_node(cluster, n);
        CHECK(!baton_ep_open(node, &u->ep));
        u->far = (struct bench_far){.threads = THREADS, .node = n, .base = base};
        if (n == 0)
            u->far.own = segment(node, bench_far_bytes(THREADS, LOCKS), &base[0]);
        u->far.room = segment(node, bench_far_local_bytes(THREADS), &u->far.room_at);
        bench_far_init(&u->thread, &u->far, u->ep, n, 0);
    }
}

static void begin(struct user *u)
{
    unsigned self = (unsigned)(u - users);
    bench_check_begin(&u->lines[self], NULL, LOCK, baton_now(u->ep), &u->waiter);
    CHECK(!bench_far_begin(&u->thread, 0, LOCK));
    CHECK(!baton_settle(u->ep, 0));
}

static void enter(struct user *u)
{
    CHECK(!bench_far_enter(&u->thread, 0, LOCK, INDEX, &u->check, u->lines, 0, &u->counter,
                           &u->found));
    CHECK(!baton_settle(u->ep, 0)); /* as a release would */
}

static void leave(struct user *u)
{
    CHECK(!bench_far_leave(&u->thread, 0, INDEX, &u->check, u->counter, &u->found));
    CHECK(!baton_settle(u->ep, 0));
    u->entries++;
}

static uint64_t counted(void)
{
    return bench_far_counters(&users[0].far, LOCKS);
}

int main(void)
{
    open_all();
    struct user *host = &users[0], *guest = &users[1];
    for (unsigned i = 0; i < 10; i++) {
        struct user *first = &users[i % 2], *second = &users[1 - i % 2];
        uint64_t overlaps = first->found.overlaps;
        begin(first);
        begin(second);
        enter(first);
        CHECK(first->found.overlaps == overlaps + 1);
        leave(first);
        overlaps = second->found.overlaps;
        enter(second);
        CHECK(second->found.overlaps == overlaps);
        leave(second);
    }
    CHECK(!host->found.exclusion_violations && !guest->found.exclusion_violations);
    CHECK(counted() == host->entries + guest->entries && counted() == 20);
    for (unsigned i = 0; i < 2; i++) {
        struct user *first = &users[i], *second = &users[1 - i];
        uint64_t before = counted(), violations = second->found.exclusion_violations;
        begin(first);
        begin(second);
        enter(first);
        enter(second);
        CHECK(second->found.exclusion_violations == violations + 1);
        violations = first->found.exclusion_violations;
        leave(first);
        CHECK(first->found.exclusion_violations == violations + 1);
        leave(second);
        CHECK(counted() == before + 1);
    }
    for (unsigned n = 0; n < NODES; n++)
        CHECK(!baton_ep_close(users[n].ep));
    CHECK(!baton_cluster_close(cluster));
    return 0;
}

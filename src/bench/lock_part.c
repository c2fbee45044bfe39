/* SPDX-License-Identifier: MIT */
/* The nodes that are this process, their tables and their threads. */
#include "bench/lock_part.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned threads_on(const struct bench_config *c, unsigned node)
{
    return c->host == (int)node || (c->host == BENCH_HOST_SPREAD && node == 0) ? c->local_threads
                                                                               : c->remote_threads;
}

static unsigned first_thread_on(const struct bench_config *c, unsigned node)
{
    unsigned sum = 0;
    for (unsigned n = 0; n < node; n++)
        sum += threads_on(c, n);
    return sum;
}

unsigned bench_threads(const struct bench_config *c)
{
    return first_thread_on(c, c->nodes);
}

unsigned bench_thread_node(const struct bench_config *c, unsigned thread, unsigned *index)
{
    unsigned node = 0, here;
    for (; thread >= (here = threads_on(c, node)); node++)
        thread -= here;
    *index = thread;
    return node;
}

static unsigned hosts_of(const struct bench_config *c)
{
    if (c->host != BENCH_HOST_SPREAD)
        return 1;
    return c->locks < c->nodes ? c->locks : c->nodes;
}

/* ---- Setting up the nodes of this process */

/* The locks are spread over the hosts in turn. */
static uint64_t locks_on(const struct bench_config *c, unsigned node)
{
    unsigned hosts = hosts_of(c);
    if (c->host != BENCH_HOST_SPREAD)
        return (int)node == c->host ? c->locks : 0;
    return node < hosts ? (c->locks - node + hosts - 1) / hosts : 0;
}

static void table_name(char *out, size_t bytes, const char *kind, unsigned host)
{
    snprintf(out, bytes, "bench.%s.%u", kind, host);
}

static int make_tables(const struct bench_config *c, const struct baton_lock_ops *kind,
                       const uint64_t *params, struct bench_part *p, bool create)
{
    unsigned hosts = hosts_of(c);
    for (unsigned i = 0; i < p->count; i++)
        for (unsigned h = 0; h < hosts; h++) {
            unsigned host = hosts == 1 && c->host != BENCH_HOST_SPREAD ? (unsigned)c->host : h;
            char name[BATON_NAME_MAX + 1];
            int rc;
            if ((host == p->first + i) != create)
                continue;
            table_name(name, sizeof(name), kind->name, host);
            if (create) {
                struct baton_table_opts opts = {.size = sizeof(opts),
                                                .kind = kind->name,
                                                .count = locks_on(c, host),
                                                .params = params};
                rc = baton_table_create(p->eps[i], name, &opts, &p->nodes[i].tables[host]);
            } else {
                rc = baton_table_open(p->eps[i], name, baton_now(p->eps[i]) + BENCH_SETUP_NS,
                                      &p->nodes[i].tables[host]);
            }
            if (rc)
                return rc;
        }
    return 0;
}

/* What remote operations of the checks read and write here. */
static int make_room(struct baton_node *node, struct bench_far *far, unsigned threads)
{
    size_t bytes = threads * bench_far_local_bytes(far->threads);
    void *memory;
    if (!bytes)
        return 0;
    int rc = baton_segment_create(node, bytes, BATON_READ, NULL, 0, &far->room_at);
    if (!rc)
        rc = baton_ptr(node, far->room_at, bytes, &memory);
    if (!rc)
        far->room = memory;
    return rc;
}

/* The words of the checks, where the processes share no memory. */
static int make_far(const struct bench_config *c, struct bench_part *p)
{
    struct bench_far *far = &p->nodes[0].far;
    struct baton_node *node = baton_cluster_node(p->cluster, p->first);
    uint64_t locks = locks_on(c, p->first);
    unsigned threads = bench_threads(c);
    size_t bytes = bench_far_bytes(threads, locks);
    baton_gptr own = BATON_NULL;
    void *memory = NULL;
    int rc = 0;
    if (locks)
        rc = baton_segment_create(node, bytes, BATON_READ | BATON_WRITE, NULL, 0, &own);
    if (!rc && locks)
        rc = baton_ptr(node, own, bytes, &memory);
    *far = (struct bench_far){
        .threads = threads,
        .node = p->first,
        .base = calloc(c->nodes, sizeof(*far->base)),
        .own = memory,
    };
    if (!rc)
        rc = far->base ? make_room(node, far, p->teams[0].threads) : -ENOMEM;
    return rc ? rc : crew_share(c->given, own, far->base, BENCH_SETUP_NS);
}

/* When nobody uses it any more. */
static int end_far(struct bench_part *p)
{
    struct bench_far *far = &p->nodes[0].far;
    struct baton_node *node = baton_cluster_node(p->cluster, p->first);
    int rc = far->own ? baton_segment_destroy(node, baton_addr(node, far->own)) : 0;
    int room_rc = far->room_at ? baton_segment_destroy(node, far->room_at) : 0;
    rc = rc ? rc : room_rc;
    free(far->base);
    *far = (struct bench_far){0};
    return rc;
}

uint64_t bench_part_counters(const struct bench_config *c, const struct bench_part *p)
{
    return p->nodes ? bench_far_counters(&p->nodes[0].far, locks_on(c, p->first)) : 0;
}

size_t bench_arena_bytes(const struct bench_config *c)
{
    return ((size_t)1 << 20) + (size_t)1024 * (c->local_threads + c->remote_threads);
}

static int cluster_open(const struct bench_config *c, const char *name, struct bench_part *p)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    if (c->given) {
        p->cluster = crew_cluster(c->given);
        return 0;
    }
    opts.fabric = c->fabric;
    opts.name = name;
    opts.nodes = c->nodes;
    opts.local = p->count;
    opts.first = (int)p->first;
    opts.flags = c->swap ? BATON_CLUSTER_SWAP : 0;
    opts.seed = c->seed;
    opts.options = c->options;
    opts.arena_bytes = bench_arena_bytes(c);
    return baton_cluster_open(&opts, &p->cluster);
}

int bench_part_open(const struct bench_config *c, const struct baton_lock_ops *kind,
                    const uint64_t *params, const char *name, struct bench_shared *shared,
                    struct bench_part *p)
{
    int rc = cluster_open(c, name, p);
    if (rc)
        return rc;
    p->nodes = calloc(p->count, sizeof(*p->nodes));
    p->teams = calloc(p->count, sizeof(*p->teams));
    p->eps = calloc(p->count, sizeof(*p->eps));
    if (!p->nodes || !p->teams || !p->eps)
        return -ENOMEM;
    for (unsigned i = 0; i < p->count; i++) {
        unsigned n = p->first + i;
        p->nodes[i] = (struct bench_node){
            .config = c,
            .shared = shared,
            .tables = calloc(c->nodes, sizeof(struct baton_table *)),
            .hosts = c->host == BENCH_HOST_SPREAD ? hosts_of(c) : 1,
            .host = c->host == BENCH_HOST_SPREAD ? 0 : (unsigned)c->host,
            .first_thread = first_thread_on(c, n),
            .simulated = crew_is_simulated(c->fabric),
        };
        p->teams[i] = (struct baton_team){n, threads_on(c, n), bench_thread_body, &p->nodes[i]};
        if (!p->nodes[i].tables)
            return -ENOMEM;
        if (c->given)
            p->eps[i] = crew_ep(c->given);
        else if ((rc = baton_ep_open(baton_cluster_node(p->cluster, n), &p->eps[i])))
            return rc;
    }
    rc = make_tables(c, kind, params, p, true);
    if (!rc)
        rc = make_tables(c, kind, params, p, false);
    return rc || !c->given ? rc : make_far(c, p);
}

/* Until the processes of all nodes have closed what they use; one that hangs is not waited for longer. */
static void wait_for_users(const struct bench_config *c, const struct bench_shared *shared)
{
    unsigned closed = 0;
    for (int patience = 0; patience < 5000; patience++) {
        while (closed < c->nodes && baton_word_load(&shared->closed[closed]))
            closed++;
        if (closed == c->nodes)
            return;
        poll(NULL, 0, 1);
    }
}

/* A table is closed by its users before its maker. */
int bench_part_close(const struct bench_config *c, struct bench_part *p,
                     struct bench_shared *shared, bool orderly)
{
    int rc = 0;
    for (int maker = 0; maker < 2; maker++) {
        if (maker && c->given && orderly && !rc)
            rc = crew_meet(c->given, c->nodes, BENCH_SETUP_NS);
        if (maker && shared) {
            baton_word_store(&shared->closed[p->first], 1);
            wait_for_users(c, shared);
        }
        for (unsigned i = 0; i < p->count; i++)
            for (unsigned h = 0; h < c->nodes; h++)
                if (p->nodes && p->nodes[i].tables && p->nodes[i].tables[h] &&
                    (h == p->first + i) == (maker == 1)) {
                    int one = baton_table_close(p->eps[i], p->nodes[i].tables[h]);
                    rc = rc ? rc : one;
                }
    }
    for (unsigned i = 0; i < p->count; i++) {
        if (p->eps && p->eps[i] && !c->given) {
            int one = baton_ep_close(p->eps[i]);
            rc = rc ? rc : one;
        }
        if (p->nodes)
            free(p->nodes[i].tables);
    }
    if (c->given && p->nodes) {
        int one = end_far(p);
        rc = rc ? rc : one;
    }
    free(p->eps);
    free(p->teams);
    free(p->nodes);
    if (p->cluster && !c->given) {
        int one = baton_cluster_close(p->cluster);
        rc = rc ? rc : one;
    }
    return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * What a thread fetches into its own memory is a part of what it knows, and where it has landed too: one thread
 * gets the words of two nodes, which others set to 1 meanwhile, into two words of its arena, and once more when
 * they are set. All four pairs of first values must come out, whichever lands first. The driver is used as it
 * is, naively, without names, and with its self-check.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton/error.h>

#include "sim/explore.h"

struct program {
    baton_gptr at[2];
    uint64_t *word[2];
    uint64_t *ghost;
    unsigned pairs;
};

static int reader(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct program *p = arg;
    uint64_t *got = baton_ep_alloc(ep, 32, 8);
    int rc = got ? 0 : -ENOMEM;
    for (unsigned i = 0; i < 4 && !rc; i++) {
        baton_get(ep, &got[i], p->at[i % 2], 8, 1);
        rc = i % 2 ? baton_wait(ep, 1) : 0;
    }
    *p->ghost = !rc && got[2] && got[3] ? 4 + 2 * got[1] + got[0] : 0;
    return rc;
}

static int writer(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct program *p = arg;
    baton_store(ep, p->word[baton_node_index(baton_ep_node(ep)) - 1], 1);
    return 0;
}

static const char * final(void *arg)
{
    struct program *p = arg;
    if (*p->ghost)
        p->pairs |= 1u << (*p->ghost - 4);
    return NULL;
}

static int explore(const char *how, struct sim_explore x)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    uint64_t ghost = 0;
    void *memory;
    struct program p = {.ghost = &ghost};
    struct baton_team teams[] = {{0, 1, reader, &p}, {1, 1, writer, &p}, {2, 1, writer, &p}};
    opts.fabric = "sim";
    opts.options = "driver=exhaustive";
    opts.nodes = 3;
    opts.arena_bytes = 64 << 10;
    x.ghost = &ghost;
    x.ghost_bytes = sizeof(ghost);
    x.final = final;
    x.arg = &p;
    int rc = baton_cluster_open(&opts, &cluster);
    for (unsigned i = 0; i < 2 && !rc; i++) {
        struct baton_node *node = baton_cluster_node(cluster, i + 1);
        rc = baton_segment_create(node, 8, BATON_READ | BATON_WRITE, NULL, 0, &p.at[i]);
        if (!rc)
            rc = baton_ptr(node, p.at[i], 8, &memory);
        p.word[i] = rc ? NULL : memory;
    }
    if (!rc)
        rc = sim_explore_attach(cluster, &x);
    if (!rc)
        rc = baton_run(cluster, teams, 3);
    if (rc) {
        printf("%s: %s: %s\n", how, baton_strerror(rc), baton_error_detail());
        exit(rc == -ENOSYS ? 77 : 1);
    }
    baton_cluster_close(cluster);
    printf("%s: %llu states, pairs %x\n", how, (unsigned long long)x.states, p.pairs);
    return p.pairs != 15;
}

int main(void)
{
    struct sim_explore x = SIM_EXPLORE_STANDARD;
    int wrong = explore("as it is", x);
    x.digests = true;
    wrong |= explore("digests", x);
    x.self_check = true;
    wrong |= explore("self-check", x);
    x.digests = x.self_check = false;
    x.naive = true;
    return wrong | explore("naive", x);
}

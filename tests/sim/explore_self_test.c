/* SPDX-License-Identifier: MIT */
/*
 * The self-check of the exhaustive driver finds what would make it skip states: a body that knows something that
 * the contract did not tell it, here how often its code has run in the whole exploration; a word of shared
 * memory that a body writes by hand; and a body that says that it knows less than it goes on with. The same
 * body without these passes, also when it says all that it knows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/error.h>

#include "sim/explore.h"

enum wrong { NOTHING, SAYS, STATIC, BY_HAND, OMITS, PROGRAMS };

struct program {
    enum wrong what;
    uint64_t *word;
};

static int body(struct baton_ep *ep, unsigned thread, void *arg)
{
    static uint64_t calls;
    const struct program *p = arg;
    uint64_t mine = baton_faa(ep, p->word, 1) + (p->what == STATIC ? ++calls : 0);
    if (p->what == BY_HAND)
        p->word[2] = 7 + thread;
    if (p->what == SAYS || p->what == OMITS)
        sim_explore_knows(ep, &mine, p->what == SAYS);
    baton_faa(ep, p->word, 1);
    baton_store(ep, &p->word[2], mine);
    return 0;
}

static bool found(enum wrong what, bool digests)
{
    struct sim_explore x = SIM_EXPLORE_STANDARD;
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    struct program p = {.what = what};
    struct baton_team team = {0, 2, body, &p};
    baton_gptr at;
    void *memory;
    opts.fabric = "sim";
    opts.options = "driver=exhaustive";
    opts.nodes = 1;
    opts.arena_bytes = 64 << 10;
    x.self_check = true;
    x.digests = digests;
    if (baton_cluster_open(&opts, &cluster) ||
        baton_segment_create(baton_cluster_self(cluster), 24, BATON_READ, NULL, 0, &at) ||
        baton_ptr(baton_cluster_self(cluster), at, 24, &memory) ||
        sim_explore_attach(cluster, &x)) {
        printf("setting up: %s\n", baton_error_detail());
        exit(1);
    }
    p.word = memory;
    int rc = baton_run(cluster, &team, 1);
    baton_cluster_close(cluster);
    printf("program %d: %s %s\n", what, rc ? baton_strerror(rc) : "passes", x.text);
    bool self = rc && strstr(x.text, "self-check: ") == x.text;
    free(x.found);
    return self;
}

int main(void)
{
    for (int digests = 0; digests < 2; digests++)
        for (enum wrong what = NOTHING; what < PROGRAMS; what++)
            if (found(what, digests) != (what > SAYS))
                return 1;
    return 0;
}

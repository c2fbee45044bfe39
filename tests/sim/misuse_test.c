/* SPDX-License-Identifier: MIT */
/*
 * Programs that misuse words are reported in the simulated world, and a program that does not is not: a CPU's
 * read-modify-write of a word that is the NIC's, the reverse, and a put that comes between the read and the
 * write of an rfaa of the same word. Each runs with many seeds until it is reported, or never.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/fabric.h>
#include <baton/sim.h>

#define SEEDS 300

enum wrong { NOTHING, CPU_ON_NIC, NIC_ON_CPU, PUT_IN_WINDOW };

struct program {
    enum wrong what;
    baton_gptr
        at; /* two words: the first for the NIC's read-modify-writes, the second for the CPU's */
    uint64_t *word;
};

static int far_side(struct baton_ep *ep, unsigned thread, void *arg)
{
    const struct program *p = arg;
    uint64_t *result = baton_ep_alloc(ep, 64, 64);
    if (!result)
        return -ENOMEM;
    for (int i = 0; i < 4; i++) {
        if (thread && p->what == PUT_IN_WINDOW)
            baton_put64(ep, p->at, 7, 1);
        else
            baton_rfaa(ep, result, p->at + (p->what == NIC_ON_CPU ? 8 : 0), 1, 1);
        int rc = baton_wait(ep, 1);
        if (rc)
            return rc;
    }
    baton_ep_free(ep, result);
    return 0;
}

static int near_side(struct baton_ep *ep, unsigned thread, void *arg)
{
    const struct program *p = arg;
    for (int i = 0; i < 4; i++)
        baton_faa(ep, &p->word[p->what == CPU_ON_NIC ? 0 : 1], 1);
    return 0;
}

static bool reported(enum wrong what, uint64_t seed, const char *words)
{
    static const struct baton_words kinds[] = {{0, 8, 1, BATON_WORD_NIC_RMW, BATON_WORD_VALUE},
                                               {8, 8, 1, BATON_WORD_CPU_RMW, BATON_WORD_VALUE}};
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    struct program p = {.what = what};
    void *memory;
    opts.fabric = "sim";
    opts.nodes = 3;
    opts.arena_bytes = 64 << 10;
    opts.seed = seed;
    opts.options = "driver=random";
    if (baton_cluster_open(&opts, &cluster) ||
        baton_segment_create(baton_cluster_node(cluster, 0), 16,
                             BATON_READ | BATON_WRITE | BATON_ATOMIC, kinds, 2, &p.at) ||
        baton_ptr(baton_cluster_node(cluster, 0), p.at, 16, &memory)) {
        printf("setting up: %s\n", baton_error_detail());
        exit(1);
    }
    p.word = memory;
    struct baton_team teams[] = {{0, 1, near_side, &p}, {1, 2, far_side, &p}};
    int rc = baton_run(cluster, teams, 2);
    bool found = baton_sim_misuses(cluster) > 0;
    if (rc != (found ? -EPROTO : 0)) {
        printf("seed %llu: %s\n", (unsigned long long)seed, baton_strerror(rc));
        exit(1);
    }
    bool wanted = false;
    const char *text;
    for (unsigned i = 0; (text = baton_sim_misuse(cluster, i)); i++)
        wanted |= words && strstr(text, words);
    if (found && !words) {
        printf("seed %llu: falsely reported: %s\n", (unsigned long long)seed,
               baton_sim_misuse(cluster, 0));
        exit(1);
    }
    baton_cluster_close(cluster);
    return wanted;
}

int main(void)
{
    static const char *const words[] = {
        [CPU_ON_NIC] = "a CPU's read-modify-write of the word at 0+",
        [NIC_ON_CPU] = "a NIC's read-modify-write of the word at 0+",
        [PUT_IN_WINDOW] = "a put of a word of node 0 between the read and the write"};
    for (int what = NOTHING; what <= PUT_IN_WINDOW; what++) {
        uint64_t seed = 1;
        while (seed <= SEEDS && !reported(what, seed, words[what]))
            seed++;
        if ((what == NOTHING) != (seed > SEEDS)) {
            printf("program %d: %s\n", what, seed > SEEDS ? "never reported" : "reported");
            return 1;
        }
        if (what != NOTHING)
            printf("\"%s\": reported with seed %llu\n", words[what], (unsigned long long)seed);
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Programs that misuse words are reported in the simulated world, and a program that does not is not: a CPU's
 * read-modify-write of a word that is the NIC's, the reverse, and a put that comes between the read and the
 * write of an rfaa of the same word. Each runs with many seeds until it is reported, or never.
 *
 * Operations on memory that is no segment's or may not be used so, and a waiter that a thread uses while
 * another waits with it, are reported as well, but the run does not fail: the program has got an error.
 *
 * With misuse=ignore the seeds that were reported are not.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/lock.h>
#include <baton/sim.h>

#define SEEDS 300
#define SEGMENT_BYTES 4096 /* they are made of whole pages */

enum wrong {
    NOTHING,
    CPU_ON_NIC,
    NIC_ON_CPU,
    PUT_IN_WINDOW,
    OUTSIDE, /* from here on an error tells the program too */
    ACROSS_END,
    WITHOUT_RIGHT,
    WAITER_LINKED,
    PROGRAMS
};

/* What such a program is told. */
static const int told[PROGRAMS] = {[OUTSIDE] = -EKEYREJECTED,
                                   [ACROSS_END] = -ERANGE,
                                   [WITHOUT_RIGHT] = -EACCES,
                                   [WAITER_LINKED] = -EINVAL};

struct program {
    enum wrong what;
    baton_gptr
        at; /* two words: the first for the NIC's read-modify-writes, the second for the CPU's */
    uint64_t *word;
    baton_gptr readable; /* a word that may only be read */
    struct baton_table *table;
    struct baton_waiter *waiter; /* that two threads use */
    bool over;
};

static int one_access(struct baton_ep *ep, const struct program *p, uint64_t *memory)
{
    if (p->what == OUTSIDE)
        baton_get(ep, memory, p->at + ((uint64_t)1 << 30), 8, 1);
    else if (p->what == ACROSS_END)
        baton_put(ep, p->at + SEGMENT_BYTES - 8, memory, 16, 1);
    else
        baton_rcas(ep, memory, p->readable, 0, 1, 1);
    return baton_wait(ep, 1);
}

/* One thread holds the lock, one is queued behind it, and one comes with the second one's waiter. */
static int lock_side(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct program *p = arg;
    struct baton_waiter *mine;
    struct baton_lock lock;
    int rc = baton_table_lock(p->table, 0, &lock);
    if (!rc && thread == 0) {
        if ((rc = baton_waiter_open(ep, &mine)) || (rc = baton_lock_acquire(&lock, ep, mine)) ||
            (rc = baton_waiter_open(ep, &p->waiter)))
            return rc;
        while (!p->over)
            baton_delay(ep, 1000);
        if (!(rc = baton_lock_release(&lock, ep, mine)))
            rc = baton_waiter_close(ep, mine);
    } else if (!rc && thread == 1) {
        while (!p->waiter)
            baton_delay(ep, 1000);
        if (!(rc = baton_lock_acquire(&lock, ep, p->waiter)) &&
            !(rc = baton_lock_release(&lock, ep, p->waiter)))
            rc = baton_waiter_close(ep, p->waiter);
    } else if (!rc) {
        while (!p->waiter || !p->waiter->committed)
            baton_delay(ep, 1000);
        rc = baton_lock_acquire(&lock, ep, p->waiter) == told[p->what] ? 0 : -EIO;
        p->over = true;
    }
    return rc;
}

static int far_side(struct baton_ep *ep, unsigned thread, void *arg)
{
    const struct program *p = arg;
    uint64_t *result = baton_ep_alloc(ep, 64, 64);
    if (!result)
        return -ENOMEM;
    if (told[p->what]) {
        int rc = one_access(ep, p, result);
        baton_ep_free(ep, result);
        return rc == told[p->what] ? 0 : -EIO;
    }
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

static bool reported(enum wrong what, uint64_t seed, const char *words, const char *options)
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
    opts.options = options;
    struct baton_table_opts lock = {.size = sizeof(lock), .kind = "mcs", .count = 1};
    struct baton_ep *ep;
    if (baton_cluster_open(&opts, &cluster) ||
        baton_segment_create(baton_cluster_node(cluster, 0), SEGMENT_BYTES,
                             BATON_READ | BATON_WRITE | BATON_ATOMIC, kinds, 2, &p.at) ||
        baton_ptr(baton_cluster_node(cluster, 0), p.at, 16, &memory) ||
        baton_segment_create(baton_cluster_node(cluster, 0), 8, BATON_READ, NULL, 0, &p.readable) ||
        baton_ep_open(baton_cluster_node(cluster, 1), &ep) ||
        baton_table_create(ep, "t", &lock, &p.table)) {
        printf("setting up: %s\n", baton_error_detail());
        exit(1);
    }
    p.word = memory;
    struct baton_team teams[] = {{0, 1, near_side, &p}, {1, 2, far_side, &p}};
    if (what == WAITER_LINKED)
        teams[1] = (struct baton_team){1, 3, lock_side, &p};
    int rc = baton_run(cluster, teams, 2);
    bool found = baton_sim_misuses(cluster) > 0;
    if (rc != (found && !told[what] ? -EPROTO : 0)) {
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
    if (baton_table_close(ep, p.table) || baton_ep_close(ep)) {
        printf("program %d: closing: %s\n", what, baton_error_detail());
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
        [PUT_IN_WINDOW] = "a put of a word of node 0 between the read and the write",
        [OUTSIDE] = ", outside of every segment",
        [ACROSS_END] = ", across the end of its segment",
        [WITHOUT_RIGHT] = ", which the segment's rights forbid",
        [WAITER_LINKED] = "a waiter reused while it is linked"};
    for (int what = NOTHING; what < PROGRAMS; what++) {
        uint64_t seed = 1;
        while (seed <= SEEDS && !reported(what, seed, words[what], "driver=random"))
            seed++;
        if ((what == NOTHING) != (seed > SEEDS)) {
            printf("program %d: %s\n", what, seed > SEEDS ? "never reported" : "reported");
            return 1;
        }
        if (what == NOTHING)
            continue;
        printf("\"%s\": reported with seed %llu\n", words[what], (unsigned long long)seed);
        if (!told[what] && reported(what, seed, NULL, "driver=random,misuse=ignore"))
            return 1;
    }
    return 0;
}

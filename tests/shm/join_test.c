/* SPDX-License-Identifier: MIT */
/*
 * Processes find each other by the cluster's name in any order of starting, also late, and nothing
 * stays behind after the last one has left. Random start delays; every process publishes a word, finds
 * everybody's, adds to each through rfaa, and counts what the others did to its own.
 */
#include "shm_test.h"

enum { ROUNDS = 6, PROCESSES = 10 };

struct shared {
    uint64_t arrived, added;
};

static void be_node(const char *name, unsigned processes, uint64_t delay_us, struct shared *sh)
{
    struct baton_cluster *c;
    struct baton_ep *ep;
    baton_gptr own, other;
    char text[32];
    void *word;
    test_sleep_us(delay_us);
    CHECK_RC(test_open(name, PROCESSES, -1, 1, &c), 0);
    struct baton_node *node = baton_cluster_self(c);
    CHECK_RC(baton_ep_open(node, &ep), 0);
    CHECK_RC(
        baton_segment_create(node, 4096, BATON_READ | BATON_WRITE | BATON_ATOMIC, NULL, 0, &own),
        0);
    CHECK_RC(baton_ptr(node, own, 8, &word), 0);
    snprintf(text, sizeof(text), "word of %u", baton_node_index(node));
    CHECK_RC(baton_name_publish(node, text, own), 0);
    CHECK_RC(baton_name_publish(node, text, own), -EEXIST);
    baton_word_faa(&sh->arrived, 1);

    uint64_t *old = baton_ep_alloc(ep, 8, 8);
    CHECK(old, "arena");
    for (unsigned i = 0; i < processes; i++) {
        snprintf(text, sizeof(text), "word of %u", i);
        CHECK_RC(baton_name_lookup(ep, text, baton_now(ep) + 10000000000u, &other), 0);
        CHECK(baton_gptr_node(other) == i, "node %u", baton_gptr_node(other));
        CHECK(baton_node_state(c, i) == BATON_NODE_ALIVE, "node %u", i);
        CHECK_RC(baton_rfaa(ep, old, other, 1, 1), 0);
        CHECK_RC(baton_wait(ep, 1), 0);
    }
    baton_word_faa(&sh->added, 1);
    test_until(&sh->added, processes);
    CHECK(baton_word_load(word) == processes, "%llu", (unsigned long long)baton_word_load(word));
    baton_ep_free(ep, old);
    CHECK_RC(baton_ep_close(ep), 0);
    CHECK_RC(baton_cluster_close(c), 0);
    exit(0);
}

int main(void)
{
    struct baton_random r;
    baton_random_init(&r, test_seed());
    const char *name = test_name("join");
    for (unsigned round = 0; round < ROUNDS; round++) {
        pid_t pids[PROCESSES];
        struct shared *sh = test_shared(sizeof(*sh));
        /* In odd rounds the last process comes when all others are there already and wait for it. */
        unsigned late = round & 1;
        for (unsigned i = 0; i < PROCESSES - late; i++) {
            uint64_t delay = round ? baton_random_below(&r, 20000) : 0;
            if (!(pids[i] = test_fork()))
                be_node(name, PROCESSES, delay, sh);
        }
        if (late) {
            test_until(&sh->arrived, PROCESSES - 1);
            if (!(pids[PROCESSES - 1] = test_fork()))
                be_node(name, PROCESSES, 0, sh);
        }
        for (unsigned i = 0; i < PROCESSES; i++)
            test_join(pids[i]);
        CHECK(!test_files(name, ""), "%u files are left", test_files(name, ""));
        munmap(sh, sizeof(*sh));
    }
    return 0;
}

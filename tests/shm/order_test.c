/* SPDX-License-Identifier: MIT */
/*
 * The order of a chain on shm, where a put is a store and a get a load, between two nodes of one
 * process. Store buffering: each of two threads puts its own word and gets the other's in one chain (or
 * stores, then gets); both never miss. Message passing: what is put before a flag is got after it.
 */
#include <sched.h>

#include "shm_test.h"

#ifdef BATON_TSAN
enum { ROUNDS = 10000 };
#else
enum { ROUNDS = 50000 };
#endif

enum { X = 0, Y = 64, SEEN = 128, TURN = 256, ENOUGH = 320 };

/* A busy machine does not get through all rounds. */
#define PATIENCE_NS 2000000000u

struct bed {
    baton_gptr at;
    uint64_t *words;
    uint64_t misses, torn, rounds, begin;
};

/* Both threads meet here, so that the rounds overlap. */
static void meet(uint64_t *turn, uint64_t round)
{
    unsigned spins = 0;
    baton_word_faa(turn, 1);
    while (baton_word_load(turn) < 2 * round)
        if (++spins < 1000)
            baton_cpu_pause();
        else
            sched_yield();
}

static int buffering(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct bed *b = arg;
    unsigned self = baton_node_index(baton_ep_node(ep));
    baton_gptr mine = b->at + (self ? Y : X), yours = b->at + (self ? X : Y);
    uint64_t *got = baton_ep_alloc(ep, 64, 64);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        meet(&b->words[TURN / 8], 2 * round - 1);
        /* Node 0 owns the words and may use its CPU for its own. */
        if (!self && round & 1)
            baton_store(ep, &b->words[X / 8], round);
        else
            CHECK_RC(baton_put64(ep, mine, round, 0), 0);
        CHECK_RC(baton_get(ep, got, yours, 8, 1), 0);
        CHECK_RC(baton_wait(ep, 1), 0);
        baton_word_store(&b->words[SEEN / 8 + self], *got);
        if (!self && test_now() - b->begin > PATIENCE_NS)
            baton_word_store(&b->words[ENOUGH / 8], 1);
        meet(&b->words[TURN / 8], 2 * round);
        if (baton_word_load(&b->words[ENOUGH / 8]))
            break;
        if (!self)
            b->rounds++;
        if (!self && baton_word_load(&b->words[SEEN / 8]) != round &&
            baton_word_load(&b->words[SEEN / 8 + 1]) != round)
            b->misses++;
    }
    baton_ep_free(ep, got);
    return baton_wait_all(ep);
}

static int passing(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct bed *b = arg;
    uint64_t *got = baton_ep_alloc(ep, 64, 64);
    for (uint64_t round = 1; round <= ROUNDS && test_now() - b->begin < PATIENCE_NS; round++) {
        if (baton_node_index(baton_ep_node(ep))) {
            CHECK_RC(baton_put64(ep, b->at + X, round, 0), 0);
            CHECK_RC(baton_put64(ep, b->at + Y, round, 0), 0);
            CHECK_RC(baton_flush(ep), 0);
        } else {
            CHECK_RC(baton_get(ep, &got[0], b->at + Y, 8, 1), 0);
            CHECK_RC(baton_rfence(ep, 0), 0);
            CHECK_RC(baton_get(ep, &got[1], b->at + X, 8, 1), 0);
            CHECK_RC(baton_wait(ep, 1), 0);
            b->torn += got[1] < got[0];
        }
    }
    baton_ep_free(ep, got);
    return baton_wait_all(ep);
}

int main(void)
{
    const char *name = test_name("order");
    struct baton_cluster *c;
    struct bed b = {0};
    void *words;
    CHECK_RC(test_open(name, 2, -1, 2, &c), 0);
    struct baton_node *host = baton_cluster_node(c, 0);
    CHECK_RC(baton_segment_create(host, 4096, BATON_READ | BATON_WRITE, NULL, 0, &b.at), 0);
    CHECK_RC(baton_ptr(host, b.at, 4096, &words), 0);
    b.words = words;
    struct baton_team teams[] = {{0, 1, buffering, &b}, {1, 1, buffering, &b}};
    b.begin = test_now();
    CHECK_RC(baton_run(c, teams, 2), 0);
    printf("%llu rounds of store buffering\n", (unsigned long long)b.rounds);
    CHECK(!b.misses, "both sides missed the other %llu times", (unsigned long long)b.misses);
    b.begin = test_now();
    b.words[X / 8] = b.words[Y / 8] = 0;
    teams[0].body = teams[1].body = passing;
    CHECK_RC(baton_run(c, teams, 2), 0);
    CHECK(!b.torn, "%llu flags came before their data", (unsigned long long)b.torn);
    CHECK_RC(baton_cluster_close(c), 0);
    return 0;
}

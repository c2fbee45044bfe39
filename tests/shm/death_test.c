/* SPDX-License-Identifier: MIT */
/*
 * SIGKILL at a random moment, with 2 to 6 processes at work: the operations of the others towards the
 * dead ends with -EHOSTDOWN and their waits with -EOWNERDEAD, both within a second of the kill; their
 * work towards each other goes on; the dead one's files and names are gone; its number can be taken
 * again, where old addresses are still errors. Nothing is left in the end.
 */
#include "../late.h"
#include "shm_test.h"

enum { MOST = 6, ROUNDS = 10 };
#define SECOND 1000000000u

struct shared {
    uint64_t ready, stop, next;
    uint64_t killed_at[MOST];
    uint64_t down_at[MOST][MOST], wait_ended_at[MOST];
};

struct work {
    unsigned count;
    struct shared *sh;
    baton_gptr words[MOST], healthy;
};

static int add_to_all(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct work *w = arg;
    unsigned self = baton_node_index(baton_ep_node(ep));
    uint64_t *old = baton_ep_alloc(ep, 8, 8);
    uint64_t done = 0;
    while (!baton_word_load(&w->sh->stop)) {
        for (unsigned i = 0; i < w->count; i++) {
            if (baton_word_load(&w->sh->down_at[self][i]))
                continue;
            CHECK_RC(baton_rfaa(ep, old, w->words[i], 1, 1), 0);
            int rc = baton_wait(ep, 1);
            if (!rc) {
                done++;
                continue;
            }
            CHECK(rc == -EHOSTDOWN, "%s", baton_strerror(rc));
            CHECK(baton_word_load(&w->sh->killed_at[i]), "node %u is alive", i);
            CHECK(baton_node_state(baton_ep_cluster(ep), i) == BATON_NODE_DEAD, "node %u", i);
            CHECK_RC(baton_rfaa(ep, old, w->words[i], 1, 1), -ENOTCONN);
            CHECK_RC(baton_wait(ep, 1), -ENOTCONN);
            CHECK_RC(baton_ep_reset(ep, i), -EHOSTDOWN);
            baton_word_store(&w->sh->down_at[self][i], test_now());
        }
    }
    CHECK(done, "nothing was done");
    baton_ep_free(ep, old);
    return 0;
}

static int wait_for_nothing(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct work *w = arg;
    struct baton_group group = {.state = w->healthy};
    uint64_t *word = baton_ep_alloc(ep, 8, 8);
    struct baton_cond never = baton_until_not(word, UINT64_MAX, 0);
    struct baton_wait wait;
    baton_wait_begin(ep, &wait, BATON_NEVER, &group);
    baton_word_faa(&w->sh->ready, 1);
    CHECK_RC(baton_await(ep, &never, 1, &wait), -EOWNERDEAD);
    baton_word_store(&w->sh->wait_ended_at[baton_node_index(baton_ep_node(ep))], test_now());
    baton_ep_free(ep, word);
    return 0;
}

static void be_node(const char *name, unsigned self, unsigned count, struct shared *sh)
{
    struct work w = {.count = count, .sh = sh};
    struct baton_cluster *c;
    struct baton_ep *ep;
    char text[32];
    CHECK_RC(test_open(name, MOST, (int)self, 1, &c), 0);
    struct baton_node *node = baton_cluster_self(c);
    CHECK_RC(baton_ep_open(node, &ep), 0);
    CHECK_RC(baton_segment_create(node, 8192, BATON_READ | BATON_ATOMIC, NULL, 0, &w.healthy), 0);
    snprintf(text, sizeof(text), "word of %u", self);
    CHECK_RC(baton_name_publish(node, text, w.healthy + 8), 0);
    for (unsigned i = 0; i < count; i++) {
        snprintf(text, sizeof(text), "word of %u", i);
        CHECK_RC(baton_name_lookup(ep, text, baton_now(ep) + 10 * (uint64_t)SECOND, &w.words[i]),
                 0);
    }
    struct baton_team teams[] = {{self, 1, add_to_all, &w}, {self, 1, wait_for_nothing, &w}};
    CHECK_RC(baton_run(c, teams, 2), 0);
    for (unsigned i = 0; i < count; i++) {
        baton_gptr at;
        snprintf(text, sizeof(text), "word of %u", i);
        if (baton_word_load(&sh->killed_at[i]))
            CHECK_RC(baton_name_lookup(ep, text, 0, &at), -ENOENT);
    }
    /* One after the other, so that each still finds the others' names. */
    baton_word_faa(&sh->next, 1);
    test_until(&sh->stop, 2);
    CHECK_RC(baton_ep_close(ep), 0);
    CHECK_RC(baton_cluster_close(c), 0);
    exit(0);
}

/* The dead one's number, taken again: its old addresses must not lead into the new owner's memory. */
static void take_again(const char *name, unsigned dead)
{
    struct baton_cluster *c;
    struct baton_ep *ep;
    baton_gptr at;
    CHECK_RC(test_open(name, 0, (int)dead, 1, &c), 0);
    struct baton_node *node = baton_cluster_self(c);
    CHECK_RC(baton_ep_open(node, &ep), 0);
    CHECK_RC(baton_segment_create(node, 4096, BATON_READ, NULL, 0, &at), 0);
    CHECK(baton_gptr_offset(at) > 65536 + 8192, "base 0x%llx", (unsigned long long)at);
    uint64_t *word = baton_ep_alloc(ep, 8, 8);
    /* The first segment of every node is the arena, at the first page that can be memory. */
    CHECK_RC(baton_get(ep, word, baton_gptr_make(dead, 4096), 8, 1), 0);
    CHECK_RC(baton_wait(ep, 1), -EKEYREJECTED);
    CHECK_RC(baton_ep_close(ep), 0);
    CHECK_RC(baton_cluster_close(c), 0);
}

static uint64_t one_round(const char *name, struct baton_random *r, unsigned count)
{
    struct shared *sh = test_shared(sizeof(*sh));
    unsigned victims = 1 + (unsigned)baton_random_below(r, count - 1), left = count;
    pid_t pids[MOST];
    uint64_t worst = 0;
    char suffix[16];
    for (unsigned i = 0; i < count; i++)
        if (!(pids[i] = test_fork()))
            be_node(name, i, count, sh);
    test_until(&sh->ready, count);
    for (unsigned v = 0; v < victims; v++) {
        unsigned i = (unsigned)baton_random_below(r, count);
        if (sh->killed_at[i])
            continue;
        test_sleep_us(baton_random_below(r, 30000));
        baton_word_store(&sh->killed_at[i], test_now());
        test_kill(pids[i]);
        left--;
    }
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < count && !sh->killed_at[i]; j++) {
            if (!sh->killed_at[j])
                continue;
            uint64_t *seen = &sh->down_at[i][j];
            while (!baton_word_load(seen) && test_now() < sh->killed_at[j] + 30 * (uint64_t)SECOND)
                test_sleep_us(500);
            CHECK(*seen && *seen - sh->killed_at[j] < SECOND + late_ns(),
                  "node %u saw node %u's death after %lld ns", i, j,
                  (long long)(*seen - sh->killed_at[j]));
            worst = *seen - sh->killed_at[j] > worst ? *seen - sh->killed_at[j] : worst;
        }
    baton_word_store(&sh->stop, 1);
    test_until(&sh->next, left);
    uint64_t first_kill = UINT64_MAX;
    for (unsigned i = 0; i < count; i++)
        if (sh->killed_at[i] && sh->killed_at[i] < first_kill)
            first_kill = sh->killed_at[i];
    for (unsigned i = 0; i < count; i++) {
        if (sh->killed_at[i]) {
            /* Who has told of the death removes them then, or when the gate is free again. */
            snprintf(suffix, sizeof(suffix), "%u.", i);
            for (uint64_t end = test_now() + 60 * (uint64_t)SECOND; test_files(name, suffix);) {
                CHECK(test_now() < end, "files of the dead node %u are left", i);
                test_sleep_us(1000);
            }
            take_again(name, i);
        } else {
            CHECK(sh->wait_ended_at[i] - first_kill < SECOND + late_ns(),
                  "node %u's wait ended after %llu ns", i,
                  (unsigned long long)(sh->wait_ended_at[i] - first_kill));
        }
    }
    baton_word_store(&sh->stop, 2);
    for (unsigned i = 0; i < count; i++)
        if (!sh->killed_at[i])
            test_join(pids[i]);
    CHECK(!test_files(name, ""), "%u files are left", test_files(name, ""));
    munmap(sh, sizeof(*sh));
    return worst;
}

int main(void)
{
    struct baton_random r;
    baton_random_init(&r, test_seed());
    const char *name = test_name("death");
    uint64_t worst = 0;
    late_watch();
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t w = one_round(name, &r, 2 + round % (MOST - 1));
        worst = w > worst ? w : worst;
    }
    printf("latest -EHOSTDOWN: %llu ms after the kill\n", (unsigned long long)(worst / 1000000));
    return 0;
}

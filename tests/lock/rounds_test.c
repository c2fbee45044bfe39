/* SPDX-License-Identifier: MIT */
/*
 * Every kind of lock in the world `step`, over many schedules, in chain order and with swaps: nobody is
 * ever in together, no update is lost, also when the section ends in puts and gets that nobody has
 * waited for, when a waiter is used again at once, when three locks of a table are held at a time, and
 * when tickets start just before a power of two at which a narrower counter would wrap. The run ends in
 * -EDEADLK if a lock is ever not handed on.
 */
#include "check.h"

enum { OWNER, COUNT, NOISE, WORDS = 8 };

struct round {
    const char *kind;
    unsigned rounds;
    unsigned nested; /* locks held at a time */
    baton_gptr data; /* WORDS words per lock, on the host */
};

/* One increment under the lock; the last put and a get of something else are left to the release. */
static void section(struct baton_ep *ep, baton_gptr data, uint64_t me, uint64_t *mine)
{
    void *pointer;
    if (baton_gptr_node(data) == ep->node) {
        CHECK_RC(baton_ptr(baton_ep_node(ep), data, 8 * WORDS, &pointer), 0);
        uint64_t *words = pointer;
        CHECK(baton_load(ep, &words[OWNER]) == 0);
        baton_store(ep, &words[OWNER], me);
        uint64_t count = baton_load(ep, &words[COUNT]);
        CHECK(baton_load(ep, &words[OWNER]) == me);
        baton_store(ep, &words[COUNT], count + 1);
        baton_store(ep, &words[OWNER], 0);
        return;
    }
    baton_get(ep, &mine[OWNER], data + 8 * OWNER, 8, 1);
    baton_get(ep, &mine[COUNT], data + 8 * COUNT, 8, 1);
    CHECK_RC(baton_wait(ep, 1), 0);
    CHECK(mine[OWNER] == 0);
    uint64_t count = mine[COUNT];
    baton_put64(ep, data + 8 * OWNER, me, 0);
    baton_order(ep, baton_gptr_node(data));
    baton_get(ep, &mine[OWNER], data + 8 * OWNER, 8, 1);
    CHECK_RC(baton_wait(ep, 1), 0);
    CHECK(mine[OWNER] == me);
    baton_put64(ep, data + 8 * COUNT, count + 1, 0);
    baton_put64(ep, data + 8 * OWNER, 0, 0);
    baton_get(ep, &mine[NOISE], data + 8 * NOISE, 8, 1);
}

static int body(struct baton_ep *ep, unsigned thread, void *arg)
{
    const struct round *round = arg;
    struct baton_table *table;
    struct baton_lock lock[3];
    struct baton_waiter *waiter[3];
    uint64_t me = 1 + thread + 100 * ep->node, *mine = baton_ep_alloc(ep, 8 * WORDS, 64);

    CHECK_RC(baton_table_open(ep, "t", BATON_NEVER, &table), 0);
    for (unsigned i = 0; i < round->nested; i++) {
        CHECK_RC(baton_table_lock(table, i, &lock[i]), 0);
        CHECK_RC(baton_waiter_open(ep, &waiter[i]), 0);
    }
    for (unsigned r = 0; r < round->rounds; r++) {
        for (unsigned i = 0; i < round->nested; i++) {
            CHECK_RC(baton_lock_acquire(&lock[i], ep, waiter[i]), 0);
            section(ep, round->data + 8 * WORDS * i, me, mine);
        }
        for (unsigned i = round->nested; i-- > 0;)
            CHECK_RC(baton_lock_release(&lock[i], ep, waiter[i]), 0);
        CHECK_RC(baton_wait(ep, 1), 0);
    }
    for (unsigned i = 0; i < round->nested; i++)
        CHECK_RC(baton_waiter_close(ep, waiter[i]), 0);
    baton_ep_free(ep, mine);
    return baton_table_close(ep, table);
}

/* `local` threads on the host, `remote` on two more nodes. */
static void run(struct round *round, unsigned local, unsigned remote, uint64_t seed, unsigned flags,
                uint64_t first)
{
    struct baton_cluster *cluster = check_step(3, seed, flags);
    struct baton_node *host = baton_cluster_node(cluster, 0);
    struct baton_ep *ep;
    struct baton_table *table;
    struct baton_table_opts opts = check_table(round->kind, 3);
    void *pointer;

    opts.first_ticket = first;
    CHECK_RC(baton_ep_open(host, &ep), 0);
    CHECK_RC(
        baton_segment_create(host, 3 * 8 * WORDS, BATON_READ | BATON_WRITE, NULL, 0, &round->data),
        0);
    CHECK_RC(baton_table_create(ep, "t", &opts, &table), 0);

    struct baton_team teams[] = {
        {0, local, body, round}, {1, (remote + 1) / 2, body, round}, {2, remote / 2, body, round}};
    int rc = baton_run(cluster, teams, 3);
    if (rc)
        printf("%s: %u local, %u remote, seed %" PRIu64 ", flags %u, first %" PRIu64 ": %s (%s)\n",
               round->kind, local, remote, seed, flags, first, baton_strerror(rc),
               baton_error_detail());
    CHECK(rc == 0);

    CHECK_RC(baton_ptr(host, round->data, 3 * 8 * WORDS, &pointer), 0);
    for (unsigned i = 0; i < round->nested; i++)
        CHECK(((uint64_t *)pointer)[i * WORDS + COUNT] ==
              (uint64_t)(local + remote) * round->rounds);
    CHECK_RC(baton_table_close(ep, table), 0);
    CHECK_RC(baton_ep_close(ep), 0);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

int main(void)
{
    static const uint64_t firsts[] = {0, (1u << 20) - 2, (1u << 28) - 2, ((uint64_t)1 << 44) - 2};
    static const unsigned mixes[][2] = {{2, 2}, {3, 0}, {0, 3}, {1, 1}, {4, 4}};
    for (const struct baton_lock_ops *const *kind = baton_lock_kinds(); *kind; kind++) {
        for (uint64_t seed = 1; seed <= 1000; seed++) {
            const unsigned *mix = mixes[seed % 5];
            struct round round = {(*kind)->name, seed % 3 ? 3 : 12, seed % 4 ? 1 : 3, 0};
            run(&round, mix[0], mix[1], seed, seed & 1 ? BATON_CLUSTER_SWAP : 0,
                firsts[seed / 2 % 4]);
        }
        printf("%s: 1000 schedules\n", (*kind)->name);
    }
    return 0;
}

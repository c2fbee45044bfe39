/* SPDX-License-Identifier: MIT */
/*
 * Transfers of many words in the simulated world: what is put arrives, and is got back, whatever the number of
 * words that an entry of the NIC moves: one, a few, and more than are kept at hand.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <baton/fabric.h>

#define WORDS_MAX 4096u

static baton_gptr there;

static int body(struct baton_ep *ep, unsigned thread, void *arg)
{
    const unsigned words = *(const unsigned *)arg;
    uint64_t *memory = baton_ep_alloc(ep, 2 * WORDS_MAX * sizeof(uint64_t), 64);
    const uint16_t node = 1;
    if (!memory)
        return -ENOMEM;
    for (unsigned round = 1; round <= 2; round++) {
        for (unsigned i = 0; i < words; i++)
            memory[i] = round * WORDS_MAX + i;
        baton_put(ep, there, memory, words * sizeof(uint64_t), 1);
        int rc = baton_gfence(ep, &node, 1);
        baton_get(ep, memory + WORDS_MAX, there, words * sizeof(uint64_t), 1);
        rc = rc ? rc : baton_wait(ep, 1);
        if (rc || memcmp(memory, memory + WORDS_MAX, words * sizeof(uint64_t)) != 0)
            return rc ? rc : -EIO;
    }
    return 0;
}

static int transfer(const char *options, unsigned words)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    struct baton_team team = {0, 1, body, &words};
    opts.fabric = "sim";
    opts.options = options;
    opts.nodes = 2;
    int rc = baton_cluster_open(&opts, &cluster);
    if (rc)
        return rc;
    rc = baton_segment_create(baton_cluster_node(cluster, 1), WORDS_MAX * sizeof(uint64_t),
                              BATON_READ | BATON_WRITE, NULL, 0, &there);
    if (!rc)
        rc = baton_run(cluster, &team, 1);
    baton_cluster_close(cluster);
    return rc;
}

int main(void)
{
    static const char *const drivers[] = {"driver=timed", "driver=random"};
    static const unsigned sizes[] = {1, 2, 16, 17, 31, 256, 257, 1000, WORDS_MAX};
    for (unsigned d = 0; d < 2; d++)
        for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            int rc = transfer(drivers[d], sizes[i]);
            if (rc) {
                printf("%s, %u words: %s\n", drivers[d], sizes[i], baton_strerror(rc));
                return 1;
            }
        }
    return 0;
}

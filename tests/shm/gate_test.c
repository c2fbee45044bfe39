/* SPDX-License-Identifier: MIT */
/*
 * Shows that a process which stands still with the gate of a cluster in its hands keeps nobody from hearing of deaths:
 * the gate is taken here as it would hold it, two nodes are killed one after the other, and each time a wait ends
 * within a second. When the gate is free again the files of the dead go.
 */
#include <fcntl.h>

#include "../late.h"
#include "fabric/shm_files.h"
#include "shm_test.h"

enum { VICTIMS = 2 };
#define SECOND UINT64_C(1000000000)

static void be_node(const char *name, unsigned self, uint64_t *ready)
{
    struct baton_cluster *c;
    CHECK_RC(test_open(name, 0, (int)self, 1, &c), 0);
    baton_word_faa(ready, 1);
    for (;;)
        pause();
}

static unsigned files_of(const char *name, unsigned node)
{
    char suffix[16];
    snprintf(suffix, sizeof(suffix), "%u.", node);
    return test_files(name, suffix);
}

int main(void)
{
    const char *name = test_name("gate");
    char path[SHM_PATH_MAX];
    struct baton_cluster *c;
    struct baton_ep *ep;
    pid_t pids[VICTIMS];
    late_watch();
    uint64_t *ready = test_shared(sizeof(*ready));
    CHECK_RC(test_open(name, 1 + VICTIMS, 0, 1, &c), 0);
    CHECK_RC(baton_ep_open(baton_cluster_self(c), &ep), 0);
    for (unsigned i = 0; i < VICTIMS; i++)
        if (!(pids[i] = test_fork()))
            be_node(name, 1 + i, ready);
    test_until(ready, VICTIMS);

    baton_shm_control_path(path, name);
    int gate = open(path, O_RDWR | O_CLOEXEC);
    CHECK(gate >= 0, "%s", path);
    CHECK_RC(baton_shm_lock(gate, SHM_GATE, true), 0);
    uint64_t *word = baton_ep_alloc(ep, 8, 8);
    for (unsigned i = 0; i < VICTIMS; i++) {
        struct baton_cond never = baton_until_not(word, UINT64_MAX, 0);
        struct baton_wait wait;
        baton_wait_begin(ep, &wait, baton_now(ep) + 60 * SECOND, NULL);
        uint64_t killed_at = test_now();
        test_kill(pids[i]);
        CHECK_RC(baton_await(ep, &never, 1, &wait), -EOWNERDEAD);
        CHECK(test_now() - killed_at < SECOND + late_ns(), "the wait ended after %llu ns",
              (unsigned long long)(test_now() - killed_at));
        CHECK(files_of(name, 1 + i), "removed while somebody else has the gate");
    }
    close(gate);
    for (unsigned i = 0; i < VICTIMS; i++)
        for (uint64_t end = test_now() + 60 * SECOND; files_of(name, 1 + i);) {
            CHECK(test_now() < end, "the files of node %u are left", 1 + i);
            test_sleep_us(1000);
        }
    baton_ep_free(ep, word);
    CHECK_RC(baton_ep_close(ep), 0);
    CHECK_RC(baton_cluster_close(c), 0);
    CHECK(!test_files(name, ""), "%u files are left", test_files(name, ""));
    return 0;
}

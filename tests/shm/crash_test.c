/* SPDX-License-Identifier: MIT */
/*
 * SIGKILL at any moment of founding, joining, making and destroying segments, publishing and leaving:
 * the next one to start finds a cluster that works, whatever was left half done, and a killed cluster's
 * files are cleaned by the next start and by baton_shm_clean. Several processes do all of it in a loop
 * and one of them is killed after a random time; then a survivor, or a newcomer, uses everything.
 */
#include "fabric/shm.h"

#include "shm_test.h"

enum { PROCESSES = 3, ROUNDS = 1000 };

static void churn(const char *name)
{
    for (;;) {
        struct baton_cluster *c;
        baton_gptr a, b;
        char text[32];
        CHECK_RC(test_open(name, 8, -1, 1, &c), 0);
        struct baton_node *node = baton_cluster_self(c);
        snprintf(text, sizeof(text), "name of %u", baton_node_index(node));
        CHECK_RC(baton_segment_create(node, 4096, BATON_READ, NULL, 0, &a), 0);
        CHECK_RC(baton_segment_create(node, 4096, BATON_READ, NULL, 0, &b), 0);
        CHECK_RC(baton_name_publish(node, text, a), 0);
        CHECK_RC(baton_segment_destroy(node, a), 0);
        CHECK_RC(baton_name_withdraw(node, text), 0);
        CHECK_RC(baton_name_publish(node, text, b), 0);
        CHECK_RC(baton_cluster_close(c), 0);
    }
}

/* Everything works, and works with what other processes of the cluster are in it. */
static void use(const char *name)
{
    struct baton_cluster *c;
    struct baton_ep *ep;
    baton_gptr at, found;
    CHECK_RC(test_open(name, 8, -1, 1, &c), 0);
    struct baton_node *node = baton_cluster_self(c);
    CHECK_RC(baton_ep_open(node, &ep), 0);
    CHECK_RC(baton_segment_create(node, 4096, BATON_READ | BATON_WRITE, NULL, 0, &at), 0);
    CHECK_RC(baton_name_publish(node, "used", at), 0);
    CHECK_RC(baton_name_lookup(ep, "used", 0, &found), 0);
    CHECK(found == at, "0x%llx", (unsigned long long)found);
    uint64_t *word = baton_ep_alloc(ep, 8, 8);
    CHECK_RC(baton_put64(ep, at, 7, 1), 0);
    CHECK_RC(baton_get(ep, word, at, 8, 2), 0);
    CHECK_RC(baton_wait_all(ep), 0);
    CHECK(*word == 7, "%llu", (unsigned long long)*word);
    CHECK_RC(baton_ep_close(ep), 0);
    CHECK_RC(baton_cluster_close(c), 0);
}

static int count_alive(void *arg, const struct baton_shm_cluster *c)
{
    const char *name = ((void **)arg)[0];
    unsigned *alive = ((void **)arg)[1];
    if (!strcmp(c->name, name))
        *alive += c->alive;
    return 0;
}

int main(void)
{
    struct baton_random r;
    baton_random_init(&r, test_seed());
    const char *name = test_name("crash");
    unsigned left_something = 0, cleaned = 0;
    uint64_t end = test_now() + 6000000000u;
    for (unsigned round = 0; round < ROUNDS && test_now() < end; round++) {
        pid_t pids[PROCESSES];
        unsigned n = 1 + (unsigned)baton_random_below(&r, PROCESSES);
        for (unsigned i = 0; i < n; i++)
            if (!(pids[i] = test_fork()))
                churn(name);
        test_sleep_us(baton_random_below(&r, 4000));
        for (unsigned i = 0; i < n; i++) {
            test_kill(pids[i]);
            if (n > 1 && baton_random_below(&r, 2))
                use(name);
        }
        left_something += test_files(name, "") > 0;
        if (baton_random_below(&r, 2)) {
            int rc = baton_shm_clean(name, NULL, NULL);
            CHECK(!rc || (rc == -ENOENT && !test_files(name, "")), "%d", rc);
            cleaned += !rc;
            CHECK(!test_files(name, ""), "%u files are left", test_files(name, ""));
        }
        use(name);
        CHECK(!test_files(name, ""), "%u files are left", test_files(name, ""));
        unsigned alive = 0;
        CHECK_RC(baton_shm_clusters(count_alive, (void *[]){(void *)(uintptr_t)name, &alive}), 0);
        CHECK(!alive, "%u", alive);
    }
    printf("%u kills left files, %u times cleaned by hand\n", left_something, cleaned);
    CHECK(left_something, "no kill left anything: this run shows nothing");
    return 0;
}

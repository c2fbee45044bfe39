/* SPDX-License-Identifier: MIT */
/*
 * Shows that a thread of the benchmark which an error of the network has hit leaves nobody waiting. The words of the
 * checks lie in far memory, as in a given cluster; one operation of one of two remote threads fails, of those too
 * that it does while it holds the lock and of those that nobody waits for. All threads end, with every kind: who
 * waits for a lock gets it, or hears that it is broken. What is said of the checks is what failed, and not what came
 * of it in the release behind.
 */
#include <errno.h>

#include "../plain_check.h"
#include "bench/worker.h"

enum { NODES = 2, THREADS = 3, LOCKS = 1, HOST = 0, GUEST = 1, MOST = 8, ROUNDS = 3 };

static struct baton_fault_rule rule;
static bool fired;
static struct baton_ep_fault fault;

static void *segment(struct baton_node *node, size_t bytes, baton_gptr *at)
{
    void *memory;
    CHECK(!baton_segment_create(node, bytes, BATON_READ | BATON_WRITE, NULL, 0, at));
    CHECK(!baton_ptr(node, *at, bytes, &memory));
    return memory;
}

static int body(struct baton_ep *ep, unsigned thread, void *arg)
{
    bool victim = ep->node == GUEST && thread == 0;
    if (victim)
        CHECK(!baton_ep_faults(ep, &rule, 1));
    int rc = bench_thread_body(ep, thread, arg);
    if (victim) {
        baton_ep_error(ep, &fault);
        fired = fault.rc != 0;
    }
    return rc;
}

/* Ends the run when the victim has done enough, however long that takes here. */
static int watch(struct baton_ep *ep, unsigned thread, void *arg)
{
    const struct bench_node *node = arg;
    const struct bench_thread *victim = &node->shared->threads[1];
    while (!baton_word_load(&node->shared->stop) && baton_word_load(&victim->entries) < ROUNDS)
        baton_delay(ep, 100000);
    baton_word_store(&node->shared->stop, 1);
    return 0;
}

static void run(const struct baton_lock_ops *kind)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_table_opts table_opts = {
        .size = sizeof(table_opts), .kind = kind->name, .count = 1};
    char name[BATON_NAME_MAX + 1];
    struct baton_cluster *cluster;
    struct baton_ep *eps[NODES];
    struct baton_table *tables[NODES][NODES] = {{0}};
    struct bench_node nodes[NODES];
    baton_gptr base[NODES];
    /* Which crew it is is nothing that a thread asks. */
    struct bench_config config = {.fabric = "shm",
                                  .nodes = NODES,
                                  .local_threads = 1,
                                  .remote_threads = THREADS - 1,
                                  .locks = LOCKS,
                                  .remote_cs_ns = 1000,
                                  .duration_s = 3600,
                                  .seed = 1,
                                  .given = (struct crew *)&config};
    struct bench_shared *shared = bench_shared_create(&config, THREADS);
    CHECK(shared);
    snprintf(name, sizeof(name), "worker-%ld", (long)getpid());
    opts.name = name;
    opts.nodes = opts.local = NODES;
    CHECK(!baton_cluster_open(&opts, &cluster));
    for (unsigned n = 0; n < NODES; n++) {
        struct baton_node *node = baton_cluster_node(cluster, n);
        nodes[n] = (struct bench_node){.config = &config,
                                       .shared = shared,
                                       .tables = tables[n],
                                       .hosts = 1,
                                       .host = HOST,
                                       .first_thread = n,
                                       .far = {.threads = THREADS, .node = n, .base = base}};
        struct bench_far *far = &nodes[n].far;
        size_t room = (THREADS - 1) * bench_far_local_bytes(THREADS);
        CHECK(!baton_ep_open(node, &eps[n]));
        far->room = segment(node, room, &far->room_at);
        if (n == HOST)
            far->own = segment(node, bench_far_bytes(THREADS, LOCKS), &base[HOST]);
        CHECK(!(n == HOST ? baton_table_create(eps[n], "t", &table_opts, &tables[n][HOST])
                          : baton_table_open(eps[n], "t", 0, &tables[n][HOST])));
    }
    baton_word_store(&shared->begin_ns, baton_now(eps[HOST]));
    struct baton_team teams[] = {{HOST, 1, body, &nodes[HOST]},
                                 {GUEST, THREADS - 1, body, &nodes[GUEST]},
                                 {HOST, 1, watch, &nodes[HOST]}};
    int rc = baton_run(cluster, teams, 3);
    CHECK(!rc || fired);
    CHECK(!shared->threads[0].findings.exclusion_violations);
    const char *said = shared->threads[1].error, checks[] = "the words of the checks: ";
    fault.text[16] = 0;
    CHECK(strncmp(said, checks, sizeof(checks) - 1) || strstr(said, fault.text));
    for (unsigned n = NODES; n-- > 0;) {
        CHECK(!baton_table_close(eps[n], tables[n][HOST]));
        CHECK(!baton_ep_close(eps[n]));
    }
    CHECK(!baton_cluster_close(cluster));
    bench_shared_destroy(shared);
}

int main(void)
{
    static const char *const names[BATON_OP_KINDS] = {"put", "get", "rcas", "rfaa"};
    char trial[80];
    for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k; k++) {
        unsigned all = 0;
        for (unsigned op = 0; op < BATON_OP_KINDS; op++) {
            unsigned missed = 0;
            for (uint64_t nth = 1; nth <= MOST && missed < 2; nth++) {
                snprintf(trial, sizeof(trial), "%s, %s number %u fails", (*k)->name, names[op],
                         (unsigned)nth);
                check_within(60, trial);
                rule = (struct baton_fault_rule){op, nth, -EACCES, 0};
                run(*k);
                all += fired;
                missed += !fired;
            }
        }
        printf("%s: %u faults\n", (*k)->name, all);
        CHECK(all >= MOST);
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * A counter that processes share: each of them is a node of a cluster on this machine, the counter
 * lies in the memory of one of them, and a lock keeps additions apart.
 *
 *     counter [PROCESSES [ADDITIONS]]       3 processes, 1000 additions each
 *
 * Here the processes are forked, so that one command shows all; started by hand in several terminals
 * they would find each other in the same way, by the cluster's name and the names "counter" and
 * "guard". Exit status 0 when no addition was lost.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <baton/lock.h>

#define PATIENCE_NS 10000000000u /* of a process for the one that makes counter and lock */

static unsigned long processes = 3, additions = 1000;
static char cluster_name[BATON_NAME_MAX + 1];

/* A guest: finds counter and lock by name, and adds through one-sided operations. */
static int guest(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct baton_table *table;
    struct baton_lock lock;
    struct baton_waiter *waiter = NULL;
    baton_gptr counter;
    (void)thread;
    (void)arg;
    int rc = baton_name_lookup(ep, "counter", baton_now(ep) + PATIENCE_NS, &counter);
    if (rc || (rc = baton_table_open(ep, "guard", baton_now(ep) + PATIENCE_NS, &table)))
        return rc;
    uint64_t *value = baton_ep_alloc(ep, sizeof(*value), 8);
    rc = value ? baton_waiter_open(ep, &waiter) : -ENOMEM;
    if (!rc)
        rc = baton_table_lock(table, 0, &lock);
    for (unsigned long i = 0; i < additions && !rc; i++) {
        if ((rc = baton_lock_acquire(&lock, ep, waiter)))
            break;
        baton_get(ep, value, counter, 8, 1);
        rc = baton_wait(ep, 1);
        /* Nobody waits for this put: release makes it visible to the next holder. */
        if (!rc)
            rc = baton_put64(ep, counter, *value + 1, 0);
        int released = baton_lock_release(&lock, ep, waiter);
        rc = rc ? rc : released;
    }
    if (waiter)
        baton_waiter_close(ep, waiter);
    int closed = baton_table_close(ep, table);
    return rc ? rc : closed;
}

/* The host: makes counter and lock, adds by CPU, and looks at the sum when the guests are gone. */
static int host(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct baton_table_opts opts = {.size = sizeof(opts), .kind = "merge", .count = 1};
    struct baton_table *table;
    struct baton_lock lock;
    struct baton_waiter *waiter;
    struct baton_node *node = baton_ep_node(ep);
    baton_gptr at;
    void *memory;
    (void)thread;
    int rc = baton_segment_create(node, 8, BATON_READ | BATON_WRITE, NULL, 0, &at);
    if (rc || (rc = baton_ptr(node, at, 8, &memory)) ||
        (rc = baton_table_create(ep, "guard", &opts, &table)))
        return rc;
    uint64_t *counter = memory;
    rc = baton_name_publish(node, "counter", at);
    if (!rc)
        rc = baton_waiter_open(ep, &waiter);
    if (!rc)
        rc = baton_table_lock(table, 0, &lock);
    for (unsigned long i = 0; i < additions && !rc; i++) {
        if ((rc = baton_lock_acquire(&lock, ep, waiter)))
            break;
        baton_store(ep, counter, baton_load(ep, counter) + 1);
        rc = baton_lock_release(&lock, ep, waiter);
    }
    int *failed = arg, status;
    while (wait(&status) > 0)
        *failed |= status;
    /* With the lock, since it is the lock that makes the last addition visible. */
    if (!rc && !(rc = baton_lock_acquire(&lock, ep, waiter))) {
        uint64_t sum = baton_load(ep, counter), expected = processes * additions;
        rc = baton_lock_release(&lock, ep, waiter);
        printf("%lu processes added %lu times each: %llu, expected %llu\n", processes, additions,
               (unsigned long long)sum, (unsigned long long)expected);
        *failed |= sum != expected;
        baton_waiter_close(ep, waiter);
    }
    int closed = baton_table_close(ep, table);
    return rc ? rc : closed;
}

static int process(baton_thread_fn body, int *failed)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    opts.fabric = "shm";
    opts.name = cluster_name;
    opts.nodes = (unsigned)processes;
    int rc = baton_cluster_open(&opts, &cluster);
    if (!rc) {
        struct baton_team team = {baton_node_index(baton_cluster_self(cluster)), 1, body, failed};
        rc = baton_run(cluster, &team, 1);
        int closed = baton_cluster_close(cluster);
        rc = rc ? rc : closed;
    }
    if (rc)
        fprintf(stderr, "counter: %s; %s\n", baton_strerror(rc), baton_error_detail());
    return rc != 0;
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc > 1)
        processes = strtoul(argv[1], NULL, 10);
    if (argc > 2)
        additions = strtoul(argv[2], NULL, 10);
    if (argc > 3 || processes < 1 || processes > 64 || additions < 1) {
        fprintf(stderr, "usage: counter [PROCESSES (1 to 64) [ADDITIONS]]\n");
        return 2;
    }
    snprintf(cluster_name, sizeof(cluster_name), "counter-%d", (int)getpid());
    /* Before any endpoint exists: those do not survive a fork. */
    for (unsigned long i = 1; i < processes; i++) {
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0)
            return process(guest, NULL);
    }
    int rc = process(host, &failed);
    return rc || failed;
}

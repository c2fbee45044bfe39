/* SPDX-License-Identifier: MIT */
/*
 * A user's program: knows the library only through what is installed. Takes a lock in far memory.
 * usage: consumer [FABRIC [CLUSTER]]
 */
#include <baton/fabric.h>
#include <baton/lock.h>

#include <stdio.h>

static int body(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct baton_table_opts opts = {.size = sizeof(opts), .kind = "merge", .count = 1};
    struct baton_table *table;
    struct baton_lock lock;
    struct baton_waiter *waiter;
    (void)thread;
    (void)arg;
    int rc = baton_table_create(ep, "consumer", &opts, &table);
    if (rc)
        return rc;
    rc = baton_table_lock(table, 0, &lock);
    if (!rc)
        rc = baton_waiter_open(ep, &waiter);
    if (!rc) {
        rc = baton_lock_acquire(&lock, ep, waiter);
        if (!rc)
            rc = baton_lock_release(&lock, ep, waiter);
        baton_waiter_close(ep, waiter);
    }
    int closed = baton_table_close(ep, table);
    return rc ? rc : closed;
}

int main(int argc, char **argv)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    opts.fabric = argc > 1 ? argv[1] : "shm";
    opts.name = argc > 2 ? argv[2] : "consumer";
    int rc = baton_cluster_open(&opts, &cluster);
    if (!rc) {
        struct baton_team team = {baton_node_index(baton_cluster_self(cluster)), 1, body, 0};
        rc = baton_run(cluster, &team, 1);
        int closed = baton_cluster_close(cluster);
        rc = rc ? rc : closed;
    }
    if (rc)
        fprintf(stderr, "%s %s\n", baton_strerror(rc), baton_error_detail());
    return rc != 0;
}

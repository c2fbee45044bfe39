/* SPDX-License-Identifier: MIT */
/*
 * A kind of lock of one's own: it is written on the fabric contract, registered, and then used and
 * measured like the library's kinds.
 *
 *     own_lock [FABRIC]       shm (default), step or sim
 *
 * The kind is a test-and-test-and-set lock: it looks at the word with a get and tries a rcas only
 * when the word looks free, so that waiters do not keep the NIC's atomic unit busy. Beside it runs
 * the library's `ts`, which tries at once. One of the round trips shown is the section's own. Exit
 * status 0 when neither lost an addition.
 */
#include <errno.h>
#include <stdio.h>

#include <baton/lock.h>

/* One word: 0 free, else the address of the holder's waiter. Only NICs change it. */
static unsigned own_words(const uint64_t *params, struct baton_words *out, unsigned max)
{
    out[0] = (struct baton_words){0, 0, 1, BATON_WORD_NIC_RMW, BATON_WORD_ADDRESS};
    return 1;
}

static int own_try(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *waiter,
                   struct baton_wait *wait)
{
    baton_get(ep, &waiter->result[0], lock->line, 8, BATON_WID_LOCK);
    int rc = baton_wait(ep, BATON_WID_LOCK); /* an error at post comes back here too */
    if (rc || waiter->result[0] != 0)
        return rc ? rc : -EBUSY;
    waiter->committed = 1; /* from here on a failure may leave the lock taken */
    int posted = baton_rcas(ep, &waiter->result[0], lock->line, 0, waiter->self, BATON_WID_LOCK);
    rc = baton_wait(ep, BATON_WID_LOCK);
    if (!rc && waiter->result[0] != 0)
        rc = -EBUSY;
    if (posted || rc == -EBUSY)
        waiter->committed = 0;
    return rc;
}

static int own_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter, struct baton_wait *wait)
{
    int rc;
    while ((rc = own_try(lock, ep, waiter, wait)) == -EBUSY)
        if ((rc = baton_relax(ep, wait))) /* ends when somebody has died, or at the deadline */
            return rc;
    return rc;
}

/* The rfence keeps the section's gets in; puts are ordered before the word by it as well. */
static int own_release(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter)
{
    baton_rfence(ep, lock->host);
    int rc = baton_put64(ep, lock->line, 0, BATON_WID_UNWAITED);
    int rung = baton_flush(ep);
    return rc ? rc : rung;
}

static const struct baton_lock_ops own = {
    .size = sizeof(struct baton_lock_ops),
    .name = "ttas",
    .summary = "looks before it tries; not fair",
    .caps = BATON_LOCK_TRY | BATON_LOCK_TRY_EXACT | BATON_LOCK_DEADLINE,
    .words = own_words,
    .acquire = own_acquire,
    .try_acquire = own_try,
    .release = own_release,
};

enum { NODES = 2, THREADS = 2, ROUNDS = 2000 };

static baton_gptr counter;
static struct baton_stats stats[NODES * THREADS];

static int contend(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct baton_table *table;
    struct baton_lock lock;
    struct baton_waiter *waiter;
    uint16_t host = 0;
    uint64_t *value = baton_ep_alloc(ep, sizeof(*value), 8);
    int rc = value ? baton_table_open(ep, arg, BATON_NEVER, &table) : -ENOMEM;
    if (rc || (rc = baton_waiter_open(ep, &waiter)) || (rc = baton_table_lock(table, 0, &lock)))
        return rc;
    for (int i = 0; i < ROUNDS && !(rc = baton_lock_acquire(&lock, ep, waiter)); i++) {
        baton_get(ep, value, counter, 8, 1);
        if (!(rc = baton_wait(ep, 1)))
            rc = baton_put64(ep, counter, *value + 1, 0);
        int released = baton_lock_release(&lock, ep, waiter);
        if (rc || (rc = released))
            break;
    }
    int complete = baton_gfence(ep, &host, 1); /* the sum is read by CPU, without the lock */
    baton_ep_stats(ep, &stats[baton_node_index(baton_ep_node(ep)) * THREADS + thread]);
    baton_waiter_close(ep, waiter);
    baton_table_close(ep, table);
    return rc ? rc : complete;
}

/* Everybody adds under one lock of that kind. 0 when the sum is right. */
static int measure(struct baton_cluster *cluster, const char *kind)
{
    struct baton_table_opts opts = {.size = sizeof(opts), .kind = kind, .count = 1};
    struct baton_team teams[NODES];
    struct baton_node *node = baton_cluster_node(cluster, 0);
    struct baton_table *table;
    struct baton_ep *ep;
    void *sum;
    for (unsigned n = 0; n < NODES; n++)
        teams[n] = (struct baton_team){n, THREADS, contend, (void *)kind};
    int rc = baton_segment_create(node, 8, BATON_READ | BATON_WRITE, NULL, 0, &counter);
    if (rc || (rc = baton_ptr(node, counter, 8, &sum)) || (rc = baton_ep_open(node, &ep)) ||
        (rc = baton_table_create(ep, kind, &opts, &table)))
        return rc;
    uint64_t begin = baton_now(ep), entries = NODES * THREADS * ROUNDS, trips = 0, atomics = 0;
    rc = baton_run(cluster, teams, NODES);
    uint64_t ns = baton_now(ep) - begin, got = baton_load(ep, sum);
    for (unsigned i = 0; i < NODES * THREADS; i++) {
        trips += stats[i].waited_round_trips;
        atomics += stats[i].ops[BATON_OP_RCAS];
    }
    printf("%-6s %llu of %llu additions; each took %.2f us, %.1f waited round trips, %.1f rcas\n",
           kind, (unsigned long long)got, (unsigned long long)entries, (double)ns / entries / 1e3,
           (double)trips / entries, (double)atomics / entries);
    baton_table_close(ep, table);
    baton_ep_close(ep);
    return rc ? rc : got == entries ? 0 : -ERANGE;
}

int main(int argc, char **argv)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    opts.fabric = argc > 1 ? argv[1] : "shm";
    opts.name = "own-lock";
    opts.nodes = opts.local = NODES; /* all nodes in this process: the kind is known to them all */
    int rc = baton_lock_register(&own);
    if (!rc && !(rc = baton_cluster_open(&opts, &cluster))) {
        if (!(rc = measure(cluster, "ts")))
            rc = measure(cluster, own.name);
        baton_cluster_close(cluster);
    }
    if (rc)
        fprintf(stderr, "own_lock: %s; %s\n", baton_strerror(rc), baton_error_detail());
    return rc != 0;
}

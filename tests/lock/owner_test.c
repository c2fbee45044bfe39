/* SPDX-License-Identifier: MIT */
/*
 * What is whose, where operations fail, for every kind of lock in the world `step`.
 *
 *   - The program's errors stay with the program: a lock call takes none of them away, makes no broken queue
 *     pair whole that the program has not heard of, and is not failed by what failed towards another node.
 *   - What a release has left on its way and was cancelled behind an operation of the program's that has
 *     failed is noticed, also when the program mends the queue pair before its next lock call: nobody waits
 *     for ever, and a reinit makes all well.
 *   - What one endpoint has lost says nothing of a release by another one, though it was by the same waiter.
 *   - A hint finds its way although the program has left the queue pair to the waiter's node broken.
 */
#include "check.h"

enum { HOST, WITH, FAR, DATA, NODES };
enum { ROUNDS = 6, SEEDS = 40 };

struct run {
    const char *kind;
    bool at_post; /* the program's error is one at post */
    bool to_far;  /* the program's operation goes to the node of the others, else to DATA */
    uint64_t ended, told;
    baton_gptr data; /* of the host */
};

struct part {
    struct baton_table *table;
    struct baton_lock lock;
    struct baton_waiter *waiter;
};

static void part_open(struct baton_ep *ep, struct part *p)
{
    CHECK_RC(baton_table_open(ep, "t", 0, &p->table), 0);
    CHECK_RC(baton_table_lock(p->table, 0, &p->lock), 0);
    CHECK_RC(baton_waiter_open(ep, &p->waiter), 0);
}

static void part_close(struct baton_ep *ep, struct part *p)
{
    struct baton_ep *other;
    CHECK_RC(baton_ep_open(baton_ep_node(ep), &other), 0);
    CHECK_RC(baton_table_close(other, p->table), 0);
    CHECK_RC(baton_ep_close(other), 0);
}

static int one_round(struct baton_ep *ep, struct part *p)
{
    int rc = baton_lock_acquire(&p->lock, ep, p->waiter);
    if (rc)
        return rc;
    baton_delay(ep, 2000);
    return baton_lock_release(&p->lock, ep, p->waiter);
}

static bool is_notice(int rc)
{
    return rc == -EOWNERDEAD || rc == -ENOTRECOVERABLE;
}

/* One of those who have done nothing wrong. */
static int other(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct run *run = arg;
    struct part p;
    int rc = 0;
    part_open(ep, &p);
    for (unsigned i = 0; i < ROUNDS && !rc; i++)
        rc = one_round(ep, &p);
    if (rc && !is_notice(rc)) {
        printf("%s: thread %u of node %u: %s\n", run->kind, thread, (unsigned)ep->node,
               baton_strerror(rc));
        CHECK(is_notice(rc));
    }
    run->told += rc != 0;
    run->ended++;
    (void)baton_waiter_close(ep, p.waiter);
    part_close(ep, &p);
    return 0;
}

/* Never memory of anybody. */
static void go_wrong(struct baton_ep *ep, unsigned node, bool at_post, baton_wid id)
{
    if (at_post)
        CHECK_RC(baton_put64(ep, baton_gptr_make(node, UINT64_C(1) << 40) + 1, 1, id), -EINVAL);
    else
        CHECK_RC(baton_put64(ep, baton_gptr_make(node, UINT64_C(1) << 40), 1, id), 0);
}

/* Collects its own error when all is over. */
static int keeper(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct run *run = arg;
    const uint16_t node = run->to_far ? FAR : DATA;
    struct part p;
    part_open(ep, &p);
    for (unsigned i = 0; i < ROUNDS; i++) {
        CHECK_RC(baton_lock_acquire(&p.lock, ep, p.waiter), 0);
        if (i == 1)
            go_wrong(ep, node, run->at_post, 0);
        baton_put64(ep, run->data, i, 0); /* which a local release has to settle */
        baton_delay(ep, 2000);
        CHECK_RC(baton_lock_release(&p.lock, ep, p.waiter), 0);
    }
    CHECK_RC(baton_waiter_close(ep, p.waiter), 0);
    CHECK(baton_ep_state(ep, node) == (run->at_post ? 0 : -EKEYREJECTED));
    CHECK_RC(baton_gfence(ep, &node, 1), run->at_post ? -EINVAL : -EKEYREJECTED);
    CHECK_RC(baton_gfence(ep, &node, 1), run->at_post ? 0 : -ENOTCONN);
    run->ended++;
    part_close(ep, &p);
    return 0;
}

/* Mends its queue pair before the lock has had an opportunity to look. */
static int mender(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct run *run = arg;
    struct part p;
    part_open(ep, &p);
    CHECK_RC(one_round(ep, &p), 0);
    CHECK_RC(baton_lock_acquire(&p.lock, ep, p.waiter), 0);
    go_wrong(ep, HOST, false, 1);
    int rc = baton_lock_release(&p.lock, ep, p.waiter);
    CHECK_RC(baton_wait(ep, 1), -EKEYREJECTED);
    CHECK_RC(baton_ep_reset(ep, HOST), 0);
    if (!rc)
        rc = one_round(ep, &p);
    if (!rc)
        rc = one_round(ep, &p);
    CHECK(rc && rc != -EDEADLK);
    run->ended++;
    (void)baton_waiter_close(ep, p.waiter);
    part_close(ep, &p);
    return 0;
}

static void run_once(struct run *run, baton_thread_fn fn, unsigned node, uint64_t seed)
{
    struct baton_cluster *cluster = check_step(NODES, seed, seed & 1 ? BATON_CLUSTER_SWAP : 0);
    struct baton_table_opts opts = check_table(run->kind, 1);
    struct part p;
    struct baton_ep *ep;
    run->ended = run->told = 0;
    CHECK_RC(baton_ep_open(baton_cluster_node(cluster, HOST), &ep), 0);
    CHECK_RC(baton_segment_create(baton_cluster_node(cluster, HOST), 8, BATON_READ | BATON_WRITE,
                                  NULL, 0, &run->data),
             0);
    CHECK_RC(baton_table_create(ep, "t", &opts, &p.table), 0);
    struct baton_team teams[] = {{node, 1, fn, run}, {HOST, 1, other, run}, {FAR, 5, other, run}};
    CHECK_RC(baton_run(cluster, teams, 3), 0);
    CHECK(run->ended == 7);

    CHECK_RC(baton_table_reinit(ep, p.table), 0);
    CHECK_RC(baton_table_lock(p.table, 0, &p.lock), 0);
    CHECK_RC(baton_waiter_open(ep, &p.waiter), 0);
    CHECK_RC(one_round(ep, &p), 0);
    CHECK_RC(baton_waiter_close(ep, p.waiter), 0);
    CHECK_RC(baton_table_close(ep, p.table), 0);
    CHECK_RC(baton_ep_close(ep), 0);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

static void other_endpoint(const char *kind)
{
    struct baton_cluster *cluster = check_step(NODES, 1, 0);
    struct baton_table_opts opts = check_table(kind, 1);
    struct baton_table *table;
    struct baton_ep *host, *ep[2];
    struct part p;
    CHECK_RC(baton_ep_open(baton_cluster_node(cluster, HOST), &host), 0);
    CHECK_RC(baton_table_create(host, "t", &opts, &table), 0);
    for (unsigned i = 0; i < 2; i++)
        CHECK_RC(baton_ep_open(baton_cluster_node(cluster, WITH), &ep[i]), 0);
    part_open(ep[0], &p);
    CHECK_RC(baton_lock_acquire(&p.lock, ep[0], p.waiter), 0);
    go_wrong(ep[0], HOST, false, 1);
    (void)baton_lock_release(&p.lock, ep[0], p.waiter);
    CHECK_RC(baton_wait(ep[0], 1), -EKEYREJECTED);
    (void)baton_waiter_close(ep[0], p.waiter);
    CHECK_RC(baton_ep_reset(ep[0], HOST), 0);
    CHECK_RC(baton_table_reinit(host, table), 0);
    CHECK_RC(baton_table_reinit(ep[0], p.table), 0);

    CHECK_RC(baton_waiter_open(ep[0], &p.waiter), 0);
    for (unsigned i = 0; i < 4; i++) /* by one and the other */
        CHECK_RC(one_round(ep[i & 1], &p), 0);
    CHECK_RC(baton_waiter_close(ep[0], p.waiter), 0);
    part_close(ep[0], &p);
    for (unsigned i = 0; i < 2; i++)
        (void)baton_ep_close(ep[i]);
    CHECK_RC(baton_table_close(host, table), 0);
    CHECK_RC(baton_ep_close(host), 0);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

int main(void)
{
    for (const struct baton_lock_ops *const *kind = baton_lock_kinds(); *kind; kind++) {
        struct run run = {.kind = (*kind)->name};
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            for (unsigned i = 0; i < 4; i++) {
                run.at_post = i & 1;
                run_once(&run, keeper, i & 2 ? HOST : WITH, seed);
                CHECK(!run.told);
            }
            run_once(&run, mender, WITH, seed);
        }
        other_endpoint(run.kind);
        printf("%s: errors stay with whose they are\n", run.kind);
    }
    struct run run = {.kind = "merge", .to_far = true};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_once(&run, keeper, WITH, seed);
        CHECK(!run.told);
    }
    printf("merge: hints find another way\n");
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Lock tables, one thread at a time, and in the world `step` but for one case: what is refused, how a table is
 * found and ends, that a failed try of the exact kinds changes no byte of the segment, that 100,000 locks fit in
 * one table, that a failed operation marks the table for everybody, and that one reinit makes it whole with
 * tokens that go on rising. That what a device does to words is asked of the one that they are at. That a table
 * that has ended is an error on its host too, and that a close leaves no entry of its node behind. That
 * a look that finds nothing new needs no room.
 */
#include <unistd.h>

#include "check.h"
#include "fabric/world.h"
#include "lock/table.h"

struct side {
    struct baton_ep *ep;
    struct baton_waiter *waiter;
    struct baton_table *table;
    struct baton_lock lock;
};

static struct side open_side(struct baton_cluster *cluster, unsigned node, const char *name)
{
    struct side s;
    CHECK_RC(baton_ep_open(baton_cluster_node(cluster, node), &s.ep), 0);
    CHECK_RC(baton_waiter_open(s.ep, &s.waiter), 0);
    s.table = NULL;
    if (name) {
        CHECK_RC(baton_table_open(s.ep, name, 0, &s.table), 0);
        CHECK_RC(baton_table_lock(s.table, 0, &s.lock), 0);
    }
    return s;
}

static void close_side(struct side *s)
{
    if (s->table)
        CHECK_RC(baton_table_close(s->ep, s->table), 0);
    CHECK_RC(baton_waiter_close(s->ep, s->waiter), 0);
    CHECK_RC(baton_ep_close(s->ep), 0);
}

/* The host's side of a new table of that kind. */
static struct side make_side(struct baton_cluster *cluster, const char *name, const char *kind,
                             uint64_t count)
{
    struct side s = open_side(cluster, 0, NULL);
    struct baton_table_opts opts = check_table(kind, count);
    CHECK_RC(baton_table_create(s.ep, name, &opts, &s.table), 0);
    CHECK_RC(baton_table_lock(s.table, 0, &s.lock), 0);
    return s;
}

static void refusals(void)
{
    struct baton_cluster *cluster = check_step(2, 1, 0);
    struct side s = make_side(cluster, "taken", "mcs", 3);
    struct baton_table *table = NULL;
    struct baton_lock lock;
    uint64_t params[BATON_LOCK_PARAMS_MAX] = {0, 5};

    struct baton_table_opts opts = check_table("nonesuch", 1);
    CHECK_RC(baton_table_create(s.ep, "x", &opts, &table), -ENOENT);
    CHECK(strstr(baton_error_detail(), "alock"));
    opts = check_table(NULL, 1);
    CHECK_RC(baton_table_create(s.ep, "x", &opts, &table), -ENOENT);
    opts = check_table("mcs", 0);
    CHECK_RC(baton_table_create(s.ep, "x", &opts, &table), -EINVAL);
    opts = check_table("mcs", UINT64_MAX / 64);
    CHECK_RC(baton_table_create(s.ep, "x", &opts, &table), -EINVAL);
    opts = check_table("mcs", 1);
    opts.size--;
    CHECK_RC(baton_table_create(s.ep, "x", &opts, &table), -EINVAL);
    CHECK_RC(baton_table_create(s.ep, "x", NULL, &table), -EINVAL);
    opts = check_table("alock", 1);
    opts.params = params;
    CHECK_RC(baton_table_create(s.ep, "x", &opts, &table), -EINVAL);
    opts = check_table("mcs", 1);
    CHECK_RC(baton_table_create(s.ep, NULL, &opts, &table), -EINVAL);
    CHECK_RC(baton_table_open(s.ep, NULL, 0, &table), -EINVAL);
    CHECK(!baton_lock_kind(NULL) && baton_fabric_unavailable(NULL));
    CHECK_RC(baton_name_publish(baton_ep_node(s.ep), NULL, s.lock.line), -EINVAL);
    CHECK_RC(baton_name_withdraw(baton_ep_node(s.ep), NULL), -EINVAL);
    CHECK_RC(baton_table_create(s.ep, "", &opts, &table), -EINVAL);
    CHECK_RC(baton_table_create(s.ep, "a name of more than forty-seven characters, too long", &opts,
                                &table),
             -EINVAL);
    CHECK_RC(baton_table_create(s.ep, "taken", &opts, &table), -EEXIST);

    CHECK_RC(baton_table_open(s.ep, "x", 0, &table), -ENOENT);
    CHECK_RC(baton_table_open(s.ep, "x", baton_now(s.ep) + 1000, &table), -ETIMEDOUT);
    baton_gptr other;
    CHECK_RC(baton_segment_create(baton_ep_node(s.ep), 4096, BATON_READ, NULL, 0, &other), 0);
    CHECK_RC(baton_name_publish(baton_ep_node(s.ep), "no-table", other), 0);
    CHECK_RC(baton_table_open(s.ep, "no-table", 0, &table), -EINVAL);
    CHECK(!table);

    CHECK(baton_table_count(s.table) == 3 && baton_table_host(s.table) == 0);
    CHECK(baton_table_kind(s.table) == baton_lock_kind("mcs"));
    CHECK_RC(baton_table_lock(s.table, 2, &lock), 0);
    CHECK_RC(baton_table_lock(s.table, 3, &lock), -ERANGE);
    close_side(&s);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

static void misuse(void)
{
    struct baton_cluster *cluster = check_step(2, 1, 0);
    struct side host = make_side(cluster, "t", "mcs", 2), far = open_side(cluster, 1, "t");
    struct baton_lock second;
    CHECK_RC(baton_table_lock(host.table, 1, &second), 0);

    CHECK_RC(baton_lock_release(&host.lock, host.ep, host.waiter), -EINVAL);
    CHECK_RC(baton_lock_acquire(&host.lock, host.ep, host.waiter), 0);
    CHECK_RC(baton_lock_acquire(&second, host.ep, host.waiter), -EINVAL);
    CHECK_RC(baton_lock_try(&host.lock, host.ep, host.waiter), -EINVAL);
    CHECK_RC(baton_lock_release(&second, host.ep, host.waiter), -EINVAL);
    CHECK_RC(baton_waiter_close(host.ep, host.waiter), -EBUSY);
    CHECK_RC(baton_lock_release(&host.lock, host.ep, host.waiter), 0);
    CHECK_RC(baton_lock_release(&host.lock, host.ep, host.waiter), -EINVAL);

    CHECK_RC(baton_lock_acquire(&host.lock, far.ep, far.waiter), -EINVAL);
    CHECK_RC(baton_lock_acquire(&host.lock, host.ep, far.waiter), -EINVAL);
    CHECK_RC(baton_lock_acquire(&far.lock, host.ep, host.waiter), -EINVAL);
    CHECK_RC(baton_table_close(host.ep, far.table), -EINVAL);
    CHECK_RC(baton_lock_acquire_until(&far.lock, far.ep, far.waiter, BATON_NEVER), -EOPNOTSUPP);

    CHECK_RC(baton_lock_acquire(&far.lock, far.ep, far.waiter), 0);
    CHECK_RC(baton_lock_release(&far.lock, far.ep, far.waiter), 0);
    close_side(&far);
    close_side(&host);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

/* The maker's call ends a table: its name is free, and what others still have of it is an error. */
static void ending(void)
{
    struct baton_cluster *cluster = check_step(2, 1, 0);
    struct side host = make_side(cluster, "t", "ticket", 1), far = open_side(cluster, 1, "t");
    struct side again = open_side(cluster, 1, "t");
    CHECK_RC(baton_lock_acquire(&far.lock, far.ep, far.waiter), 0);
    CHECK_RC(baton_lock_release(&far.lock, far.ep, far.waiter), 0);
    close_side(&again);
    CHECK_RC(baton_lock_acquire(&far.lock, far.ep, far.waiter), 0);
    CHECK_RC(baton_lock_release(&far.lock, far.ep, far.waiter), 0);
    close_side(&host);

    CHECK_RC(baton_lock_acquire(&far.lock, far.ep, far.waiter), -EKEYREJECTED);
    struct baton_table *table;
    CHECK_RC(baton_table_open(far.ep, "t", 0, &table), -ENOENT);
    struct side next = make_side(cluster, "t", "mcs", 1);
    close_side(&next);
    CHECK_RC(baton_table_close(far.ep, far.table), 0);
    (void)baton_waiter_close(far.ep, far.waiter);
    (void)baton_ep_close(far.ep);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

/* Host and user have different devices: `host`, `user`: whether words are never torn there. */
static void devices(bool host, bool user)
{
    struct baton_cluster *cluster = check_step(2, 1, 0);
    struct baton_table *table;
    struct baton_stats before, after;
    cluster->caps.word_atomic = host;
    cluster->caps.torn_allowed = true;
    struct side maker = make_side(cluster, "t", "ts", 1);
    cluster->caps.word_atomic = user;
    struct side far = open_side(cluster, 1, "t");
    CHECK_RC(baton_lock_acquire(&far.lock, far.ep, far.waiter), 0);
    baton_ep_stats(far.ep, &before);
    CHECK_RC(baton_lock_release(&far.lock, far.ep, far.waiter), 0);
    baton_ep_stats(far.ep, &after);
    /* A put may be undone by another's rcas, there where words may be torn. */
    CHECK(after.ops[BATON_OP_PUT] - before.ops[BATON_OP_PUT] == host);
    CHECK(after.ops[BATON_OP_RFAA] - before.ops[BATON_OP_RFAA] == !host);

    cluster->caps.torn_allowed = false;
    CHECK_RC(baton_table_open(far.ep, "t", 0, &table), -EOPNOTSUPP);
    CHECK(strstr(baton_error_detail(), user ? "its host" : "this node"));
    close_side(&far);
    close_side(&maker);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

/* The whole segment of the table, header included. */
static void *segment(struct side *host, const char *name, size_t bytes)
{
    baton_gptr base;
    void *memory;
    CHECK_RC(baton_name_lookup(host->ep, name, 0, &base), 0);
    CHECK_RC(baton_ptr(baton_ep_node(host->ep), base, bytes, &memory), 0);
    return memory;
}

/* In the middle of the maker's close: the state says so (4, see src/lock/table.c), and the memory is still there. */
static void while_it_ends(void)
{
    struct baton_cluster *cluster = check_step(2, 1, 0);
    struct side host = make_side(cluster, "t", "mcs", 1), far = open_side(cluster, 1, "t");
    struct baton_table *table;
    uint64_t *state = (uint64_t *)segment(&host, "t", 4096) + BATON_TABLE_AT_STATE;
    const uint64_t healthy = *state;
    *state = 4;
    CHECK_RC(baton_table_open(far.ep, "t", 0, &table), -EKEYREJECTED);
    CHECK(strstr(baton_error_detail(), "closed"));
    CHECK_RC(baton_table_reinit(far.ep, far.table), -EKEYREJECTED);
    CHECK(strstr(baton_error_detail(), "closed"));
    CHECK(*state == 4);
    *state = healthy;
    close_side(&far);
    close_side(&host);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

/* Other handles of the host, one of them with a lock in hand, when the maker closes the table. */
static void ending_on_the_host(const char *kind)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    char name[40];
    snprintf(name, sizeof name, "lock-table-test-%d", (int)getpid());
    opts.name = name;
    opts.nodes = 1;
    CHECK_RC(baton_cluster_open(&opts, &cluster), 0);
    struct side maker = make_side(cluster, "t", kind, 2), other = open_side(cluster, 0, "t");
    struct side elsewhere = make_side(cluster, "u", kind, 1), holder = open_side(cluster, 0, "t");
    CHECK_RC(baton_lock_acquire(&other.lock, other.ep, other.waiter), 0);
    CHECK_RC(baton_lock_release(&other.lock, other.ep, other.waiter), 0);
    CHECK_RC(baton_lock_acquire(&holder.lock, holder.ep, holder.waiter), 0);
    close_side(&maker);

    for (unsigned i = 0; i < 2; i++) {
        CHECK_RC(baton_lock_acquire(&other.lock, other.ep, other.waiter), -EKEYREJECTED);
        if (baton_table_kind(other.table)->caps & BATON_LOCK_TRY)
            CHECK_RC(baton_lock_try(&other.lock, other.ep, other.waiter), -EKEYREJECTED);
        CHECK_RC(baton_table_reinit(other.ep, other.table), -EKEYREJECTED);
        CHECK(strstr(baton_error_detail(), "closed"));
    }
    CHECK_RC(baton_lock_release(&holder.lock, holder.ep, holder.waiter), -EKEYREJECTED);
    CHECK_RC(baton_lock_release(&holder.lock, holder.ep, holder.waiter), -EINVAL);
    CHECK_RC(baton_lock_acquire(&elsewhere.lock, elsewhere.ep, elsewhere.waiter), 0);
    CHECK_RC(baton_lock_release(&elsewhere.lock, elsewhere.ep, elsewhere.waiter), 0);
    close_side(&holder);
    close_side(&elsewhere);
    CHECK_RC(baton_waiter_close(other.ep, other.waiter), 0);
    CHECK_RC(baton_table_close(other.ep, other.table), 0);
    (void)baton_ep_close(other.ep);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

/*
 * Who has closed its handle takes no part: also when its queue pair towards the host is broken, breaks by what
 * stands before the close, or when the arena is full.
 */
static void leaving(void)
{
    const baton_gptr nowhere = baton_gptr_make(0, UINT64_C(1) << 40);
    struct baton_cluster *cluster = check_step(2, 1, 0);
    struct side host = make_side(cluster, "t", "merge", 1);
    const uint64_t *attach = (uint64_t *)segment(&host, "t", 4096) + BATON_TABLE_AT_ATTACH + 1;
    for (unsigned how = 0; how < 3; how++) {
        struct side far = open_side(cluster, 1, "t"), more = open_side(cluster, 1, "t");
        CHECK((*attach & 0xfffff) == 2);
        if (how < 2)
            CHECK_RC(baton_put64(far.ep, nowhere, 1, 1), 0);
        if (how == 0)
            CHECK_RC(baton_wait(far.ep, 1), -EKEYREJECTED);
        while (how == 2 && baton_ep_alloc(far.ep, 8, 8))
            ;
        CHECK_RC(baton_table_close(far.ep, far.table), 0);
        CHECK((*attach & 0xfffff) == 1);
        /* What was the program's error is still. */
        if (how == 1)
            CHECK_RC(baton_wait(far.ep, 1), -EKEYREJECTED);
        CHECK_RC(baton_ep_state(far.ep, 0), how < 2 ? -EKEYREJECTED : 0);
        far.table = NULL;
        close_side(&far);
        close_side(&more);
        CHECK(*attach == 0);
    }
    close_side(&host);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

/* A reinit that has nothing to do needs no room, however often it is called. */
static void looking(void)
{
    struct baton_cluster *cluster = check_step(2, 1, 0);
    struct side host = make_side(cluster, "t", "merge", 1), far = open_side(cluster, 1, "t");
    for (unsigned i = 0; i < 10000; i++) {
        CHECK_RC(baton_table_reinit(host.ep, host.table), 0);
        CHECK_RC(baton_table_reinit(far.ep, far.table), 0);
    }
    close_side(&far);
    close_side(&host);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

static void trying(void)
{
    enum { BYTES = 4096 + 64 };
    for (const struct baton_lock_ops *const *kind = baton_lock_kinds(); *kind; kind++) {
        if (!((*kind)->caps & BATON_LOCK_TRY))
            continue;
        for (unsigned holder = 0; holder < 2; holder++) {
            struct baton_cluster *cluster = check_step(2, 1, 0);
            struct side side[2];
            char before[BYTES];
            side[0] = make_side(cluster, "t", (*kind)->name, 1);
            side[1] = open_side(cluster, 1, "t");
            struct side *a = &side[holder], *b = &side[!holder];
            char *memory = segment(&side[0], "t", BYTES);

            CHECK_RC(baton_lock_try(&a->lock, a->ep, a->waiter), 0);
            memcpy(before, memory, BYTES);
            for (unsigned i = 0; i < 3; i++)
                CHECK_RC(baton_lock_try(&b->lock, b->ep, b->waiter), -EBUSY);
            /* The kinds that are not exact promise it too for a lock that looks held. */
            CHECK(!memcmp(before, memory, BYTES));
            CHECK_RC(baton_lock_release(&a->lock, a->ep, a->waiter), 0);
            CHECK_RC(baton_wait_all(a->ep), 0);
            uint16_t host = 0;
            CHECK_RC(baton_gfence(a->ep, &host, 1), 0);
            CHECK_RC(baton_lock_try(&b->lock, b->ep, b->waiter), 0);
            CHECK_RC(baton_lock_release(&b->lock, b->ep, b->waiter), 0);
            close_side(&side[1]);
            close_side(&side[0]);
            CHECK_RC(baton_cluster_close(cluster), 0);
        }
    }
}

/* A ts lock that is held all the time: the deadline is kept, and the lock is as good as before. */
static int late_body(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct side s = {.ep = ep};
    CHECK_RC(baton_table_open(ep, "t", 0, &s.table), 0);
    CHECK_RC(baton_table_lock(s.table, 0, &s.lock), 0);
    CHECK_RC(baton_waiter_open(ep, &s.waiter), 0);
    uint64_t begin = baton_now(ep);
    CHECK_RC(baton_lock_acquire_until(&s.lock, ep, s.waiter, begin + 100000), -ETIMEDOUT);
    CHECK(baton_now(ep) >= begin + 100000);
    CHECK_RC(baton_waiter_close(ep, s.waiter), 0);
    return baton_table_close(ep, s.table);
}

static void deadline(void)
{
    struct baton_cluster *cluster = check_step(2, 1, 0);
    struct side host = make_side(cluster, "t", "ts", 1), far = open_side(cluster, 1, "t");
    struct baton_team team = {1, 1, late_body, NULL};
    CHECK_RC(baton_lock_acquire(&host.lock, host.ep, host.waiter), 0);
    CHECK_RC(baton_run(cluster, &team, 1), 0);
    CHECK_RC(baton_lock_release(&host.lock, host.ep, host.waiter), 0);
    CHECK_RC(baton_lock_acquire_until(&far.lock, far.ep, far.waiter, BATON_NEVER), 0);
    CHECK_RC(baton_lock_release(&far.lock, far.ep, far.waiter), 0);
    close_side(&far);
    close_side(&host);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

static void many(void)
{
    enum { K = 100000 };
    struct baton_cluster *cluster = check_step(2, 1, 0);
    struct side host = make_side(cluster, "t", "mcs", K), far = open_side(cluster, 1, "t");
    struct baton_lock near_lock, far_lock;
    baton_gptr last = 0;
    for (uint64_t i = 0; i < K; i++) {
        CHECK_RC(baton_table_lock(host.table, i, &near_lock), 0);
        CHECK_RC(baton_table_lock(far.table, i, &far_lock), 0);
        CHECK(near_lock.line == far_lock.line && near_lock.line % 64 == 0);
        CHECK(i == 0 || near_lock.line == last + 64);
        last = near_lock.line;
        if (i % 97 && i != K - 1)
            continue;
        CHECK_RC(baton_lock_acquire(&far_lock, far.ep, far.waiter), 0);
        CHECK_RC(baton_lock_try(&near_lock, host.ep, host.waiter), -EBUSY);
        CHECK_RC(baton_lock_release(&far_lock, far.ep, far.waiter), 0);
    }
    close_side(&far);
    close_side(&host);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

/* An acquire whose operation fails, with the lock free: nobody waits, but nobody can go on either. */
static void failing(const char *kind)
{
    struct baton_cluster *cluster = check_step(3, 1, 0);
    struct side host = make_side(cluster, "t", kind, 300), far = open_side(cluster, 1, "t"),
                third = open_side(cluster, 2, "t");
    struct baton_fault_rule rule = {BATON_OP_RCAS, 1, -EACCES, 0};
    bool token = baton_lock_kind(kind)->caps & BATON_LOCK_TOKEN;

    CHECK_RC(baton_table_reinit(far.ep, far.table), 0);
    CHECK_RC(baton_lock_acquire(&third.lock, third.ep, third.waiter), 0);
    uint64_t before = baton_lock_token(third.waiter);
    CHECK_RC(baton_lock_release(&third.lock, third.ep, third.waiter), 0);
    CHECK((before != 0) == token);

    rule.kind = token ? BATON_OP_RFAA : BATON_OP_RCAS;
    CHECK_RC(baton_ep_faults(far.ep, &rule, 1), 0);
    CHECK_RC(baton_lock_acquire(&far.lock, far.ep, far.waiter), -EACCES);
    CHECK_RC(baton_ep_state(far.ep, 0), -EACCES);
    CHECK_RC(baton_lock_acquire(&far.lock, far.ep, far.waiter), -EINVAL); /* spent */
    CHECK_RC(baton_waiter_close(far.ep, far.waiter), 0);
    CHECK_RC(baton_waiter_open(far.ep, &far.waiter), 0);
    CHECK_RC(baton_ep_reset(far.ep, 0), 0);
    CHECK_RC(baton_lock_acquire(&far.lock, far.ep, far.waiter), -ENOTRECOVERABLE);

    /* Whoever opens it now sees the mark at once, and may repair it. */
    struct side late = open_side(cluster, 2, "t");
    CHECK_RC(baton_lock_acquire(&late.lock, late.ep, late.waiter), -ENOTRECOVERABLE);
    CHECK_RC(baton_table_reinit(late.ep, late.table), 0);
    CHECK_RC(baton_table_reinit(late.ep, late.table), 0);
    CHECK_RC(baton_table_reinit(far.ep, far.table), 0);

    /* Handles of before the repair work on; tokens have gone on. */
    struct side *sides[] = {&late, &far, &third, &host};
    for (unsigned i = 0; i < 4; i++) {
        struct baton_lock last;
        struct side *s = sides[i];
        CHECK_RC(baton_table_lock(s->table, 299, &last), 0);
        CHECK_RC(baton_lock_acquire(&last, s->ep, s->waiter), 0);
        CHECK_RC(baton_lock_release(&last, s->ep, s->waiter), 0);
        CHECK_RC(baton_lock_acquire(&s->lock, s->ep, s->waiter), 0);
        CHECK(!token || baton_lock_token(s->waiter) > before);
        before = baton_lock_token(s->waiter);
        CHECK_RC(baton_lock_release(&s->lock, s->ep, s->waiter), 0);
    }
    close_side(&late);
    close_side(&third);
    close_side(&far);
    close_side(&host);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

/* A holder that has missed a repair must not write into a lock that belongs to others by now. */
static void holding_over_a_repair(void)
{
    struct baton_cluster *cluster = check_step(2, 1, 0);
    struct side host = make_side(cluster, "t", "ticket", 2), far = open_side(cluster, 1, "t");
    struct side other = open_side(cluster, 1, "t");
    struct baton_fault_rule rule = {BATON_OP_RFAA, 1, -EACCES, 0};
    struct baton_lock second;

    CHECK_RC(baton_lock_acquire(&host.lock, host.ep, host.waiter), 0);
    CHECK_RC(baton_table_lock(far.table, 1, &second), 0);
    CHECK_RC(baton_ep_faults(far.ep, &rule, 1), 0);
    CHECK_RC(baton_lock_acquire(&second, far.ep, far.waiter), -EACCES);
    CHECK_RC(baton_table_reinit(host.ep, host.table), 0);

    CHECK_RC(baton_lock_acquire(&other.lock, other.ep, other.waiter), 0);
    CHECK_RC(baton_lock_release(&host.lock, host.ep, host.waiter), -EOWNERDEAD);
    CHECK_RC(baton_lock_try(&host.lock, host.ep, host.waiter), -EINVAL); /* spent */
    CHECK_RC(baton_waiter_close(host.ep, host.waiter), 0);
    CHECK_RC(baton_waiter_open(host.ep, &host.waiter), 0);
    CHECK_RC(baton_lock_try(&host.lock, host.ep, host.waiter), -EBUSY);
    CHECK_RC(baton_lock_release(&other.lock, other.ep, other.waiter), 0);

    CHECK_RC(baton_waiter_close(far.ep, far.waiter), 0);
    CHECK_RC(baton_waiter_open(far.ep, &far.waiter), 0);
    CHECK_RC(baton_ep_reset(far.ep, 0), 0);
    close_side(&other);
    close_side(&far);
    close_side(&host);
    CHECK_RC(baton_cluster_close(cluster), 0);
}

int main(void)
{
    refusals();
    misuse();
    ending();
    while_it_ends();
    for (const struct baton_lock_ops *const *kind = baton_lock_kinds(); *kind; kind++)
        ending_on_the_host((*kind)->name);
    leaving();
    looking();
    trying();
    deadline();
    many();
    devices(true, false);
    devices(false, true);
    failing("ts");
    failing("mcs");
    failing("ticket");
    failing("alock");
    holding_over_a_repair();
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Cases: what the calls of lock.h promise when nobody competes: misuse, tables, waiters, tries, deadlines,
 * and the costs of each kind in waited round trips and operations.
 */
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

/* A table on node 1, and two endpoints that see it from afar and from its host. */
struct bench {
    struct baton_cluster *cluster;
    struct baton_ep *ep[2]; /* 0 remote, 1 on the host */
    struct baton_table *made, *table[2];
    struct baton_lock lock[2];
    struct baton_waiter *waiter[2];
    uint64_t *line; /* of lock 0, by CPU */
    size_t line_bytes;
};

static int bench_open(const struct conf *c, struct bench *b, uint64_t count)
{
    struct baton_table_opts opts = {sizeof(opts), c->kind->name, count, NULL, 0};
    OK(conf_open(c, 2, c->seed, &b->cluster));
    for (unsigned n = 0; n < 2; n++)
        OK(baton_ep_open(baton_cluster_node(b->cluster, n), &b->ep[n]));
    OK(baton_table_create(b->ep[1], "t", &opts, &b->made));
    for (unsigned n = 0; n < 2; n++) {
        OK(baton_table_open(b->ep[n], "t", BATON_NEVER, &b->table[n]));
        OK(baton_table_lock(b->table[n], 0, &b->lock[n]));
        OK(baton_waiter_open(b->ep[n], &b->waiter[n]));
    }
    void *line;
    b->line_bytes = c->kind->line_bytes ? c->kind->line_bytes(baton_table_params(b->made)) : 64;
    OK(baton_ptr(baton_cluster_node(b->cluster, 1), b->lock[0].line, b->line_bytes, &line));
    b->line = line;
    return 0;
}

static int bench_close(struct bench *b)
{
    for (unsigned n = 0; n < 2; n++) {
        OK(baton_waiter_close(b->ep[n], b->waiter[n]));
        OK(baton_table_close(b->ep[n], b->table[n]));
    }
    OK(baton_table_close(b->ep[1], b->made));
    for (unsigned n = 0; n < 2; n++)
        OK(baton_ep_close(b->ep[n]));
    return baton_cluster_close(b->cluster);
}

/* A remote release is not visible at once: the endpoint's gfence is. */
static int quiet(struct bench *b)
{
    for (unsigned n = 0; n < 2; n++)
        OK(baton_gfence(b->ep[n], (const uint16_t[]){0, 1}, 2));
    return 0;
}

static int take_and_leave(struct bench *b, unsigned n)
{
    OK(baton_lock_acquire(&b->lock[n], b->ep[n], b->waiter[n]));
    return baton_lock_release(&b->lock[n], b->ep[n], b->waiter[n]);
}

/* ---- Misuse */

static int case_misuse(struct conf *c)
{
    struct bench b;
    struct baton_lock other, none = {0};
    struct baton_waiter *second;
    OK(bench_open(c, &b, 2));
    EQUAL(baton_table_lock(b.table[0], 2, &none), -ERANGE);
    EQUAL(baton_table_lock(b.table[0], UINT64_MAX, &none), -ERANGE);
    CHECK(!none.ops);
    EQUAL(b.lock[0].host, 1);
    EQUAL(b.lock[0].node, 0);
    CHECK(!b.lock[0].local);
    CHECK(b.lock[1].local == b.line);
    CHECK(baton_table_kind(b.table[0]) == c->kind);
    EQUAL(baton_table_count(b.table[0]), 2);
    EQUAL(baton_table_host(b.table[0]), 1);
    OK(baton_table_lock(b.table[0], 1, &other));
    CHECK(other.line >= b.lock[0].line + b.line_bytes);
    for (unsigned n = 0; n < 2; n++) {
        struct baton_lock *l = &b.lock[n];
        struct baton_ep *ep = b.ep[n];
        struct baton_waiter *w = b.waiter[n];
        OK(quiet(&b));
        EQUAL(baton_lock_grant(ep, w, baton_gptr_make(BATON_NODES_MAX - 1, 64), 1), -ERANGE);
        EQUAL(baton_lock_release(l, ep, w), -EINVAL); /* does not hold it */
        OK(baton_lock_acquire(l, ep, w));
        EQUAL(baton_lock_acquire(l, ep, w), -EINVAL); /* holds one already */
        EQUAL(baton_lock_try(l, ep, w), -EINVAL);
        int until = baton_lock_acquire_until(l, ep, w, BATON_NEVER);
        CHECK(until == -EINVAL || (until == -EOPNOTSUPP && !(c->kind->caps & BATON_LOCK_DEADLINE)));
        EQUAL(baton_waiter_close(ep, w), -EBUSY);
        OK(baton_waiter_open(ep, &second));
        EQUAL(baton_lock_release(l, ep, second), -EINVAL); /* another's */
        if (!n) {
            EQUAL(baton_lock_acquire(&other, ep, w), -EINVAL);
            EQUAL(baton_lock_release(&other, ep, w), -EINVAL);
            OK(baton_lock_acquire(&other, ep, second)); /* one waiter for each lock held */
            OK(baton_lock_release(l, ep, w));
            OK(baton_lock_release(&other, ep, second));
            OK(baton_lock_acquire(l, ep, w));
        }
        /* Endpoint, waiter and handle are of one node. */
        EQUAL(baton_lock_acquire(&b.lock[1 - n], ep, second), -EINVAL);
        EQUAL(baton_lock_acquire(l, b.ep[1 - n], second), -EINVAL);
        EQUAL(baton_lock_release(l, b.ep[1 - n], w), -EINVAL);
        EQUAL(baton_lock_try(l, b.ep[1 - n], second), -EINVAL);
        OK(baton_lock_release(l, ep, w));
        EQUAL(baton_lock_release(l, ep, w), -EINVAL);
        OK(baton_waiter_close(ep, second));
    }
    /* Nothing of this has left a trace. */
    for (unsigned n = 0; n < 2; n++) {
        OK(quiet(&b));
        OK(take_and_leave(&b, n));
    }
    OK(bench_close(&b));
    return 0;
}

/* ---- Kinds and tables */

static int case_kinds(struct conf *c)
{
    uint64_t params[BATON_LOCK_PARAMS_MAX];
    char setting[80];
    CHECK(baton_lock_kind(c->kind->name) == c->kind);
    CHECK(!baton_lock_kind("no such kind"));
    EQUAL(baton_lock_register(c->kind), -EEXIST);
    struct baton_lock_ops half = {.size = sizeof(half), .name = "half"};
    EQUAL(baton_lock_register(&half), -EINVAL);
    half = *c->kind;
    half.name = "half";
    half.release = NULL;
    EQUAL(baton_lock_register(&half), -EINVAL);
    CHECK(!baton_lock_kind("half"));
    EQUAL(!c->kind->try_acquire, !(c->kind->caps & BATON_LOCK_TRY));
    CHECK((c->kind->caps & BATON_LOCK_TRY) || !(c->kind->caps & BATON_LOCK_TRY_EXACT));

    baton_lock_param_defaults(c->kind, params);
    EQUAL(baton_lock_param_set(c->kind, params, "nonsense=1"), -EINVAL);
    CHECK(*baton_error_detail());
    EQUAL(baton_lock_param_set(c->kind, params, "nonsense"), -EINVAL);
    EQUAL(baton_lock_param_set(c->kind, params, ""), -EINVAL);
    for (unsigned p = 0; c->kind->params && c->kind->params[p].name; p++) {
        const struct baton_lock_param *k = &c->kind->params[p];
        EQUAL(params[p], k->standard);
        CHECK(k->least <= k->standard && k->standard <= k->most);
        snprintf(setting, sizeof(setting), "%s=%llu", k->name, (unsigned long long)k->most);
        if (k->on_off) {
            snprintf(setting, sizeof(setting), "%s=on", k->name);
            OK(baton_lock_param_set(c->kind, params, setting));
            EQUAL(params[p], 1);
            snprintf(setting, sizeof(setting), "%s=off", k->name);
            OK(baton_lock_param_set(c->kind, params, setting));
            EQUAL(params[p], 0);
            snprintf(setting, sizeof(setting), "%s=maybe", k->name);
        } else {
            OK(baton_lock_param_set(c->kind, params, setting));
            EQUAL(params[p], k->most);
            snprintf(setting, sizeof(setting), "%s=%llu", k->name, (unsigned long long)k->most + 1);
        }
        EQUAL(baton_lock_param_set(c->kind, params, setting), -EINVAL);
        snprintf(setting, sizeof(setting), "%s=", k->name);
        EQUAL(baton_lock_param_set(c->kind, params, setting), -EINVAL);
        snprintf(setting, sizeof(setting), "%s=1x", k->name);
        EQUAL(baton_lock_param_set(c->kind, params, setting), -EINVAL);
    }
    return 0;
}

static int case_tables(struct conf *c)
{
    struct bench b;
    struct baton_table *t = NULL;
    struct baton_table_opts opts = {sizeof(opts), c->kind->name, 1, NULL, 0};
    OK(bench_open(c, &b, 1));
    EQUAL(baton_table_create(b.ep[1], "t", &opts, &t), -EEXIST);
    EQUAL(baton_table_create(b.ep[0], "t", &opts, &t), -EEXIST);
    opts.kind = "no such kind";
    EQUAL(baton_table_create(b.ep[1], "u", &opts, &t), -ENOENT);
    opts.kind = c->kind->name;
    opts.count = 0;
    EQUAL(baton_table_create(b.ep[1], "u", &opts, &t), -EINVAL);
    opts.count = UINT64_MAX / 32;
    int rc = baton_table_create(b.ep[1], "u", &opts, &t);
    CHECK(rc == -EINVAL || rc == -ENOMEM);
    opts.count = 1;
    opts.size = sizeof(opts) + 8;
    EQUAL(baton_table_create(b.ep[1], "u", &opts, &t), -EINVAL);
    opts.size = sizeof(opts);
    if (c->kind->params) {
        uint64_t params[BATON_LOCK_PARAMS_MAX];
        baton_lock_param_defaults(c->kind, params);
        params[0] = c->kind->params[0].most + 1;
        opts.params = params;
        EQUAL(baton_table_create(b.ep[1], "u", &opts, &t), -EINVAL);
        params[0] = c->kind->params[0].most;
        OK(baton_table_create(b.ep[1], "u", &opts, &t));
        EQUAL(baton_table_params(t)[0], params[0]);
        struct baton_table *far;
        OK(baton_table_open(b.ep[0], "u", 0, &far));
        EQUAL(baton_table_params(far)[0], params[0]); /* the table's, not the opener's */
        OK(baton_table_close(b.ep[0], far));
        OK(baton_table_close(b.ep[1], t));
        opts.params = NULL;
        t = NULL;
    }
    EQUAL(baton_table_open(b.ep[0], "u", 0, &t), -ENOENT);
    EQUAL(baton_table_open(b.ep[0], "u", baton_now(b.ep[0]) + 2000000, &t), -ETIMEDOUT);
    CHECK(!t);
    OK(baton_table_reinit(b.ep[0], b.table[0])); /* nothing to do */
    OK(take_and_leave(&b, 0));

    /* The maker's close ends it; the name is free again, and old handles find nothing. */
    OK(quiet(&b));
    OK(baton_table_close(b.ep[1], b.made));
    EQUAL(baton_table_open(b.ep[0], "t", 0, &t), -ENOENT);
    EQUAL(baton_lock_acquire(&b.lock[0], b.ep[0], b.waiter[0]), -EKEYREJECTED);
    if (conf_is(c, CONF_NATIVE))
        EQUAL(baton_lock_acquire(&b.lock[1], b.ep[1], b.waiter[1]), -EKEYREJECTED);
    OK(baton_ep_reset(b.ep[0], 1));
    OK(baton_table_create(b.ep[1], "t", &opts, &b.made));
    OK(baton_table_open(b.ep[0], "t", 0, &t));
    struct baton_lock lock;
    OK(baton_table_lock(t, 0, &lock));
    struct baton_waiter *w;
    OK(baton_waiter_open(b.ep[0], &w));
    OK(baton_lock_acquire(&lock, b.ep[0], w));
    OK(baton_lock_release(&lock, b.ep[0], w));
    OK(baton_waiter_close(b.ep[0], w));
    OK(baton_table_close(b.ep[0], t));
    for (unsigned n = 0; n < 2; n++) {
        OK(baton_waiter_close(b.ep[n], b.waiter[n]));
        OK(baton_table_close(b.ep[n], b.table[n])); /* of the one that is gone */
        if (baton_ep_state(b.ep[n], 1))
            OK(baton_ep_reset(b.ep[n], 1));
    }
    OK(baton_table_close(b.ep[1], b.made));
    for (unsigned n = 0; n < 2; n++)
        OK(baton_ep_close(b.ep[n]));
    return baton_cluster_close(b.cluster);
}

#define MANY 100000

static int case_many_locks(struct conf *c)
{
    struct bench b;
    OK(bench_open(c, &b, MANY));
    struct baton_lock first, last, lock;
    OK(baton_table_lock(b.table[0], 0, &first));
    OK(baton_table_lock(b.table[0], MANY - 1, &last));
    EQUAL(last.line - first.line, (MANY - 1) * b.line_bytes);
    EQUAL(baton_table_lock(b.table[0], MANY, &lock), -ERANGE);
    struct baton_random random;
    baton_random_init(&random, c->seed);
    for (unsigned i = 0; i < conf_rounds(c, 20000); i++) {
        unsigned n = i % 2;
        OK(baton_table_lock(b.table[n], baton_random_below(&random, MANY), &lock));
        OK(baton_lock_acquire(&lock, b.ep[n], b.waiter[n]));
        OK(baton_lock_release(&lock, b.ep[n], b.waiter[n]));
        if (i % 64 == 0)
            OK(quiet(&b));
    }
    /* Many held at a time by one thread, neighbours among them. */
    struct baton_waiter *w[64];
    struct baton_lock held[64];
    for (unsigned i = 0; i < 64; i++) {
        OK(baton_waiter_open(b.ep[0], &w[i]));
        OK(baton_table_lock(b.table[0], 777 + i, &held[i]));
        OK(baton_lock_acquire(&held[i], b.ep[0], w[i]));
    }
    for (unsigned i = 0; i < 64; i++) {
        OK(baton_lock_release(&held[(i * 5) % 64], b.ep[0], w[(i * 5) % 64]));
        OK(baton_waiter_close(b.ep[0], w[(i * 5) % 64]));
    }
    OK(bench_close(&b));
    return 0;
}

/* ---- Try */

static int case_try(struct conf *c)
{
    struct bench b;
    static uint64_t before[512];
    OK(bench_open(c, &b, 1));
    CHECK(b.line_bytes <= sizeof(before));
    struct baton_waiter *second[2];
    for (unsigned n = 0; n < 2; n++)
        OK(baton_waiter_open(b.ep[n], &second[n]));
    for (unsigned round = 0; round < 20; round++)
        for (unsigned n = 0; n < 2; n++) {
            OK(quiet(&b));
            if (!(c->kind->caps & BATON_LOCK_TRY)) {
                memcpy(before, b.line, b.line_bytes);
                EQUAL(baton_lock_try(&b.lock[n], b.ep[n], b.waiter[n]), -EOPNOTSUPP);
                CHECK(!memcmp(before, b.line, b.line_bytes));
                continue;
            }
            /* Nobody has it: a try gets it, as a holder like any other. */
            OK(baton_lock_try(&b.lock[n], b.ep[n], b.waiter[n]));
            OK(quiet(&b));
            memcpy(before, b.line, b.line_bytes);
            for (unsigned m = 0; m < 2; m++) {
                EQUAL(baton_lock_try(&b.lock[m], b.ep[m], second[m]), -EBUSY);
                OK(quiet(&b));
                CHECK(!memcmp(before, b.line, b.line_bytes)); /* not a byte */
            }
            OK(baton_lock_release(&b.lock[n], b.ep[n], b.waiter[n]));
            OK(quiet(&b));
            /* Who was refused is free for another attempt. */
            OK(baton_lock_acquire(&b.lock[1 - n], b.ep[1 - n], second[1 - n]));
            OK(baton_lock_release(&b.lock[1 - n], b.ep[1 - n], second[1 - n]));
        }
    for (unsigned n = 0; n < 2; n++)
        OK(baton_waiter_close(b.ep[n], second[n]));
    OK(bench_close(&b));
    return 0;
}

/* ---- Deadlines */

static int case_deadline(struct conf *c)
{
    struct bench b;
    static uint64_t before[512];
    OK(bench_open(c, &b, 1));
    struct baton_waiter *second;
    for (unsigned n = 0; n < 2; n++) {
        OK(baton_waiter_open(b.ep[1 - n], &second));
        OK(quiet(&b));
        if (!(c->kind->caps & BATON_LOCK_DEADLINE)) {
            memcpy(before, b.line, b.line_bytes);
            EQUAL(baton_lock_acquire_until(&b.lock[n], b.ep[n], b.waiter[n],
                                           baton_now(b.ep[n]) + 1000000),
                  -EOPNOTSUPP);
            CHECK(!memcmp(before, b.line, b.line_bytes));
        } else {
            OK(baton_lock_acquire_until(&b.lock[n], b.ep[n], b.waiter[n],
                                        baton_now(b.ep[n]) + 60000000000u));
            OK(quiet(&b));
            for (unsigned i = 0; i < 3; i++) {
                uint64_t deadline = baton_now(b.ep[1 - n]) + i * 3000000;
                EQUAL(baton_lock_acquire_until(&b.lock[1 - n], b.ep[1 - n], second, deadline),
                      -ETIMEDOUT);
                CHECK(baton_now(b.ep[1 - n]) >= deadline);
            }
            OK(baton_lock_release(&b.lock[n], b.ep[n], b.waiter[n]));
            OK(quiet(&b));
            OK(baton_lock_acquire_until(&b.lock[1 - n], b.ep[1 - n], second, BATON_NEVER));
            OK(baton_lock_release(&b.lock[1 - n], b.ep[1 - n], second));
            OK(quiet(&b));
        }
        OK(take_and_leave(&b, n));
        OK(baton_waiter_close(b.ep[1 - n], second));
    }
    OK(bench_close(&b));
    return 0;
}

/* ---- Costs */

struct cost {
    const char *kind;
    unsigned acquire, release;         /* waited round trips of a remote thread */
    unsigned acquire_ops, release_ops; /* at most */
    bool local_by_cpu;                 /* a thread of the host needs no remote operation */
};

static const struct cost costs[] = {
    {"ts", 1, 0, 1, 1, false},   {"ticket", 1, 0, 2, 1, false}, {"mcs", 1, 1, 1, 1, false},
    {"alock", 2, 1, 4, 1, true}, {"farlock", 3, 1, 8, 2, true}, {"farlock-g", 3, 1, 8, 2, true},
    {"merge", 1, 0, 2, 1, true},
};

static uint64_t ops_of(const struct baton_stats *s)
{
    return s->ops[BATON_OP_PUT] + s->ops[BATON_OP_GET] + s->ops[BATON_OP_RCAS] +
           s->ops[BATON_OP_RFAA];
}

static int case_costs(struct conf *c)
{
    const struct cost *k = NULL;
    struct bench b;
    struct baton_stats s[3];
    for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++)
        if (!strcmp(costs[i].kind, c->kind->name))
            k = &costs[i];
    if (!k)
        return 0; /* a user's own: promises nothing here */
    OK(bench_open(c, &b, 1));
    /* The first time, again and again, and after a change of class. */
    for (unsigned round = 0; round < 12; round++) {
        unsigned n = round < 4 ? 0 : round < 8 ? 1 : round % 2;
        OK(quiet(&b));
        baton_ep_stats(b.ep[n], &s[0]);
        OK(baton_lock_acquire(&b.lock[n], b.ep[n], b.waiter[n]));
        baton_ep_stats(b.ep[n], &s[1]);
        OK(baton_lock_release(&b.lock[n], b.ep[n], b.waiter[n]));
        baton_ep_stats(b.ep[n], &s[2]);
        if (n && k->local_by_cpu) {
            EQUAL(ops_of(&s[2]), ops_of(&s[0]));
            EQUAL(s[2].waited_round_trips, s[0].waited_round_trips);
            continue;
        }
        EQUAL(s[1].waited_round_trips - s[0].waited_round_trips, k->acquire);
        EQUAL(s[2].waited_round_trips - s[1].waited_round_trips, k->release);
        if (ops_of(&s[1]) - ops_of(&s[0]) > k->acquire_ops ||
            ops_of(&s[2]) - ops_of(&s[1]) > k->release_ops)
            return conf_fail(__FILE__, __LINE__, "%llu + %llu operations, at most %u + %u",
                             (unsigned long long)(ops_of(&s[1]) - ops_of(&s[0])),
                             (unsigned long long)(ops_of(&s[2]) - ops_of(&s[1])), k->acquire_ops,
                             k->release_ops);
        EQUAL(s[2].relaxes, s[0].relaxes);
        EQUAL(s[2].awaits_blocked, s[0].awaits_blocked);
        /* Where a rcas that fails may undo a put, none frees the word that the others compare. */
        if (!b.ep[n]->caps->word_atomic && !strcmp(k->kind, "ts"))
            EQUAL(s[2].ops[BATON_OP_PUT], s[0].ops[BATON_OP_PUT]);
    }
    /* The same in release whatever the section has left behind for the host: a local release may have to
     * settle it, a remote one not. */
    OK(quiet(&b));
    OK(baton_lock_acquire(&b.lock[0], b.ep[0], b.waiter[0]));
    OK(baton_get(b.ep[0], b.waiter[0]->result, b.lock[0].line, 8, 1));
    baton_ep_stats(b.ep[0], &s[0]);
    OK(baton_lock_release(&b.lock[0], b.ep[0], b.waiter[0]));
    baton_ep_stats(b.ep[0], &s[1]);
    EQUAL(s[1].waited_round_trips - s[0].waited_round_trips, k->release);
    OK(baton_wait(b.ep[0], 1));
    OK(bench_close(&b));
    return 0;
}

/* ---- Waiters */

/* One waiter for one lock after the other, at once, of every kind. */
static int case_waiters(struct conf *c)
{
    struct bench b;
    OK(bench_open(c, &b, 3));
    for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k; k++) {
        struct baton_table_opts opts = {sizeof(opts), (*k)->name, 2, NULL, 5};
        struct baton_table *other, *far;
        struct baton_lock lock[2][2], mine[2][3];
        OK(baton_table_create(b.ep[1], "other", &opts, &other));
        OK(baton_table_open(b.ep[0], "other", 0, &far));
        for (unsigned i = 0; i < 2; i++) {
            OK(baton_table_lock(far, i, &lock[0][i]));
            OK(baton_table_lock(other, i, &lock[1][i]));
        }
        for (unsigned n = 0; n < 2; n++)
            for (unsigned i = 0; i < 3; i++)
                OK(baton_table_lock(b.table[n], i, &mine[n][i]));
        for (unsigned i = 0; i < 120; i++) {
            unsigned n = i / 60;
            b.waiter[n]->word[7] = i * 0x123456789; /* hints may come at any time */
            struct baton_lock *l = i % 2 ? &lock[n][i / 2 % 2] : &mine[n][i / 2 % 3];
            OK(baton_lock_acquire(l, b.ep[n], b.waiter[n]));
            OK(baton_lock_release(l, b.ep[n], b.waiter[n]));
            if (i == 59)
                OK(quiet(&b));
        }
        OK(quiet(&b));
        OK(baton_table_close(b.ep[0], far));
        OK(baton_table_close(b.ep[1], other));
    }
    OK(bench_close(&b));
    return 0;
}

/* A lock call leaves nothing behind under the ids of locks, and the program's own work alone. */
static int case_ids(struct conf *c)
{
    struct bench b;
    OK(bench_open(c, &b, 1));
    uint64_t *mine = baton_ep_alloc(b.ep[0], 8, 8);
    CHECK(mine);
    for (unsigned i = 0; i < 20; i++) {
        OK(baton_get(b.ep[0], mine, b.lock[0].line, 8, 5));
        OK(baton_lock_acquire(&b.lock[0], b.ep[0], b.waiter[0]));
        OK(baton_lock_release(&b.lock[0], b.ep[0], b.waiter[0]));
        OK(baton_wait(b.ep[0], 5));
        struct baton_stats before, after;
        baton_ep_stats(b.ep[0], &before);
        for (unsigned id = 0; id < 8; id++)
            OK(baton_wait(b.ep[0], (baton_wid)(BATON_WID_LOCK + id)));
        baton_ep_stats(b.ep[0], &after);
        EQUAL(after.waited_round_trips, before.waited_round_trips);
        EQUAL(after.doorbells, before.doorbells); /* release has rung what it queued */
    }
    baton_ep_free(b.ep[0], mine);
    OK(bench_close(&b));
    return 0;
}

const struct conf_case conf_lock_contract_cases[] = {
    {"misuse", "wrong use is an error and changes nothing", CONF_ONE_PROCESS, case_misuse, 0},
    {"kinds", "registry and parameters", CONF_ONE_PROCESS, case_kinds, 0},
    {"tables", "making, opening, ending tables", CONF_ONE_PROCESS, case_tables, 0},
    {"many-locks", "100,000 locks in one table; 64 held at a time", CONF_ONE_PROCESS,
     case_many_locks, 0},
    {"try", "a try takes a free lock; a refused one changes no byte", CONF_ONE_PROCESS, case_try,
     0},
    {"deadline", "gives up in time, or says that it can not", CONF_ONE_PROCESS, case_deadline, 0},
    {"costs", "waited round trips and operations without contention", CONF_ONE_PROCESS, case_costs,
     0},
    {"waiters", "one waiter for one lock after the other, of all kinds", CONF_ONE_PROCESS,
     case_waiters, 0},
    {"ids", "a lock call waits for its own work and leaves the caller's alone", CONF_ONE_PROCESS,
     case_ids, 0},
    {0},
};

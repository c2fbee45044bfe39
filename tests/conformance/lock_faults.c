/* SPDX-License-Identifier: MIT */
/*
 * Cases: one operation of one thread fails while others use the lock. The error comes back from the call
 * that it belongs to (unless it was a put that turns out to be needed by nobody, or was done again), nobody hangs, and after a reinit everything works as if nothing had been. Every
 * operation of acquire and release gets its turn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "work.h"

enum { VICTIM = 1, MEMBERS = 4, ROUNDS = 4 };

struct trial {
    struct work w;
    struct baton_fault_rule rule;
    uint64_t met[8];
    bool fired;
    bool all_ask; /* everybody calls reinit, not only one */
    bool reset;   /* the victim goes on with its endpoint, healed; else with a new one */
    uint64_t told, failed;
    int first_rc; /* what the victim's call said */
};

static int meet(struct baton_ep *ep, struct trial *t, unsigned which)
{
    struct baton_wait wait;
    struct baton_cond all = baton_until_is(&t->met[which], UINT64_MAX, MEMBERS);
    baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
    baton_faa(ep, &t->met[which], 1);
    return baton_await(ep, &all, 1, &wait);
}

/* A round without remote operations in the section: those of the call are the ones that fail. */
static int bare_round(struct worker *k)
{
    struct work_lock *l = &k->w->shared->locks[0];
    int rc = worker_acquire(k, 0, false);
    if (rc)
        return rc;
    OK(worker_enter(k, 0));
    uint64_t n = l->entries;
    baton_delay(k->ep, 500);
    CHECK(l->entries == n);
    l->entries = n + 1;
    return worker_leave(k, 0);
}

static bool death_notice(int rc)
{
    return rc == -EOWNERDEAD || rc == -ENOTRECOVERABLE;
}

static int member(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct trial *t = arg;
    struct worker k;
    unsigned node = baton_node_index(baton_ep_node(ep));
    bool victim = node == VICTIM && thread == 0;
    OK(worker_open(&k, &t->w, ep, thread));
    OK(meet(ep, t, 0));
    if (victim)
        OK(baton_ep_faults(ep, &t->rule, 1));

    /* A release that nobody waits for may turn out lost later: closing the waiter tells at the latest. */
    struct baton_waiter *fresh;
    int rc = 0;
    for (unsigned i = 0; i < ROUNDS && !rc; i++)
        rc = bare_round(&k);
    int closed = baton_waiter_close(ep, k.waiter);
    rc = rc ? rc : closed;
    struct baton_ep_fault fault;
    baton_ep_error(ep, &fault);
    if (victim) {
        t->fired = fault.rc != 0;
        t->first_rc = rc;
    }
    if (rc == -EPROTO || rc == -EDEADLK)
        return rc;
    if (death_notice(rc))
        baton_word_faa(&t->told, 1);
    else if (rc && victim)
        baton_word_faa(&t->failed, 1);
    else if (rc)
        return conf_fail(__FILE__, __LINE__, "somebody else's fault told as %d (%s)", rc,
                         baton_error_detail());

    /* The survivors agree that nobody is inside any more; the victim heals. */
    struct baton_ep *with = ep;
    if (victim && t->fired && t->reset) {
        (void)baton_wait_all(ep);
        for (unsigned n = 0; n < baton_cluster_nodes(baton_ep_cluster(ep)); n++)
            if (baton_ep_state(ep, n))
                OK(baton_ep_reset(ep, n));
    } else if (victim) {
        OK(baton_ep_open(baton_ep_node(ep), &with));
    }
    k.ep = with;
    for (unsigned life = 0; life < 2; life++) {
        /* The host makes the table new. First the others may not hear of it, and be told of a death once
         * more instead; then all of them ask, and it must work. */
        bool all_ask = life == 1 || t->all_ask;
        OK(meet(ep, t, 1 + 3 * life));
        if (node == t->w.host) {
            OK(baton_table_reinit(ep, k.table));
            for (unsigned s = 0; s < WORK_THREADS; s++)
                baton_word_store(&t->w.shared->slots[s].lock, 0);
        }
        OK(meet(ep, t, 2 + 3 * life));
        if (all_ask)
            OK(baton_table_reinit(with, k.table));
        OK(meet(ep, t, 3 + 3 * life));
        OK(baton_waiter_open(with, &fresh));
        worker_use(&k, fresh);
        rc = 0;
        for (unsigned i = 0; i < ROUNDS && !rc; i++)
            rc = bare_round(&k);
        if (rc && !(death_notice(rc) && !all_ask))
            return conf_fail(__FILE__, __LINE__, "after reinit %u: %d (%s)%s", life, rc,
                             baton_error_detail(), victim ? ", the victim" : "");
        if (life == 0)
            OK(baton_waiter_close(with, fresh));
    }
    OK(meet(ep, t, 7));
    OK(worker_close(&k));
    if (with != ep)
        OK(baton_ep_close(with));
    (void)baton_wait_all(ep); /* what the fault has left */
    return 0;
}

static int one_trial(const struct conf *c, enum baton_op_kind op, uint64_t nth, uint64_t seed,
                     struct trial *t)
{
    struct baton_cluster *cluster;
    struct baton_ep *ep;
    struct work_host host;
    *t = (struct trial){.rule = {op, nth, -EACCES, 0}, .reset = seed & 1, .all_ask = seed & 2};
    t->w = (struct work){.c = c,
                         .kind = c->kind->name,
                         .locks = 1,
                         .host = 2,
                         .local = 1,
                         .nodes = 2,
                         .threads = 2,
                         .seed = seed};
    t->w.shared = work_memory(sizeof(*t->w.shared));
    CHECK(t->w.shared);
    OK(conf_open(c, 3, seed, &cluster));
    OK(baton_ep_open(baton_cluster_node(cluster, 2), &ep));
    OK(work_prepare(&t->w, ep, &host));
    struct baton_team teams[] = {{2, 1, member, t}, {VICTIM, 2, member, t}, {0, 1, member, t}};
    int rc = baton_run(cluster, teams, 3);
    uint64_t entries = t->w.shared->locks[0].entries;
    if (rc)
        return conf_fail(__FILE__, __LINE__, "operation %d number %llu, seed %llu: %d", op,
                         (unsigned long long)nth, (unsigned long long)seed, rc);
    CHECK(entries >= MEMBERS * ROUNDS && entries <= 3 * MEMBERS * ROUNDS);
    if (!t->told && !t->failed)
        EQUAL(entries, 3 * MEMBERS * ROUNDS);
    OK(baton_table_close(ep, host.table));
    OK(baton_ep_close(ep));
    OK(baton_cluster_close(cluster));
    munmap(t->w.shared, sizeof(*t->w.shared));
    return 0;
}

static int case_every_operation(struct conf *c)
{
    bool simulated = conf_is(c, CONF_SIMULATED);
    unsigned seeds = simulated ? (unsigned)conf_rounds(c, 30) : 1, fired = 0;
    uint64_t told = 0;
    for (unsigned op = 0; op < BATON_OP_KINDS; op++) {
        unsigned missed = 0;
        for (uint64_t nth = 1; nth <= 12 && missed < 2; nth++) {
            unsigned here = 0;
            for (unsigned s = 0; s < seeds; s++) {
                struct trial t;
                OK(one_trial(c, op, nth, c->seed * 100000 + nth * 100 + s + op, &t));
                here += t.fired;
                told += t.told;
                /* The error is told to the thread whose operation failed, unless a death notice had
                 * already reached it, or nobody missed anything. */
                if (t.fired && !t.first_rc && (op != BATON_OP_PUT || t.told))
                    return conf_fail(
                        __FILE__, __LINE__,
                        "operation %u number %llu, seed %u: the error was not returned", op,
                        (unsigned long long)nth, s);
            }
            fired += here;
            missed += !here;
        }
    }
    CHECK(fired >= 2);
    printf("  %u faults, %llu calls of others ended with a death notice\n", fired,
           (unsigned long long)told);
    return 0;
}

/* Tokens rise over a reinit, again and again; nobody needs to die for it. */
static int case_tokens(struct conf *c)
{
    struct baton_cluster *cluster;
    struct baton_ep *ep[2];
    struct baton_table *made, *far;
    struct baton_lock lock;
    uint64_t last = 0;
    struct baton_table_opts opts = {sizeof(opts), c->kind->name, 1, NULL, 100};
    OK(conf_open(c, 2, c->seed, &cluster));
    for (unsigned n = 0; n < 2; n++)
        OK(baton_ep_open(baton_cluster_node(cluster, n), &ep[n]));
    OK(baton_table_create(ep[1], "t", &opts, &made));
    OK(baton_table_open(ep[0], "t", 0, &far));
    OK(baton_table_lock(far, 0, &lock));
    for (unsigned life = 0; life < 5; life++) {
        struct baton_waiter *w;
        struct baton_ep *bad;
        OK(baton_waiter_open(ep[0], &w));
        for (unsigned i = 0; i < 5; i++) {
            OK(baton_lock_acquire(&lock, ep[0], w));
            if (c->kind->caps & BATON_LOCK_TOKEN)
                CHECK(baton_lock_token(w) > last);
            last = baton_lock_token(w);
            OK(baton_lock_release(&lock, ep[0], w));
            OK(baton_gfence(ep[0], (const uint16_t[]){1}, 1));
        }
        OK(baton_waiter_close(ep[0], w));
        /* An acquire that has taken its place and then fails: the fault of any kind that comes first. */
        struct baton_fault_rule rules[] = {{BATON_OP_RFAA, 1, -EACCES, 0},
                                           {BATON_OP_RCAS, 1, -EACCES, 0}};
        OK(baton_ep_open(baton_cluster_node(cluster, 0), &bad));
        OK(baton_ep_faults(bad, rules, 2));
        OK(baton_waiter_open(bad, &w));
        EQUAL(baton_lock_acquire(&lock, bad, w), -EACCES);
        EQUAL(baton_lock_acquire(&lock, bad, w) == 0, 0);
        OK(baton_waiter_close(bad, w));
        (void)baton_ep_close(bad);
        OK(baton_waiter_open(ep[0], &w));
        EQUAL(baton_lock_acquire(&lock, ep[0], w), -ENOTRECOVERABLE);
        OK(baton_waiter_close(ep[0], w));
        OK(baton_table_reinit(ep[life % 2], life % 2 ? made : far));
        OK(baton_table_reinit(ep[0], far)); /* nothing left to do */
        OK(baton_table_reinit(ep[1], made));
    }
    OK(baton_table_close(ep[0], far));
    OK(baton_table_close(ep[1], made));
    for (unsigned n = 0; n < 2; n++)
        OK(baton_ep_close(ep[n]));
    return baton_cluster_close(cluster);
}

const struct conf_case conf_lock_fault_cases[] = {
    {"every-operation", "each operation of acquire and release fails once, others at work",
     CONF_ONE_PROCESS, case_every_operation, 0},
    {"tokens", "a failed acquire breaks the table, reinit heals it, tokens rise", CONF_ONE_PROCESS,
     case_tokens, 0},
    {0},
};

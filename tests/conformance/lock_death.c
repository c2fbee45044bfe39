/* SPDX-License-Identifier: MIT */
/*
 * Cases: nodes are processes. They join late, leave in an orderly way, or are killed while they hold a lock,
 * wait for it, or work with it; and the host of the table is killed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../late.h"
#include "work.h"

enum { HOST, VICTIM, WITNESS, LATE, NODES };
enum { GONE = 1 }; /* of a role: the host is dead, there is little left to close */
#define NOTICE_NS (UINT64_C(2000000000) + late_ns())
#define ROUNDS 200

struct death {
    struct work w;
    const struct conf *c;
    uint64_t killed_ns; /* when the signal was sent; 0: not yet */
    uint64_t at[8];     /* for meeting each other */
    int (*role[NODES])(struct death *d, struct worker *k);
};

/* ---- Processes */

static void wait_for(uint64_t *word, uint64_t least)
{
    while (baton_word_load(word) < least)
        usleep(200);
}

static int node_main(struct death *d, unsigned node)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    struct work_host host;
    struct worker k;
    struct baton_ep *ep;
    alarm(100);
    opts.nodes = NODES;
    opts.first = (int)node;
    OK(conf_open_opts(d->c, &opts, &cluster));
    OK(baton_ep_open(baton_cluster_self(cluster), &ep));
    if (node == HOST)
        OK(work_prepare(&d->w, ep, &host));
    OK(worker_open(&k, &d->w, ep, 0));
    int rc = d->role[node](d, &k);
    if (rc == GONE) {
        /* These may tell once more that there is no host. */
        (void)baton_waiter_close(k.ep, k.waiter);
        (void)baton_table_close(k.ep, k.table);
        (void)baton_ep_close(ep);
        return baton_cluster_close(cluster);
    }
    OK(rc);
    OK(worker_close(&k));
    baton_word_faa(&d->at[7], 1);
    if (node == HOST) {
        wait_for(&d->at[7], baton_word_load(&d->at[6])); /* the others have left first */
        OK(baton_table_close(ep, host.table));
    }
    OK(baton_ep_close(ep));
    return baton_cluster_close(cluster);
}

static pid_t started[32];
static unsigned started_n;

static pid_t start(struct death *d, unsigned node)
{
    fflush(stdout);
    baton_word_faa(&d->at[6], 1);
    pid_t child = fork();
    if (!child)
        _exit(node_main(d, node) ? 1 : 0);
    started[started_n++] = child;
    return child;
}

static int join(pid_t child, bool killed)
{
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    for (unsigned i = 0; i < started_n; i++)
        if (started[i] == child)
            started[i] = started[--started_n];
    if (killed ? WIFSIGNALED(status) : status == 0)
        return 0;
    for (unsigned i = 0; i < started_n; i++)
        kill(started[i], SIGKILL); /* they may wait for it for ever */
    return conf_fail(__FILE__, __LINE__, "a node's process ended with status %d", status);
}

static struct death *death_new(struct conf *c)
{
    struct death *d = work_memory(sizeof(*d));
    if (!d)
        return NULL;
    if (!late_most)
        late_watch();
    d->c = c;
    d->w = (struct work){.c = c,
                         .kind = c->kind->name,
                         .locks = 1,
                         .local = 1,
                         .nodes = NODES - 1,
                         .threads = 1,
                         .seed = c->seed,
                         .host = HOST};
    d->w.shared = work_memory(sizeof(*d->w.shared));
    return d->w.shared ? d : NULL;
}

static void shoot(struct death *d, pid_t victim)
{
    baton_word_store(&d->killed_ns, conf_clock_ns());
    kill(victim, SIGKILL);
    baton_word_faa(&d->at[6], UINT64_MAX); /* it will not leave by itself */
}

/* ---- What survivors do */

static bool death_notice(int rc)
{
    return rc == -EOWNERDEAD || rc == -ENOTRECOVERABLE;
}

/* The table is broken: nobody gets a lock until one of the survivors has made it new, and then all do. */
static int recover(struct death *d, struct worker *k, unsigned survivors)
{
    struct baton_waiter *fresh;
    OK(baton_waiter_open(k->ep, &fresh));
    EQUAL(baton_lock_acquire(&k->locks[0], k->ep, fresh), -ENOTRECOVERABLE);
    OK(baton_waiter_close(k->ep, fresh));
    baton_word_faa(&d->at[0], 1);
    wait_for(&d->at[0], survivors); /* all know, and none is inside */
    if (baton_node_index(baton_ep_node(k->ep)) == HOST) {
        d->w.shared->locks[0].inside = 0;
        for (unsigned s = 0; s < WORK_THREADS; s++)
            baton_word_store(&d->w.shared->slots[s].lock, 0);
        baton_word_store(&d->at[1], 1);
    }
    wait_for(&d->at[1], 1);
    int rc = baton_table_reinit(k->ep, k->table); /* all at once: one wins */
    if (rc != 0 && rc != -EAGAIN)
        return conf_fail(__FILE__, __LINE__, "reinit: %d (%s)", rc, baton_error_detail());
    baton_word_faa(&d->at[2], 1);
    wait_for(&d->at[2], survivors);
    /* What it had handed over may have been meant for the dead, and stood behind what failed first. */
    rc = baton_waiter_close(k->ep, k->waiter);
    if (rc != 0 && rc != -EHOSTDOWN && rc != -ENOTCONN && rc != -ECANCELED)
        return conf_fail(__FILE__, __LINE__, "closing: %d (%s)", rc, baton_error_detail());
    (void)baton_wait_all(k->ep); /* nor does the end of this endpoint tell of it */
    OK(baton_waiter_open(k->ep, &fresh));
    worker_use(k, fresh);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct work_lock *l = &d->w.shared->locks[0];
        OK(worker_acquire(k, 0, false));
        OK(worker_enter(k, 0));
        uint64_t n = l->entries;
        baton_delay(k->ep, 200);
        CHECK(l->entries == n);
        l->entries = n + 1;
        OK(worker_leave(k, 0));
    }
    baton_word_faa(&d->at[3], 1);
    wait_for(&d->at[3], survivors);
    return 0;
}

/* Whoever has been told of the death was told in time, and not before it happened. */
static int in_time(struct death *d, int rc)
{
    uint64_t now = conf_clock_ns(), killed = baton_word_load(&d->killed_ns);
    if (!killed || !death_notice(rc))
        return conf_fail(__FILE__, __LINE__, "%d (%s) %s anybody died", rc, baton_error_detail(),
                         killed ? "after" : "before");
    if (now - killed > NOTICE_NS)
        return conf_fail(__FILE__, __LINE__, "noticed after %llu ms",
                         (unsigned long long)((now - killed) / 1000000));
    return 0;
}

static int acquire_in_vain(struct death *d, struct worker *k)
{
    wait_for(&d->at[4], 1); /* the victim has it */
    baton_word_faa(&d->at[5], 1);
    int rc = worker_acquire(k, 0, false);
    EQUAL(rc, -EOWNERDEAD);
    OK(in_time(d, rc));
    /* It had taken its place, so it is spent; ts has none to take. */
    rc = baton_lock_acquire(&k->locks[0], k->ep, k->waiter);
    CHECK(rc == -EINVAL || rc == -ENOTRECOVERABLE);
    return recover(d, k, 2);
}

/* Until it is killed. */
static int hold_for_ever(struct death *d, struct worker *k)
{
    OK(worker_acquire(k, 0, false));
    OK(worker_enter(k, 0));
    baton_word_store(&d->at[4], 1);
    while (pause())
        ;
    return 0;
}

static int case_holder_killed(struct conf *c)
{
    struct death *d = death_new(c);
    CHECK(d);
    d->role[HOST] = d->role[WITNESS] = acquire_in_vain;
    d->role[VICTIM] = hold_for_ever;
    pid_t host = start(d, HOST), victim = start(d, VICTIM), witness = start(d, WITNESS);
    wait_for(&d->at[5], 2);
    late_rest_ns(20000000 + c->seed % 7 * 5000000); /* both wait by now */
    shoot(d, victim);
    OK(join(victim, true));
    OK(join(witness, false));
    OK(join(host, false));
    return conf_leftovers(c);
}

/* ---- A waiter dies while the host holds */

static int hold_a_while(struct death *d, struct worker *k)
{
    OK(worker_acquire(k, 0, false));
    OK(worker_enter(k, 0));
    baton_word_store(&d->at[4], 1);
    while (!baton_word_load(&d->killed_ns))
        usleep(200);
    usleep(100000);
    /* It holds it no longer in any case; it may have been handed to the dead one. */
    int rc = worker_leave(k, 0);
    if (rc == -EHOSTDOWN)
        rc = -EOWNERDEAD;
    CHECK(rc == 0 || death_notice(rc));
    while (!rc) {
        rc = worker_acquire(k, 0, false);
        if (rc)
            break;
        OK(worker_enter(k, 0));
        CHECK(conf_clock_ns() < baton_word_load(&d->killed_ns) + NOTICE_NS);
        rc = worker_leave(k, 0);
    }
    OK(in_time(d, rc));
    return recover(d, k, 2);
}

static int wait_and_die(struct death *d, struct worker *k)
{
    wait_for(&d->at[4], 1);
    baton_word_faa(&d->at[5], 1);
    (void)worker_acquire(k, 0, false);
    while (pause())
        ;
    return 0;
}

static int wait_with_it(struct death *d, struct worker *k)
{
    wait_for(&d->at[5], 1);
    late_rest_ns(5000000); /* behind the victim */
    baton_word_faa(&d->at[5], 1);
    int rc;
    do {
        rc = worker_acquire(k, 0, false);
        if (!rc) {
            OK(worker_enter(k, 0));
            rc = worker_leave(k, 0);
        }
    } while (!rc);
    OK(in_time(d, rc));
    return recover(d, k, 2);
}

static int case_waiter_killed(struct conf *c)
{
    struct death *d = death_new(c);
    CHECK(d);
    d->role[HOST] = hold_a_while;
    d->role[VICTIM] = wait_and_die;
    d->role[WITNESS] = wait_with_it;
    pid_t host = start(d, HOST), victim = start(d, VICTIM), witness = start(d, WITNESS);
    wait_for(&d->at[5], 2);
    late_rest_ns(20000000);
    shoot(d, victim);
    OK(join(victim, true));
    OK(join(witness, false));
    OK(join(host, false));
    return conf_leftovers(c);
}

/* ---- Killed at any moment of work */

static int work_until_told(struct death *d, struct worker *k)
{
    int rc;
    do {
        rc = worker_acquire(k, 0, false);
        if (rc)
            break;
        OK(worker_enter(k, 0));
        d->w.shared->locks[0].entries++;
        uint64_t killed = baton_word_load(&d->killed_ns);
        CHECK(!killed || conf_clock_ns() < killed + NOTICE_NS);
        rc = worker_leave(k, 0);
        baton_word_faa(&d->at[4], 1);
    } while (!rc);
    OK(in_time(d, rc));
    return recover(d, k, 2);
}

static int case_worker_killed(struct conf *c)
{
    struct baton_random random;
    baton_random_init(&random, c->seed);
    for (unsigned i = 0; i < 3; i++) {
        struct conf one = *c;
        struct death *d = death_new(&one);
        CHECK(d);
        snprintf(one.cluster_name, sizeof(one.cluster_name), "%.40s-%u", c->cluster_name, i);
        d->role[HOST] = d->role[WITNESS] = d->role[VICTIM] = work_until_told;
        pid_t host = start(d, HOST), victim = start(d, VICTIM), witness = start(d, WITNESS);
        for (unsigned n = HOST; n <= WITNESS; n++) /* who has not begun is missed by nobody */
            wait_for(&d->w.shared->slots[work_slot_of(&d->w, n, 0)].entered, 1);
        usleep((unsigned)baton_random_below(&random, 30000));
        shoot(d, victim);
        OK(join(victim, true));
        OK(join(witness, false));
        OK(join(host, false));
        OK(conf_leftovers(&one));
    }
    return 0;
}

/* ---- The host dies: the table is gone */

static int work_until_gone(struct death *d, struct worker *k)
{
    int rc;
    baton_word_faa(&d->at[5], 1);
    do {
        rc = worker_acquire(k, 0, false);
        if (rc)
            break;
        OK(worker_enter(k, 0));
        uint64_t killed = baton_word_load(&d->killed_ns);
        CHECK(!killed || conf_clock_ns() < killed + NOTICE_NS);
        rc = worker_leave(k, 0);
        baton_word_faa(&d->at[4], 1);
    } while (!rc);
    uint64_t killed = baton_word_load(&d->killed_ns);
    CHECK(killed && conf_clock_ns() < killed + NOTICE_NS);
    /* What nobody waited for may have found out first. */
    CHECK(rc == -EHOSTDOWN || (rc == -ENOTCONN && baton_ep_state(k->ep, HOST) == -EHOSTDOWN));
    EQUAL(baton_ep_reset(k->ep, HOST), -EHOSTDOWN);
    EQUAL(baton_node_state(baton_ep_cluster(k->ep), HOST), BATON_NODE_DEAD);
    struct baton_waiter *fresh;
    OK(baton_waiter_open(k->ep, &fresh));
    EQUAL(baton_lock_acquire(&k->locks[0], k->ep, fresh), -EHOSTDOWN);
    (void)baton_waiter_close(k->ep, fresh);
    EQUAL(baton_table_reinit(k->ep, k->table), -EHOSTDOWN);
    return GONE;
}

static int case_host_killed(struct conf *c)
{
    for (unsigned working = 0; working < 2; working++) {
        struct conf one = *c;
        struct death *d = death_new(&one);
        CHECK(d);
        snprintf(one.cluster_name, sizeof(one.cluster_name), "%.40s-%u", c->cluster_name, working);
        d->role[HOST] = working ? work_until_gone : hold_for_ever;
        d->role[VICTIM] = d->role[WITNESS] = work_until_gone;
        pid_t host = start(d, HOST);
        if (!working)
            wait_for(&d->at[4], 1);
        pid_t others[2] = {start(d, VICTIM), start(d, WITNESS)};
        wait_for(&d->at[5], working ? 3 : 2); /* all have opened the table */
        if (working)
            wait_for(&d->at[4], 100);
        else
            late_rest_ns(50000000); /* they wait for the lock */
        shoot(d, host);
        OK(join(host, true));
        OK(join(others[0], false));
        OK(join(others[1], false));
        OK(conf_leftovers(&one));
    }
    return 0;
}

/* ---- Late join, orderly leave */

static int work_on(struct death *d, struct worker *k)
{
    unsigned rounds = 0;
    while (!baton_word_load(&d->at[5])) {
        OK(worker_round(k, 0, false));
        baton_word_faa(&d->at[4], 1);
        rounds++;
    }
    CHECK(rounds);
    return 0;
}

static int work_a_little(struct death *d, struct worker *k)
{
    for (unsigned i = 0; i < 50; i++)
        OK(worker_round(k, 0, false));
    return 0;
}

static int case_late_join(struct conf *c)
{
    struct death *d = death_new(c);
    CHECK(d);
    d->role[HOST] = d->role[VICTIM] = work_on;
    d->role[WITNESS] = d->role[LATE] = work_a_little;
    pid_t victim = start(d, VICTIM); /* before there is a host */
    usleep(20000);
    pid_t host = start(d, HOST);
    for (unsigned n = HOST; n <= VICTIM; n++)
        wait_for(&d->w.shared->slots[work_slot_of(&d->w, n, 0)].entered, 1);
    wait_for(&d->at[4], 100);
    for (unsigned i = 0; i < 6; i++) { /* the same number again and again: no death, no notice */
        pid_t late = start(d, LATE), witness = i % 2 ? start(d, WITNESS) : 0;
        OK(join(late, false));
        if (witness)
            OK(join(witness, false));
    }
    uint64_t before = baton_word_load(&d->at[4]);
    wait_for(&d->at[4], before + 100);
    baton_word_store(&d->at[5], 1);
    OK(join(victim, false));
    OK(join(host, false));
    return conf_leftovers(c);
}

const struct conf_case conf_lock_death_cases[] = {
    {"late-join", "processes come and go while others work", CONF_PROCS, case_late_join, 0},
    {"holder-killed", "a holder is killed: waiters are told, one survivor makes the table new",
     CONF_PROCS, case_holder_killed, 0},
    {"waiter-killed", "a waiter is killed while another node holds", CONF_PROCS, case_waiter_killed,
     0},
    {"worker-killed", "a node is killed at any moment of its work", CONF_PROCS, case_worker_killed,
     0},
    {"host-killed", "the host is killed: its table is gone, and says so", CONF_PROCS,
     case_host_killed, 0},
    {0},
};

/* SPDX-License-Identifier: MIT */
/* Threads that take locks, and what they check. */
#include "work.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Words on the host for each lock: two twins on lines of their own, and two words that take turns. The
 * latter begin four lines each, all of which the late get fetches, so that it stays on its way for long.
 */
enum { TWIN0 = 0, TWIN1 = 1, TURNS0 = 2, TURNS1 = 6, DATA_LINES = 10 };
enum { LATE_WORDS = 32 };
#define DATA_BYTES (WORK_LOCKS * DATA_LINES * 64)

enum { ID_DATA = 1, ID_LATE = 2 };

static unsigned data_word(unsigned lock, unsigned line)
{
    return (lock * DATA_LINES + line) * 8;
}

static baton_gptr data_at(const struct worker *k, unsigned lock, unsigned line)
{
    return k->data + 8 * data_word(lock, line);
}

static unsigned turn_line(uint64_t n)
{
    return n % 2 ? TURNS1 : TURNS0;
}

void *work_memory(size_t bytes)
{
    void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return m == MAP_FAILED ? NULL : m;
}

unsigned work_slot_of(const struct work *w, unsigned node, unsigned thread)
{
    if (node == w->host)
        return thread;
    unsigned other = node < w->host ? node : node - 1;
    return w->local + other * w->threads + thread;
}

int work_prepare(struct work *w, struct baton_ep *ep, struct work_host *host)
{
    struct baton_node *node = baton_ep_node(ep);
    struct baton_table_opts opts = {sizeof(opts), w->kind, w->locks, w->params, w->first_ticket};
    OK(baton_segment_create(node, DATA_BYTES, BATON_READ | BATON_WRITE, NULL, 0, &host->data));
    OK(baton_name_publish(node, "data", host->data));
    OK(baton_table_create(ep, "locks", &opts, &host->table));
    EQUAL(baton_table_host(host->table), w->host);
    EQUAL(baton_table_count(host->table), w->locks);
    return 0;
}

int work_finish(struct work *w, struct baton_ep *ep, struct work_host *host)
{
    /* All that was put must be there in the end, also what nobody has waited for. */
    void *memory;
    OK(baton_ptr(baton_ep_node(ep), host->data, DATA_BYTES, &memory));
    for (unsigned i = 0; i < w->locks; i++)
        for (unsigned twin = TWIN0; twin <= TWIN1; twin++)
            EQUAL(baton_load(ep, (uint64_t *)memory + data_word(i, twin)),
                  w->shared->locks[i].entries);
    OK(baton_table_close(ep, host->table));
    OK(baton_name_withdraw(baton_ep_node(ep), "data"));
    return baton_segment_destroy(baton_ep_node(ep), host->data);
}

/* ---- One thread */

static uint64_t tick(struct worker *k)
{
    return baton_word_faa(&k->w->shared->clock, 1) + 1;
}

/* The kind says that its doorway has ended: from here on nobody who begins may overtake. */
static void through_the_door(void *arg, struct baton_ep *ep, struct baton_waiter *waiter)
{
    struct worker *k = arg;
    baton_word_store(&k->slot->door, tick(k));
}

void worker_use(struct worker *k, struct baton_waiter *waiter)
{
    k->waiter = waiter;
    waiter->doorway = through_the_door;
    waiter->doorway_arg = k;
}

int worker_open(struct worker *k, struct work *w, struct baton_ep *ep, unsigned thread)
{
    struct baton_node *node = baton_ep_node(ep);
    unsigned slot = work_slot_of(w, baton_node_index(node), thread);
    uint64_t deadline = baton_now(ep) + 20000000000u;
    void *memory;
    *k = (struct worker){.w = w, .ep = ep};
    CHECK(slot < WORK_THREADS);
    k->slot = &w->shared->slots[slot];
    OK(baton_table_open(ep, "locks", deadline, &k->table));
    OK(baton_name_lookup(ep, "data", deadline, &k->data));
    for (unsigned i = 0; i < w->locks && i < WORK_LOCKS; i++)
        OK(baton_table_lock(k->table, i, &k->locks[i]));
    if (baton_node_index(node) == w->host) {
        OK(baton_ptr(node, k->data, DATA_BYTES, &memory));
        k->local = memory;
    }
    OK(baton_waiter_open(ep, &k->waiter));
    worker_use(k, k->waiter);
    k->buffer = baton_ep_alloc(ep, 8 * (8 + LATE_WORDS), 64);
    CHECK(k->buffer);
    baton_random_init(&k->random, w->seed * 1000 + slot);
    return 0;
}

int worker_close(struct worker *k)
{
    OK(baton_waiter_close(k->ep, k->waiter));
    baton_ep_free(k->ep, k->buffer);
    return baton_table_close(k->ep, k->table);
}

int worker_acquire(struct worker *k, unsigned i, bool try)
{
    struct work_slot *s = k->slot;
    struct baton_lock *lock = &k->locks[i];
    int rc = -EBUSY;
    for (int attempt = try ? 0 : 1; attempt < 2 && rc == -EBUSY; attempt++) {
        baton_word_store(&s->door, 0);
        baton_word_store(&s->begin, tick(k));
        baton_word_store(&s->lock, i + 1);
        rc = attempt == 0 ? baton_lock_try(lock, k->ep, k->waiter)
                          : baton_lock_acquire(lock, k->ep, k->waiter);
        baton_word_store(&s->lock, 0);
    }
    return rc;
}

/* Whoever was through the door before I began, and still waits, has been overtaken. */
static int look_at_waiters(struct worker *k, unsigned i)
{
    struct work_shared *sh = k->w->shared;
    bool fcfs = baton_lock_caps(k->locks[i].ops, k->locks[i].params) & BATON_LOCK_FCFS,
         overlap = false;
    if (fcfs && !baton_word_load(&k->slot->door))
        return conf_fail(__FILE__, __LINE__,
                         "says that it is fair, but not where its doorway ends");
    for (unsigned t = 0; t < WORK_THREADS; t++) {
        struct work_slot *o = &sh->slots[t];
        if (o == k->slot || baton_word_load(&o->lock) != i + 1)
            continue;
        overlap = true;
        uint64_t door = baton_word_load(&o->door);
        if (fcfs && door && door < k->slot->begin && baton_word_load(&o->lock) == i + 1)
            return conf_fail(__FILE__, __LINE__,
                             "bypass: thread %u was through its doorway at %llu, and %u, which "
                             "began at %llu, has the lock before it",
                             t, (unsigned long long)door, (unsigned)(k->slot - sh->slots),
                             (unsigned long long)k->slot->begin);
    }
    baton_word_faa(&sh->entries, 1);
    if (overlap)
        baton_word_faa(&sh->overlaps, 1);
    return 0;
}

/* The section of a thread that works by NIC: also on the host, by loopback. */
static int section_nic(struct worker *k, unsigned i, uint64_t n)
{
    OK(baton_get(k->ep, &k->buffer[0], data_at(k, i, TWIN0), 8, ID_DATA));
    OK(baton_get(k->ep, &k->buffer[1], data_at(k, i, TWIN1), 8, ID_DATA));
    OK(baton_wait(k->ep, ID_DATA));
    EQUAL(k->buffer[0], n);
    EQUAL(k->buffer[1], n);
    OK(baton_get(k->ep, &k->buffer[8], data_at(k, i, turn_line(n + 1)), 8 * LATE_WORDS, ID_LATE));
    OK(baton_put64(k->ep, data_at(k, i, TWIN1), n + 1, 0));
    OK(baton_put64(k->ep, data_at(k, i, turn_line(n)), n + 1, 0));
    return baton_put64(k->ep, data_at(k, i, TWIN0), n + 1, 0);
}

static int section_cpu(struct worker *k, unsigned i, uint64_t n)
{
    struct baton_ep *ep = k->ep;
    EQUAL(baton_load(ep, k->local + data_word(i, TWIN0)), n);
    EQUAL(baton_load(ep, k->local + data_word(i, TWIN1)), n);
    baton_store(ep, k->local + data_word(i, TWIN1), n + 1);
    EQUAL(baton_load(ep, k->local + data_word(i, turn_line(n + 1))), n);
    baton_store(ep, k->local + data_word(i, turn_line(n)), n + 1);
    baton_store(ep, k->local + data_word(i, TWIN0), n + 1);
    return 0;
}

int worker_enter(struct worker *k, unsigned i)
{
    struct work_lock *l = &k->w->shared->locks[i];
    if (l->inside)
        return conf_fail(__FILE__, __LINE__, "exclusion: two threads hold lock %u", i);
    l->inside = 1;
    OK(look_at_waiters(k, i));
    if (k->locks[i].ops->caps & BATON_LOCK_TOKEN) {
        uint64_t token = baton_lock_token(k->waiter);
        if (token <= l->token)
            return conf_fail(__FILE__, __LINE__, "token %llu after %llu", (unsigned long long)token,
                             (unsigned long long)l->token);
        l->token = token;
    } else {
        EQUAL(baton_lock_token(k->waiter), 0);
    }
    k->slot->entered++;
    return 0;
}

int worker_leave(struct worker *k, unsigned i)
{
    struct work_lock *l = &k->w->shared->locks[i];
    if (!l->inside)
        return conf_fail(__FILE__, __LINE__, "exclusion: somebody else has left lock %u", i);
    l->inside = 0;
    return baton_lock_release(&k->locks[i], k->ep, k->waiter);
}

int worker_round(struct worker *k, unsigned i, bool try)
{
    struct work_lock *l = &k->w->shared->locks[i];
    OK(worker_acquire(k, i, try));
    OK(worker_enter(k, i));
    uint64_t n = l->entries;
    bool cpu = k->local && (n & 4);
    OK(cpu ? section_cpu(k, i, n) : section_nic(k, i, n));
    if (k->w->hold_ns)
        baton_delay(k->ep, k->w->hold_ns);
    if (l->entries != n)
        return conf_fail(__FILE__, __LINE__, "exclusion: lost update");
    l->entries = n + 1;
    OK(worker_leave(k, i));
    if (!cpu) {
        /* Not waited for inside, so only the release has kept it before the next holder's put. */
        OK(baton_wait(k->ep, ID_LATE));
        EQUAL(k->buffer[8], n);
    }
    return 0;
}

static int work(struct work *w, struct baton_ep *ep, unsigned thread)
{
    struct worker k;
    unsigned caps = 0;
    OK(worker_open(&k, w, ep, thread));
    caps = baton_table_kind(k.table)->caps;
    uint64_t end = w->until_ns ? baton_now(ep) + w->until_ns : 0, done = 0;
    while (w->until_ns ? !done || baton_now(ep) < end : done < w->rounds) {
        unsigned i = (unsigned)baton_random_below(&k.random, w->locks);
        bool try = (caps & BATON_LOCK_TRY) && baton_random_below(&k.random, 10) < w->tries;
        OK(worker_round(&k, i, try));
        done++;
    }
    return worker_close(&k);
}

int worker_body(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct work *w = arg;
    int rc = work(w, ep, thread);
    if (rc && conf_is(w->c, CONF_NATIVE))
        _exit(1); /* it has been said why; the others may wait for us for ever */
    return rc;
}

/* ---- All of them */

static int run_here(const struct conf *c, struct work *w)
{
    struct baton_cluster *cluster;
    struct baton_team teams[WORK_THREADS];
    struct work_host host;
    struct baton_ep *ep;
    unsigned n = 0;
    w->host = w->nodes; /* the last, so that 0 is no good guess */
    OK(conf_open(c, w->nodes + 1, w->seed, &cluster));
    OK(baton_ep_open(baton_cluster_node(cluster, w->host), &ep));
    OK(work_prepare(w, ep, &host));
    if (w->local)
        teams[n++] = (struct baton_team){w->host, w->local, worker_body, w};
    for (unsigned i = 0; i < w->nodes; i++)
        teams[n++] = (struct baton_team){i, w->threads, worker_body, w};
    OK(baton_run(cluster, teams, n));
    OK(work_finish(w, ep, &host));
    OK(baton_ep_close(ep));
    return baton_cluster_close(cluster);
}

static int node_process(const struct conf *c, struct work *w, unsigned node)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    struct work_host host;
    struct baton_ep *ep;
    opts.nodes = w->nodes + 1;
    opts.first = (int)node;
    OK(conf_open_opts(c, &opts, &cluster));
    OK(baton_ep_open(baton_cluster_self(cluster), &ep));
    if (node == w->host)
        OK(work_prepare(w, ep, &host));
    struct baton_team team = {node, node == w->host ? w->local : w->threads, worker_body, w};
    if (team.threads)
        OK(baton_run(cluster, &team, 1));
    baton_word_faa(&w->shared->done, 1);
    if (node == w->host) {
        while (baton_word_load(&w->shared->done) <= w->nodes)
            usleep(500);
        OK(work_finish(w, ep, &host));
    }
    OK(baton_ep_close(ep));
    return baton_cluster_close(cluster);
}

static int run_processes(const struct conf *c, struct work *w)
{
    pid_t child[WORK_THREADS];
    int rc = 0;
    w->host = 0;
    fflush(stdout);
    for (unsigned i = 0; i <= w->nodes; i++) {
        child[i] = fork();
        if (!child[i])
            _exit(node_process(c, w, i) ? 1 : 0);
        CHECK(child[i] > 0);
    }
    for (unsigned i = 0; i <= w->nodes; i++) {
        int status = 0;
        pid_t ended = wait(&status);
        CHECK(ended > 0);
        if (status && !rc) {
            rc = conf_fail(__FILE__, __LINE__, "a node's process ended with status %d", status);
            for (unsigned j = 0; j <= w->nodes; j++)
                kill(child[j], SIGKILL); /* the others may wait for it for ever */
        }
    }
    return rc;
}

int work_run(const struct conf *c, struct work *w)
{
    w->c = c;
    if (!w->kind)
        w->kind = c->kind->name;
    w->shared = work_memory(sizeof(*w->shared));
    CHECK(w->shared);
    int rc = conf_is(c, CONF_PROCS) ? run_processes(c, w) : run_here(c, w);
    if (!rc && conf_is(c, CONF_NATIVE))
        rc = conf_leftovers(c);
    uint64_t sum = 0;
    for (unsigned i = 0; i < w->locks && i < WORK_LOCKS; i++)
        sum += w->shared->locks[i].entries;
    if (!rc && !w->until_ns) {
        EQUAL(sum, (w->local + w->nodes * w->threads) * w->rounds);
        EQUAL(w->shared->entries, sum);
    }
    for (unsigned t = 0; !rc && t < w->local + w->nodes * w->threads; t++)
        CHECK(w->shared->slots[t].entered);
    return rc;
}

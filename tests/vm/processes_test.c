/* SPDX-License-Identifier: MIT */
/*
 * usage: processes_test share|kill [RUNS]|kill-connecting [RUNS]|kill-connected [RUNS]
 *
 * Shows that nodes in processes of their own work together over a network (share: a lock keeps a count
 * that nobody loses), and that when one of them is killed while it connects, while it has traffic, or
 * while it holds a lock, RUNS times each, every call of the others ends within two seconds (kill). Three
 * processes meet over a rendezvous; kill-connecting and kill-connected are the first of these and the rest. In the test machine they are on rxe0 and rxe1 in turn; tests/ucx builds
 * the same for another fabric.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <baton/barrier.h>
#include <baton/fabric.h>
#include <baton/lock.h>

#include "../late.h"
#include "../nodes_check.h"
#include "fabric/net_place.h"

#define LIMIT_NS (UINT64_C(2000000000) + late_ns())

enum { NODES = 3, VICTIM = 1, ROUNDS = 60 };
enum phase { CONNECT, TRAFFIC, HOLD, PHASES, SHARE };
static const char *const phase_names[] = {"connecting", "traffic", "holding a lock"};

/* Between the processes of a run. */
static struct shared {
    uint64_t ready;     /* survivors that have had contact with the victim */
    uint64_t in_phase;  /* the victim is where it is to be killed */
    uint64_t killed_ns; /* when it was */
    uint64_t done;      /* survivors that need each other no more */
} * shared;

static void nap(void)
{
    nanosleep(&(struct timespec){0, 1000000}, NULL);
}

struct world {
    struct baton_cluster *cluster;
    struct baton_node *node;
    struct baton_ep *ep;
    baton_gptr at[NODES];
    uint64_t *got;
    struct baton_table *table;
    struct baton_lock lock;
    struct baton_waiter *waiter;
};

static void enter(struct world *w, const struct baton_net_place *place)
{
    char settings[64], options[300], name[16];
    struct baton_cluster_opts o = BATON_CLUSTER_OPTS;
#ifdef UCX_MODE
    const char *fabric = "ucx";
    snprintf(settings, sizeof(settings), "mode=" UCX_MODE ",tls=tcp%s",
             strcmp(UCX_MODE, "rma") ? "" : ",allow_torn=1");
#else
    const char *fabric = "verbs";
    snprintf(settings, sizeof(settings), "device=rxe%d,allow_torn=1", self % 2);
#endif
    snprintf(options, sizeof(options), "%s,%s", place->options, settings);
    o.fabric = fabric;
    o.nodes = NODES;
    o.first = self;
    o.options = options;
    RC(baton_cluster_open(&o, &w->cluster), 0);
    w->node = baton_cluster_self(w->cluster);
    RC(baton_ep_open(w->node, &w->ep), 0);
    w->got = baton_ep_alloc(w->ep, 64, 64);
    CHECK(w->got, "no memory");
    baton_gptr mine;
    RC(baton_segment_create(w->node, 4096, ALL, NULL, 0, &mine), 0);
    snprintf(name, sizeof(name), "words-%d", self);
    RC(baton_name_publish(w->node, name, mine), 0);
    uint64_t deadline = baton_now(w->ep) + 20000000000u;
    if (self == 0) {
        struct baton_table_opts t = {sizeof(t), "merge", 1, NULL, 0};
        RC(baton_table_create(w->ep, "locks", &t, &w->table), 0);
    } else {
        RC(baton_table_open(w->ep, "locks", deadline, &w->table), 0);
    }
    RC(baton_table_lock(w->table, 0, &w->lock), 0);
    RC(baton_waiter_open(w->ep, &w->waiter), 0);
    for (int n = 0; n < NODES; n++) {
        snprintf(name, sizeof(name), "words-%d", n);
        RC(baton_name_lookup(w->ep, name, deadline, &w->at[n]), 0);
        RC(baton_rfaa(w->ep, w->got, w->at[n], 1, 1), 0);
        RC(baton_wait(w->ep, 1), 0);
    }
    baton_word_faa(&shared->ready, 1);
    while (baton_word_load(&shared->ready) < NODES)
        nap();
}

/* ---- All live */

static void share(struct world *w)
{
    for (uint64_t i = 0; i < ROUNDS; i++) {
        RC(baton_lock_acquire(&w->lock, w->ep, w->waiter), 0);
        RC(baton_get(w->ep, w->got, w->at[2] + 64, 8, 1), 0);
        RC(baton_wait(w->ep, 1), 0);
        RC(baton_put64(w->ep, w->at[2] + 64, *w->got + 1, 1), 0);
        RC(baton_gfence(w->ep, (const uint16_t[]){2}, 1), 0);
        RC(baton_lock_release(&w->lock, w->ep, w->waiter), 0);
    }
    RC(baton_rfaa(w->ep, w->got, w->at[0] + 128, 1, 1), 0);
    RC(baton_wait(w->ep, 1), 0);
    uint64_t done = 0;
    while (done < NODES) {
        RC(baton_get(w->ep, w->got, w->at[0] + 128, 8, 1), 0);
        RC(baton_wait(w->ep, 1), 0);
        done = *w->got;
        nap();
    }
    RC(baton_get(w->ep, w->got, w->at[2] + 64, 8, 1), 0);
    RC(baton_wait(w->ep, 1), 0);
    CHECK(*w->got == NODES * ROUNDS, "%" PRIu64 " of %d", *w->got, NODES * ROUNDS);
    /* All have read it before anybody leaves. */
    baton_word_faa(&shared->in_phase, 1);
    while (baton_word_load(&shared->in_phase) < NODES)
        nap();
    RC(baton_waiter_close(w->ep, w->waiter), 0);
    if (self) {
        RC(baton_table_close(w->ep, w->table), 0);
        baton_word_faa(&shared->killed_ns, 1);
    } else {
        while (baton_word_load(&shared->killed_ns) < NODES - 1)
            nap();
        RC(baton_table_close(w->ep, w->table), 0);
    }
    RC(baton_ep_close(w->ep), 0);
    RC(baton_cluster_close(w->cluster), 0);
}

/* ---- One is killed */

static void be_killed(struct world *w, enum phase phase)
{
    if (phase == HOLD)
        RC(baton_lock_acquire(&w->lock, w->ep, w->waiter), 0);
    baton_word_store(&shared->in_phase, 1);
    for (uint64_t i = 0;; i++) {
        struct baton_ep *ep = w->ep;
        if (phase == CONNECT)
            RC(baton_ep_open(w->node, &ep), 0);
        for (int n = 0; n < NODES; n++)
            RC(baton_rfaa(ep, w->got, w->at[n] + 64, 1, 1), 0);
        RC(baton_wait(ep, 1), 0);
        if (phase == CONNECT)
            RC(baton_ep_close(ep), 0);
    }
}

/* Calls until the victim's death shows; none may take longer than allowed from the death on. */
static void survive(struct world *w, enum phase phase)
{
    int rc;
    uint64_t took = 0;
    while (!baton_word_load(&shared->in_phase))
        nap();
    if (phase != HOLD) {
        do {
            RC(baton_rfaa(w->ep, w->got, w->at[VICTIM], 1, 1), 0);
            rc = baton_wait(w->ep, 1);
        } while (!rc);
        CHECK(rc == -EHOSTDOWN, "%d (%s)", rc, baton_strerror(rc));
        took = late_clock_ns() - baton_word_load(&shared->killed_ns);
        CHECK(took < LIMIT_NS, "after %" PRIu64 " ms", took / 1000000);
    }
    do {
        rc = baton_lock_acquire(&w->lock, w->ep, w->waiter);
        if (!rc)
            rc = baton_lock_release(&w->lock, w->ep, w->waiter);
    } while (!rc);
    CHECK(rc == -EOWNERDEAD || rc == -ENOTRECOVERABLE, "%d (%s)", rc, baton_strerror(rc));
    uint64_t lock_took = late_clock_ns() - baton_word_load(&shared->killed_ns);
    CHECK(lock_took < LIMIT_NS, "after %" PRIu64 " ms", lock_took / 1000000);
    uint64_t begin = late_clock_ns();
    int state = baton_ep_state(w->ep, VICTIM);
    rc = baton_ep_reset(w->ep, VICTIM);
    CHECK(rc == -EHOSTDOWN && (phase == HOLD || state == -EHOSTDOWN), "%d, %d", rc, state);
    CHECK(late_clock_ns() - begin < LIMIT_NS, "a reset takes %" PRIu64 " ms",
          (late_clock_ns() - begin) / 1000000);
    /* The rest works on. */
    for (int n = 0; n < NODES; n++)
        if (n != VICTIM) {
            RC(baton_rfaa(w->ep, w->got, w->at[n], 1, 1), 0);
            RC(baton_wait(w->ep, 1), 0);
        }
    printf("node %d: %s: an operation ends %" PRIu64 " ms after the death, a lock call %" PRIu64
           " ms\n",
           self, phase_names[phase], took / 1000000, lock_took / 1000000);
    baton_word_faa(&shared->done, 1);
    while (baton_word_load(&shared->done) < NODES - 1)
        nap();
    fflush(NULL);
    _exit(0); /* with the cluster open, whose threads a leak checker may not look through */
}

/* ---- Processes */

static pid_t start(int node, enum phase phase, const struct baton_net_place *place)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid)
        return pid;
    static struct world w;
    self = node;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(100);
    enter(&w, place);
    if (phase == SHARE)
        share(&w);
    else if (node == VICTIM)
        be_killed(&w, phase);
    else
        survive(&w, phase);
    exit(0);
}

static void run(enum phase phase, uint64_t after_us)
{
    struct baton_net_place place;
    pid_t pid[NODES];
    RC(baton_net_place_make(&place), 0);
    memset(shared, 0, sizeof(*shared));
    for (int n = 0; n < NODES; n++)
        pid[n] = start(n, phase, &place);
    if (phase != SHARE) {
        while (!baton_word_load(&shared->in_phase) && !waitpid(pid[VICTIM], NULL, WNOHANG))
            nap();
        nanosleep(&(struct timespec){0, (long)after_us * 1000}, NULL);
        baton_word_store(&shared->killed_ns, late_clock_ns());
        kill(pid[VICTIM], SIGKILL);
    }
    for (int n = 0; n < NODES; n++) {
        int status;
        pid_t got = waitpid(pid[n], &status, 0);
        if (phase != SHARE && n == VICTIM) {
            CHECK(got == pid[n] && WIFSIGNALED(status), "the victim ended by itself");
            continue;
        }
        CHECK(got == pid[n] && WIFEXITED(status) && !WEXITSTATUS(status), "node %d ended with 0x%x",
              n, status);
    }
    baton_net_place_remove(&place);
}

int main(int argc, char **argv)
{
    unsigned runs = argc > 2 ? (unsigned)atoi(argv[2]) : 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    late_watch();
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED, "no memory");
    if (argc == 2 && !strcmp(argv[1], "share")) {
        run(SHARE, 0);
    } else if (argc > 1 && !strncmp(argv[1], "kill", 4)) {
        const char *which = argv[1] + 4;
        int from = strcmp(which, "-connected") ? CONNECT : CONNECT + 1;
        int to = strcmp(which, "-connecting") ? PHASES : CONNECT + 1;
        for (int phase = from; phase < to; phase++)
            for (unsigned i = 0; i < runs; i++)
                run((enum phase)phase, (i * 3571 + (unsigned)phase * 977) % 20000);
    } else {
        return 2;
    }
    printf("all hold\n");
    return 0;
}

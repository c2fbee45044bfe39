/* SPDX-License-Identifier: MIT */
/*
 * usage: kill_test KILLS [slow] [SEED]
 *
 * With BATON_SOAK_SECONDS in the environment KILLS are the most, and it ends before, when that time is over.
 *
 * Shows that whoever is killed while processes connect, nobody else's calls fail to return, and nobody else
 * ends: a node joins, opens endpoints, connects to both others, closes them and begins again, while these do
 * the same with it and with each other, until it is killed at a random moment; then another one takes its
 * place. With `slow`, calls into the system take longer by chance, which makes narrow gaps wide.
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

#include "../late.h"
#include "../nodes_check.h"
#include "fabric/net_place.h"
#include "slow_calls.h"

/* A place is taken again about a hundred times; then there is another cluster. */
enum { NODES = 3, VICTIM = 1, KILLS = 100, SOAK_KILLS = 25 };
#define LIMIT_NS (UINT64_C(2000000000) + late_ns())

/* Between the processes of a cluster. */
static struct shared {
    uint64_t at[NODES]; /* a segment of the node; 0: it has none */
    uint64_t joined;    /* victims so far */
    uint64_t stop, ready, done;
    uint64_t calls, lost; /* of the survivors; that a death has ended */
    uint64_t slowest_ns;
} * shared;

static void nap(void)
{
    nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static struct baton_node *join(const struct baton_net_place *place)
{
    struct baton_cluster *cluster;
    char options[256];
    baton_gptr mine;
    struct baton_cluster_opts o = BATON_CLUSTER_OPTS;
    snprintf(options, sizeof(options), "%s,mode=am,tls=tcp", place->options);
    o.fabric = "ucx";
    o.nodes = NODES;
    o.first = self;
    o.options = options;
    /* The one before may not have been missed yet. */
    uint64_t begin = late_clock_ns();
    int rc;
    while ((rc = baton_cluster_open(&o, &cluster)) == -EBUSY && late_clock_ns() - begin < LIMIT_NS)
        nap();
    RC(rc, 0);
    struct baton_node *node = baton_cluster_self(cluster);
    RC(baton_segment_create(node, 4096, ALL, NULL, 0, &mine), 0);
    baton_word_store(&shared->at[self], mine);
    return node;
}

static void note(uint64_t begin)
{
    uint64_t took = late_clock_ns() - begin;
    CHECK(took < LIMIT_NS, "a call takes %" PRIu64 " ms", took / 1000000);
    if (took > baton_word_load(&shared->slowest_ns))
        baton_word_store(&shared->slowest_ns, took);
    baton_word_faa(&shared->calls, 1);
}

static int add(struct baton_ep *ep, uint64_t *got, baton_gptr at)
{
    uint64_t begin = late_clock_ns();
    int rc = baton_rfaa(ep, got, at, 1, 1);
    if (!rc)
        rc = baton_wait(ep, 1);
    note(begin);
    return rc;
}

/* What is left of a victim, or nothing. */
static bool is_end(int rc)
{
    return rc == -EHOSTDOWN || rc == -EKEYREJECTED || rc == -ECANCELED || rc == -ENOTCONN;
}

static void survive(struct baton_node *node)
{
    struct baton_ep *kept, *ep;
    RC(baton_ep_open(node, &kept), 0);
    uint64_t *got = baton_ep_alloc(kept, 64, 64);
    baton_word_faa(&shared->ready, 1);
    while (!baton_word_load(&shared->stop)) {
        RC(baton_ep_open(node, &ep), 0);
        baton_gptr at = baton_word_load(&shared->at[VICTIM]);
        int rc = at ? add(ep, got, at) : 0;
        CHECK(!rc || is_end(rc), "%d (%s)", rc, baton_strerror(rc));
        int kept_rc = at ? add(kept, got, at) : 0;
        CHECK(!kept_rc || is_end(kept_rc), "%d (%s)", kept_rc, baton_strerror(kept_rc));
        if (kept_rc) {
            uint64_t begin = late_clock_ns();
            baton_ep_reset(kept, VICTIM); /* which may be dead, and may live again */
            note(begin);
        }
        baton_word_faa(&shared->lost, (rc != 0) + (kept_rc != 0));
        for (int n = 0; n < NODES; n++)
            if (n != VICTIM && baton_word_load(&shared->at[n]))
                RC(add(ep, got, baton_word_load(&shared->at[n])), 0);
        uint64_t begin = late_clock_ns();
        RC(baton_ep_close(ep), 0);
        note(begin);
    }
    baton_word_faa(&shared->done, 1);
    while (baton_word_load(&shared->done) < NODES - 1)
        nap();
    fflush(NULL);
    _exit(0);
}

static void be_killed(struct baton_node *node)
{
    baton_word_faa(&shared->joined, 1);
    for (;;) {
        struct baton_ep *ep;
        RC(baton_ep_open(node, &ep), 0);
        uint64_t *got = baton_ep_alloc(ep, 64, 64);
        for (int n = 0; n < NODES; n++)
            RC(baton_rfaa(ep, got, baton_word_load(&shared->at[n]) + 64, 1, 1), 0);
        RC(baton_wait(ep, 1), 0);
        baton_ep_free(ep, got);
        RC(baton_ep_close(ep), 0);
    }
}

static pid_t start(int node, const struct baton_net_place *place)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid)
        return pid;
    self = node;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(600);
    struct baton_node *me = join(place);
    if (node == VICTIM)
        be_killed(me);
    survive(me);
    return 0;
}

static void still_there(const pid_t *pid)
{
    for (int n = 0; n < NODES; n++) {
        int status;
        CHECK(n == VICTIM || !waitpid(pid[n], &status, WNOHANG), "node %d ended with 0x%x", n,
              status);
    }
}

static void cluster(unsigned kills, uint64_t *random)
{
    struct baton_net_place place;
    pid_t pid[NODES];
    memset(shared, 0, sizeof(*shared));
    RC(baton_net_place_make(&place), 0);
    pid[0] = start(0, &place);
    pid[2] = start(2, &place);
    pid[VICTIM] = 0;
    while (baton_word_load(&shared->ready) < NODES - 1) {
        still_there(pid);
        nap();
    }
    for (unsigned k = 0; k < kills; k++) {
        pid[VICTIM] = start(VICTIM, &place);
        while (baton_word_load(&shared->joined) == k) {
            CHECK(!waitpid(pid[VICTIM], NULL, WNOHANG), "the victim ended by itself");
            still_there(pid);
            nap();
        }
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        late_sleep_ns((*random >> 33) % 20000000);
        baton_word_store(&shared->at[VICTIM], 0);
        kill(pid[VICTIM], SIGKILL);
        waitpid(pid[VICTIM], NULL, 0);
        still_there(pid);
    }
    baton_word_store(&shared->stop, 1);
    for (int n = 0; n < NODES; n += 2) {
        int status;
        CHECK(waitpid(pid[n], &status, 0) == pid[n] && !status, "node %d ended with 0x%x", n,
              status);
    }
    baton_net_place_remove(&place);
    printf("%u kills; %" PRIu64 " calls of the others, of which %" PRIu64
           " were ended by a death; the slowest took %" PRIu64 " ms\n",
           kills, shared->calls, shared->lost, shared->slowest_ns / 1000000);
}

int main(int argc, char **argv)
{
    unsigned kills = argc > 1 ? (unsigned)atoi(argv[1]) : KILLS;
    bool slow = argc > 2 && !strcmp(argv[2], "slow");
    uint64_t seed = argc > 2 + slow ? strtoull(argv[2 + slow], NULL, 0) : late_clock_ns();
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("seed 0x%" PRIx64 "\n", seed);
    late_watch();
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED, "no memory");
    if (slow)
        slow_calls(seed);
    const char *soak = getenv("BATON_SOAK_SECONDS");
    const uint64_t end = soak ? late_clock_ns() + (uint64_t)(atof(soak) * 1e9) : BATON_NEVER;
    const unsigned most = soak ? SOAK_KILLS : KILLS;
    for (unsigned k = 0; k < kills && late_clock_ns() < end; k += most)
        cluster(kills - k < most ? kills - k : most, &seed);
    printf("all hold\n");
    return 0;
}

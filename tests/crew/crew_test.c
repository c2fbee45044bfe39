/* SPDX-License-Identifier: MIT */
/*
 * usage: crew_test
 *
 * Three processes of a given cluster meet, share, gather and end. One of them loses an operation, a put or a get, each
 * in turn: it says so, and none of the others waits for what will never come.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../late.h"
#include "../nodes_check.h"
#include "bench/crew.h"
#include "fabric/net_place.h"

enum { NODES = 3 };
enum { GOOD = 0, FAILED = 3, LOSER = 8 }; /* how processes end */
#define PATIENCE_NS UINT64_C(60000000000)
#define LIMIT_NS (UINT64_C(40000000000) + late_ns())

static int take(void *arg, unsigned node, const void *bytes, size_t size)
{
    unsigned *taken = arg;
    CHECK(size == 6 && !memcmp(bytes, "hello", 6), "%zu bytes of node %u", size, node);
    ++*taken;
    return 0;
}

/* 0, or the error with which the crew has gone. */
static int all_calls(struct crew *c)
{
    uint64_t all[NODES];
    unsigned taken = 0;
    int status = self ? -1 : 7;
    int rc = crew_meet(c, NODES, CREW_ALWAYS);
    if (!rc)
        rc = crew_share(c, 10 + (unsigned)self, all, PATIENCE_NS);
    for (unsigned n = 0; n < NODES && !rc; n++)
        CHECK(all[n] == 10 + n, "word %u is %llu", n, (unsigned long long)all[n]);
    if (!rc)
        rc = crew_gather(c, "hello", 6, PATIENCE_NS, take, &taken);
    if (rc) {
        crew_fail(c, rc);
        return rc;
    }
    CHECK(taken == (self ? 0 : NODES - 1), "%u have been taken", taken);
    rc = crew_end(c, &status);
    CHECK(rc || status == 7, "status %d", status);
    return rc;
}

static pid_t start(bool founds, const struct baton_net_place *place, int loser,
                   const struct baton_fault_rule *rule)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(170);
    struct crew_opts o = {.fabric = "ucx",
                          .options = place->options,
                          .nodes = founds ? NODES : 0,
                          .arena_bytes = 65536};
    struct crew *c;
    RC(crew_open(&o, &c), 0);
    self = (int)crew_self(c);
    if (self == loser)
        RC(baton_ep_faults(crew_ep(c), rule, 1), 0);
    int rc = all_calls(c);
    CHECK(!rc || *baton_error_detail(), "%d without words", rc);
    exit((rc ? FAILED : GOOD) + (self == loser ? LOSER : 0));
}

/* Whether the one who is to lose it says so. */
static bool run(int loser, const struct baton_fault_rule *rule)
{
    struct baton_net_place place;
    pid_t pid[NODES];
    uint64_t begin = late_clock_ns();
    RC(baton_net_place_make(&place), 0);
    for (int n = 0; n < NODES; n++)
        pid[n] = start(n == 0, &place, loser, rule);
    bool lost = false;
    unsigned failed = 0;
    for (int n = 0; n < NODES; n++) {
        int status;
        pid_t got = waitpid(pid[n], &status, 0);
        CHECK(got == pid[n] && WIFEXITED(status), "a process ended with 0x%x", status);
        status = WEXITSTATUS(status);
        CHECK((status & ~LOSER) == GOOD || (status & ~LOSER) == FAILED, "one ended with %d",
              status);
        lost |= status == FAILED + LOSER;
        failed += status == FAILED;
    }
    uint64_t ns = late_clock_ns() - begin;
    CHECK(ns < LIMIT_NS, "node %d lost operation %llu: it took %.1f s", loser,
          (unsigned long long)rule->nth, (double)ns / 1e9);
    baton_net_place_remove(&place);
    CHECK(lost || !failed, "%u failed by themselves", failed);
    return lost;
}

int main(void)
{
    static const enum baton_op_kind kinds[] = {BATON_OP_PUT, BATON_OP_GET};
    unsigned runs = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    late_watch();
    for (unsigned k = 0; k < 2; k++)
        for (int loser = 0; loser < NODES; loser++) {
            struct baton_fault_rule rule = {.kind = kinds[k], .nth = 1, .rc = -EHOSTDOWN};
            for (; run(loser, &rule); rule.nth++)
                runs++;
            /* Puts of a member: one a meeting, of which there are six, and two of crew_share. */
            CHECK(rule.kind != BATON_OP_PUT || rule.nth > 8, "node %d posts %llu puts", loser,
                  (unsigned long long)rule.nth - 1);
        }
    printf("%u operations were lost, and all ended\n", runs);
    return 0;
}

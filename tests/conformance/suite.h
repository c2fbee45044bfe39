/* SPDX-License-Identifier: MIT */
/*
 * The conformance suite: one body for each thing that must hold, run over tables of worlds and of kinds
 * of lock. A case is a function; it runs in a process of its own, so that a crash or a hang is its own
 * failure and nobody else's.
 */
#ifndef CONFORMANCE_SUITE_H
#define CONFORMANCE_SUITE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <baton/fabric.h>
#include <baton/lock.h>

#include "base/random.h"

/* Worlds, as bits, so that a case can say where it makes sense. */
enum {
    CONF_STEP = 1,      /* step, or sim by chance, in the order that chains give */
    CONF_SWAP = 2,      /* the same, where what nothing orders may change places */
    CONF_SHM = 4,       /* shared memory, all nodes in this process */
    CONF_PROCS = 8,     /* shared memory or UCX, a process for each node */
    CONF_VERBS = 16,    /* RDMA devices, all nodes in this process */
    CONF_TIMED = 32,    /* sim in virtual time, which shows few of the orders that are possible */
    CONF_UCX = 64,      /* UCX over tcp, mode am, all nodes in this process */
    CONF_UCX_RMA = 128, /* the same in mode rma */
    CONF_SIMULATED = CONF_STEP | CONF_SWAP | CONF_TIMED,
    CONF_ONE_PROCESS = CONF_SIMULATED | CONF_SHM | CONF_VERBS | CONF_UCX | CONF_UCX_RMA,
    CONF_NATIVE = CONF_SHM | CONF_PROCS | CONF_VERBS | CONF_UCX | CONF_UCX_RMA
};

struct conf_world {
    const char *name;
    const char *fabric;
    unsigned bit;
    unsigned flags;
    const char *options; /* of the fabric; null: none */
};

struct conf {
    const struct conf_world *world;
    const struct baton_lock_ops *kind; /* null in the cases about the fabric */
    uint64_t seed;
    unsigned kinds;      /* of lock that are asked for, which share the time of a soak */
    unsigned slower;     /* how many times slower this build or world is than an ordinary one */
    const char *options; /* of the fabric; null: none */
    char cluster_name[BATON_NAME_MAX + 1];
    const char *meet;       /* settings by which processes meet; null: the name is enough */
    const char *namespaces; /* node n goes into the network namespace of this name and n; or null */
};

struct conf_case {
    const char *name;
    const char *shows;
    unsigned worlds;
    int (*run)(struct conf *c);
    const char *label; /* null: an ordinary case; "soak": only when asked for by name */
};

/* Every file of cases ends its array with a null name. */
extern const struct conf_case conf_calls_cases[], conf_memory_cases[], conf_count_cases[],
    conf_order_cases[], conf_faults_cases[], conf_wait_cases[], conf_lock_cases[],
    conf_lock_contract_cases[], conf_lock_fault_cases[], conf_lock_death_cases[];

/* Kinds that only this program knows, ended by null; registered before anything else. */
extern const struct baton_lock_ops *const conf_own_kinds[];

#define CONF_SKIP 77

/* Says what is wrong, and where; returns a failure that bodies can pass on. */
int conf_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int conf_skip(const char *why);

/* Fails if files of the case's cluster are left in /dev/shm. */
int conf_leftovers(const struct conf *c);

/* Both return from the case or body with a failure. */
#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond))                                                                               \
            return conf_fail(__FILE__, __LINE__, "does not hold: %s", #cond);                      \
    } while (0)
#define EQUAL(got, want)                                                                           \
    do {                                                                                           \
        long long got_ = (long long)(got), want_ = (long long)(want);                              \
        if (got_ != want_)                                                                         \
            return conf_fail(__FILE__, __LINE__, "%s is %lld, not %lld (%s); %s", #got, got_,      \
                             want_, #want, baton_error_detail());                                  \
    } while (0)
#define OK(call) EQUAL(call, 0)

/* Opens a cluster all of whose nodes are in this process. */
int conf_open(const struct conf *c, unsigned nodes, uint64_t seed, struct baton_cluster **out);

/* The same with options of the caller's, to which the world's are added. */
int conf_open_opts(const struct conf *c, struct baton_cluster_opts *opts,
                   struct baton_cluster **out);

/* How many rounds an ordinary `rounds` are in this build; at least 1. */
static inline uint64_t conf_rounds(const struct conf *c, uint64_t rounds)
{
    return rounds / c->slower ? rounds / c->slower : 1;
}

static inline bool conf_is(const struct conf *c, unsigned worlds)
{
    return (c->world->bit & worlds) != 0;
}

/* The seed that a case has come to, if it goes through several; told when it fails. */
void conf_at_seed(uint64_t seed);

/* How long a soak may take: its share of BATON_SOAK_SECONDS, else of 60 seconds. */
uint64_t conf_soak_ns(const struct conf *c);
uint64_t conf_clock_ns(void);

#endif

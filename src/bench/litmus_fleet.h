/* SPDX-License-Identifier: MIT */
/*
 * Nodes that run litmus tests, one after the other: processes of this machine, one a node, or parts of this
 * process, or the processes of a given cluster, of which this is one. They are made once for a list of tests, because on a network that takes its time.
 *
 * The header names neither the contract nor the model, so that who has programs of the model can run them.
 */
#ifndef BATON_BENCH_LITMUS_FLEET_H
#define BATON_BENCH_LITMUS_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/litmus_plan.h"
#include "bench/litmus_tally.h"

struct litmus_settings {
    uint64_t seed;
    unsigned batch;       /* instances of a test in one round */
    int64_t round;        /* all rounds have the pace of this one; negative: each its own */
    uint64_t patience_ns; /* a thread that waits longer for others gives up */
};

struct crew;

struct litmus_fleet_opts {
    const char *fabric;
    struct crew *
        given; /* the processes of a given cluster, each a node, make the same calls; null: made here */
    unsigned nodes;      /* at least; 0: as many as the tests need */
    const char *options; /* of the fabric; null: none */
    bool in_process;     /* in simulated worlds always */
    bool swap;           /* BATON_CLUSTER_SWAP */
    const char *kind;    /* of lock, for tests under spec */
    struct litmus_settings settings;
};

struct litmus_fleet;

/* Why nothing can run there, in words; null: it can. */
const char *litmus_fabric_missing(const char *fabric);

/* Without tests and without nodes yet. Null: no memory. */
struct litmus_fleet *litmus_fleet_create(const struct litmus_fleet_opts *opts);

/* The kinds of lock that there are, one after the other with a space before each; null: this one is among them. */
const char *litmus_kind_missing(const char *kind);

/*
 * Adds a test. Returns its number from 0; -EOPNOTSUPP with *reason (static
 * storage) when the contract can not express it; or another error.
 */
int litmus_fleet_add(struct litmus_fleet *fleet, const struct baton_program *program,
                     enum litmus_model model, uint64_t runs, const char **reason);

/* Makes the nodes. -errno with the words in baton_error_detail. */
int litmus_fleet_start(struct litmus_fleet *fleet);

/*
 * Runs one test, once. In a given cluster what was counted is on node 0. *tally holds what was counted, until the next call, after a failure too. A fleet that has
 * failed is good for nothing but to be destroyed.
 */
int litmus_fleet_run(struct litmus_fleet *fleet, unsigned test, const struct litmus_tally **tally);

/* Ends the nodes. */
void litmus_fleet_destroy(struct litmus_fleet *fleet);

#endif

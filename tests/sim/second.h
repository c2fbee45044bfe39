/* SPDX-License-Identifier: MIT */
/*
 * Second explorers of the simulated world, written anew and as simple as they can be, to check the exhaustive
 * driver (src/sim/explore.h) by. They share the world and the rules of the NIC with it, and nothing of what
 * makes it quick.
 *
 *     second_naive.c   every step branches, states are told apart by all their bytes, and who polls really
 *                      polls: nothing is blocked by a relax. A state from which no end can be reached is stuck
 *     second_sleep.c   a tree of runs, each executed from the beginning; no state is ever compared. Sleep sets
 *                      leave out runs that differ in the order of independent steps only
 *     second_world.c   what both do with the world
 */
#ifndef BATON_TESTS_SIM_SECOND_H
#define BATON_TESTS_SIM_SECOND_H

#include <baton/fabric.h>

#include "sim/explore.h"
#include "sim/sim.h"

struct second_program {
    unsigned nodes, threads_n;
    struct baton_team team[SIM_THREADS_MAX]; /* one thread each, with a body of its own */
    int (*setup)(struct baton_cluster *cluster, void *arg);
    void (*close)(void *arg); /* what setup has opened; null: nothing */
    void *ghost;              /* what bodies leave behind, zeroed by the caller */
    size_t ghost_bytes;
    bool polls; /* it uses baton_relax */
    /* All has ended: memory and ghost are final. */
    void (*end)(void *arg);
    void *arg;
    unsigned flags; /* of the cluster */
};

struct second_result {
    bool complete; /* no bound was hit, in which case nothing follows from what was not seen */
    bool stuck;    /* somebody may wait for ever */
    bool
        failed; /* a body has returned an error, or violated something; then the search ended there */
    uint64_t states, runs, steps;
    char text[240];
};

/* The most states, or runs, before the search gives up. 0, or an error of setting up. */
int second_naive(const struct second_program *p, uint64_t states_max, struct second_result *out);
int second_sleep(const struct second_program *p, uint64_t runs_max, struct second_result *out);
/* The exhaustive driver, as `x` says; ghost, final and arg are filled in. */
int second_real(const struct second_program *p, struct sim_explore *x, struct second_result *out);

/* ---- The world, for the two */

struct second_step {
    enum { SECOND_THREAD, SECOND_STORE, SECOND_NIC } kind;
    unsigned thread, node;
    uint64_t entry; /* of the queue pair, counted from its beginning */
    enum baton_nic_step step;
    unsigned choice; /* store: of a put of two words, which comes first */
};

#define SECOND_STEPS_MAX 128u

struct second_image {
    char *at;
    size_t n, room;
};

struct second {
    const struct second_program *p;
    struct sim *s;
    bool really_polls;
    void (*search)(struct second *w);
    void *search_arg;
    struct second_result *out;
    uint64_t bound;
    struct second_image first;
    unsigned choice;
};

/* Opens a cluster, brings all threads to their first act, and calls `search`. */
int second_run(struct second *w);
unsigned second_steps(struct second *w, struct second_step *out);
void second_take(struct second *w, const struct second_step *step);
struct sim_qp *second_qp(struct second *w, const struct second_step *step, unsigned *at);
bool second_ended(const struct second *w); /* nothing is left to do */
void second_save(struct second *w, struct second_image *image);
void second_load(struct second *w, struct second_image *image);
uint64_t second_hash(const struct second *w);

#endif

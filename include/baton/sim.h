/* SPDX-License-Identifier: MIT */
/*
 * The simulated world, fabric "sim": all nodes in this process, threads as coroutines, and a NIC that behaves
 * as the memory model says, with all its weaknesses. See baton_cluster_opts.options for its settings:
 *
 *     driver=timed      everything takes the time that a profile gives it (default)
 *     profile=cx6       of the timed driver: cx3, cx5, cx6 or a file; "baton info --profile cx6" explains
 *     driver=random     a seeded choice among all that may happen, with weights drawn from the seed
 *     faults=a+b        of the random driver, off by default: kill-thread, kill-node, drop (an operation is
 *                       lost, which breaks its queue pair), delay (of a queue pair), pause (of a thread), or
 *                       all. How often each comes is drawn from the seed too; some stay off in some runs
 *     misuse=ignore     does not look for the misuse of words that is told of below (default: report)
 *
 * Misuse of words is found as it happens: read-modify-writes of a word by the wrong side, and foreign writes
 * that a NIC's read-modify-write would undo. baton_run then returns -EPROTO, unless a thread failed itself.
 * Counted as misuse as well, but left to the error that tells the program: an operation outside of every
 * segment, across the end of one or against its rights, and an acquire with a waiter that is in use.
 */
#ifndef BATON_SIM_H
#define BATON_SIM_H

#include <baton/fabric.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many misuses have been found in this cluster, and the first few in words (null: no more). */
unsigned baton_sim_misuses(const struct baton_cluster *cluster);
const char *baton_sim_misuse(const struct baton_cluster *cluster, unsigned index);

/* What was drawn from the seed, in words. -EINVAL: the cluster is not simulated. */
int baton_sim_describe(const struct baton_cluster *cluster, char *out, size_t bytes);

/*
 * Counts since the cluster was opened, all of them functions of seed and program. `unseed` is one of all
 * that the NICs have moved, when, and of what will be drawn next: the same seed must give the same unseed.
 */
struct baton_sim_counts {
    uint64_t ops;    /* remote operations executed */
    uint64_t steps;  /* of the NICs */
    uint64_t now_ns; /* virtual time */
    uint64_t unseed;
};
int baton_sim_counts(const struct baton_cluster *cluster, struct baton_sim_counts *out);

/* No fault of the random driver comes any more. What is dead stays dead. -EINVAL: not simulated. */
int baton_sim_calm(struct baton_cluster *cluster);

/*
 * The node dies now, with all its threads, the caller's too if it is of that node. Operations towards it end
 * with -EHOSTDOWN, waits that depend on it with -EOWNERDEAD. It stays dead. -EINVAL: no such node.
 */
int baton_sim_kill_node(struct baton_cluster *cluster, unsigned node);

#ifdef __cplusplus
}
#endif
#endif

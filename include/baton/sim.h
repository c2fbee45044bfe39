/* SPDX-License-Identifier: MIT */
/*
 * The simulated world, fabric "sim": all nodes in this process, threads as coroutines, and a NIC that behaves
 * as the memory model says, with all its weaknesses. See baton_cluster_opts.options for its settings:
 *
 *     driver=random     a seeded choice among all that may happen (default)
 *
 * Misuse of words is found as it happens: read-modify-writes of a word by the wrong side, and foreign writes
 * that a NIC's read-modify-write would undo. baton_run then returns -EPROTO, unless a thread failed itself.
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

#ifdef __cplusplus
}
#endif
#endif

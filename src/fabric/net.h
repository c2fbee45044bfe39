/* SPDX-License-Identifier: MIT */
/*
 * How the processes of one cluster find each other: what a world that has a network needs besides
 * its own data plane. A net tells
 *
 *     who is there      my nodes, how many places, which others are alive, and which life of theirs
 *     blobs             a few named pieces of bytes per node: worker addresses, cards, keys
 *     names             what baton_name_publish and its kin do
 *     deaths            a node whose process has ended is noticed at once, without asking
 *
 * Three ways to come about, chosen by the options of the cluster (BATON_NET_OPTIONS):
 *
 *     rendezvous=HOST:PORT,secret=FILE   processes on any machines (rendezvous.h)
 *     neither, started by mpirun or Slurm: the launcher passes both on (net_pmix.c). pmix=0: it is
 *                                        not asked; pmix=1: it must be there; pmix=HOST: where
 *                                        node 0 listens
 *     else                               all nodes are in this process
 *
 * Every call may come from any thread. None is for hot paths but baton_net_state and baton_net_life,
 * which load one word.
 */
#ifndef BATON_FABRIC_NET_H
#define BATON_FABRIC_NET_H

#include "fabric/world.h"

struct baton_net;

#define BATON_NET_NODES_MAX 1024u /* every process is connected to every other */
#define BATON_NET_KEYS 8u         /* blobs of a node are numbered from 0 */
#define BATON_NET_BLOB_MAX 16384u /* bytes of one */

/* The settings of baton_cluster_opts.options that are a net's; a world adds them to those it knows. */
#define BATON_NET_OPTIONS "rendezvous", "secret", "join_ms", "pmix"

/* Null, or why this build can not make clusters of processes; and whether launchers can start them. */
const char *baton_net_unavailable(void);
bool baton_net_has_pmix(void);

/* Whether these settings, or the launcher that has started us, name a cluster of other processes too. */
bool baton_net_given(const char *options);

/*
 * Founds or joins. `fabric`: nodes of different fabrics do not meet. From opts: nodes (the founder's
 * number holds), first (-1: what is free; over a rendezvous node 0 is the founder, and only it),
 * local (0: one over a rendezvous or PMIx, else as many as there are places from `first` on), options.
 * When it returns, this process is connected to all that came before it and has their blobs.
 * -EINVAL, -EPERM (the secret), -EBUSY (number taken, no place), -EOPNOTSUPP (another version or
 * fabric, or this build lacks a library), -ETIMEDOUT, -ENOMEM.
 */
int baton_net_open(const struct baton_cluster_opts *opts, const char *fabric,
                   struct baton_net **out);

/* Leaves in an orderly way. No callback is running or will be called after it. */
void baton_net_close(struct baton_net *net);

unsigned baton_net_nodes(const struct baton_net *net);
unsigned baton_net_first(const struct baton_net *net); /* this process is nodes first .. */
unsigned baton_net_local(const struct baton_net *net); /* .. first + local - 1 */

enum baton_node_state baton_net_state(const struct baton_net *net, unsigned node);

/*
 * IP addresses: where this process is reached by others, port 0 (it may be the wildcard); and that of the
 * machine of a node that is alive, as the process is connected to it. Where all nodes are here: loopback.
 */
struct sockaddr_storage;
int baton_net_here(struct baton_net *net, struct sockaddr_storage *out);
int baton_net_address(struct baton_net *net, unsigned node, struct sockaddr_storage *out);

/* Rises from 1 each time the number is taken; 0: it has never been. */
uint32_t baton_net_life(const struct baton_net *net, unsigned node);

/*
 * Where the node's segments begin, so that no life of a number uses addresses of an earlier one:
 * for baton_node.next_base.
 */
uint64_t baton_net_base(const struct baton_net *net, unsigned node);

/*
 * From now on the deaths of nodes are noted at the local nodes of `cluster` (baton_node_note_death),
 * and after that `gone` (may be null) is called for every node of another process that has died or
 * left: one call at a time, from a thread of the net, which must not call baton_net_close. Also for
 * those that have gone since baton_net_open, before this returns.
 */
typedef void baton_net_gone_fn(void *arg, unsigned node, enum baton_node_state how);
void baton_net_watch(struct baton_net *net, struct baton_cluster *cluster, baton_net_gone_fn *gone,
                     void *arg);

/* Gives local node `node` its blob `key`, in place of an earlier one. -ENOMEM, -EINVAL. */
int baton_net_blob_set(struct baton_net *net, unsigned node, unsigned key, const void *bytes,
                       size_t size);

/*
 * Copies blob `key` of any node; *size is its true size (may be null). Waits until the deadline (0:
 * looks once; of CLOCK_MONOTONIC, as baton_now) for a node that is still absent or has not set it.
 * -EHOSTDOWN (dead, or has left), -ENOENT (looked once), -ETIMEDOUT, -ERANGE (more than `room`
 * bytes, or no such node).
 */
int baton_net_blob_get(struct baton_net *net, unsigned node, unsigned key, void *out, size_t room,
                       size_t *size, uint64_t deadline_ns);

/*
 * As baton_world_ops. When publish and withdraw return, every node that is alive knows. A name goes
 * with its node. Two that publish one name at the same time: at most one succeeds.
 */
int baton_net_name_publish(struct baton_net *net, unsigned node, const char *name, baton_gptr at);
int baton_net_name_withdraw(struct baton_net *net, unsigned node, const char *name);
int baton_net_name_find(struct baton_net *net, const char *name, baton_gptr *at);

#endif

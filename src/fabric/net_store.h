/* SPDX-License-Identifier: MIT */
/*
 * What every process of a net holds: a copy of all there is to know. Reading never leaves the process;
 * a transport brings the changes of others in, and takes those of the local nodes out.
 */
#ifndef BATON_FABRIC_NET_STORE_H
#define BATON_FABRIC_NET_STORE_H

#include "fabric/net.h"

struct net_blob {
    size_t size;
    unsigned char bytes[];
};

struct net_node {
    uint64_t word; /* state in the low byte, life above: read without the lock */
    bool untold;   /* has gone before there was a watcher */
    struct net_blob *blobs[BATON_NET_KEYS];
};

/* A name of somebody, or one that a local node claims and others have not all agreed to yet. */
struct net_name {
    struct net_name *next;
    baton_gptr at;
    unsigned node;
    bool claim;
    char text[BATON_NAME_MAX + 1];
};

/* All calls come without net->lock; they take the changes of local nodes to the others. */
struct net_transport {
    void (*close)(struct baton_net *net);
    int (*blob_set)(struct baton_net *net, unsigned node, unsigned key);
    int (*name_publish)(struct baton_net *net, unsigned node, const char *name, baton_gptr at);
    int (*name_withdraw)(struct baton_net *net, unsigned node, const char *name);
    int (*here)(struct baton_net *net, struct sockaddr_storage *out);
    int (*address)(struct baton_net *net, unsigned node, struct sockaddr_storage *out);
};

struct baton_net {
    unsigned nodes, first, local;
    pthread_mutex_t lock;   /* node[].blobs, names */
    pthread_cond_t changed; /* any of it, or a state; of CLOCK_MONOTONIC */
    struct net_node *node;
    struct net_name *names;
    pthread_mutex_t watch_lock; /* the watcher; held while it is called */
    struct baton_cluster *cluster;
    baton_net_gone_fn *gone;
    void *gone_arg;
    const struct net_transport *transport; /* null: all nodes are here */
    void *wire;                            /* the transport's */
    void (*closed)(void);                  /* null, or what comes after the transport's end */
};

/* An empty store; sets nodes, first, local. */
int baton_net_store_create(unsigned nodes, unsigned first, unsigned local, struct baton_net **out);
void baton_net_store_destroy(struct baton_net *net);

bool baton_net_is_local(const struct baton_net *net, unsigned node);

/* A node comes to life; with net->lock not held. */
void baton_net_store_alive(struct baton_net *net, unsigned node, uint32_t life);

/* It has died or left: its blobs and names go, and the watcher hears. */
void baton_net_store_gone(struct baton_net *net, unsigned node, enum baton_node_state how);

/* These take net->lock. -ENOMEM. */
int baton_net_store_blob(struct baton_net *net, unsigned node, unsigned key, const void *bytes,
                         size_t size);

/*
 * These are called with net->lock held. Two nodes may have one name for a moment: one of them is dead,
 * and not all it has said before has come yet. find: any of them; find_of: that node's.
 */
struct net_name *baton_net_store_find(struct baton_net *net, const char *text);
struct net_name *baton_net_store_find_of(struct baton_net *net, const char *text, unsigned node);
int baton_net_store_add(struct baton_net *net, unsigned node, const char *text, baton_gptr at,
                        bool claim);
void baton_net_store_drop(struct baton_net *net, struct net_name *name);

/* Waits for a change, at most until the deadline; with net->lock held. False: it has passed. */
bool baton_net_store_wait(struct baton_net *net, uint64_t deadline_ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A net of processes on any machines, over TCP.
 *
 * Every process is connected to every other. A new one asks node 0, which gives it its number and
 * tells who is there; then it connects to each of them, and those who come later connect to it. So
 * node 0 is needed for that and for nothing else: when it has died, nobody can join any more.
 *
 * An end of a connection is the end of the process at its other end: NET_BYE before it, and it has
 * left; else it has died. A machine that is gone does not answer when the kernel asks it each second
 * (keep-alive): it counts as dead after RENDEZVOUS_SILENT_MS + RENDEZVOUS_SURE_MS of silence.
 *
 * Nobody decides about names: a process that wants one asks all others, and each answers for the
 * names of its own nodes only. Of two that want one at the same time, the lower node gets it.
 */
#ifndef BATON_FABRIC_RENDEZVOUS_H
#define BATON_FABRIC_RENDEZVOUS_H

#include "fabric/net_link.h"
#include "fabric/net_store.h"

#define RENDEZVOUS_ADDRESS 64u /* of "address port" and "host:port" */
/* Connections that have proved nothing: so many, the oldest gives way; and so long. */
#define RENDEZVOUS_STRANGERS_MAX 32u
#define RENDEZVOUS_PROOF_MS 5000u
/* A member that is alive but stopped is not waited for longer. */
#define RENDEZVOUS_ANSWER_MS 30000u
/* A machine that is there has answered its peer's kernel by then, or else so much later. */
#define RENDEZVOUS_SILENT_MS 3500u
#define RENDEZVOUS_SURE_MS 500u
/* Lives of one number: baton_net_base has room for no more. */
#define RENDEZVOUS_LIVES_MAX 128u

struct rendezvous_opts {
    const char *at; /* "host:port" of node 0; the founder may say port 0 */
    const char *fabric;
    unsigned nodes; /* founder only */
    int first;      /* others: -1 any */
    unsigned local;
    unsigned join_ms;
    uint8_t key[NET_KEY_BYTES];
};

/* Becomes node 0. `where`: its "host:port", with the true port. */
int baton_rendezvous_found(const struct rendezvous_opts *opts, struct baton_net **out,
                           char where[RENDEZVOUS_ADDRESS]);
int baton_rendezvous_join(const struct rendezvous_opts *opts, struct baton_net **out);

/* ---- Inside */

/* The other end of a connection. */
struct rv_peer {
    int fd;
    bool member; /* else a stranger */
    bool synced; /* has told all it had when we met */
    int broken;  /* seen by a sender; the thread ends it */
    bool bye;
    uint64_t deadline_ns; /* of a stranger */
    uint64_t silent_ns;   /* when a member was first found silent; 0: it is not */
    unsigned first, count;
    uint32_t life;
    char address[RENDEZVOUS_ADDRESS]; /* where it listens */
    struct net_link link;
};

/* A caller who waits until all members have answered. */
struct rv_call {
    struct rv_call *next;
    uint32_t ticket;
    unsigned waiting;
    int rc; /* first refusal */
    char name[BATON_NAME_MAX + 1];
    bool owes[BATON_NET_NODES_MAX]; /* by first node of the member */
};

struct rv_gone {
    struct rv_gone *next;
    unsigned first, count;
    enum baton_node_state how;
};

struct rv {
    struct baton_net *net;
    struct net_hello me; /* what all our hellos have in common */
    uint8_t key[NET_KEY_BYTES];
    bool founder;
    int listener, wake;
    pthread_t thread;
    pthread_mutex_t lock; /* all below, and the links; never held while the watcher is called */
    pthread_cond_t heard; /* an answer, a member synced or lost */
    bool stop;
    struct rv_peer **peers; /* only the thread removes */
    unsigned peers_n, peers_room;
    uint64_t look_ns;                 /* when to look for silent members again */
    struct rv_gone *gone, **gone_end; /* to tell the store */
    struct rv_call *calls;
    uint32_t tickets;
    uint32_t *gone_life; /* by first node: the last life that node 0 has reported gone */
};

/* rendezvous_socket.c: sockets, blocking ones with deadlines. -errno with words. */
int baton_rv_listen(const char *host, const char *port, int *fd);
int baton_rv_dial(const char *host, const char *port, uint64_t deadline_ns, int *fd);
int baton_rv_split(const char *at, char host[RENDEZVOUS_ADDRESS], char port[8]);
int baton_rv_name(int fd, char host[RENDEZVOUS_ADDRESS], char port[8]); /* our end */
void baton_rv_tune(int fd);
int baton_rv_send(struct rv_peer *p);                            /* what goes without blocking */
int baton_rv_receive(struct rv_peer *p);                         /* 1 some, 0 none now */
unsigned baton_rv_silence(const struct rv_peer *p, bool *asked); /* ms since its kernel spoke */
int baton_rv_await(struct rv_peer *p, uint64_t deadline_ns,
                   struct net_message *m); /* one message */

/* rendezvous_peer.c: members, and the thread. */
struct rv_peer *baton_rv_peer_create(int fd);
void baton_rv_peer_destroy(struct rv_peer *p);
int baton_rv_peer_add(struct rv *rv, struct rv_peer *p);
void baton_rv_peer_adopt(struct rv *rv, struct rv_peer *p); /* the lock is held */
void baton_rv_say(struct rv_peer *p, const struct net_message *m);
void baton_rv_wake(struct rv *rv);

/* Does what the messages that are there ask for; < 0: the connection is to be dropped. */
int baton_rv_hear(struct rv *rv, struct rv_peer *p);
void baton_rv_drop(struct rv *rv, struct rv_peer *p);

int baton_rv_start(struct rv *rv);
void baton_rv_free(struct rv *rv); /* the thread does not run (any more) */
extern const struct net_transport baton_rv_transport;

/* rendezvous_names.c: blobs and names; all with the lock held but those of the transport. */
void baton_rv_dump(struct rv *rv, struct rv_peer *p);
void baton_rv_claim(struct rv *rv, struct rv_peer *p, const struct net_message *m);
void baton_rv_name_came(struct rv *rv, struct rv_peer *p, const struct net_message *m);
void baton_rv_withdrawn(struct rv *rv, struct rv_peer *p, const struct net_message *m);
void baton_rv_answer(struct rv *rv, struct rv_peer *p, const struct net_message *m);
void baton_rv_owes_nothing(struct rv *rv, const struct rv_peer *p);
int baton_rv_blob_set(struct baton_net *net, unsigned node, unsigned key);
int baton_rv_name_publish(struct baton_net *net, unsigned node, const char *name, baton_gptr at);
int baton_rv_name_withdraw(struct baton_net *net, unsigned node, const char *name);

/* rendezvous_join.c, at node 0: somebody wants to be a member; it is one or is refused. */
int baton_rv_admit(struct rv *rv, struct rv_peer *p, const struct net_message *m);

#endif

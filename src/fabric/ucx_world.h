/* SPDX-License-Identifier: MIT */
/*
 * What a process keeps of a ucx cluster.
 *
 * A node has a service: a UCX worker and a thread that progresses it, and sleeps when there is nothing to
 * do. An endpoint has a worker of its own, made when it first needs one, so that threads share nothing; it
 * is connected to the services of the nodes that it has work for, and each of these back to it: ucx_message.c.
 *
 *     mode am     the part of a chain that goes to one node is one message; the service executes it in
 *                 order and answers once. The host's CPU executes everything, so remote read-modify-writes
 *                 are atomic with its own, and what an endpoint does to its own node it does itself
 *     mode rma    puts, gets and atomics of UCX, which the card does where it can. Where UCX does them in
 *                 software (tcp) nothing checks keys: the endpoint looks behind every chain whether the
 *                 node has taken back a segment since, and memory taken back stays mapped
 *
 * Errors of peers are always asked for, and transports through shared memory, which do not tell them, are
 * never used: the fabric for one machine is shm.
 */
#ifndef BATON_FABRIC_UCX_WORLD_H
#define BATON_FABRIC_UCX_WORLD_H

#include "fabric/net.h"
#include "fabric/ucx_lib.h"
#include "fabric/ucx_wire.h"
#include "fabric/world.h"

enum ucx_mode { UCX_MODE_AM = 1, UCX_MODE_RMA };

/* ---- Cluster and nodes */

struct ucx_service;

struct ucx_node {
    struct ucx_world *world;
    struct baton_node *node;
    uint64_t life;
    uint64_t tokens; /* given out so far */
    bool *places;    /* of endpoints: taken */
    unsigned places_n;
    pthread_rwlock_t memory; /* read: operations are executed; write: a segment is taken back */
    uint64_t *gone;          /* segments taken back so far; in a page of its own */
    struct ucx_key *gone_key;
    struct ucx_service *service;
};

/* rma: what UCX has to be given to reach memory of this node. */
struct ucx_key {
    ucp_mem_h memory;
    void *packed;
    size_t bytes;
};

struct ucx_world {
    struct baton_cluster *cluster;
    ucp_context_h context;
    enum ucx_mode mode;
    bool software;       /* rma: UCX emulates operations, and checks nothing */
    unsigned timeout_ms; /* after which a peer that does not answer is an error */
    struct ucx_node **nodes;
    struct baton_net *net;
    pthread_mutex_t lock; /* closing, and the places of endpoints */
    bool closing;
};

/* What UCX says, as an errno. */
int baton_ucx_errno(ucs_status_t status);

/* A worker; the threads that UCX may start for it take no signals. */
int baton_ucx_worker_open(struct ucx_world *w, ucp_worker_h *out);

/* A message that has come; its bytes lie aligned, and are valid in the call only. */
typedef void ucx_heard_fn(void *arg, const void *message, size_t bytes);

/* What a worker hears: messages of one kind. */
struct ucx_ear {
    ucp_worker_h worker;
    ucp_tag_t tag;
    ucx_heard_fn *heard;
    void *arg;
    int wake;         /* becomes readable when something comes */
    uint64_t *buffer; /* of UCX_MESSAGE_MAX bytes */
    struct ucx_part *parts;
    ucp_address_t *address; /* where others send to it */
    size_t address_bytes;   /* not more than UCX_ADDRESS_MAX */
};

/* Sets up all but the first four. */
int baton_ucx_ear_open(struct ucx_ear *e);
void baton_ucx_ear_close(struct ucx_ear *e); /* and destroys the worker */

/* Progress of the worker; what has come is heard. False if nothing has happened. */
bool baton_ucx_ear_progress(struct ucx_ear *e);

/* Sleeps until something comes, or that long; BATON_NEVER: for ever. True if it was woken. */
bool baton_ucx_sleep(const struct ucx_ear *e, uint64_t ns);

/*
 * The card of a node that is alive; waits until the deadline for one that is just starting. -EHOSTDOWN,
 * -EOPNOTSUPP (another version, byte order or mode).
 */
int baton_ucx_card(struct ucx_world *w, unsigned node, uint64_t deadline_ns, struct ucx_card *out);

/*
 * The interface that nodes here are reached over: `dev`, which has to have an address, or, if that is empty,
 * the one where the net is. It is left in `dev`; empty if it is any.
 */
int baton_ucx_interface(const struct ucx_world *w, char *dev, size_t room);

int baton_ucx_node_open(struct ucx_world *w, struct baton_node *node, struct ucx_card *card,
                        struct ucx_node **out);
void baton_ucx_node_close(struct ucx_node *n);
int baton_ucx_segment_create(struct ucx_node *n, unsigned slot, struct baton_segment *s);
void baton_ucx_segment_destroy(struct ucx_node *n, unsigned slot, struct baton_segment *s);

/*
 * The word of this node that an operation works on, which is a piece of one of `whole` bytes that began as
 * many `before`. Under the memory lock. *there is the segment, also one that refuses; base 0: none.
 */
int baton_ucx_place(struct ucx_node *n, const struct baton_op *op, uint32_t before, uint32_t whole,
                    uint64_t **word, struct baton_segment *there);

/* rma: the segment that holds an offset, under the memory lock. */
bool baton_ucx_find(const struct ucx_node *n, uint64_t offset, struct baton_segment *out);

/* ---- The service */

int baton_ucx_service_open(struct ucx_node *n, struct ucx_card *card);
void baton_ucx_service_close(struct ucx_node *n);

/* Forgets what was kept about nodes that are gone, soon. */
void baton_ucx_service_sweep(struct ucx_node *n);

/* ---- Links: an endpoint's connection to a node */

#define UCX_DEPTH 64u  /* operations outstanding */
#define UCX_WINDOW 16u /* am: messages not known to be done */

struct ucx_entry {
    struct baton_op op;
    int rc;
    bool over;
};

/* am: a request under way. */
struct ucx_sent {
    uint64_t first;  /* entry of the first record */
    uint32_t count;  /* records */
    uint32_t before; /* it is a piece of its one operation, that begins so many bytes into it */
    uint32_t bytes;
    bool piece, last;
    bool quiet; /* nobody waits for its answer */
};

struct ucx_link;

/* Reads an answer whose head is `a`; `body` is aligned to nothing, and valid in the call only. */
typedef int ucx_take_fn(struct ucx_link *l, const struct ucx_answer *a, const char *body,
                        size_t bytes);

/* A hello or look whose answer is waited for. */
struct ucx_ask {
    ucx_take_fn *take; /* or null */
    uint64_t number;
    int rc;
    bool answered;
};

struct ucx_link {
    struct ucx_ep *ep;
    unsigned node;        /* where it goes */
    ucp_ep_h ucp;         /* null: not connected */
    uint64_t life;        /* of the node */
    uint32_t net_life;    /* the same as the net counts it */
    uint64_t token;       /* of the connection */
    uint64_t head, tail;  /* entries taken from the ring, entries put in */
    uint64_t next;        /* number of the next request */
    uint64_t done;        /* of the first that is not known to be done */
    uint64_t owed;        /* am: of the last that will be answered */
    uint64_t still_ns;    /* since when nothing is heard; 0: something was, or nobody has looked */
    int lost;             /* 0, or why the connection is no longer one */
    bool sending;         /* UCX still needs the bytes of a request */
    bool held;            /* what was sent last waits at its node */
    uint32_t held_sleeps; /* for such, one behind the other that was not brief */
    bool ended;           /* by itself: UCX has found it so */
    int broken;           /* 0, or why nothing is sent any more */
    bool failed;          /* an entry has been given its error: the rest is cancelled */
    char text[256];       /* why it broke */
    struct ucx_ask *ask;  /* or null */
    struct ucx_entry entries[UCX_DEPTH];
    struct ucx_sent sent[UCX_WINDOW];
    struct ucx_rma *rma; /* mode rma: see ucx_rma.c */
};

struct ucx_ep {
    struct ucx_node *n;
    struct baton_epx *epx;
    struct ucx_ear ear; /* its worker is null while not needed yet */
    char *buffer;       /* the request that is being written */
    unsigned place;     /* among the endpoints of its node that are open */
    unsigned used_n;
    struct ucx_link **used;   /* those that were ever needed */
    struct ucx_link *links[]; /* by node */
};

BATON_INLINE struct ucx_entry *baton_ucx_entry(struct ucx_link *l, uint64_t i)
{
    return &l->entries[i % UCX_DEPTH];
}

/* Connects and says hello. On failure nothing is connected. */
int baton_ucx_link_connect(struct ucx_link *l);
void baton_ucx_link_disconnect(struct ucx_link *l);

/* Nothing is sent any more; the first entry that is not over fails with rc. */
void baton_ucx_link_break(struct ucx_link *l, int rc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The connection is gone: breaks the link, and every entry is over. */
void baton_ucx_link_lose(struct ucx_link *l, const char *why);

/* Sends a request; blocks until UCX needs its bytes no more. On failure the link is lost. */
void baton_ucx_link_send(struct ucx_link *l, const void *request, size_t bytes);

/* The head of a request. */
struct ucx_request baton_ucx_link_request(const struct ucx_link *l, enum ucx_kind kind);

/* Sends a hello or look, and waits for the answer, which `take` reads. */
int baton_ucx_link_ask(struct ucx_link *l, const struct ucx_request *q, ucx_take_fn *take);

/*
 * A turn of waiting: progress, then pauses, then sleeps until UCX has something. `idle` counts turns in
 * which it had nothing, 0 at first. Then a look at the link's health.
 */
void baton_ucx_link_wait(struct ucx_link *l, uint32_t *idle);

/* Whether it is connected to the node that has the number now. */
bool baton_ucx_link_is_current(const struct ucx_link *l);

/* Loses the link if its node is gone, or has been silent for too long. */
void baton_ucx_link_look(struct ucx_link *l);

/* Gives away what is over; true if there was something. */
bool baton_ucx_link_drain(struct ucx_link *l);

/* Waits until there is room for so many entries. */
void baton_ucx_link_room(struct ucx_link *l, unsigned n);

/* Enters an operation, for which there is room; if the link is broken it is over at once. */
void baton_ucx_link_enter(struct ucx_link *l, const struct baton_op *op);

/*
 * Whether it is too early to read the source of a put. A card reads it when the turn of the put has come, and
 * behind an rfence that is after the fetches before it (tests/litmus/get-rfence-put-data, nlock-release-put).
 */
bool baton_ucx_link_early(struct ucx_link *l, const struct baton_op *op);

/* What was entered from `from` on and is not over is not going to be sent. */
void baton_ucx_link_cancel(struct ucx_link *l, uint64_t from);

/* ---- Modes: what a link does with the operations of a chain that are its node's */

void baton_ucx_rma_ring(struct ucx_link *l, const struct baton_op *ops, unsigned n);
ucx_take_fn baton_ucx_rma_met;                 /* of the answer to a hello */
void baton_ucx_rma_settle(struct ucx_link *l); /* judges what is done */
bool baton_ucx_rma_idle(struct ucx_link *l);   /* nothing is under way */
void baton_ucx_rma_parted(struct ucx_link *l); /* before the connection is closed */
void baton_ucx_rma_finish(struct ucx_link *l); /* and after it */

void baton_ucx_am_ring(struct ucx_link *l, const struct baton_op *ops, unsigned n);

/* Makes sure that all that was sent will be known to be done, also what is quiet. */
void baton_ucx_am_hear(struct ucx_link *l);

void baton_ucx_am_answered(struct ucx_link *l, const struct ucx_answer *a, const char *body,
                           size_t bytes);

int baton_ucx_ep_open(struct baton_epx *ep);
void baton_ucx_ep_close(struct baton_epx *ep);

#endif

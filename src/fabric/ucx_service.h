/* SPDX-License-Identifier: MIT */
/*
 * The inside of a node's service: its connections, and what requests it has not answered yet.
 *
 * All of it belongs to the service's thread.
 */
#ifndef BATON_FABRIC_UCX_SERVICE_H
#define BATON_FABRIC_UCX_SERVICE_H

#include "fabric/ucx_world.h"

struct ucx_held;

/* The connection to somebody who has said hello, for answers. */
struct ucx_inbound {
    struct ucx_inbound *next;
    struct ucx_service *service;
    ucp_ep_h ucp;
    struct ucx_request hello;
    uint64_t quiet;        /* number of the last request, if it was not answered; else 0 */
    bool over;             /* nothing comes or goes any more */
    bool opening, closing; /* UCX has it in hand */
    struct ucx_held *held; /* a request whose gets are repeated; or null */
};

#define UCX_BUCKETS 64u

struct ucx_service {
    struct ucx_node *n;
    struct ucx_ear ear;
    uint64_t stop, sweep; /* not 0: to stop; to look who is gone */
    pthread_t thread;
    struct ucx_inbound *inbound[UCX_BUCKETS]; /* by who sends, and the place there */
    unsigned inbound_n, over_n;
    unsigned closing; /* connections that UCX has not closed yet */
    bool quiet;       /* somebody has not been answered */
    uint32_t wrote;   /* kinds of words written, of which nobody is woken yet */
    unsigned held_n;  /* requests whose gets are repeated */
    uint64_t *out;    /* the answer that is being written */
};

/* Executes a request, and answers it; `end` of what follows it. */
void baton_ucx_service_request(struct ucx_inbound *from, const struct ucx_request *q,
                               const char *end);

/* ---- Connections: ucx_inbound.c */

/* Somebody says hello; `bytes` follow it. Answered when the way back is made. */
void baton_ucx_inbound_hello(struct ucx_service *s, const struct ucx_request *q, size_t bytes);

/* The connection that q came over; null: there is none that is still to be heard. */
struct ucx_inbound *baton_ucx_inbound_find(struct ucx_service *s, const struct ucx_request *q);

/* Closes those that are over, or all. */
void baton_ucx_inbound_close(struct ucx_service *s, bool all);

/* Closes those of nodes that are gone. */
void baton_ucx_inbound_sweep(struct ucx_service *s);

/* The head of an answer, at s->out; null: no memory. */
struct ucx_answer *baton_ucx_answer_begin(struct ucx_service *s, uint64_t token, uint64_t number,
                                          enum ucx_kind kind);

/* Sends s->out. */
void baton_ucx_answer(struct ucx_service *s, ucp_ep_h to, size_t bytes);

/* Tells those who were not answered how far their requests are done. */
void baton_ucx_answer_quiet(struct ucx_service *s);

/* ---- Chains: ucx_chain.c */

/* Executes it. The bytes of the answer; 0: there is none (yet), as it is nonsense, or held. */
size_t baton_ucx_chain(struct ucx_service *s, const struct ucx_request *q, const char *end,
                       struct ucx_inbound *from, struct ucx_answer *a);

/* Repeats the gets that are held, and answers those that wait no longer. Under the memory lock. */
void baton_ucx_held_look(struct ucx_service *s);

void baton_ucx_held_drop(struct ucx_inbound *i);

#endif

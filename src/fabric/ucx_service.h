/* SPDX-License-Identifier: MIT */
/*
 * The inside of a node's service: its connections, and what requests it has not answered yet.
 *
 * All of it belongs to the service's thread.
 */
#ifndef BATON_FABRIC_UCX_SERVICE_H
#define BATON_FABRIC_UCX_SERVICE_H

#include "fabric/ucx_world.h"

/* The end here of somebody's connection. */
struct ucx_inbound {
    struct ucx_inbound *next;
    struct ucx_service *service;
    ucp_ep_h ucp;
    bool over;
    uint64_t token, quiet; /* of the last request, if it was not answered: its number; else 0 */
};

#define UCX_BUCKETS 64u

struct ucx_service {
    struct ucx_node *n;
    ucp_worker_h worker;
    int wake;
    struct ucx_patience patience;
    uint64_t stop, sweep; /* not 0: to stop; to look who is gone */
    pthread_t thread;
    ucp_listener_h listener;
    struct ucx_inbound *inbound[UCX_BUCKETS]; /* by the address that UCX gives them */
    unsigned inbound_n, over_n;
    uint64_t closing; /* ends that UCX has not closed yet */
    bool quiet;       /* somebody has not been answered */
    struct refused *refused;
    uint64_t *in;  /* a request that does not lie aligned */
    uint64_t *out; /* the answer that is being written */
};

/* ---- Connections: ucx_inbound.c */

void baton_ucx_inbound_come(ucp_conn_request_h request, void *service);
struct ucx_inbound *baton_ucx_inbound_find(struct ucx_service *s, ucp_ep_h ucp); /* or null */

/* Closes those that are over, or all. */
void baton_ucx_inbound_close(struct ucx_service *s, bool all);

/* The head of an answer, at s->out; null: no memory. */
struct ucx_answer *baton_ucx_answer_begin(struct ucx_service *s, uint64_t token, uint64_t number,
                                          enum ucx_kind kind);

/* Sends s->out. */
void baton_ucx_answer(struct ucx_service *s, ucp_ep_h to, size_t bytes);

/* Tells those who were not answered how far their requests are done. */
void baton_ucx_answer_quiet(struct ucx_service *s);

/* ---- Chains: ucx_chain.c */

/* Executes it. The bytes of the answer; 0: nonsense. */
size_t baton_ucx_chain(struct ucx_service *s, const struct ucx_request *q, const char *end,
                       struct ucx_answer *a);

#endif

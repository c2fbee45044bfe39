/* SPDX-License-Identifier: MIT */
/*
 * The service of a node: a worker and its thread, which executes what comes in, and sleeps when nothing
 * does. In mode rma UCX executes by itself while this thread makes progress, and only hellos and looks come
 * in here.
 *
 * Requests are bytes of another process until their lengths and places fit; one that makes no sense is
 * dropped, and who waits for its answer runs into a deadline.
 */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/ucx_service.h"

enum { SPINS = 128 }; /* turns without an event before it sleeps: some tens of microseconds */

/* How long nothing has come before those are told that were not answered. */
#define QUIET_NS 5000000u

/*
 * The last connection of a place of endpoints whose successor has come: what is still on its way over it, or one
 * before it, must not happen any more. There are as many of these as a node has had endpoints open at a time.
 */
struct refused {
    struct refused *next;
    uint64_t from_life, token;
    uint16_t from;
};

/* ---- Hello */

static struct refused *refused_of(const struct ucx_service *s, const struct ucx_request *q,
                                  uint64_t token)
{
    for (struct refused *r = s->refused; r; r = r->next)
        if (r->from == q->from && r->from_life == q->from_life &&
            r->token >> UCX_TOKEN_COUNT_BITS == token >> UCX_TOKEN_COUNT_BITS)
            return r;
    return NULL;
}

static bool is_refused(const struct ucx_service *s, const struct ucx_request *q)
{
    const struct refused *r = refused_of(s, q, q->token);
    return r && q->token <= r->token;
}

static int on_hello(struct ucx_service *s, const struct ucx_request *q)
{
    if (q->life != s->n->life)
        return -EHOSTDOWN;
    if (!q->replaces)
        return 0;
    struct refused *r = refused_of(s, q, q->replaces);
    if (!r) {
        r = malloc(sizeof(*r));
        if (!r)
            return -ENOMEM;
        *r = (struct refused){s->refused, q->from_life, 0, q->from};
        s->refused = r;
    }
    if (q->replaces > r->token)
        r->token = q->replaces;
    return 0;
}

/* Nodes that are gone send nothing more. */
static void forget_gone(struct ucx_service *s)
{
    struct refused **at = &s->refused;
    while (*at) {
        struct refused *r = *at;
        if (baton_net_state(s->n->world->net, r->from) == BATON_NODE_ALIVE) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        free(r);
    }
}

/* ---- rma: where memory is */

static size_t add_memory(struct ucx_service *s, const void *memory, const struct ucx_key *key,
                         struct ucx_answer *a)
{
    struct ucx_memory *m = (struct ucx_memory *)(a + 1);
    size_t size = sizeof(*a) + sizeof(*m) + key->bytes;
    if (size > UCX_MESSAGE_MAX)
        return 0;
    *m = (struct ucx_memory){(uintptr_t)memory, *s->n->gone, key->bytes};
    memcpy(m->key, key->packed, key->bytes);
    return size;
}

static size_t on_look(struct ucx_service *s, const struct ucx_request *q, struct ucx_answer *a)
{
    struct baton_segment there;
    if (!baton_ucx_find(s->n, q->offset, &there)) {
        a->rc = -EKEYREJECTED;
        return sizeof(*a);
    }
    a->base = there.base;
    a->bytes = there.bytes;
    a->rights = there.rights;
    return there.world ? add_memory(s, there.memory, there.world, a) : 0;
}

/* ---- What comes in */

static size_t on_kind(struct ucx_service *s, const struct ucx_request *q, const char *end,
                      struct ucx_answer *a)
{
    if (q->kind == UCX_HELLO) {
        a->rc = on_hello(s, q);
        return a->rc || !s->n->gone_key ? sizeof(*a) : add_memory(s, s->n->gone, s->n->gone_key, a);
    }
    if (q->life != s->n->life)
        return 0;
    return q->kind == UCX_CHAIN  ? baton_ucx_chain(s, q, end, a)
           : q->kind == UCX_LOOK ? on_look(s, q, a)
                                 : 0;
}

static ucs_status_t on_request(void *arg, const void *header, size_t header_bytes, void *data,
                               size_t bytes, const ucp_am_recv_param_t *param)
{
    struct ucx_service *s = arg;
    const struct ucx_request *q = data;
    if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV || bytes < sizeof(*q) ||
        bytes > UCX_MESSAGE_MAX || !(param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP))
        return UCS_OK;
    if ((uintptr_t)data & 7) {
        memcpy(s->in, data, bytes);
        q = (const struct ucx_request *)s->in;
    }
    if (q->from >= s->n->world->cluster->nodes || is_refused(s, q))
        return UCS_OK;
    struct ucx_answer *a = baton_ucx_answer_begin(s, q->token, q->number, q->kind);
    struct ucx_inbound *from = baton_ucx_inbound_find(s, param->reply_ep);
    size_t size = a ? on_kind(s, q, (const char *)q + bytes, a) : 0;
    if (size && q->flags & UCX_QUIET && !a->rc && from) {
        from->token = q->token;
        from->quiet = q->number;
        s->quiet = true;
    } else if (size) {
        if (from)
            from->quiet = 0;
        baton_ucx_answer(s, param->reply_ep, size);
    }
    return UCS_OK;
}

/* ---- The thread */

static bool progress(struct ucx_service *s)
{
    pthread_rwlock_rdlock(&s->n->memory);
    unsigned events = UCX(ucp_worker_progress)(s->worker);
    pthread_rwlock_unlock(&s->n->memory);
    if (events)
        baton_ucx_inbound_close(s, false);
    return events != 0;
}

/* Until something comes in. Who was not answered is told when nothing else is to do. */
static void sleep_here(struct ucx_service *s)
{
    const uint64_t ns = s->quiet ? QUIET_NS : BATON_NEVER;
    if (!baton_word_load(&s->stop) && !baton_ucx_sleep(&s->patience, s->worker, s->wake, ns))
        baton_ucx_answer_quiet(s);
}

static void *serve(void *arg)
{
    struct ucx_service *s = arg;
    for (unsigned idle = 0; !baton_word_load(&s->stop);) {
        if (progress(s)) {
            idle = 0;
        } else if (++idle < s->patience.turns) {
            baton_cpu_pause();
        } else {
            sleep_here(s);
            idle = 0;
        }
        if (baton_word_load(&s->sweep) && baton_word_swap(&s->sweep, 0))
            forget_gone(s);
    }
    baton_ucx_answer_quiet(s);
    do { /* one more may come meanwhile */
        baton_ucx_inbound_close(s, true);
        progress(s);
    } while (s->closing || s->inbound_n);
    return NULL;
}

static void wake(struct ucx_service *s, uint64_t *flag)
{
    baton_word_store(flag, 1);
    UCX(ucp_worker_signal)(s->worker);
}

void baton_ucx_service_sweep(struct ucx_node *n)
{
    wake(n->service, &n->service->sweep);
}

/* ---- Open, close */

static int listen_here(struct ucx_service *s, struct ucx_card *card)
{
    const struct sockaddr_storage *here = &s->n->world->here;
    ucp_listener_params_t p = {
        .field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
        .sockaddr = {(const struct sockaddr *)here, here->ss_family == AF_INET6
                                                        ? sizeof(struct sockaddr_in6)
                                                        : sizeof(struct sockaddr_in)},
        .conn_handler = {baton_ucx_inbound_come, s}};
    ucp_listener_attr_t a = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    ucs_status_t status = UCX(ucp_listener_create)(s->worker, &p, &s->listener);
    if (!status)
        status = UCX(ucp_listener_query)(s->listener, &a);
    if (status)
        return baton_fail(-EADDRNOTAVAIL, "UCX does not listen on this node's address: %s",
                          UCX(ucs_status_string)(status));
    baton_ucx_card_place(card, &a.sockaddr);
    return 0;
}

static int start(struct ucx_service *s)
{
    int rc = baton_ucx_worker_hear(s->worker, UCX_AM_REQUEST, on_request, s, &s->wake);
    if (rc)
        return rc;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = -pthread_create(&s->thread, NULL, serve, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? baton_fail(rc, "the thread that serves node %u could not be made: %s",
                           s->n->node->index, strerror(-rc))
              : 0;
}

int baton_ucx_service_open(struct ucx_node *n, struct ucx_card *card)
{
    struct ucx_service *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->n = n;
    s->patience = baton_ucx_patience(SPINS);
    n->service = s;
    s->in = malloc(UCX_MESSAGE_MAX);
    s->out = malloc(UCX_MESSAGE_MAX);
    int rc = s->in && s->out ? baton_ucx_worker_open(n->world, &s->worker) : -ENOMEM;
    if (rc)
        goto no_worker;
    rc = listen_here(s, card);
    if (!rc)
        rc = start(s);
    if (!rc)
        return 0;
    if (s->listener)
        UCX(ucp_listener_destroy)(s->listener);
    UCX(ucp_worker_destroy)(s->worker);
no_worker:
    free(s->in);
    free(s->out);
    free(s);
    return rc;
}

void baton_ucx_service_close(struct ucx_node *n)
{
    struct ucx_service *s = n->service;
    wake(s, &s->stop);
    pthread_join(s->thread, NULL);
    UCX(ucp_listener_destroy)(s->listener);
    UCX(ucp_worker_destroy)(s->worker);
    while (s->refused) {
        struct refused *r = s->refused;
        s->refused = r->next;
        free(r);
    }
    free(s->in);
    free(s->out);
    free(s);
}

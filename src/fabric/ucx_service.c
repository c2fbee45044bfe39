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
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/cpu_op.h"
#include "fabric/ucx_world.h"

enum { SPINS = 64 }; /* progress without an event before it sleeps: some tens of microseconds */

/* The end here of somebody's connection. */
struct inbound {
    struct inbound *next;
    ucp_ep_h ucp;
    bool over;
};

/* A connection whose successor has come: what is still on its way must not happen any more. */
struct refused {
    struct refused *next;
    uint64_t from_life, token;
    uint16_t from;
};

struct ucx_service {
    struct ucx_node *n;
    ucp_worker_h worker;
    int wake;
    uint64_t stop, sweep; /* not 0: to stop; to look who is gone */
    pthread_t thread;
    ucp_listener_h listener;
    struct inbound *inbound;
    uint64_t closing; /* ends that UCX has not closed yet */
    struct refused *refused;
    uint64_t *in;  /* a request that does not lie aligned */
    uint64_t *out; /* the answer that is being written */
};

/* ---- Answers */

static void answered(void *request, ucs_status_t status, void *buffer)
{
    free(buffer);
    UCX(ucp_request_free)(request);
}

/* What UCX can not send at once stays in its buffer, and the next answer gets another one. */
static void send_answer(struct ucx_service *s, ucp_ep_h to, size_t bytes)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                                             UCP_OP_ATTR_FIELD_USER_DATA,
                             .flags = UCP_AM_SEND_FLAG_EAGER,
                             .cb.send = answered,
                             .user_data = s->out};
    ucs_status_ptr_t r = UCX(ucp_am_send_nbx)(to, UCX_AM_ANSWER, NULL, 0, s->out, bytes, &p);
    if (UCS_PTR_IS_PTR(r))
        s->out = NULL;
    /* One that can not be sent goes to somebody who is gone. */
}

/* ---- Chains */

/* Reads a record; what follows it is left at *at. False if the bytes do not suffice. */
static bool read_record(const char **at, const char *end, unsigned self, struct ucx_record *r,
                        struct baton_op *op)
{
    if ((size_t)(end - *at) < sizeof(*r))
        return false;
    memcpy(r, *at, sizeof(*r));
    *at += sizeof(*r);
    *op = (struct baton_op){.kind = r->kind,
                            .flags = BATON_OPF_INLINE,
                            .node = (uint16_t)self,
                            .bytes = r->bytes,
                            .remote = baton_gptr_make(self, r->offset),
                            .value = r->value,
                            .expected = r->expected};
    if (r->kind >= BATON_OP_KINDS || r->offset >> 48 || r->offset & 7 || !r->bytes ||
        r->bytes & 7 || r->bytes > UCX_BODY_MAX || r->before > r->offset || r->bytes > r->whole ||
        r->before > r->whole - r->bytes)
        return false;
    if (r->flags & UCX_RECORD_MASKS) {
        const uint64_t *masks = (const uint64_t *)*at;
        if (end - *at < 16)
            return false;
        op->flags |= BATON_OPF_MASKED;
        op->cmask = masks[0];
        op->smask = masks[1];
        *at += 16;
    }
    if (r->flags & UCX_RECORD_BYTES) {
        if ((size_t)(end - *at) < r->bytes)
            return false;
        op->flags &= (uint8_t)~BATON_OPF_INLINE;
        op->local = (void *)(uintptr_t)*at;
        *at += r->bytes;
        return r->kind == BATON_OP_PUT;
    }
    return r->kind == BATON_OP_GET || r->bytes == 8;
}

/* Executes the records; results go behind the answer's head. The bytes of the answer, or 0: nonsense. */
static size_t execute(struct ucx_service *s, const struct ucx_request *q, const char *at,
                      const char *end, struct ucx_answer *a)
{
    char *out = (char *)(a + 1), *const full = (char *)a + UCX_MESSAGE_MAX;
    bool stores = true; /* of earlier requests */
    for (a->failed = 0; a->failed < q->count; a->failed++) {
        struct ucx_record r;
        struct baton_op op;
        struct baton_segment there = {0};
        uint64_t *word;
        bool wrote;
        if (!read_record(&at, end, s->n->node->index, &r, &op))
            return 0;
        if (op.kind != BATON_OP_PUT) {
            if ((size_t)(full - out) < r.bytes)
                return 0;
            op.local = out;
            out += r.bytes;
        }
        a->rc = baton_ucx_place(s->n, &op, r.before, r.whole, &word, &there);
        if (a->rc) {
            a->base = there.base;
            a->bytes = there.bytes;
            a->rights = there.rights;
            break;
        }
        stores = baton_cpu_op(&op, word, stores, &wrote);
    }
    return (size_t)(out - (char *)a);
}

/* ---- Hello */

static bool is_refused(const struct ucx_service *s, const struct ucx_request *q)
{
    for (const struct refused *r = s->refused; r; r = r->next)
        if (r->from == q->from && r->from_life == q->from_life && r->token == q->token)
            return true;
    return false;
}

static int on_hello(struct ucx_service *s, const struct ucx_request *q)
{
    if (q->life != s->n->life)
        return -EHOSTDOWN;
    if (!q->replaces)
        return 0;
    struct refused *r = malloc(sizeof(*r));
    if (!r)
        return -ENOMEM;
    *r = (struct refused){s->refused, q->from_life, q->replaces, q->from};
    s->refused = r;
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

static size_t on_kind(struct ucx_service *s, const struct ucx_request *q, const char *at,
                      const char *end, struct ucx_answer *a)
{
    if (q->kind == UCX_HELLO) {
        a->rc = on_hello(s, q);
        return a->rc || !s->n->gone_key ? sizeof(*a) : add_memory(s, s->n->gone, s->n->gone_key, a);
    }
    if (q->life != s->n->life)
        return 0;
    return q->kind == UCX_CHAIN  ? execute(s, q, at, end, a)
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
    if (!s->out)
        s->out = malloc(UCX_MESSAGE_MAX);
    if (!s->out || q->from >= s->n->world->cluster->nodes || is_refused(s, q))
        return UCS_OK;
    struct ucx_answer *a = (struct ucx_answer *)s->out;
    *a = (struct ucx_answer){.token = q->token,
                             .number = q->number,
                             .node = (uint16_t)s->n->node->index,
                             .kind = q->kind};
    size_t size = on_kind(s, q, (const char *)(q + 1), (const char *)q + bytes, a);
    if (size)
        send_answer(s, param->reply_ep, size);
    return UCS_OK;
}

/* ---- Who connects */

static void on_error(void *arg, ucp_ep_h ucp, ucs_status_t status)
{
    struct inbound *i = arg;
    i->over = true;
}

static void on_connection(ucp_conn_request_h request, void *arg)
{
    struct ucx_service *s = arg;
    struct inbound *i = calloc(1, sizeof(*i));
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST |
                                       UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                       UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .conn_request = request,
                         .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                         .err_handler = {on_error, i}};
    if (!i || UCX(ucp_ep_create)(s->worker, &p, &i->ucp)) {
        free(i); /* it has given up already */
        return;
    }
    i->next = s->inbound;
    s->inbound = i;
}

static void closed(void *request, ucs_status_t status, void *arg)
{
    struct ucx_service *s = arg;
    s->closing--;
    UCX(ucp_request_free)(request);
}

/* Closes those ends that are over, or all. */
static void close_inbound(struct ucx_service *s, bool all)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                                             UCP_OP_ATTR_FIELD_USER_DATA,
                             .flags = UCP_EP_CLOSE_FLAG_FORCE,
                             .cb.send = closed,
                             .user_data = s};
    for (struct inbound **at = &s->inbound; *at;) {
        struct inbound *i = *at;
        if (!all && !i->over) {
            at = &i->next;
            continue;
        }
        *at = i->next;
        s->closing += UCS_PTR_IS_PTR(UCX(ucp_ep_close_nbx)(i->ucp, &p));
        free(i);
    }
}

/* ---- The thread */

static bool progress(struct ucx_service *s)
{
    pthread_rwlock_rdlock(&s->n->memory);
    unsigned events = UCX(ucp_worker_progress)(s->worker);
    pthread_rwlock_unlock(&s->n->memory);
    if (events)
        close_inbound(s, false);
    return events != 0;
}

static void *serve(void *arg)
{
    struct ucx_service *s = arg;
    struct pollfd wake = {.fd = s->wake, .events = POLLIN};
    for (unsigned idle = 0; !baton_word_load(&s->stop);) {
        if (progress(s)) {
            idle = 0;
        } else if (++idle < SPINS) {
            baton_cpu_pause();
        } else if (UCX(ucp_worker_arm)(s->worker) == UCS_OK && !baton_word_load(&s->stop)) {
            poll(&wake, 1, -1);
            idle = 0;
        }
        if (baton_word_load(&s->sweep) && baton_word_swap(&s->sweep, 0))
            forget_gone(s);
    }
    do { /* one more may come meanwhile */
        close_inbound(s, true);
        progress(s);
    } while (s->closing || s->inbound);
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
        .conn_handler = {on_connection, s}};
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
    return rc;
}

int baton_ucx_service_open(struct ucx_node *n, struct ucx_card *card)
{
    struct ucx_service *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->n = n;
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

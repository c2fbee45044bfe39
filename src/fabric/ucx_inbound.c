/* SPDX-License-Identifier: MIT */
/* Who is connected to a node's service, and answers to them. */
#include <stdlib.h>

#include "fabric/ucx_service.h"

static uint64_t place_of(const struct ucx_request *q)
{
    return q->token >> UCX_TOKEN_COUNT_BITS;
}

static struct ucx_inbound **bucket(struct ucx_service *s, const struct ucx_request *q)
{
    return &s->inbound[(place_of(q) * 31 + q->from) % UCX_BUCKETS];
}

static bool same_place(const struct ucx_inbound *i, const struct ucx_request *q)
{
    return i->hello.from == q->from && i->hello.from_life == q->from_life &&
           place_of(&i->hello) == place_of(q);
}

struct ucx_inbound *baton_ucx_inbound_find(struct ucx_service *s, const struct ucx_request *q)
{
    struct ucx_inbound *i = *bucket(s, q);
    while (i && (i->hello.token != q->token || !same_place(i, q) || i->over))
        i = i->next;
    return i;
}

/* ---- Hello */

static void finish(struct ucx_inbound *i)
{
    i->service->over_n += !i->over;
    i->over = true;
}

static void on_error(void *arg, ucp_ep_h ucp, ucs_status_t status)
{
    finish(arg);
}

static void let_go(struct ucx_inbound *i)
{
    if (i->opening || i->closing)
        return;
    i->service->closing--;
    free(i);
}

/* Connected, or not to be: then it is over, or being closed. */
static void opened(void *request, ucs_status_t status, void *arg)
{
    struct ucx_inbound *i = arg;
    i->opening = false;
    UCX(ucp_request_free)(request);
    if (i->closing)
        let_go(i);
    else if (status)
        finish(i);
    else if (!i->over)
        baton_ucx_service_request(i, &i->hello, NULL);
}

static void open_one(struct ucx_inbound *i)
{
    const ucp_request_param_t p = {.op_attr_mask =
                                       UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                   .cb.send = opened,
                                   .user_data = i};
    ucs_status_ptr_t r = UCX(ucp_ep_flush_nbx)(i->ucp, &p);
    if (UCS_PTR_IS_PTR(r))
        i->opening = true;
    else if (r)
        finish(i);
    else
        baton_ucx_service_request(i, &i->hello, NULL);
}

/* Ends the connections before it in its place. False if it is late itself. */
static bool succeeds(struct ucx_service *s, const struct ucx_request *q)
{
    bool last = true;
    for (struct ucx_inbound *i = *bucket(s, q); i; i = i->next)
        if (same_place(i, q)) {
            last &= i->hello.token < q->token;
            if (i->hello.token < q->token)
                finish(i);
        }
    return last;
}

void baton_ucx_inbound_hello(struct ucx_service *s, const struct ucx_request *q, size_t bytes)
{
    if (q->count > UCX_ADDRESS_MAX || q->count != bytes || !succeeds(s, q))
        return;
    struct ucx_inbound *i = calloc(1, sizeof(*i));
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                       UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                       UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .address = (const ucp_address_t *)(q + 1),
                         .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                         .err_handler = {on_error, i}};
    if (!i || UCX(ucp_ep_create)(s->ear.worker, &p, &i->ucp)) {
        free(i); /* who asks runs into a deadline */
        return;
    }
    i->service = s;
    i->hello = *q;
    i->next = *bucket(s, q);
    *bucket(s, q) = i;
    s->inbound_n++;
    open_one(i);
}

/* ---- The end */

static void closed(void *request, ucs_status_t status, void *arg)
{
    struct ucx_inbound *i = arg;
    i->closing = false;
    UCX(ucp_request_free)(request);
    let_go(i);
}

static void close_one(struct ucx_service *s, struct ucx_inbound *i)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                                             UCP_OP_ATTR_FIELD_USER_DATA,
                             .flags = UCP_EP_CLOSE_FLAG_FORCE,
                             .cb.send = closed,
                             .user_data = i};
    baton_ucx_held_drop(i);
    s->over_n -= i->over;
    i->over = true;
    s->inbound_n--;
    s->closing++;
    i->closing = true;
    if (UCS_PTR_IS_PTR(UCX(ucp_ep_close_nbx)(i->ucp, &p)))
        return;
    i->closing = false;
    let_go(i);
}

void baton_ucx_inbound_close(struct ucx_service *s, bool all)
{
    for (unsigned b = 0; (all || s->over_n) && b < UCX_BUCKETS; b++)
        for (struct ucx_inbound **at = &s->inbound[b]; *at;) {
            struct ucx_inbound *i = *at;
            if (!all && !i->over) {
                at = &i->next;
                continue;
            }
            *at = i->next;
            close_one(s, i);
        }
}

void baton_ucx_inbound_sweep(struct ucx_service *s)
{
    for (unsigned b = 0; b < UCX_BUCKETS; b++)
        for (struct ucx_inbound *i = s->inbound[b]; i; i = i->next)
            if (baton_net_state(s->n->world->net, i->hello.from) != BATON_NODE_ALIVE)
                finish(i);
    baton_ucx_inbound_close(s, false);
}

/* ---- Answers */

static void answered(void *request, ucs_status_t status, void *buffer)
{
    free(buffer);
    UCX(ucp_request_free)(request);
}

/* What UCX can not send at once stays in its buffer, and the next answer gets another one. */
void baton_ucx_answer(struct ucx_service *s, ucp_ep_h to, size_t bytes)
{
    ucp_request_param_t p = {.op_attr_mask =
                                 UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                             .cb.send = answered,
                             .user_data = s->out};
    ucs_status_ptr_t r = UCX(ucp_tag_send_nbx)(to, s->out, bytes, UCX_TAG_ANSWER, &p);
    if (UCS_PTR_IS_PTR(r))
        s->out = NULL;
    /* One that can not be sent goes to somebody who is gone. */
}

struct ucx_answer *baton_ucx_answer_begin(struct ucx_service *s, uint64_t token, uint64_t number,
                                          enum ucx_kind kind)
{
    if (!s->out)
        s->out = malloc(UCX_MESSAGE_MAX);
    struct ucx_answer *a = (struct ucx_answer *)s->out;
    if (a)
        *a = (struct ucx_answer){
            .token = token, .number = number, .node = (uint16_t)s->n->node->index, .kind = kind};
    return a;
}

void baton_ucx_answer_quiet(struct ucx_service *s)
{
    for (unsigned b = 0; s->quiet && b < UCX_BUCKETS; b++)
        for (struct ucx_inbound *i = s->inbound[b]; i; i = i->next)
            if (i->quiet && !i->over &&
                baton_ucx_answer_begin(s, i->hello.token, i->quiet, UCX_CHAIN)) {
                i->quiet = 0;
                baton_ucx_answer(s, i->ucp, sizeof(struct ucx_answer));
            }
    s->quiet = false;
}

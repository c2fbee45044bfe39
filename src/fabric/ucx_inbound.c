/* SPDX-License-Identifier: MIT */
/* Who is connected to a node's service, and answers to them. */
#include <stdlib.h>

#include "fabric/ucx_service.h"

static struct ucx_inbound **bucket(struct ucx_service *s, ucp_ep_h ucp)
{
    return &s->inbound[((uintptr_t)ucp >> 6) % UCX_BUCKETS];
}

struct ucx_inbound *baton_ucx_inbound_find(struct ucx_service *s, ucp_ep_h ucp)
{
    struct ucx_inbound *i = *bucket(s, ucp);
    while (i && i->ucp != ucp)
        i = i->next;
    return i;
}

static void on_error(void *arg, ucp_ep_h ucp, ucs_status_t status)
{
    struct ucx_inbound *i = arg;
    i->service->over_n += !i->over;
    i->over = true;
}

void baton_ucx_inbound_come(ucp_conn_request_h request, void *arg)
{
    struct ucx_service *s = arg;
    struct ucx_inbound *i = calloc(1, sizeof(*i));
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST |
                                       UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                       UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .conn_request = request,
                         .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                         .err_handler = {on_error, i}};
    if (i)
        i->service = s;
    if (!i || UCX(ucp_ep_create)(s->worker, &p, &i->ucp)) {
        free(i); /* it has given up already */
        return;
    }
    struct ucx_inbound **at = bucket(s, i->ucp);
    i->next = *at;
    *at = i;
    s->inbound_n++;
}

static void closed(void *request, ucs_status_t status, void *arg)
{
    struct ucx_service *s = arg;
    s->closing--;
    UCX(ucp_request_free)(request);
}

static void close_one(struct ucx_service *s, struct ucx_inbound *i)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                                             UCP_OP_ATTR_FIELD_USER_DATA,
                             .flags = UCP_EP_CLOSE_FLAG_FORCE,
                             .cb.send = closed,
                             .user_data = s};
    s->closing += UCS_PTR_IS_PTR(UCX(ucp_ep_close_nbx)(i->ucp, &p));
    s->over_n -= i->over;
    s->inbound_n--;
    free(i);
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

/* ---- Answers */

static void answered(void *request, ucs_status_t status, void *buffer)
{
    free(buffer);
    UCX(ucp_request_free)(request);
}

/* What UCX can not send at once stays in its buffer, and the next answer gets another one. */
void baton_ucx_answer(struct ucx_service *s, ucp_ep_h to, size_t bytes)
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
            if (i->quiet && !i->over && baton_ucx_answer_begin(s, i->token, i->quiet, UCX_CHAIN)) {
                i->quiet = 0;
                baton_ucx_answer(s, i->ucp, sizeof(struct ucx_answer));
            }
    s->quiet = false;
}

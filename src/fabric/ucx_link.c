/* SPDX-License-Identifier: MIT */
/*
 * One endpoint's connection to one node: making and ending it, waiting for it, and the operations that are
 * under way over it.
 *
 * Entries are a ring in the order of posting, and are given away in that order. The first that fails has the
 * error, and all behind it are cancelled.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fabric/ucx_world.h"

enum { SPINS = 64 }; /* turns without an event before a thread sleeps: some tens of microseconds */
enum { SPINS_LEAST = 2 }; /* when it has slept for longer than BRIEF_NS the last time */
enum { NOTICE_MS = 500 }; /* how long the net may take to notice what a connection has */
enum { LOOK_MS = 20 };    /* how long it sleeps before it looks whether the node still lives */
#define BRIEF_NS 50000u

int baton_ucx_errno(ucs_status_t status)
{
    switch (status) {
    case UCS_OK:
        return 0;
    case UCS_ERR_NO_MEMORY:
    case UCS_ERR_NO_RESOURCE:
        return -ENOMEM;
    case UCS_ERR_INVALID_PARAM:
        return -EINVAL;
    case UCS_ERR_UNSUPPORTED:
    case UCS_ERR_NOT_IMPLEMENTED:
        return -EOPNOTSUPP;
    default:
        return -EHOSTDOWN;
    }
}

/* ---- What went wrong */

void baton_ucx_link_break(struct ucx_link *l, int rc, const char *format, ...)
{
    va_list args;
    if (l->broken)
        return;
    l->broken = rc;
    va_start(args, format);
    vsnprintf(l->text, sizeof(l->text), format, args);
    va_end(args);
}

void baton_ucx_link_lose(struct ucx_link *l, const char *why)
{
    l->lost = -EHOSTDOWN;
    baton_ucx_link_break(l, -EHOSTDOWN, "%s", why);
    for (uint64_t i = l->head; i < l->tail; i++) {
        struct ucx_entry *e = baton_ucx_entry(l, i);
        if (!e->over)
            e->rc = -EHOSTDOWN;
        e->over = true;
    }
}

/* UCX has noticed it, inside of a call of ours that makes progress. */
static void on_error(void *arg, ucp_ep_h ucp, ucs_status_t status)
{
    struct ucx_link *l = arg;
    char why[96];
    if (l->lost || ucp != l->ucp)
        return;
    snprintf(why, sizeof(why), "the connection has ended: %s", UCX(ucs_status_string)(status));
    l->ended = true;
    baton_ucx_link_lose(l, why);
}

/*
 * A connection hears first that a process has ended. Nobody is told before the net knows it too, which is a
 * matter of milliseconds: what callers then find out about the node fits what they were told.
 */
static void await_notice(const struct ucx_link *l)
{
    const struct baton_net *net = l->ep->n->world->net;
    const struct timespec nap = {0, 1000000};
    for (unsigned ms = 0; ms < NOTICE_MS; ms++) {
        bool alive = baton_net_state(net, l->node) == BATON_NODE_ALIVE &&
                     baton_net_life(net, l->node) == l->net_life;
        nanosleep(&nap, NULL);
        if (!alive)
            return;
    }
}

/* ---- Waiting */

bool baton_ucx_link_is_current(const struct ucx_link *l)
{
    const struct baton_net *net = l->ep->n->world->net;
    return !l->lost && baton_net_state(net, l->node) == BATON_NODE_ALIVE &&
           baton_net_life(net, l->node) == l->net_life;
}

/* Whether something should be heard. */
static bool owes(const struct ucx_link *l)
{
    return l->rma || l->ask || l->sending || l->owed >= l->done;
}

void baton_ucx_link_look(struct ucx_link *l)
{
    const struct ucx_world *w = l->ep->n->world;
    uint64_t now = baton_clock_ns();
    if (l->lost)
        return;
    if (!baton_ucx_link_is_current(l)) {
        baton_ucx_link_lose(l, "the node is dead or has left");
    } else if (!l->still_ns || !owes(l)) {
        l->still_ns = now;
    } else if (now - l->still_ns > (uint64_t)w->timeout_ms * 1000000u) {
        char why[96];
        snprintf(why, sizeof(why), "the node has said nothing for %u ms (timeout_ms)",
                 w->timeout_ms);
        baton_ucx_link_lose(l, why);
    }
}

bool baton_ucx_sleep(struct ucx_patience *p, ucp_worker_h worker, int wake, uint64_t ns)
{
    struct pollfd f = {.fd = wake, .events = POLLIN};
    const struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    if (UCX(ucp_worker_arm)(worker) != UCS_OK)
        return true;
    const uint64_t begin = baton_clock_ns();
    const bool woken = ppoll(&f, 1, ns == BATON_NEVER ? NULL : &t, NULL) > 0;
    p->turns = baton_clock_ns() - begin < BRIEF_NS ? p->most : SPINS_LEAST;
    return woken;
}

void baton_ucx_link_wait(struct ucx_link *l, uint32_t *idle)
{
    if (UCX(ucp_worker_progress)(l->ep->worker)) {
        *idle = 0;
    } else if (++*idle < l->ep->patience.turns) {
        baton_cpu_pause();
    } else {
        baton_ucx_link_look(l);
        if (!l->lost)
            baton_ucx_sleep(&l->ep->patience, l->ep->worker, l->ep->wake, LOOK_MS * 1000000u);
    }
}

/* ---- Entries */

bool baton_ucx_link_drain(struct ucx_link *l)
{
    bool any = false;
    if (l->rma)
        baton_ucx_rma_settle(l);
    while (l->head != l->tail && baton_ucx_entry(l, l->head)->over) {
        struct ucx_entry *e = baton_ucx_entry(l, l->head++);
        const struct baton_op *op = &e->op;
        if (l->ended && !l->failed && e->rc == -EHOSTDOWN)
            await_notice(l);
        int rc = l->failed ? -ECANCELED : e->rc;
        uint64_t unused;
        bool wrote = !rc && op->kind == BATON_OP_RCAS &&
                     baton_op_apply(op, baton_word_load(op->local), &unused);
        l->failed |= rc != 0;
        baton_op_done(l->ep->epx, op, rc, wrote, rc == -ECANCELED ? NULL : l->text);
        any = true;
    }
    return any;
}

void baton_ucx_link_room(struct ucx_link *l, unsigned n)
{
    if (l->tail - l->head + n <= UCX_DEPTH)
        return;
    l->ep->epx->stats.stalls++;
    for (uint32_t idle = 0; l->tail - l->head + n > UCX_DEPTH;) {
        if (!baton_ucx_link_drain(l))
            baton_ucx_link_wait(l, &idle);
    }
}

void baton_ucx_link_enter(struct ucx_link *l, const struct baton_op *op)
{
    struct ucx_entry *e = baton_ucx_entry(l, l->tail++);
    *e = (struct ucx_entry){.op = *op};
    if (l->ep->epx->peers[l->node].broken)
        e->rc = -ECANCELED;
    else
        e->rc = l->broken;
    e->over = e->rc != 0;
}

bool baton_ucx_link_early(struct ucx_link *l, const struct baton_op *op)
{
    if (op->kind != BATON_OP_PUT || op->flags & BATON_OPF_INLINE)
        return false;
    bool fetch = false, fenced = false;
    for (uint64_t i = l->head; i != l->tail; i++) {
        const struct ucx_entry *e = baton_ucx_entry(l, i);
        fenced |= fetch && e->op.flags & BATON_OPF_RFENCE;
        fetch |= !e->over && e->op.kind != BATON_OP_PUT;
    }
    return fenced || (fetch && op->flags & BATON_OPF_RFENCE);
}

void baton_ucx_link_cancel(struct ucx_link *l, uint64_t from)
{
    for (uint64_t i = from; i < l->tail; i++) {
        struct ucx_entry *e = baton_ucx_entry(l, i);
        if (!e->over)
            e->rc = -ECANCELED;
        e->over = true;
    }
}

/* ---- Requests */

struct ucx_request baton_ucx_link_request(const struct ucx_link *l, enum ucx_kind kind)
{
    return (struct ucx_request){.life = l->life,
                                .token = l->token,
                                .from_life = l->ep->n->life,
                                .number = l->next,
                                .from = (uint16_t)l->ep->n->node->index,
                                .kind = kind};
}

void baton_ucx_link_send(struct ucx_link *l, const void *request, size_t bytes)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                             .flags = UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_EAGER};
    if (l->lost)
        return;
    ucs_status_ptr_t r = UCX(ucp_am_send_nbx)(l->ucp, UCX_AM_REQUEST, NULL, 0, request, bytes, &p);
    if (UCS_PTR_IS_ERR(r)) {
        l->ended = true;
        baton_ucx_link_lose(l, UCX(ucs_status_string)(UCS_PTR_STATUS(r)));
    } else if (r) {
        uint32_t idle = 0;
        l->sending = true;
        while (!l->lost && UCX(ucp_request_check_status)(r) == UCS_INPROGRESS)
            baton_ucx_link_wait(l, &idle);
        l->sending = false;
        if (l->lost)
            baton_ucx_link_disconnect(l); /* which ends what is under way */
        UCX(ucp_request_free)(r);
    }
}

int baton_ucx_link_ask(struct ucx_link *l, const struct ucx_request *q, ucx_take_fn *take)
{
    struct ucx_ask ask = {.take = take, .number = q->number};
    l->ask = &ask;
    l->still_ns = 0;
    baton_ucx_link_send(l, q, sizeof(*q));
    for (uint32_t idle = 0; !l->lost && !ask.answered;)
        baton_ucx_link_wait(l, &idle);
    l->ask = NULL;
    l->next = l->done = q->number + 1;
    return l->lost ? l->lost : ask.rc;
}

/* ---- What comes in */

static ucs_status_t on_answer(void *arg, const void *header, size_t header_bytes, void *data,
                              size_t bytes, const ucp_am_recv_param_t *param)
{
    struct ucx_ep *e = arg;
    struct ucx_answer a;
    if (bytes < sizeof(a) || param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)
        return UCS_OK;
    memcpy(&a, data, sizeof(a));
    const char *body = (const char *)data + sizeof(a);
    struct ucx_link *l = a.node < e->n->world->cluster->nodes ? e->links[a.node] : NULL;
    if (!l || l->token != a.token || l->lost)
        return UCS_OK;
    l->still_ns = 0;
    if (a.kind == UCX_CHAIN) {
        baton_ucx_am_answered(l, &a, body, bytes - sizeof(a));
    } else if (l->ask && l->ask->number == a.number) {
        l->ask->rc = a.rc ? a.rc : l->ask->take ? l->ask->take(l, &a, body, bytes - sizeof(a)) : 0;
        l->ask->answered = true;
    }
    return UCS_OK;
}

/* ---- Making and ending it */

int baton_ucx_worker_open(struct ucx_world *w, ucp_worker_h *out)
{
    ucp_worker_params_t p = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                             .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ucs_status_t status = UCX(ucp_worker_create)(w->context, &p, out);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status ? baton_fail(-ENOMEM, "UCX makes no worker: %s; look at ulimit -n",
                               UCX(ucs_status_string)(status))
                  : 0;
}

int baton_ucx_worker_hear(ucp_worker_h worker, unsigned id, ucp_am_recv_callback_t heard, void *arg,
                          int *wake)
{
    ucp_am_handler_param_t p = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = id,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = heard,
        .arg = arg};
    ucs_status_t status = UCX(ucp_worker_set_am_recv_handler)(worker, &p);
    if (!status)
        status = UCX(ucp_worker_get_efd)(worker, wake);
    return status ? baton_fail(baton_ucx_errno(status), "no events: %s",
                               UCX(ucs_status_string)(status))
                  : 0;
}

static int open_worker(struct ucx_ep *e)
{
    if (e->worker)
        return 0;
    if (!e->buffer)
        e->buffer = malloc(UCX_MESSAGE_MAX);
    if (!e->buffer)
        return -ENOMEM;
    int rc = baton_ucx_worker_open(e->n->world, &e->worker);
    if (rc)
        return rc;
    e->patience = baton_ucx_patience(SPINS);
    rc = baton_ucx_worker_hear(e->worker, UCX_AM_ANSWER, on_answer, e, &e->wake);
    if (rc) {
        UCX(ucp_worker_destroy)(e->worker);
        e->worker = NULL;
    }
    return rc;
}

static int open_connection(struct ucx_link *l, const struct ucx_card *card)
{
    struct sockaddr_storage there;
    socklen_t size;
    int rc = baton_ucx_card_address(l->ep->n->world, l->node, card, &there, &size);
    if (rc)
        return rc;
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS |
                                       UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                       UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
                         .sockaddr = {(const struct sockaddr *)&there, size},
                         .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                         .err_handler = {on_error, l}};
    ucs_status_t status = UCX(ucp_ep_create)(l->ep->worker, &p, &l->ucp);
    if (!status)
        return 0;
    l->ucp = NULL;
    return baton_fail(-EHOSTDOWN, "no way to node %u: %s; try another dev= or tls=", l->node,
                      UCX(ucs_status_string)(status));
}

int baton_ucx_link_connect(struct ucx_link *l)
{
    struct ucx_node *n = l->ep->n;
    struct ucx_card card;
    uint32_t net_life = baton_net_life(n->world->net, l->node);
    int rc = baton_ucx_card(n->world, l->node,
                            baton_clock_ns() + (uint64_t)n->world->timeout_ms * 1000000u, &card);
    if (!rc)
        rc = open_worker(l->ep);
    if (rc)
        return rc;
    /* All that is known of the earlier life of this link goes. */
    if (l->life != card.life)
        l->proven = 0;
    l->life = card.life;
    l->net_life = net_life;
    l->token = (uint64_t)l->ep->place << UCX_TOKEN_COUNT_BITS | (baton_word_faa(&n->tokens, 1) + 1);
    l->next = l->done = 1;
    l->owed = 0;
    l->lost = l->broken = 0;
    l->failed = l->ended = false;
    rc = open_connection(l, &card);
    if (rc)
        return rc;
    struct ucx_request q = baton_ucx_link_request(l, UCX_HELLO);
    q.replaces = l->proven;
    rc = baton_ucx_link_ask(l, &q, n->world->mode == UCX_MODE_RMA ? baton_ucx_rma_met : NULL);
    if (!rc) {
        l->proven = l->token;
        return 0;
    }
    if (l->ended)
        await_notice(l);
    rc = baton_fail(rc, "node %u does not answer: %s", l->node, l->lost ? l->text : strerror(-rc));
    baton_ucx_link_disconnect(l);
    l->lost = l->broken = 0;
    return rc;
}

void baton_ucx_link_disconnect(struct ucx_link *l)
{
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                             .flags = UCP_EP_CLOSE_FLAG_FORCE};
    if (!l->ucp)
        return;
    /* All that was under way has ended, or is to end. */
    baton_ucx_rma_parted(l);
    ucs_status_ptr_t r = UCX(ucp_ep_close_nbx)(l->ucp, &p);
    l->ucp = NULL;
    if (UCS_PTR_IS_PTR(r)) {
        while (UCX(ucp_request_check_status)(r) == UCS_INPROGRESS)
            UCX(ucp_worker_progress)(l->ep->worker);
        UCX(ucp_request_free)(r);
    }
    baton_ucx_rma_finish(l);
}

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
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fabric/ucx_world.h"

enum { SPINS = 64 }; /* turns without an event before a thread sleeps: some tens of microseconds */
enum { SPINS_LEAST = 2, HELD_SLEEPS = 8 };
enum { NOTICE_MS = 500 }; /* how long the net may take to notice what a connection has */
enum { LOOK_MS = 20 };    /* how long it sleeps before it looks whether the node still lives */
#define BRIEF_NS 75000u

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

bool baton_ucx_sleep(const struct ucx_ear *e, uint64_t ns)
{
    struct pollfd f = {.fd = e->wake, .events = POLLIN};
    const struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    return UCX(ucp_worker_arm)(e->worker) != UCS_OK ||
           ppoll(&f, 1, ns == BATON_NEVER ? NULL : &t, NULL) > 0;
}

/*
 * To be woken takes longer than what comes soon. What is held may come late, and where threads outnumber
 * processors who spins for it keeps one from running that it waits for: so it is spun for only if the last sleep
 * for such was brief; and now and then, to find out.
 */
static uint32_t spins(const struct ucx_link *l)
{
    return l->held && l->held_sleeps % HELD_SLEEPS ? SPINS_LEAST : SPINS;
}

void baton_ucx_link_wait(struct ucx_link *l, uint32_t *idle)
{
    if (baton_ucx_ear_progress(&l->ep->ear)) {
        *idle = 0;
    } else if (++*idle < spins(l)) {
        baton_cpu_pause();
    } else {
        const uint64_t begin = baton_clock_ns();
        baton_ucx_link_look(l);
        if (l->lost)
            return;
        baton_ucx_sleep(&l->ep->ear, LOOK_MS * 1000000u);
        if (l->held)
            l->held_sleeps = baton_clock_ns() - begin < BRIEF_NS ? 0 : l->held_sleeps + 1;
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
    if (baton_epx_peer(l->ep->epx, l->node)->broken)
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

/* Until UCX has done it; else the link is lost. */
static void await(struct ucx_link *l, ucs_status_ptr_t r)
{
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

void baton_ucx_link_send(struct ucx_link *l, const void *request, size_t bytes)
{
    const ucp_request_param_t p = {0};
    if (!l->lost)
        await(l, UCX(ucp_tag_send_nbx)(l->ucp, request, bytes, UCX_TAG_REQUEST, &p));
}

/* The bytes of `q` are followed by others when it is a hello. */
static int ask(struct ucx_link *l, const struct ucx_request *q, size_t bytes, ucx_take_fn *take)
{
    struct ucx_ask asked = {.take = take, .number = q->number};
    l->ask = &asked;
    l->still_ns = 0;
    baton_ucx_link_send(l, q, bytes);
    for (uint32_t idle = 0; !l->lost && !asked.answered;)
        baton_ucx_link_wait(l, &idle);
    l->ask = NULL;
    l->next = l->done = asked.number + 1;
    return l->lost ? l->lost : asked.rc;
}

int baton_ucx_link_ask(struct ucx_link *l, const struct ucx_request *q, ucx_take_fn *take)
{
    return ask(l, q, sizeof(*q), take);
}

/* ---- What comes in */

static void on_answer(void *arg, const void *message, size_t bytes)
{
    struct ucx_ep *e = arg;
    const struct ucx_answer *a = message;
    if (bytes < sizeof(*a))
        return;
    const char *body = (const char *)(a + 1);
    struct ucx_link *l = a->node < e->n->world->cluster->nodes ? e->links[a->node] : NULL;
    if (!l || l->token != a->token || l->lost)
        return;
    l->still_ns = 0;
    if (a->kind == UCX_CHAIN) {
        baton_ucx_am_answered(l, a, body, bytes - sizeof(*a));
    } else if (l->ask && l->ask->number == a->number) {
        l->ask->rc = a->rc          ? a->rc
                     : l->ask->take ? l->ask->take(l, a, body, bytes - sizeof(*a))
                                    : 0;
        l->ask->answered = true;
    }
}

/* ---- Making and ending it */

static int open_worker(struct ucx_ep *e)
{
    if (e->ear.worker)
        return 0;
    if (!e->buffer)
        e->buffer = malloc(UCX_MESSAGE_MAX);
    if (!e->buffer)
        return -ENOMEM;
    e->ear = (struct ucx_ear){.tag = UCX_TAG_ANSWER, .heard = on_answer, .arg = e};
    int rc = baton_ucx_worker_open(e->n->world, &e->ear.worker);
    if (rc)
        return rc;
    rc = baton_ucx_ear_open(&e->ear);
    if (rc) {
        UCX(ucp_worker_destroy)(e->ear.worker);
        e->ear.worker = NULL;
    }
    return rc;
}

static int open_connection(struct ucx_link *l, const struct ucx_card *card)
{
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                       UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                       UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .address = (const ucp_address_t *)card->address,
                         .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                         .err_handler = {on_error, l}};
    ucs_status_t status = UCX(ucp_ep_create)(l->ep->ear.worker, &p, &l->ucp);
    if (!status)
        return 0;
    l->ucp = NULL;
    return baton_fail(-EHOSTDOWN, "no way to node %u: %s; try another dev= or tls=", l->node,
                      UCX(ucs_status_string)(status));
}

/* Once the connection is made; the node answers over one that it makes itself. */
static int say_hello(struct ucx_link *l)
{
    const struct ucx_ear *ear = &l->ep->ear;
    const ucp_request_param_t p = {0};
    l->still_ns = 0;
    await(l, UCX(ucp_ep_flush_nbx)(l->ucp, &p));
    struct ucx_request q = baton_ucx_link_request(l, UCX_HELLO);
    q.count = (uint32_t)ear->address_bytes;
    memcpy(l->ep->buffer, &q, sizeof(q));
    memcpy(l->ep->buffer + sizeof(q), ear->address, ear->address_bytes);
    return ask(l, (const struct ucx_request *)l->ep->buffer, sizeof(q) + ear->address_bytes,
               l->ep->n->world->mode == UCX_MODE_RMA ? baton_ucx_rma_met : NULL);
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
    rc = say_hello(l);
    if (!rc)
        return 0;
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
            UCX(ucp_worker_progress)(l->ep->ear.worker);
        UCX(ucp_request_free)(r);
    }
    baton_ucx_rma_finish(l);
}

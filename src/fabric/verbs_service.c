/* SPDX-License-Identifier: MIT */
/*
 * The service of a node: a thread with a datagram queue pair. An endpoint that wants a queue pair to this
 * node asks for the far end of it; the thread makes one and answers with its number.
 *
 *     endpoint                     service of the other node
 *        connect {token, near}  ->    makes the far end, once for each token
 *                               <-    accept {token, far}
 *        bye {token}            ->    destroys it
 *                               <-    accept {token}
 *
 * Datagrams get lost, so the side that asks repeats itself, and every request may come more than once.
 * What comes in is bytes of a stranger until it has the right size, magic, version and life.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "fabric/verbs_world.h"

enum { SLOTS = 64, SLOT_BYTES = 256, GRH_BYTES = 40 };
#define REPEAT_NS 50000000u /* at first; twice as long each time, up to */
#define REPEAT_MOST_NS 400000000u
#define CONNECT_TIMES                                                                              \
    4u /* of timeout_ms: a service may have many to connect, one after the other */
#define BYE_NS 200000000u

enum kind { KIND_CONNECT = 1, KIND_BYE, KIND_ACCEPT };

struct message {
    uint64_t magic;
    uint32_t version;
    uint32_t kind;
    uint32_t life; /* of the receiver, as the sender knows it: not for one who came later */
    uint32_t from;
    int32_t rc;
    uint32_t service; /* of the sender, and its key: where the answer goes */
    uint32_t service_key;
    uint32_t sender_life;
    struct verbs_end end;
};
_Static_assert(sizeof(struct message) + GRH_BYTES <= SLOT_BYTES, "a message fits into its slot");

/* The far end of somebody's queue pair. */
struct far_end {
    struct far_end *next;
    uint32_t from, life;
    struct verbs_end near, far;
    struct ibv_qp *qp;
};

/* Somebody of this node who waits for an answer. */
struct caller {
    struct caller *next;
    uint64_t token;
    bool answered;
    struct message answer;
    pthread_cond_t heard;
};

struct verbs_service {
    struct verbs_node *n;
    struct ibv_comp_channel *channel;
    struct ibv_cq *in, *out, *none; /* `none`: of the far ends, which post nothing */
    struct ibv_qp *qp;
    char *memory; /* SLOTS to receive into, one to send from */
    struct ibv_mr *mr;
    int wake;      /* the thread: to sweep, or to stop */
    uint64_t stop; /* not 0: to stop */
    pthread_t thread;
    struct far_end *ends;      /* the thread's */
    pthread_mutex_t send_lock; /* the last slot, and `out` */
    bool sending;              /* the slot is the device's */
    pthread_mutex_t lock;      /* callers */
    struct caller *callers;
};

void baton_verbs_path(const struct verbs_device *d, const uint8_t gid[16], uint16_t lid,
                      bool ethernet, struct ibv_ah_attr *out)
{
    *out = (struct ibv_ah_attr){.port_num = d->port, .dlid = lid};
    if (ethernet || lid == 0) {
        out->is_global = 1;
        out->grh.sgid_index = d->gid_index;
        out->grh.hop_limit = 64;
        memcpy(out->grh.dgid.raw, gid, 16);
    }
}

/* ---- Sending */

/* A datagram is done once it has left, which takes no answer of anybody, but a device that works. */
static int await_sent(struct verbs_service *s)
{
    const uint64_t end = baton_clock_ns() + (uint64_t)s->n->world->timeout_ms * 1000000u;
    struct ibv_wc wc;
    while (s->sending && !ibv_poll_cq(s->out, 1, &wc)) {
        if (baton_clock_ns() >= end)
            return -EHOSTDOWN;
        baton_cpu_pause();
    }
    s->sending = false;
    return 0;
}

static int send_message(struct verbs_service *s, const struct message *m, const uint8_t gid[16],
                        uint16_t lid, bool ethernet, uint32_t qp, uint32_t key)
{
    struct ibv_ah_attr path;
    baton_verbs_path(s->n->device, gid, lid, ethernet, &path);
    struct ibv_ah *ah = ibv_create_ah(s->n->pd, &path);
    if (!ah)
        return -EHOSTDOWN;
    char *slot = s->memory + SLOTS * SLOT_BYTES;
    struct ibv_sge piece = {(uintptr_t)slot, sizeof(*m), s->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &piece,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.ud = {.ah = ah, .remote_qpn = qp, .remote_qkey = key}};
    struct ibv_send_wr *bad;
    pthread_mutex_lock(&s->send_lock);
    int rc = await_sent(s);
    if (!rc) {
        memcpy(slot, m, sizeof(*m));
        rc = -ibv_post_send(s->qp, &wr, &bad);
        s->sending = !rc;
    }
    if (!rc)
        rc = await_sent(s);
    pthread_mutex_unlock(&s->send_lock);
    ibv_destroy_ah(ah);
    return rc;
}

static struct message message_make(struct verbs_service *s, uint32_t kind, uint32_t life)
{
    return (struct message){.magic = VERBS_MAGIC,
                            .version = VERBS_VERSION,
                            .kind = kind,
                            .life = life,
                            .from = s->n->node->index,
                            .service = s->qp->qp_num,
                            .service_key = s->n->card.service_key,
                            .sender_life = s->n->card.life};
}

/* ---- The far ends */

static void end_drop(struct far_end **at)
{
    struct far_end *e = *at;
    *at = e->next;
    ibv_destroy_qp(e->qp);
    free(e);
}

static struct far_end **end_find(struct verbs_service *s, const struct message *m)
{
    struct far_end **at = &s->ends;
    while (*at && !((*at)->from == m->from && (*at)->life == m->sender_life &&
                    (*at)->near.token == m->end.token))
        at = &(*at)->next;
    return at;
}

/* Up to ready-to-receive: this end never sends by itself. */
static int end_connect(struct verbs_service *s, struct far_end *e)
{
    const struct verbs_device *d = s->n->device;
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
                            .port_num = d->port,
                            .qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE};
    if (d->attr.atomic_cap != IBV_ATOMIC_NONE)
        a.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
    int rc = ibv_modify_qp(e->qp, &a,
                           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (rc)
        return -rc;
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                             .path_mtu = (enum ibv_mtu)e->far.mtu,
                             .dest_qp_num = e->near.qp,
                             .rq_psn = e->near.psn,
                             .max_dest_rd_atomic = e->far.reads,
                             .min_rnr_timer = 12};
    baton_verbs_path(d, e->near.gid, e->near.lid, e->near.ethernet, &a.ah_attr);
    return -ibv_modify_qp(e->qp, &a,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int end_make(struct verbs_service *s, const struct message *m, struct far_end **out)
{
    const struct verbs_device *d = s->n->device;
    struct far_end *e = calloc(1, sizeof(*e));
    if (!e)
        return -ENOMEM;
    struct ibv_qp_init_attr init = {
        .send_cq = s->none,
        .recv_cq = s->none,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC};
    e->qp = ibv_create_qp(s->n->pd, &init);
    if (!e->qp) {
        free(e);
        return -ENOMEM;
    }
    e->from = m->from;
    e->life = m->sender_life;
    e->near = m->end;
    e->far = (struct verbs_end){.token = m->end.token,
                                .lid = d->lid,
                                .ethernet = d->ethernet,
                                .mtu = m->end.mtu < d->mtu ? m->end.mtu : (uint8_t)d->mtu,
                                .qp = e->qp->qp_num,
                                .reads = m->end.reads < d->reads_in ? m->end.reads : d->reads_in};
    memcpy(e->far.gid, d->gid.raw, sizeof(e->far.gid));
    int rc = end_connect(s, e);
    if (rc) {
        ibv_destroy_qp(e->qp);
        free(e);
        return rc;
    }
    e->next = s->ends;
    s->ends = e;
    *out = e;
    return 0;
}

static void answer(struct verbs_service *s, const struct message *m, int rc,
                   const struct verbs_end *far)
{
    struct message a = message_make(s, KIND_ACCEPT, m->sender_life);
    a.rc = rc;
    if (far)
        a.end = *far;
    a.end.token = m->end.token;
    send_message(s, &a, m->end.gid, m->end.lid, m->end.ethernet, m->service, m->service_key);
}

static void on_connect(struct verbs_service *s, const struct message *m)
{
    struct far_end *e = *end_find(s, m);
    int rc = 0;
    if (m->end.mtu < IBV_MTU_256 || m->end.mtu > IBV_MTU_4096)
        rc = -EINVAL;
    else if (!e)
        rc = end_make(s, m, &e);
    answer(s, m, rc, e ? &e->far : NULL);
}

static void on_bye(struct verbs_service *s, const struct message *m)
{
    struct far_end **at = end_find(s, m);
    if (*at)
        end_drop(at);
    answer(s, m, 0, NULL);
}

static void on_accept(struct verbs_service *s, const struct message *m)
{
    pthread_mutex_lock(&s->lock);
    for (struct caller *c = s->callers; c; c = c->next)
        if (c->token == m->end.token && !c->answered) {
            c->answer = *m;
            c->answered = true;
            pthread_cond_signal(&c->heard);
        }
    pthread_mutex_unlock(&s->lock);
}

static void on_message(struct verbs_service *s, const char *bytes, size_t count)
{
    struct message m;
    if (count != sizeof(m))
        return;
    memcpy(&m, bytes, sizeof(m));
    if (m.magic != VERBS_MAGIC || m.version != VERBS_VERSION || m.life != s->n->card.life ||
        m.from >= s->n->world->cluster->nodes)
        return;
    switch (m.kind) {
    case KIND_CONNECT:
        on_connect(s, &m);
        break;
    case KIND_BYE:
        on_bye(s, &m);
        break;
    case KIND_ACCEPT:
        on_accept(s, &m);
        break;
    }
}

/* ---- Receiving */

static int post_slot(struct verbs_service *s, uint64_t slot)
{
    struct ibv_sge piece = {(uintptr_t)s->memory + slot * SLOT_BYTES, SLOT_BYTES, s->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &piece, .num_sge = 1}, *bad;
    return -ibv_post_recv(s->qp, &wr, &bad);
}

static void drain(struct verbs_service *s)
{
    struct ibv_wc wc;
    while (ibv_poll_cq(s->in, 1, &wc) > 0) {
        if (wc.status == IBV_WC_WR_FLUSH_ERR)
            continue; /* the queue pair is broken: what is posted comes back at once, for ever */
        if (wc.status == IBV_WC_SUCCESS && wc.byte_len >= GRH_BYTES)
            on_message(s, s->memory + wc.wr_id * SLOT_BYTES + GRH_BYTES, wc.byte_len - GRH_BYTES);
        post_slot(s, wc.wr_id);
    }
}

static void sweep(struct verbs_service *s)
{
    struct far_end **at = &s->ends;
    struct verbs_card card;
    while (*at) {
        if (baton_verbs_card(s->n->world, (*at)->from, 0, &card) || card.life != (*at)->life)
            end_drop(at);
        else
            at = &(*at)->next;
    }
}

static void *serve(void *arg)
{
    struct verbs_service *s = arg;
    struct pollfd fds[2] = {{.fd = s->channel->fd, .events = POLLIN},
                            {.fd = s->wake, .events = POLLIN}};
    while (!baton_word_load(&s->stop)) {
        struct ibv_cq *cq;
        void *context;
        eventfd_t turns;
        ibv_req_notify_cq(s->in, 0);
        drain(s); /* what came before the request would not wake us */
        if (poll(fds, 2, -1) <= 0)
            continue;
        if (fds[0].revents && !ibv_get_cq_event(s->channel, &cq, &context))
            ibv_ack_cq_events(cq, 1);
        if (fds[1].revents && !eventfd_read(s->wake, &turns))
            sweep(s);
    }
    return NULL;
}

void baton_verbs_service_sweep(struct verbs_node *n)
{
    (void)eventfd_write(n->service->wake, 1);
}

/* ---- Asking */

static void after(struct timespec *t, uint64_t ns)
{
    clock_gettime(CLOCK_MONOTONIC, t);
    ns += (uint64_t)t->tv_nsec;
    t->tv_sec += (time_t)(ns / 1000000000u);
    t->tv_nsec = (long)(ns % 1000000000u);
}

static bool before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

static bool is_alive(const struct verbs_service *s, unsigned node)
{
    return baton_net_state(s->n->world->net, node) == BATON_NODE_ALIVE;
}

static int ask(struct verbs_service *s, unsigned to, const struct verbs_card *card,
               struct message *m, uint64_t patience_ns)
{
    uint64_t repeat_ns = REPEAT_NS;
    struct caller c = {.token = m->end.token};
    struct timespec end, next, now;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&c.heard, &clock);
    pthread_condattr_destroy(&clock);
    after(&end, patience_ns);

    pthread_mutex_lock(&s->lock);
    c.next = s->callers;
    s->callers = &c;
    for (clock_gettime(CLOCK_MONOTONIC, &now); !c.answered && before(&now, &end) && is_alive(s, to);
         clock_gettime(CLOCK_MONOTONIC, &now)) {
        pthread_mutex_unlock(&s->lock);
        send_message(s, m, card->gid, card->lid, card->ethernet, card->service, card->service_key);
        pthread_mutex_lock(&s->lock);
        after(&next, repeat_ns);
        repeat_ns = repeat_ns < REPEAT_MOST_NS ? repeat_ns * 2 : REPEAT_MOST_NS;
        while (!c.answered && !pthread_cond_timedwait(&c.heard, &s->lock, &next))
            ;
    }
    struct caller **at = &s->callers;
    while (*at != &c)
        at = &(*at)->next;
    *at = c.next;
    pthread_mutex_unlock(&s->lock);
    pthread_cond_destroy(&c.heard);
    if (!c.answered)
        return -EHOSTDOWN;
    m->end = c.answer.end;
    return c.answer.rc;
}

int baton_verbs_service_connect(struct verbs_node *n, unsigned to, const struct verbs_card *card,
                                const struct verbs_end *near, struct verbs_end *far)
{
    struct verbs_service *s = n->service;
    struct message m = message_make(s, KIND_CONNECT, card->life);
    m.end = *near;
    int rc = ask(s, to, card, &m, CONNECT_TIMES * (uint64_t)n->world->timeout_ms * 1000000u);
    if (rc == -EHOSTDOWN)
        return baton_fail(rc, "node %u does not answer a request to connect on %s", to,
                          n->device->text);
    if (rc)
        return baton_fail(rc, "node %u has no queue pair for us: %s", to, strerror(-rc));
    *far = m.end;
    return 0;
}

void baton_verbs_service_bye(struct verbs_node *n, unsigned to, const struct verbs_card *card,
                             uint64_t token)
{
    struct message m = message_make(n->service, KIND_BYE, card->life);
    m.end = (struct verbs_end){.token = token, .lid = n->card.lid, .ethernet = n->card.ethernet};
    memcpy(m.end.gid, n->card.gid, sizeof(m.end.gid));
    ask(n->service, to, card, &m, BYE_NS);
}

/* ---- Open, close */

static int datagrams_ready(struct verbs_service *s)
{
    struct ibv_qp_attr a = {
        .qp_state = IBV_QPS_INIT, .port_num = s->n->device->port, .qkey = s->n->card.service_key};
    int rc = ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    a.qp_state = IBV_QPS_RTR;
    if (!rc)
        rc = ibv_modify_qp(s->qp, &a, IBV_QP_STATE);
    a.qp_state = IBV_QPS_RTS;
    if (!rc)
        rc = ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN);
    for (unsigned i = 0; i < SLOTS && !rc; i++)
        rc = -post_slot(s, i);
    return -rc;
}

static void service_free(struct verbs_service *s)
{
    while (s->ends)
        end_drop(&s->ends);
    if (s->qp)
        ibv_destroy_qp(s->qp);
    if (s->none)
        ibv_destroy_cq(s->none);
    if (s->out)
        ibv_destroy_cq(s->out);
    if (s->in)
        ibv_destroy_cq(s->in);
    if (s->channel)
        ibv_destroy_comp_channel(s->channel);
    if (s->mr)
        ibv_dereg_mr(s->mr);
    free(s->memory);
    if (s->wake >= 0)
        close(s->wake);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->send_lock);
    free(s);
}

int baton_verbs_service_open(struct verbs_node *n)
{
    struct ibv_context *context = n->device->context;
    const size_t bytes = 5 * BATON_PAGE; /* the slots, in pages of their own */
    sigset_t all, was;
    int rc;
    _Static_assert((SLOTS + 1) * SLOT_BYTES <= 5 * BATON_PAGE, "all slots have room");
    struct verbs_service *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->n = n;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->send_lock, NULL);
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->memory = aligned_alloc(BATON_PAGE, bytes);
    s->mr = s->memory ? ibv_reg_mr(n->pd, s->memory, bytes, IBV_ACCESS_LOCAL_WRITE) : NULL;
    s->channel = s->mr ? ibv_create_comp_channel(context) : NULL;
    s->in = s->channel ? ibv_create_cq(context, SLOTS, NULL, s->channel, 0) : NULL;
    s->out = s->in ? ibv_create_cq(context, 4, NULL, NULL, 0) : NULL;
    s->none = s->out ? ibv_create_cq(context, 1, NULL, NULL, 0) : NULL;
    struct ibv_qp_init_attr init = {
        .send_cq = s->out,
        .recv_cq = s->in,
        .cap = {.max_send_wr = 4, .max_recv_wr = SLOTS, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_UD};
    s->qp = s->none ? ibv_create_qp(n->pd, &init) : NULL;
    rc = s->qp && s->wake >= 0 ? datagrams_ready(s) : -errno;
    if (rc) {
        rc = baton_fail(rc, "%s: the queue pair that connects others can not be made: %s",
                        n->device->text, strerror(-rc));
        goto failed;
    }
    n->card.service = s->qp->qp_num;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    rc = -pthread_create(&s->thread, NULL, serve, s);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (rc)
        goto failed;
    n->service = s;
    return 0;
failed:
    service_free(s);
    return rc;
}

void baton_verbs_service_close(struct verbs_node *n)
{
    struct verbs_service *s = n->service;
    baton_word_store(&s->stop, 1);
    baton_verbs_service_sweep(n);
    pthread_join(s->thread, NULL);
    service_free(s);
}

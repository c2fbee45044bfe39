/* SPDX-License-Identifier: MIT */
/*
 * Shows that a node's service survives a device that breaks, with a device made up here: one that takes datagrams
 * and never says that they have left keeps nobody for longer than who is asked, and one whose queue pair fails, so
 * that all that is posted to it comes back at once, does not keep the thread busy for ever. A service closes then too.
 */
#include <errno.h>

#include "../plain_check.h"
#include "fabric/verbs_world.h"

enum { IN, OUT, NONE, QUEUES };

static uint64_t sends;    /* datagrams that it has taken */
static uint64_t left;     /* of how many it says that they have left */
static uint64_t reported; /* of how many it has said so */
static uint64_t receives; /* slots that it has */
static uint64_t flushes;  /* not 0: all of them come back */
static unsigned queues_n;
static int event[2];
static struct ibv_context context;
static struct ibv_comp_channel channel;
static struct ibv_cq queues[QUEUES];
static struct ibv_qp qp = {.context = &context, .qp_num = 7};
static struct ibv_pd pd = {.context = &context};
static struct ibv_mr mr;
static struct ibv_ah ah;

/* ---- The device */

static int poll_queue(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    *wc = (struct ibv_wc){.status = IBV_WC_SUCCESS};
    if (cq == &queues[OUT] && reported < baton_word_load(&left)) {
        reported++;
        return 1;
    }
    if (cq != &queues[IN] || !baton_word_load(&flushes) || !baton_word_load(&receives))
        return 0;
    baton_word_faa(&receives, UINT64_MAX);
    wc->status = IBV_WC_WR_FLUSH_ERR;
    return 1;
}

static int notify(struct ibv_cq *cq, int solicited)
{
    return 0;
}

static int post_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    baton_word_faa(&sends, 1);
    return 0;
}

static int post_recv(struct ibv_qp *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    baton_word_faa(&receives, 1);
    return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *p, struct ibv_ah_attr *attr)
{
    return &ah;
}

int ibv_destroy_ah(struct ibv_ah *a)
{
    return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
    return &channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *c)
{
    return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *c, int n, void *arg, struct ibv_comp_channel *to,
                             int vector)
{
    struct ibv_cq *cq = &queues[queues_n++ % QUEUES];
    cq->context = c;
    return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *c, struct ibv_cq **cq, void **arg)
{
    char byte;
    return read(event[0], &byte, 1) == 1 ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned n) {}

struct ibv_qp *ibv_create_qp(struct ibv_pd *p, struct ibv_qp_init_attr *attr)
{
    return &qp;
}

int ibv_modify_qp(struct ibv_qp *q, struct ibv_qp_attr *attr, int mask)
{
    return 0;
}

int ibv_destroy_qp(struct ibv_qp *q)
{
    return 0;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *p, void *at, size_t bytes, int access)
{
    return &mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *p, void *at, size_t bytes, uint64_t iova,
                                unsigned access)
{
    return &mr;
}

int ibv_dereg_mr(struct ibv_mr *m)
{
    return 0;
}

/* ---- The cluster: another node, which never answers */

enum baton_node_state baton_net_state(const struct baton_net *net, unsigned node)
{
    return BATON_NODE_ALIVE;
}

int baton_verbs_card(struct verbs_world *w, unsigned node, uint64_t deadline_ns,
                     struct verbs_card *out)
{
    return -EHOSTDOWN;
}

int main(void)
{
    struct baton_cluster cluster = {.nodes = 2};
    struct baton_node node = {.cluster = &cluster};
    struct verbs_device device = {.context = &context, .text = "a device that is made up"};
    struct verbs_world world = {.cluster = &cluster, .timeout_ms = 50};
    struct verbs_node n = {.world = &world, .node = &node, .device = &device, .pd = &pd};
    struct verbs_card card = {0};
    struct verbs_end near = {.token = 1}, far;
    check_within(60, "a device that says nothing");
    CHECK(!pipe(event));
    channel.fd = event[0];
    context.ops.poll_cq = poll_queue;
    context.ops.req_notify_cq = notify;
    context.ops.post_send = post_send;
    context.ops.post_recv = post_recv;

    CHECK(!baton_verbs_service_open(&n));
    CHECK(baton_verbs_service_connect(&n, 1, &card, &near, &far) == -EHOSTDOWN);
    /* Its bytes are the device's, so no other took its place. */
    CHECK(baton_word_load(&sends) == 1);
    baton_word_store(&left, UINT64_MAX / 2);
    CHECK(baton_verbs_service_connect(&n, 1, &card, &near, &far) == -EHOSTDOWN);
    CHECK(baton_word_load(&sends) > 2);
    baton_word_store(&left, 0);
    baton_verbs_service_bye(&n, 1, &card, 1);
    baton_verbs_service_close(&n);

    check_within(60, "a queue pair that has failed");
    CHECK(!baton_verbs_service_open(&n));
    baton_word_store(&flushes, 1);
    CHECK(write(event[1], "", 1) == 1);
    while (baton_word_load(&receives))
        usleep(1000);
    baton_verbs_service_close(&n);
    return 0;
}

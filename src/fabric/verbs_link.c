/* SPDX-License-Identifier: MIT */
/*
 * One endpoint's queue pair towards one node: making and ending it, and what its completions mean.
 *
 * Entries are a ring in the order of posting. A reliable queue pair completes in that order, and only the
 * last operation of a chain asks for a completion, so one that comes speaks for all posted entries before
 * it; one with an error speaks for itself, and all behind it come with an error of their own.
 */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fabric/verbs_world.h"

enum { SPINS = 512, HEALTH_EVERY = 64 };
#define RETRIES 6u /* 7 means for ever on some devices */

static struct verbs_entry *entry_at(struct verbs_link *l, uint64_t i)
{
    return &l->entries[i % LINK_DEPTH];
}

/* ---- What went wrong */

void baton_verbs_link_break(struct verbs_link *l, int rc, const char *format, ...)
{
    va_list args;
    if (l->broken)
        return;
    l->broken = l->report = rc;
    va_start(args, format);
    vsnprintf(l->text, sizeof(l->text), format, args);
    va_end(args);
}

static int rc_of(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
        return -EINVAL;
    case IBV_WC_LOC_PROT_ERR:
        return -EFAULT;
    case IBV_WC_REM_ACCESS_ERR:
        return -EKEYREJECTED; /* rights and bounds were looked at before: the segment is gone */
    default:
        return -EHOSTDOWN;
    }
}

static const char *meaning_of(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_REM_ACCESS_ERR:
        return "the segment is no longer there";
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return "the node does not answer";
    case IBV_WC_REM_INV_REQ_ERR:
        return "the node's queue pair refuses this kind of operation";
    case IBV_WC_LOC_QP_OP_ERR: /* what is wrong with a request is found before it is posted */
        return "the device can not send; look whether its link is up";
    case IBV_WC_LOC_PROT_ERR:
        return "the local operand is no longer memory that the device knows";
    default:
        return "the device gives up";
    }
}

/* Entry i is the first failure. What was refused before it was posted, and stands behind, is cancelled. */
static void fail_at(struct verbs_link *l, uint64_t i, int rc)
{
    entry_at(l, i)->rc = rc;
    l->broken = rc;
    l->report = 0;
    l->failed_at = i;
    for (uint64_t j = i + 1; j < l->tail; j++)
        if (entry_at(l, j)->rc)
            entry_at(l, j)->rc = -ECANCELED;
}

static bool has_failed(const struct verbs_link *l)
{
    return l->failed_at != VERBS_NONE;
}

void baton_verbs_link_poll(struct verbs_link *l)
{
    struct ibv_wc wc[8];
    int n;
    while (l->cq && (n = ibv_poll_cq(l->cq, 8, wc)) > 0) {
        for (int k = 0; k < n; k++) {
            uint64_t i = wc[k].wr_id;
            enum ibv_wc_status status = wc[k].status;
            l->over = i + 1;
            if (status == IBV_WC_SUCCESS)
                continue;
            if (i > l->failed_at) {
                entry_at(l, i)->rc = -ECANCELED;
                continue;
            }
            fail_at(l, i, rc_of(status));
            snprintf(l->text, sizeof(l->text), "%s: status %d, %s (queue pair 0x%x, %s)",
                     meaning_of(status), status, ibv_wc_status_str(status), l->qp->qp_num,
                     l->n->device->text);
        }
        l->still_ns = 0;
    }
}

void baton_verbs_link_abandon(struct verbs_link *l, int rc, const char *why)
{
    baton_verbs_link_poll(l);
    baton_verbs_link_disconnect(l, false);
    for (uint64_t i = l->head; i < l->tail; i++) {
        if (!entry_at(l, i)->posted || i < l->over)
            continue;
        if (i > l->failed_at) {
            entry_at(l, i)->rc = -ECANCELED;
            continue;
        }
        fail_at(l, i, rc);
        snprintf(l->text, sizeof(l->text), "%s", why);
    }
    l->over = l->tail;
    baton_verbs_link_break(l, rc, "%s", why);
}

/* ---- Waiting for the device */

void baton_verbs_link_patience(struct verbs_link *l, uint32_t turn)
{
    struct baton_cluster *c = l->n->world->cluster;
    if (turn < SPINS) {
        baton_cpu_pause();
        return;
    }
    sched_yield();
    if (turn % HEALTH_EVERY)
        return;
    if (c->ops->node_state(c, l->node) != BATON_NODE_ALIVE)
        baton_verbs_link_abandon(l, -EHOSTDOWN, "the node is dead or has left");
    else if (!l->still_ns)
        l->still_ns = baton_clock_ns();
    /* A device that works reports the end of its retries long before. */
    else if (baton_clock_ns() - l->still_ns > 4 * (uint64_t)l->n->world->timeout_ms * 1000000u)
        baton_verbs_link_abandon(l, -EHOSTDOWN, "the device reports nothing");
}

void baton_verbs_link_drive(struct verbs_link *l, uint64_t until)
{
    for (uint32_t turn = 1; l->over < until && !has_failed(l); turn++) {
        baton_verbs_link_poll(l);
        if (l->over < until)
            baton_verbs_link_patience(l, turn);
    }
}

void baton_verbs_link_post(struct verbs_link *l, struct ibv_send_wr *first)
{
    struct ibv_send_wr *bad;
    int rc = ibv_post_send(l->qp, first, &bad);
    if (rc) {
        char why[96];
        snprintf(why, sizeof(why), "the device takes no work request: %s", strerror(rc));
        baton_verbs_link_abandon(l, rc == EINVAL ? -EINVAL : -EHOSTDOWN, why);
    }
}

/* ---- Making it */

static int make_queue(struct verbs_link *l)
{
    const struct verbs_device *d = l->n->device;
    l->cq = ibv_create_cq(d->context, LINK_DEPTH + 1, NULL, NULL, 0);
    if (!l->cq)
        return baton_fail(-ENOMEM, "%s gives no completion queue: %s", d->text, strerror(errno));
    struct ibv_qp_init_attr init = {.send_cq = l->cq,
                                    .recv_cq = l->cq,
                                    .cap = {.max_send_wr = LINK_DEPTH,
                                            .max_recv_wr = 1,
                                            .max_send_sge = d->software ? VERBS_PIECES : 1,
                                            .max_recv_sge = 1,
                                            .max_inline_data = d->inline_max},
                                    .qp_type = IBV_QPT_RC};
    l->qp = ibv_create_qp(l->n->pd, &init);
    if (!l->qp)
        return baton_fail(-ENOMEM, "%s gives no queue pair: %s", d->text, strerror(errno));
    l->inline_max = d->inline_max;
    if ((l->inline_max < 8 || d->software) && !l->entries_mr) {
        l->entries_mr =
            ibv_reg_mr(l->n->pd, l->entries, sizeof(l->entries), IBV_ACCESS_LOCAL_WRITE);
        if (!l->entries_mr)
            return -ENOMEM;
    }
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = d->port}; /* grants nothing */
    return -ibv_modify_qp(l->qp, &a,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* The longest time-out, in the device's powers of two, with which all retries fit into `ms`. */
static uint8_t timeout_for(unsigned ms)
{
    uint8_t t = 8;
    while (t < 31 && (UINT64_C(4096) << (t + 1)) * (RETRIES + 1) <= (uint64_t)ms * 1000000u)
        t++;
    return t;
}

static int make_ready(struct verbs_link *l, const struct verbs_end *near,
                      const struct verbs_end *far)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
                            .path_mtu = (enum ibv_mtu)far->mtu,
                            .dest_qp_num = far->qp,
                            .rq_psn = far->psn,
                            .max_dest_rd_atomic = 0,
                            .min_rnr_timer = 12};
    baton_verbs_path(l->n->device, far->gid, far->lid, far->ethernet, &a.ah_attr);
    int rc = ibv_modify_qp(l->qp, &a,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                               IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (rc)
        return baton_fail(-EHOSTDOWN,
                          "no path from %s to node %u: %s; try another gid=, or the same kind of "
                          "address on both",
                          l->n->device->text, l->node, strerror(rc));
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                             .timeout = timeout_for(l->n->world->timeout_ms),
                             .retry_cnt = RETRIES,
                             .rnr_retry = RETRIES,
                             .sq_psn = near->psn,
                             .max_rd_atomic = far->reads};
    rc = ibv_modify_qp(l->qp, &a,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    return rc ? baton_fail(-EHOSTDOWN, "%s: the queue pair to node %u does not start: %s",
                           l->n->device->text, l->node, strerror(rc))
              : 0;
}

/* ---- Self-test: known answers, once for each pair of nodes */

/* All bytes differ, so that no order of them but the host's gives the same. */
#define TEST_PUT UINT64_C(0x0102030405060708)
#define TEST_OTHER UINT64_C(0x0807060504030201)
#define TEST_SWAP UINT64_C(0xf1e2d3c4b5a69788)
#define TEST_ADD UINT64_C(0x100)

enum { GOT_PUT, GOT_FAILED, GOT_AFTER_FAILED, GOT_SWAPPED, GOT_ADDED, GOT_LAST, GOTS };

static int judge(const struct verbs_link *l, const uint64_t *got, bool atomics)
{
    static const uint64_t want[GOTS] = {TEST_PUT, TEST_PUT,  TEST_PUT,
                                        TEST_PUT, TEST_SWAP, TEST_SWAP + TEST_ADD};
    static const char *const what[GOTS] = {"a put and a get",     "a compare that fails",
                                           "memory after it",     "a compare that holds",
                                           "an add after a swap", "memory after the add"};
    for (unsigned i = 0; i < (atomics ? GOTS : 1u); i++)
        if (got[i] != want[i])
            return baton_fail(-EOPNOTSUPP,
                              "self-test of %s with node %u: %s gives 0x%016llx, not 0x%016llx",
                              l->n->device->text, l->node, what[i], (unsigned long long)got[i],
                              (unsigned long long)want[i]);
    return 0;
}

/* One by one: nothing may depend here on what is being tested, such as fences. */
static int self_test_step(struct verbs_link *l, enum ibv_wr_opcode code, unsigned at,
                          uint64_t compare_add)
{
    const uint64_t remote = (uint64_t)l->n->node->index * 8;
    /* The scratch memory is known to the device as from 0. */
    struct ibv_sge piece = {at * 8, 8, l->n->scratch_mr->lkey};
    struct ibv_send_wr wr = {.wr_id = l->tail,
                             .sg_list = &piece,
                             .num_sge = 1,
                             .opcode = code,
                             .send_flags = IBV_SEND_SIGNALED};
    if (code == IBV_WR_RDMA_WRITE || code == IBV_WR_RDMA_READ) {
        wr.wr.rdma.remote_addr = remote;
        wr.wr.rdma.rkey = l->card.probe_key;
    } else {
        wr.wr.atomic.remote_addr = remote;
        wr.wr.atomic.rkey = l->card.probe_key;
        wr.wr.atomic.compare_add = compare_add;
        wr.wr.atomic.swap = TEST_SWAP;
    }
    *entry_at(l, l->tail) = (struct verbs_entry){.posted = true, .internal = true};
    l->tail++;
    baton_verbs_link_post(l, &wr);
    baton_verbs_link_drive(l, l->tail);
    l->head = l->tail;
    return l->broken ? baton_fail(l->broken, "self-test with node %u: %s", l->node, l->text) : 0;
}

static int self_test(struct verbs_link *l)
{
    static const struct {
        enum ibv_wr_opcode code;
        unsigned at;
        uint64_t compare_add;
    } steps[] = {{IBV_WR_RDMA_WRITE, GOTS, 0},
                 {IBV_WR_RDMA_READ, GOT_PUT, 0},
                 {IBV_WR_ATOMIC_CMP_AND_SWP, GOT_FAILED, TEST_OTHER},
                 {IBV_WR_RDMA_READ, GOT_AFTER_FAILED, 0},
                 {IBV_WR_ATOMIC_CMP_AND_SWP, GOT_SWAPPED, TEST_PUT},
                 {IBV_WR_ATOMIC_FETCH_AND_ADD, GOT_ADDED, TEST_ADD},
                 {IBV_WR_RDMA_READ, GOT_LAST, 0}};
    const bool atomics = l->n->device->attr.atomic_cap != IBV_ATOMIC_NONE;
    uint64_t *scratch = l->n->scratch;
    for (unsigned i = 0; i < GOTS; i++)
        scratch[i] = 0;
    scratch[GOTS] = TEST_PUT;
    for (unsigned i = 0; i < (atomics ? GOTS + 1 : 2u); i++) {
        int rc = self_test_step(l, steps[i].code, steps[i].at, steps[i].compare_add);
        if (rc)
            return rc;
    }
    return judge(l, scratch, atomics);
}

static int tested(struct verbs_link *l)
{
    struct verbs_node *n = l->n;
    int rc = 0;
    pthread_mutex_lock(&n->slow);
    if (n->tested[l->node] != l->card.life) {
        rc = self_test(l);
        if (!rc)
            n->tested[l->node] = l->card.life;
    }
    pthread_mutex_unlock(&n->slow);
    return rc;
}

int baton_verbs_link_connect(struct verbs_link *l)
{
    struct verbs_node *n = l->n;
    const struct verbs_device *d = n->device;
    struct verbs_end far;
    int rc = baton_verbs_card(
        n->world, l->node, baton_clock_ns() + (uint64_t)n->world->timeout_ms * 1000000u, &l->card);
    if (rc)
        return rc;
    if (l->card.ethernet != d->ethernet)
        return baton_fail(-EHOSTDOWN, "node %u is on %s, and %s is not", l->node,
                          l->card.ethernet ? "RoCE" : "InfiniBand", d->text);
    /* All that is known of the earlier life of this link goes. */
    l->head = l->tail = l->over = 0;
    l->failed_at = VERBS_NONE;
    l->still_ns = 0;
    l->broken = l->report = l->carried = 0;
    l->segments_n = 0;
    bool accepted = false;
    rc = make_queue(l);
    if (rc)
        goto failed;
    l->token = baton_word_faa(&n->tokens, 1) + 1;
    struct verbs_end near = {.token = l->token,
                             .lid = d->lid,
                             .ethernet = d->ethernet,
                             .mtu = (uint8_t)d->mtu,
                             .qp = l->qp->qp_num,
                             .psn = (uint32_t)(baton_clock_ns() >> 8) & 0xffffff,
                             .reads = d->reads_out};
    memcpy(near.gid, d->gid.raw, sizeof(near.gid));
    rc = baton_verbs_service_connect(n, l->node, &l->card, &near, &far);
    accepted = !rc;
    if (!rc)
        rc = make_ready(l, &near, &far);
    if (!rc)
        rc = tested(l);
    if (!rc)
        return 0;
failed:
    baton_verbs_link_disconnect(l, accepted);
    l->broken = l->report = 0;
    l->failed_at = VERBS_NONE;
    return rc;
}

void baton_verbs_link_disconnect(struct verbs_link *l, bool say_bye)
{
    if (l->qp)
        ibv_destroy_qp(l->qp);
    if (l->cq)
        ibv_destroy_cq(l->cq);
    if (l->qp && say_bye)
        baton_verbs_service_bye(l->n, l->node, &l->card, l->token);
    l->qp = NULL;
    l->cq = NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * Remote operations on verbs: the part of a chain that goes to one node becomes one list of work requests
 * and one doorbell.
 *
 * A reliable queue pair executes in the order of posting, except that a read or an atomic may still be
 * under way when the next one starts: rfence is IBV_SEND_FENCE, and order costs nothing. Bounds and rights
 * are looked up before posting, so that they have errors of their own; an operation that is refused keeps
 * its place in the row, and what stands behind it is cancelled.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/verbs_world.h"

#define LOOKS_MAX 64u /* at a directory that is being changed */

struct verbs_ep {
    struct verbs_node *n;
    unsigned used_n;
    struct verbs_link **used;   /* those that were ever needed */
    struct verbs_link *links[]; /* by node */
};

static struct verbs_entry *entry_at(struct verbs_link *l, uint64_t i)
{
    return &l->entries[i % LINK_DEPTH];
}

/* ---- Results that a device loses
 *
 * Linux's software RoCE answers a repeated put with the number of the newest request, and takes that answer
 * for one to the fetch that has this number: the fetch completes, and nothing has been fetched. So there the
 * last word of a result comes to a place of our own, which holds a mark until then, and goes to the program when
 * the completion is seen; the mark itself, which others might read or copy, never does.
 */
static uint64_t *last_word(const struct baton_op *op)
{
    return (uint64_t *)((char *)op->local + op->bytes - 8);
}

/*
 * What goes inline is read when it is posted. A card reads the source of a put when its turn has come, and behind
 * an rfence that is after the fetches before it (tests/litmus/get-rfence-put-data, nlock-release-put).
 */
static bool is_early(struct verbs_link *l, uint64_t i)
{
    bool fetch = false, fenced = false;
    for (uint64_t k = l->over > l->head ? l->over : l->head; k < i; k++) {
        const struct baton_op *earlier = &entry_at(l, k)->op;
        fenced |= fetch && earlier->flags & BATON_OPF_RFENCE;
        fetch |= earlier->kind != BATON_OP_PUT;
    }
    return fenced || (fetch && entry_at(l, i)->op.flags & BATON_OPF_RFENCE);
}

/* Towards the own node no packet is lost. */
static bool is_guarded(const struct verbs_link *l, const struct baton_op *op)
{
    return op->kind != BATON_OP_PUT && l->n->device->software && l->node != l->n->node->index;
}

/* Splits the last word from the others. */
static void guard(struct verbs_link *l, uint64_t i, struct ibv_send_wr *wr, struct ibv_sge *pieces)
{
    struct verbs_entry *e = entry_at(l, i);
    uint64_t h = (uint64_t)l->card.life << 32 ^ l->token << 16 ^ i;
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    e->mark = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb) | 1;
    baton_word_store(&e->result, e->mark);
    pieces[0].length -= 8;
    wr->num_sge = pieces[0].length ? 2 : 1;
    pieces[wr->num_sge - 1] = (struct ibv_sge){(uintptr_t)&e->result, 8, l->entries_mr->lkey};
}

static int guard_end(struct verbs_link *l, const struct verbs_entry *e, int rc)
{
    if (!e->mark || rc)
        return rc;
    uint64_t value = baton_word_load(&e->result);
    if (value != e->mark) {
        baton_word_store(last_word(&e->op), value);
        return 0;
    }
    baton_verbs_link_abandon(l, -ECANCELED, "");
    snprintf(l->text, sizeof(l->text), "the device has lost the result (%s)", l->n->device->text);
    l->broken = -EHOSTDOWN;
    return -EHOSTDOWN;
}

/* ---- Results */

/* Gives away what is over; true if an operation was among it. */
static bool drain(struct baton_epx *ep, struct verbs_link *l)
{
    bool any = false;
    while (l->head != l->tail) {
        struct verbs_entry *e = entry_at(l, l->head);
        const struct baton_op *op = &e->op;
        if (e->posted && l->head >= l->over)
            break;
        l->head++;
        int rc = guard_end(l, e, e->rc);
        if (e->internal) {
            if (rc && rc != -ECANCELED)
                l->carried = rc;
            continue;
        }
        if (rc == -ECANCELED && l->carried)
            rc = l->carried;
        l->carried = 0;
        bool wrote = !rc && op->kind == BATON_OP_RCAS && baton_word_load(op->local) == op->expected;
        baton_op_done(ep, op, rc, wrote, rc == -ECANCELED ? NULL : l->text);
        any = true;
    }
    return any;
}

static void make_room(struct baton_epx *ep, struct verbs_link *l, unsigned n)
{
    if (l->tail - l->head + n <= LINK_DEPTH)
        return;
    ep->stats.stalls++;
    for (uint32_t turn = 1; l->tail - l->head + n > LINK_DEPTH; turn++) {
        baton_verbs_link_poll(l);
        if (!drain(ep, l))
            baton_verbs_link_patience(l, turn);
    }
}

/* ---- Remote addresses */

static const struct verbs_segment *segment_at(struct verbs_link *l, uint64_t offset)
{
    for (unsigned i = 0; i < l->segments_n; i++) {
        const struct verbs_segment *s = &l->segments[i];
        if (offset - s->base >= s->bytes)
            continue;
        if (i) { /* the one used last comes first */
            struct verbs_segment found = *s;
            l->segments[i] = l->segments[0];
            l->segments[0] = found;
        }
        return &l->segments[0];
    }
    return NULL;
}

/* Gets the directory once; false if it was caught in the middle of a change. */
static bool take_directory(struct verbs_link *l, const struct verbs_directory *d)
{
    l->segments_n = 0;
    for (unsigned i = 0; i < BATON_SEGMENTS_MAX; i++) {
        const struct verbs_directory_entry *e = &d->entries[i];
        if (e->sum != baton_verbs_entry_sum(e))
            return false;
        if (e->base)
            l->segments[l->segments_n++] =
                (struct verbs_segment){e->base, e->bytes, e->rights, e->key};
    }
    return true;
}

static void look(struct baton_epx *ep, struct verbs_link *l)
{
    struct verbs_node *n = l->n;
    pthread_mutex_lock(&n->slow);
    for (unsigned i = 0; i < LOOKS_MAX && !l->broken; i++) {
        make_room(ep, l, 1);
        if (l->broken)
            break;
        struct ibv_sge piece = {0, sizeof(struct verbs_directory), n->scratch_mr->lkey};
        struct ibv_send_wr wr = {.wr_id = l->tail,
                                 .sg_list = &piece,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_RDMA_READ,
                                 .send_flags = IBV_SEND_SIGNALED,
                                 .wr.rdma = {.remote_addr = 0, .rkey = l->card.directory_key}};
        *entry_at(l, l->tail) = (struct verbs_entry){.posted = true, .internal = true};
        l->tail++;
        baton_verbs_link_post(l, &wr);
        baton_verbs_link_drive(l, l->tail);
        if (l->broken || take_directory(l, (const struct verbs_directory *)n->scratch))
            break;
    }
    pthread_mutex_unlock(&n->slow);
}

static bool is_fence(const struct baton_op *op)
{
    return op->kind == BATON_OP_GET && op->bytes == 8 && op->remote == baton_gfence_word(op->node);
}

static const unsigned right_for[BATON_OP_KINDS] = {[BATON_OP_PUT] = BATON_WRITE,
                                                   [BATON_OP_GET] = BATON_READ,
                                                   [BATON_OP_RCAS] = BATON_ATOMIC,
                                                   [BATON_OP_RFAA] = BATON_ATOMIC};

/* The key of the remote memory; else the link is broken. */
static bool place(struct verbs_link *l, const struct baton_op *op, uint32_t *key)
{
    uint64_t offset = baton_gptr_offset(op->remote);
    if (is_fence(op)) {
        *key = l->card.directory_key;
        return true;
    }
    const struct verbs_segment *s = segment_at(l, offset);
    if (!s)
        baton_verbs_link_break(l, -EKEYREJECTED, "node %u has no segment at 0x%" PRIx64, op->node,
                               offset);
    else if (op->bytes > s->bytes - (offset - s->base))
        baton_verbs_link_break(l, -ERANGE, "the segment there is %" PRIu64 " bytes from 0x%" PRIx64,
                               s->bytes, s->base);
    else if (!(s->rights & right_for[op->kind]))
        baton_verbs_link_break(
            l, -EACCES, "the segment grants%s%s%s%s", s->rights & BATON_READ ? " read" : "",
            s->rights & BATON_WRITE ? " write" : "", s->rights & BATON_ATOMIC ? " atomic" : "",
            s->rights ? "" : " nothing");
    else if (op->kind >= BATON_OP_RCAS && l->n->world->cluster->caps.atomics == BATON_ATOMICS_NONE)
        baton_verbs_link_break(l, -EOPNOTSUPP, "%s has no atomics", l->n->device->text);
    else
        *key = s->key;
    return !l->broken;
}

/* ---- Local operands */

static bool local_place(struct verbs_link *l, const struct baton_op *op, struct ibv_sge *out)
{
    const struct baton_node *node = l->n->node;
    for (unsigned i = 0; i < BATON_SEGMENTS_MAX; i++) {
        const struct baton_segment *s = &node->segments[i];
        uint64_t base = baton_word_load(&s->base);
        uint64_t at = (uintptr_t)op->local - (uintptr_t)s->memory;
        if (!base || at >= s->bytes || op->bytes > s->bytes - at)
            continue;
        *out = (struct ibv_sge){base + at, op->bytes, ((struct ibv_mr *)s->world)->lkey};
        return true;
    }
    baton_verbs_link_break(l, -EFAULT, "the local operand is no longer memory of the node");
    return false;
}

/* ---- Work requests */

static const enum ibv_wr_opcode code_of[BATON_OP_KINDS] = {
    [BATON_OP_PUT] = IBV_WR_RDMA_WRITE,
    [BATON_OP_GET] = IBV_WR_RDMA_READ,
    [BATON_OP_RCAS] = IBV_WR_ATOMIC_CMP_AND_SWP,
    [BATON_OP_RFAA] = IBV_WR_ATOMIC_FETCH_AND_ADD};

/* The request for entry i. False: the link is broken now, and the entry is what broke it. */
static bool build(struct verbs_link *l, uint64_t i, struct ibv_send_wr *wr, struct ibv_sge *piece)
{
    struct verbs_entry *e = entry_at(l, i);
    struct baton_op *op = &e->op;
    uint32_t key;
    if (!place(l, op, &key))
        return false;
    *wr = (struct ibv_send_wr){
        .wr_id = i, .sg_list = piece, .num_sge = 1, .opcode = code_of[op->kind]};
    if (op->flags & BATON_OPF_INLINE) {
        *piece = (struct ibv_sge){(uintptr_t)&op->value, 8, 0};
        if (l->inline_max < 8)
            piece->lkey = l->entries_mr->lkey;
        else
            wr->send_flags |= IBV_SEND_INLINE;
    } else if (op->kind == BATON_OP_PUT && op->bytes <= l->inline_max && !is_early(l, i)) {
        *piece = (struct ibv_sge){(uintptr_t)op->local, op->bytes, 0};
        wr->send_flags |= IBV_SEND_INLINE;
    } else if (!local_place(l, op, piece)) {
        return false;
    }
    if (is_guarded(l, op))
        guard(l, i, wr, piece);
    if (op->flags & BATON_OPF_RFENCE && !l->n->device->software)
        wr->send_flags |= IBV_SEND_FENCE;
    uint64_t at = baton_gptr_offset(op->remote);
    if (op->kind == BATON_OP_PUT || op->kind == BATON_OP_GET) {
        wr->wr.rdma.remote_addr = at;
        wr->wr.rdma.rkey = key;
    } else {
        wr->wr.atomic.remote_addr = at;
        wr->wr.atomic.rkey = key;
        wr->wr.atomic.compare_add = op->kind == BATON_OP_RCAS ? op->expected : op->value;
        wr->wr.atomic.swap = op->value;
    }
    return true;
}

/* Makes an entry of the operation. A broken link gives it its result at once. */
static bool enter(struct verbs_link *l, const struct baton_op *op, bool dead,
                  struct ibv_send_wr *wr, struct ibv_sge *piece)
{
    struct verbs_entry *e = entry_at(l, l->tail);
    *e = (struct verbs_entry){.op = *op};
    e->posted = !dead && !l->broken && build(l, l->tail, wr, piece);
    if (!e->posted) {
        e->rc = -ECANCELED;
        if (l->report) {
            e->rc = l->report;
            l->report = 0;
            l->failed_at = l->tail;
        }
    }
    l->tail++;
    return e->posted;
}

/* A transfer longer than the device's longest message goes in pieces; the last one stands for it. */
static void enter_long(struct baton_epx *ep, struct verbs_link *l, const struct baton_op *op)
{
    const uint32_t most = l->n->device->message & ~(uint32_t)(BATON_PAGE - 1);
    uint32_t key;
    struct baton_op piece = *op;
    bool whole = !l->broken && place(l, op, &key);
    for (uint32_t at = 0; whole && op->bytes - at > most; at += most) {
        struct ibv_send_wr wr;
        struct ibv_sge sges[VERBS_PIECES];
        piece.bytes = most;
        make_room(ep, l, 1);
        bool posted = enter(l, &piece, false, &wr, sges);
        entry_at(l, l->tail - 1)->internal = true;
        if (posted) {
            wr.send_flags |= IBV_SEND_SIGNALED;
            baton_verbs_link_post(l, &wr);
        }
        piece.remote += most;
        piece.local = (char *)piece.local + most;
        piece.flags &= (uint8_t)~BATON_OPF_RFENCE;
        piece.bytes = op->bytes - at - most;
    }
    struct ibv_send_wr wr;
    struct ibv_sge sges[VERBS_PIECES];
    make_room(ep, l, 1);
    if (enter(l, &piece, false, &wr, sges)) {
        wr.send_flags |= IBV_SEND_SIGNALED;
        baton_verbs_link_post(l, &wr);
    }
    /* What errors and counters speak of is the operation as it was posted. */
    entry_at(l, l->tail - 1)->op = *op;
}

/* ---- Chains */

static bool all_known(struct verbs_link *l, const struct baton_op *ops, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (ops[i].node == l->node && !is_fence(&ops[i]) &&
            !segment_at(l, baton_gptr_offset(ops[i].remote)))
            return false;
    return true;
}

/*
 * Linux's software RoCE does not keep a fence over a retransmission: a request whose packets were lost
 * finds the reads that were sent behind it outstanding, waits for them, and so for itself, for ever. There
 * the post itself waits until what has been posted is over.
 */
static bool must_wait(struct verbs_link *l, const struct baton_op *op)
{
    if (!(op->flags & BATON_OPF_RFENCE) || !l->n->device->software || l->broken)
        return false;
    for (uint64_t i = l->tail; i != l->head && i != l->over; i--)
        if (entry_at(l, i - 1)->posted && entry_at(l, i - 1)->op.kind != BATON_OP_PUT)
            return true;
    return false;
}

static void post_list(struct verbs_link *l, struct ibv_send_wr *wr, unsigned count)
{
    if (!count)
        return;
    for (unsigned k = 0; k + 1 < count; k++)
        wr[k].next = &wr[k + 1];
    wr[count - 1].send_flags |= IBV_SEND_SIGNALED;
    baton_verbs_link_post(l, wr);
}

static void ring_link(struct baton_epx *ep, struct verbs_link *l, const struct baton_op *ops,
                      unsigned n)
{
    struct ibv_send_wr wr[BATON_CHAIN_MAX];
    struct ibv_sge pieces[BATON_CHAIN_MAX][VERBS_PIECES];
    unsigned first = 0, count = 0; /* of those that are not posted yet */
    const bool dead = baton_epx_peer(ep, l->node)->broken;
    make_room(ep, l, BATON_CHAIN_MAX);
    if (!dead && !l->qp && !l->broken) {
        int rc = baton_verbs_link_connect(l);
        if (rc)
            baton_verbs_link_break(l, rc, "%s", baton_error_detail());
    }
    if (!dead && !l->broken && !all_known(l, ops, n)) {
        look(ep, l);
        make_room(ep, l, BATON_CHAIN_MAX);
    }
    for (unsigned i = 0; i < n; i++) {
        if (ops[i].node != l->node)
            continue;
        bool is_long = ops[i].bytes > l->n->device->message && !dead;
        bool wait = !dead && must_wait(l, &ops[i]);
        if (is_long || wait) {
            post_list(l, &wr[first], count);
            first += count;
            count = 0;
        }
        if (wait) {
            baton_verbs_link_drive(l, l->tail);
            drain(ep, l); /* what was fetched may be what is put now */
        }
        if (is_long)
            enter_long(ep, l, &ops[i]);
        else
            count += enter(l, &ops[i], dead, &wr[first + count], pieces[first + count]);
    }
    post_list(l, &wr[first], count);
    drain(ep, l);
}

static struct verbs_link *link_to(struct verbs_ep *v, unsigned node)
{
    struct verbs_link *l = v->links[node];
    if (l)
        return l;
    l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    l->n = v->n;
    l->node = node;
    l->failed_at = VERBS_NONE;
    v->links[node] = l;
    v->used[v->used_n++] = l;
    return l;
}

static void ring(struct baton_layer *layer, struct baton_epx *ep, const struct baton_op *ops,
                 unsigned n)
{
    struct verbs_ep *v = layer->state;
    for (unsigned i = 0; i < n; i++) {
        bool first = true;
        for (unsigned j = 0; j < i && first; j++)
            first = ops[j].node != ops[i].node;
        if (!first)
            continue;
        struct verbs_link *l = link_to(v, ops[i].node);
        if (l) {
            ring_link(ep, l, ops + i, n - i);
            continue;
        }
        for (unsigned j = i; j < n; j++)
            if (ops[j].node == ops[i].node)
                baton_op_done(ep, &ops[j], j == i ? -ENOMEM : -ECANCELED, false, NULL);
    }
}

static void advance(struct baton_layer *layer, struct baton_epx *ep)
{
    struct verbs_ep *v = layer->state;
    for (uint32_t turn = 1;; turn++) {
        struct verbs_link *waiting = NULL;
        bool any = false;
        for (unsigned i = 0; i < v->used_n; i++) {
            struct verbs_link *l = v->used[i];
            if (l->head == l->tail)
                continue;
            waiting = l;
            baton_verbs_link_poll(l);
            any |= drain(ep, l);
            if (!any && l->head != l->tail)
                baton_verbs_link_patience(l, turn);
        }
        if (any || !waiting)
            return;
    }
}

static int reset(struct baton_layer *layer, struct baton_epx *ep, unsigned node)
{
    struct verbs_link *l = link_to(layer->state, node);
    if (!l)
        return -ENOMEM;
    baton_verbs_link_disconnect(l, true);
    l->broken = 0;
    int rc = baton_verbs_link_connect(l);
    if (rc)
        baton_verbs_link_break(l, rc, "%s", baton_error_detail());
    return rc;
}

static const struct baton_ep_ops verbs_ep_ops = {.size = sizeof(verbs_ep_ops),
                                                 .ring = ring,
                                                 .advance = advance,
                                                 .reset = reset,
                                                 BATON_NATIVE_EP_OPS};

int baton_verbs_ep_open(struct baton_epx *ep)
{
    struct verbs_world *w = ep->nodep->cluster->world;
    struct verbs_ep *v = calloc(1, sizeof(*v) + w->cluster->nodes * sizeof(v->links[0]));
    if (!v)
        return -ENOMEM;
    v->used = calloc(w->cluster->nodes, sizeof(v->used[0]));
    if (!v->used) {
        free(v);
        return -ENOMEM;
    }
    v->n = w->nodes[ep->nodep->index];
    ep->world.ops = &verbs_ep_ops;
    ep->world.state = v;
    ep->pub.native = 1;
    return 0;
}

void baton_verbs_ep_close(struct baton_epx *ep)
{
    struct verbs_ep *v = ep->world.state;
    for (unsigned i = 0; i < v->used_n; i++) {
        baton_verbs_link_disconnect(v->used[i], true);
        if (v->used[i]->entries_mr)
            ibv_dereg_mr(v->used[i]->entries_mr);
        free(v->used[i]);
    }
    free(v->used);
    free(v);
}

/* SPDX-License-Identifier: MIT */
/*
 * The common part of every endpoint: argument checks, chains, work ids, sticky errors, what is settled, and
 * the count of waited round trips. What an operation does is the world's business.
 *
 * An error has one way out: with an id it stays there until a wait for the id; without, it stays with id 0
 * (at post) or with the peer (later) until a wait_all or gfence that covers it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/masked.h"
#include "base/pool.h"
#include "fabric/world.h"

/* The library's own ids here; locks have theirs (lock/ids.h). */
#define ID_GFENCE 0xffff
#define ID_EMULATE 0xfffe
#define ID_LOOK 0xfffd
#define EMULATE_MAX 64

static inline const struct baton_ep_ops *top_ops(const struct baton_epx *ep)
{
    return ep->top->ops;
}

static void note(struct baton_epx *ep, const char *what, uint64_t value, int rc)
{
    if (top_ops(ep)->note)
        top_ops(ep)->note(ep->top, ep, what, value, rc);
}

/* ---- Work ids */

static struct baton_epx_id *id_of(struct baton_epx *ep, baton_wid id)
{
    unsigned index = baton_id_index(id);
    return index < BATON_IDS ? &ep->ids[index] : NULL;
}

static int take_error(int *rc)
{
    int was = *rc;
    *rc = 0;
    return was;
}

static int first_error(int a, int b)
{
    return a ? a : b;
}

/*
 * Adds the words to an error towards a node, where they are the peer's fault; those of the last fault are kept. An
 * error at post has its own.
 */
static __attribute__((cold, noinline)) int told(const struct baton_epx *ep, unsigned node, int rc)
{
    const struct baton_ep_fault *fault = &ep->fault;
    int broken = baton_epx_peer(ep, node)->broken;
    if (fault->rc && fault->node == node && (rc == fault->rc || rc == -ECANCELED))
        return baton_fail(rc, "%s", fault->text);
    if (broken && (rc == broken || rc == -ECANCELED || rc == -ENOTCONN))
        return baton_fail(rc, "node %u: %s", node, baton_strerror(broken));
    return rc;
}

/* ---- What is kept of each node */

/* Of nodes that nothing was posted to. Most endpoints of a large cluster use few nodes. */
static const struct baton_epx_peer untouched;

/* Zeroed. */
static void *take(struct baton_pool *pool, size_t bytes)
{
    return pool ? baton_pool_take(pool) : calloc(1, bytes);
}

static void give(struct baton_pool *pool, void *memory)
{
    if (pool)
        baton_pool_give(pool, memory);
    else
        free(memory);
}

static bool is_touched(const struct baton_epx *ep, unsigned node)
{
    return ep->pub.peers[node] != &untouched.pub;
}

struct baton_epx_peer *baton_epx_peer_own(struct baton_epx *ep, unsigned node)
{
    if (__builtin_expect(is_touched(ep, node), 1))
        return baton_epx_peer(ep, node);
    struct baton_epx_peer *peer = take(ep->nodep->cluster->peer_pool, sizeof(*peer));
    if (peer)
        ep->pub.peers[node] = &peer->pub;
    return peer;
}

/* ---- Done */

static const char *const kind_names[BATON_OP_KINDS] = {"put", "get", "rcas", "rfaa"};

/* A put that was accepted may still be lost, as long as nothing has proved it complete. */
static void lose_unwaited(struct baton_epx *ep, struct baton_epx_peer *peer)
{
    if (peer->unwaited <= peer->pub.settled)
        return;
    peer->pub.lost++;
    ep->pub.lost++;
}

void baton_op_done(struct baton_epx *ep, const struct baton_op *op, int rc, bool wrote,
                   const char *text)
{
    struct baton_epx_peer *peer = baton_epx_peer(ep, op->node);
    struct baton_epx_id *id = id_of(ep, op->id);

    ep->pending--;
    peer->pending--;
    id->pending--;
    if (!rc) {
        /* A put or rfaa was entered as a write when posted; whether a rcas writes is only known now. */
        if (wrote && op->kind == BATON_OP_RCAS && peer->pub.written < op->seq + 1)
            peer->pub.written = op->seq + 1;
        return;
    }
    if (!peer->broken) {
        peer->broken = rc;
        lose_unwaited(ep, peer);
        ep->fault.rc = rc;
        ep->fault.kind = op->kind;
        ep->fault.node = op->node;
        ep->fault.at = op->remote;
        snprintf(ep->fault.text, sizeof(ep->fault.text),
                 "%s of %" PRIu32 " bytes at %u+0x%" PRIx64 ": %s", kind_names[op->kind], op->bytes,
                 op->node, baton_gptr_offset(op->remote), text ? text : baton_strerror(rc));
    }
    if (op->id == BATON_WID_UNWAITED)
        return;
    peer->missed = true;
    int *kept = op->id ? &id->rc : &peer->rc;
    if (op->id && !*kept)
        id->node = op->node; /* it is that already, or one of several */
    *kept = first_error(*kept, rc);
}

/* ---- Posting */

int baton_flush(struct baton_ep *pub)
{
    struct baton_epx *ep = baton_epx(pub);
    if (!ep->chain_n)
        return 0;
    unsigned n = ep->chain_n;
    for (unsigned i = 0; i < n; i++) {
        struct baton_op *op = &ep->chain[i];
        struct baton_epx_id *id = id_of(ep, op->id);
        id->stamp = ep->any_stamp = ep->round;
        id->open--;
        id->pending++;
        baton_epx_peer(ep, op->node)->pending++;
        bool first = true;
        for (unsigned j = 0; j < i && first; j++)
            first = ep->chain[j].node != op->node;
        ep->stats.doorbells += first;
    }
    ep->pending += n;
    ep->chain_n = 0;
    top_ops(ep)->ring(ep->top, ep, ep->chain, n);
    return 0;
}

/* Keeps an error at post for the wait that covers the operation. */
static int post_error(struct baton_epx *ep, baton_wid wid, int rc)
{
    struct baton_epx_id *id = id_of(ep, wid);
    if (wid != BATON_WID_UNWAITED)
        id->rc = first_error(id->rc, rc);
    return rc;
}

/*
 * Whether operations towards the node can be posted. When its queue pair was broken by what nobody waits for,
 * and nothing else was lost on it, its program can not know, and it is made new.
 */
static bool is_whole(struct baton_epx *ep, unsigned node)
{
    const struct baton_epx_peer *peer = baton_epx_peer(ep, node);
    return !peer->broken || (!peer->missed && !baton_ep_reset(&ep->pub, node));
}

static int post(struct baton_epx *ep, const struct baton_op *op)
{
    unsigned node = baton_gptr_node(op->remote);
    struct baton_epx_id *id = id_of(ep, op->id);

    if (!id)
        return baton_fail(-EINVAL, "work id %u: programs use 0 .. %u", op->id, BATON_WID_USER_MAX);
    if (node >= ep->nodes)
        return post_error(
            ep, op->id, baton_fail(-ERANGE, "node %u: the cluster has %u places", node, ep->nodes));
    if (op->remote & 7)
        return post_error(ep, op->id,
                          baton_fail(-EINVAL, "address 0x%" PRIx64 " is not 8-byte aligned",
                                     (uint64_t)op->remote));
    if (!op->bytes || op->bytes & 7 || op->bytes > BATON_TRANSFER_MAX)
        return post_error(ep, op->id,
                          baton_fail(-EINVAL,
                                     "%" PRIu32 " bytes: lengths are multiples of 8 up to %u",
                                     op->bytes, BATON_TRANSFER_MAX));
    if (!(op->flags & BATON_OPF_INLINE)) {
        if ((uintptr_t)op->local & 7)
            return post_error(
                ep, op->id,
                baton_fail(-EINVAL, "local operand %p is not 8-byte aligned", op->local));
        if (!baton_node_knows(ep->nodep, op->local, op->bytes))
            return post_error(ep, op->id,
                              baton_fail(-EFAULT,
                                         "local operand %p is in no segment or arena of node %u",
                                         op->local, ep->pub.node));
    }

    struct baton_epx_peer *peer = baton_epx_peer_own(ep, node);
    if (__builtin_expect(!peer, 0))
        return post_error(ep, op->id, -ENOMEM);
    struct baton_ep_peer *known = &peer->pub;
    if (__builtin_expect(peer->broken != 0, 0) && !is_whole(ep, node)) {
        peer->missed |= op->id != BATON_WID_UNWAITED;
        return post_error(ep, op->id, told(ep, node, -ENOTCONN));
    }

    struct baton_op *kept = &ep->chain[ep->chain_n];
    *kept = *op;
    kept->node = (uint16_t)node;
    kept->flags |= peer->flags;
    kept->seq = peer->seq ? peer->seq : 2; /* from 2 on, so that 0 proves nothing */
    peer->seq = kept->seq + 2;
    if (peer->flags)
        peer->fence = kept->seq;
    if (peer->flags & BATON_OPF_RFENCE && known->fetches)
        peer->gen++;
    peer->flags = 0;
    if (op->kind == BATON_OP_PUT || op->kind == BATON_OP_RFAA)
        known->written = kept->seq + 1;
    if (op->id == BATON_WID_UNWAITED)
        peer->unwaited = kept->seq + 1;

    bool idle = !id->pending && !id->open && !id->fetches;
    if (idle) {
        id->node = kept->node;
        id->mixed = 0;
        id->proof = 0;
        id->gen = 0;
    } else if (id->node != kept->node) {
        id->mixed = 1;
    }
    id->open++;
    if (op->kind != BATON_OP_PUT && baton_id_is_waited(op->id)) {
        known->fetches++;
        id->fetches++;
        id->gen = peer->gen;
        /* Waiting for this one proves what stands before it, where the fabric keeps that order. */
        uint64_t proof = ep->chain_order ? kept->seq : peer->fence;
        if (proof > id->proof)
            id->proof = proof;
    } else if (op->kind != BATON_OP_PUT) {
        known->fetches++;
        peer->loose++;
        peer->loose_gen = peer->gen;
    }

    ep->stats.ops[op->kind]++;
    if (op->kind == BATON_OP_PUT)
        ep->stats.bytes_put += op->bytes;
    else if (op->kind == BATON_OP_GET)
        ep->stats.bytes_got += op->bytes;
    return ++ep->chain_n == BATON_CHAIN_MAX ? baton_flush(&ep->pub) : 0;
}

int baton_put(struct baton_ep *ep, baton_gptr to, const void *from, size_t bytes, baton_wid id)
{
    struct baton_op op = {.kind = BATON_OP_PUT,
                          .id = id,
                          .bytes =
                              bytes > BATON_TRANSFER_MAX ? BATON_TRANSFER_MAX + 8 : (uint32_t)bytes,
                          .remote = to,
                          .local = (void *)(uintptr_t)from};
    return post(baton_epx(ep), &op);
}

int baton_put64(struct baton_ep *ep, baton_gptr to, uint64_t value, baton_wid id)
{
    struct baton_op op = {.kind = BATON_OP_PUT,
                          .flags = BATON_OPF_INLINE,
                          .id = id,
                          .bytes = 8,
                          .remote = to,
                          .value = value};
    return post(baton_epx(ep), &op);
}

int baton_get(struct baton_ep *ep, void *to, baton_gptr from, size_t bytes, baton_wid id)
{
    struct baton_op op = {.kind = BATON_OP_GET,
                          .id = id,
                          .bytes =
                              bytes > BATON_TRANSFER_MAX ? BATON_TRANSFER_MAX + 8 : (uint32_t)bytes,
                          .remote = from,
                          .local = to};
    return post(baton_epx(ep), &op);
}

int baton_rcas(struct baton_ep *ep, uint64_t *result, baton_gptr word, uint64_t expected,
               uint64_t desired, baton_wid id)
{
    struct baton_op op = {.kind = BATON_OP_RCAS,
                          .id = id,
                          .bytes = 8,
                          .remote = word,
                          .local = result,
                          .expected = expected,
                          .value = desired};
    return post(baton_epx(ep), &op);
}

int baton_rfaa(struct baton_ep *ep, uint64_t *result, baton_gptr word, uint64_t add, baton_wid id)
{
    struct baton_op op = {
        .kind = BATON_OP_RFAA, .id = id, .bytes = 8, .remote = word, .local = result, .value = add};
    return post(baton_epx(ep), &op);
}

/* ---- Masked forms, and what stands in for them */

static uint64_t masked_desired(const struct baton_op *op, uint64_t old)
{
    return op->kind == BATON_OP_RFAA ? baton_masked_add(old, op->value, op->cmask)
                                     : baton_masked_merge(old, op->value, op->smask);
}

static int emulate(struct baton_epx *ep, const struct baton_op *op)
{
    uint64_t *seen = ep->scratch;
    int rc = baton_get(&ep->pub, seen, op->remote, 8, ID_EMULATE);
    if ((rc = baton_wait(&ep->pub, ID_EMULATE)))
        return rc;
    for (int i = 0; i < EMULATE_MAX; i++) {
        uint64_t old = *seen;
        if (op->kind == BATON_OP_RCAS && (old & op->cmask) != (op->expected & op->cmask)) {
            *(uint64_t *)op->local = old;
            return 0;
        }
        baton_rcas(&ep->pub, seen, op->remote, old, masked_desired(op, old), ID_EMULATE);
        if ((rc = baton_wait(&ep->pub, ID_EMULATE)))
            return rc;
        if (*seen == old) {
            *(uint64_t *)op->local = old;
            return 0;
        }
    }
    return baton_fail(-EAGAIN, "a masked operation lost %d races for its word", EMULATE_MAX);
}

static int post_masked(struct baton_epx *ep, struct baton_op *op, unsigned flags)
{
    if (!id_of(ep, op->id))
        return baton_fail(-EINVAL, "work id %u: programs use 0 .. %u", op->id, BATON_WID_USER_MAX);
    if (flags & ~BATON_EMULATE)
        return post_error(
            ep, op->id, baton_fail(-EINVAL, "flags 0x%x: only BATON_EMULATE has a meaning", flags));
    if (ep->masked)
        return post(ep, op);
    if (!(flags & BATON_EMULATE))
        return post_error(ep, op->id,
                          baton_fail(-EOPNOTSUPP,
                                     "this fabric has no masked atomics; BATON_EMULATE allows a "
                                     "loop of full-word rcas"));
    if ((uintptr_t)op->local & 7 || !baton_node_knows(ep->nodep, op->local, 8))
        return post_error(ep, op->id,
                          baton_fail(-EFAULT,
                                     "local operand %p is in no segment or arena of node %u",
                                     op->local, ep->pub.node));
    int rc = emulate(ep, op);
    return rc ? post_error(ep, op->id, rc) : 0;
}

int baton_rcas_masked(struct baton_ep *ep, uint64_t *result, baton_gptr word, uint64_t expected,
                      uint64_t compare_mask, uint64_t desired, uint64_t swap_mask, unsigned flags,
                      baton_wid id)
{
    struct baton_op op = {.kind = BATON_OP_RCAS,
                          .flags = BATON_OPF_MASKED,
                          .id = id,
                          .bytes = 8,
                          .remote = word,
                          .local = result,
                          .expected = expected,
                          .value = desired,
                          .cmask = compare_mask,
                          .smask = swap_mask};
    return post_masked(baton_epx(ep), &op, flags);
}

int baton_rfaa_masked(struct baton_ep *ep, uint64_t *result, baton_gptr word, uint64_t add,
                      uint64_t boundary, unsigned flags, baton_wid id)
{
    struct baton_op op = {.kind = BATON_OP_RFAA,
                          .flags = BATON_OPF_MASKED,
                          .id = id,
                          .bytes = 8,
                          .remote = word,
                          .local = result,
                          .value = add,
                          .cmask = boundary};
    return post_masked(baton_epx(ep), &op, flags);
}

bool baton_op_apply(const struct baton_op *op, uint64_t old, uint64_t *desired)
{
    if (op->flags & BATON_OPF_MASKED) {
        *desired = masked_desired(op, old);
        return op->kind == BATON_OP_RFAA || (old & op->cmask) == (op->expected & op->cmask);
    }
    *desired = op->kind == BATON_OP_RFAA ? old + op->value : op->value;
    return op->kind == BATON_OP_RFAA || old == op->expected;
}

/* ---- Fences */

static int fence_flag(struct baton_epx *ep, unsigned node, unsigned flags)
{
    if (node >= ep->nodes)
        return baton_fail(-ERANGE, "node %u: the cluster has %u places", node, ep->nodes);
    struct baton_epx_peer *peer = baton_epx_peer_own(ep, node);
    if (!peer)
        return -ENOMEM;
    peer->flags |= (uint8_t)flags;
    return 0;
}

int baton_order(struct baton_ep *ep, unsigned node)
{
    return fence_flag(baton_epx(ep), node, BATON_OPF_ORDER);
}

int baton_rfence(struct baton_ep *ep, unsigned node)
{
    return fence_flag(baton_epx(ep), node, BATON_OPF_ORDER | BATON_OPF_RFENCE);
}

/* ---- Waiting for work */

/* Until nothing is pending any more there; null: anywhere. */
static void advance_until(struct baton_epx *ep, const uint32_t *pending)
{
    while (pending ? *pending != 0 : ep->pending != 0) {
        ep->awaits = pending;
        top_ops(ep)->advance(ep->top, ep);
    }
}

void baton_ep_drain(struct baton_ep *pub, unsigned node)
{
    struct baton_epx *ep = baton_epx(pub);
    baton_flush(pub);
    advance_until(ep, &baton_epx_peer(ep, node)->pending);
}

static void count_round(struct baton_epx *ep, uint64_t stamp)
{
    if (stamp == ep->round) {
        ep->stats.waited_round_trips++;
        ep->round++;
    }
}

/* The fetches of earlier generations stand before an rfence that stands before one that was waited for. */
static void forget_before(struct baton_epx *ep, unsigned node, uint64_t gen)
{
    struct baton_epx_peer *peer = baton_epx_peer(ep, node);
    struct baton_ep_peer *known = &peer->pub;
    for (unsigned i = 1; i < BATON_IDS; i++) {
        struct baton_epx_id *id = &ep->ids[i];
        if (id->fetches && !id->mixed && id->node == node && id->gen < gen) {
            known->fetches -= id->fetches;
            id->fetches = 0;
        }
    }
    if (peer->loose && peer->loose_gen < gen) {
        known->fetches -= peer->loose;
        peer->loose = 0;
    }
}

/* What a finished wait for this id tells about its node. */
static void retire_id(struct baton_epx *ep, struct baton_epx_id *id, int rc)
{
    struct baton_ep_peer *known = ep->pub.peers[id->node];
    if (!id->mixed) {
        if (id->fetches) /* else the id may never have been used, and nothing of the endpoint's be there */
            known->fetches -= id->fetches;
        if (!rc && id->proof > known->settled)
            known->settled = id->proof;
        if (!rc && id->fetches && known->fetches)
            forget_before(ep, id->node, id->gen);
    } /* else it proves nothing, and a gfence or wait_all puts the nodes' counts right */
    id->fetches = 0;
    id->mixed = 0;
    id->proof = 0;
}

int baton_wait(struct baton_ep *pub, baton_wid wid)
{
    struct baton_epx *ep = baton_epx(pub);
    struct baton_epx_id *id = id_of(ep, wid);
    if (!id || !wid)
        return baton_fail(-EINVAL, "no work has the id %u", wid);
    baton_flush(pub);
    advance_until(ep, &id->pending);
    count_round(ep, id->stamp);
    int rc = take_error(&id->rc);
    retire_id(ep, id, rc);
    note(ep, "wait", wid, rc);
    return __builtin_expect(rc != 0, 0) ? told(ep, id->node, rc) : 0;
}

/* Apart, so that nothing of it lies on the stack of a thread that waits: explorations tell stacks apart. */
static __attribute__((noinline)) void ring_held(struct baton_ep *pub,
                                                const struct baton_until *until, unsigned count,
                                                const struct baton_wait *wait)
{
    const struct baton_hold hold = {until, count, wait->deadline_ns};
    baton_epx(pub)->hold = &hold;
    baton_flush(pub);
    baton_epx(pub)->hold = NULL;
}

int baton_wait_until(struct baton_ep *pub, baton_wid wid, const struct baton_until *until,
                     unsigned count, struct baton_wait *wait)
{
    if (!count || count > BATON_CONDS_MAX)
        return baton_fail(-EINVAL, "%u conditions: 1 to %u can be awaited", count, BATON_CONDS_MAX);
    if (pub->caps->held_gets)
        ring_held(pub, until, count, wait);
    return baton_wait(pub, wid);
}

/* All fetches towards the node have been waited for: no id holds any of them any more. */
static void forget_fetches(struct baton_epx *ep, unsigned node)
{
    struct baton_epx_peer *peer = baton_epx_peer(ep, node);
    peer->pub.fetches = 0;
    peer->loose = 0;
    for (unsigned i = 1; i < BATON_IDS; i++)
        if (ep->ids[i].fetches && !ep->ids[i].mixed && ep->ids[i].node == node)
            ep->ids[i].fetches = 0;
}

int baton_wait_all(struct baton_ep *pub)
{
    struct baton_epx *ep = baton_epx(pub);
    baton_flush(pub);
    advance_until(ep, NULL);
    count_round(ep, ep->any_stamp);
    int rc = 0;
    for (unsigned i = 0; i < BATON_IDS; i++) {
        struct baton_epx_id *id = &ep->ids[i];
        int one = take_error(&id->rc);
        retire_id(ep, id, one);
        if (one && !rc)
            rc = told(ep, id->node, one);
    }
    for (unsigned n = 0; n < ep->nodes; n++) {
        if (!is_touched(ep, n))
            continue;
        struct baton_epx_peer *peer = baton_epx_peer(ep, n);
        peer->pub.fetches = 0;
        peer->loose = 0;
        int one = take_error(&peer->rc);
        if (one && !rc)
            rc = told(ep, n, one);
    }
    note(ep, "wait all", 0, rc);
    return rc;
}

/* Towards each of the nodes: all before is complete and visible. The first error; `collect`: which is taken. */
static int fence(struct baton_epx *ep, const uint16_t *nodes, unsigned count, bool collect)
{
    struct baton_ep *pub = &ep->pub;
    int rc = 0;
    for (unsigned i = 0; i < count; i++) {
        if (nodes[i] >= ep->nodes)
            return baton_fail(-ERANGE, "node %u: the cluster has %u places", nodes[i], ep->nodes);
        if (!baton_epx_peer_own(ep, nodes[i]))
            return -ENOMEM;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!is_whole(ep, nodes[i]))
            continue; /* its error is what the caller has to hear; there is nothing to fence */
        baton_rfence(pub, nodes[i]);
        baton_get(pub, ep->scratch + 1, baton_gfence_word(nodes[i]), 8, ID_GFENCE);
    }
    baton_flush(pub);
    struct baton_epx_id *id = id_of(ep, ID_GFENCE);
    for (unsigned i = 0; i < count; i++)
        advance_until(ep, &baton_epx_peer(ep, nodes[i])->pending);
    count_round(ep, id->stamp);
    int fence_rc = take_error(&id->rc);
    id->fetches = 0;
    id->mixed = 0;
    for (unsigned i = 0; i < count; i++) {
        struct baton_epx_peer *peer = baton_epx_peer(ep, nodes[i]);
        int one = collect ? take_error(&peer->rc) : peer->rc;
        if (peer->broken)
            one = first_error(one, first_error(fence_rc, -ENOTCONN));
        else {
            forget_fetches(ep, nodes[i]);
            peer->pub.settled = peer->seq;
        }
        if (one && !rc)
            rc = told(ep, nodes[i], one);
    }
    return first_error(rc, fence_rc);
}

int baton_gfence(struct baton_ep *pub, const uint16_t *nodes, unsigned count)
{
    struct baton_epx *ep = baton_epx(pub);
    int at_post = take_error(&ep->ids[0].rc);
    int rc = first_error(at_post, fence(ep, nodes, count, true));
    note(ep, "gfence", count, rc);
    return rc;
}

int baton_settle_slow(struct baton_ep *pub, unsigned node)
{
    struct baton_epx *ep = baton_epx(pub);
    uint16_t one = (uint16_t)node;
    int rc = fence(ep, &one, 1, false);
    note(ep, "settle", node, rc);
    return rc;
}

int baton_ep_reset(struct baton_ep *pub, unsigned node)
{
    struct baton_epx *ep = baton_epx(pub);
    if (node >= ep->nodes)
        return baton_fail(-ERANGE, "node %u: the cluster has %u places", node, ep->nodes);
    baton_flush(pub);
    struct baton_epx_peer *peer = baton_epx_peer_own(ep, node);
    if (!peer)
        return -ENOMEM;
    advance_until(ep, &peer->pending);
    int rc = top_ops(ep)->reset(ep->top, ep, node);
    if (rc)
        return rc;
    peer->broken = 0;
    peer->missed = false;
    peer->rc = 0;
    peer->flags = 0;
    forget_fetches(ep, node);
    peer->pub.settled = peer->seq;
    return 0;
}

/* ---- This node's words, time, waiting: straight to the top layer */

uint64_t baton_ep_load(struct baton_ep *ep, const uint64_t *word)
{
    struct baton_layer *l = baton_epx(ep)->top;
    return l->ops->load(l, baton_epx(ep), word);
}

void baton_ep_store(struct baton_ep *ep, uint64_t *word, uint64_t value)
{
    struct baton_layer *l = baton_epx(ep)->top;
    l->ops->store(l, baton_epx(ep), word, value);
}

uint64_t baton_ep_swap(struct baton_ep *ep, uint64_t *word, uint64_t value)
{
    struct baton_layer *l = baton_epx(ep)->top;
    return l->ops->swap(l, baton_epx(ep), word, value);
}

uint64_t baton_ep_cas(struct baton_ep *ep, uint64_t *word, uint64_t expected, uint64_t desired)
{
    struct baton_layer *l = baton_epx(ep)->top;
    return l->ops->cas(l, baton_epx(ep), word, expected, desired);
}

uint64_t baton_ep_faa(struct baton_ep *ep, uint64_t *word, uint64_t add)
{
    struct baton_layer *l = baton_epx(ep)->top;
    return l->ops->faa(l, baton_epx(ep), word, add);
}

void baton_ep_mfence(struct baton_ep *ep)
{
    struct baton_layer *l = baton_epx(ep)->top;
    l->ops->mfence(l, baton_epx(ep));
}

uint64_t baton_now(struct baton_ep *ep)
{
    struct baton_layer *l = baton_epx(ep)->top;
    return l->ops->now(l, baton_epx(ep));
}

void baton_delay(struct baton_ep *ep, uint64_t ns)
{
    struct baton_layer *l = baton_epx(ep)->top;
    l->ops->delay(l, baton_epx(ep), ns);
}

/* What its caller wants to have done before the wait blocks. */
static void wait_first(struct baton_ep *pub, struct baton_wait *wait)
{
    void (*first)(struct baton_ep *, void *) = wait->first;
    if (__builtin_expect(first != NULL, 0)) {
        wait->first = NULL;
        first(pub, wait->first_arg);
    }
}

int baton_await(struct baton_ep *pub, const struct baton_cond *conds, unsigned count,
                struct baton_wait *wait)
{
    struct baton_epx *ep = baton_epx(pub);
    if (!count || count > BATON_CONDS_MAX)
        return baton_fail(-EINVAL, "%u conditions: 1 to %u can be awaited", count, BATON_CONDS_MAX);
    baton_flush(pub);
    wait_first(pub, wait);
    return ep->top->ops->await(ep->top, ep, conds, count, wait);
}

int baton_relax(struct baton_ep *pub, struct baton_wait *wait)
{
    struct baton_epx *ep = baton_epx(pub);
    baton_flush(pub);
    wait_first(pub, wait);
    ep->stats.relaxes++;
    return ep->top->ops->relax(ep->top, ep, wait);
}

/* A get of the library's own, which must not show in the caller's chain, counts and rounds. */
static int look(struct baton_epx *ep, baton_gptr at, uint64_t *value)
{
    struct baton_stats stats = ep->stats;
    uint64_t round = ep->round, any = ep->any_stamp;
    if (baton_epx_peer(ep, baton_gptr_node(at))->broken)
        return -EHOSTDOWN;
    int rc = baton_get(&ep->pub, ep->scratch + 2, at, 8, ID_LOOK);
    rc = first_error(rc, baton_wait(&ep->pub, ID_LOOK));
    ep->stats = stats;
    ep->round = round;
    ep->any_stamp = any;
    id_of(ep, ID_LOOK)->stamp = 0;
    if (rc)
        return baton_fail(-EHOSTDOWN, "what the waiters have in common can not be reached: %s",
                          baton_strerror(rc));
    *value = ep->scratch[2];
    return 0;
}

int baton_group_check(struct baton_epx *ep, struct baton_wait *wait)
{
    struct baton_group *group = wait->group;
    uint64_t value, deaths = baton_word_load(&ep->nodep->deaths);
    int rc;
    for (unsigned n = 0; n < ep->nodes && deaths != wait->deaths; n++) {
        if (!baton_node_died_since(ep->nodep, n, wait->deaths))
            continue;
        if (!group || !group->members)
            return -EOWNERDEAD;
        if ((rc = look(ep, group->members + 8 * n, &value)))
            return rc;
        if (value)
            return -EOWNERDEAD;
    }
    wait->deaths = deaths;
    if (!group || !group->state)
        return 0;
    if ((rc = look(ep, group->state, &value)))
        return rc;
    return value == group->healthy ? 0 : -EOWNERDEAD;
}

/* ---- Open, close, ask */

size_t baton_ep_bytes(const struct baton_cluster *cluster)
{
    return sizeof(struct baton_epx) + cluster->nodes * sizeof(struct baton_ep_peer *);
}

static void free_memory(struct baton_cluster *cluster, struct baton_epx *ep)
{
    for (unsigned n = 0; n < cluster->nodes; n++)
        if (is_touched(ep, n))
            give(cluster->peer_pool, ep->pub.peers[n]);
    give(cluster->ep_pool, ep);
}

static struct baton_epx *make_memory(struct baton_cluster *cluster)
{
    struct baton_epx *ep = take(cluster->ep_pool, baton_ep_bytes(cluster));
    if (!ep)
        return NULL;
    ep->pub.peers = (struct baton_ep_peer **)(ep + 1);
    for (unsigned n = 0; n < cluster->nodes; n++)
        ep->pub.peers[n] = (struct baton_ep_peer *)(uintptr_t)&untouched.pub;
    return ep;
}

int baton_ep_open(struct baton_node *node, struct baton_ep **out)
{
    struct baton_cluster *cluster = node->cluster;
    int rc;
    struct baton_epx *ep = make_memory(cluster);
    if (!ep)
        return -ENOMEM;
    ep->nodep = node;
    ep->nodes = cluster->nodes;
    ep->chain_order = cluster->caps.chain_order;
    ep->masked = cluster->caps.masked;
    ep->round = 1;
    ep->pub.node = node->index;
    ep->pub.deaths = &node->deaths;
    ep->pub.caps = &cluster->caps;
    ep->top = &ep->world;
    ep->scratch = baton_arena_alloc(node, 64, 64);
    if (!ep->scratch) {
        rc = baton_fail(-ENOMEM, "the arena of node %u is full (%zu bytes)", node->index,
                        cluster->arena_bytes);
        goto fail;
    }
    if ((rc = cluster->ops->ep_open(ep)))
        goto fail;
    baton_node_count_endpoint(node, 1);
    *out = &ep->pub;
    return 0;
fail:
    if (ep->scratch)
        baton_arena_free(node, ep->scratch);
    free_memory(cluster, ep);
    return rc;
}

static void drop_layers(struct baton_epx *ep)
{
    while (ep->top != &ep->world) {
        struct baton_layer *layer = ep->top;
        ep->top = layer->inner;
        if (layer->ops->fini)
            layer->ops->fini(layer, ep);
    }
}

static void free_ep(struct baton_epx *ep)
{
    baton_node_count_endpoint(ep->nodep, -1);
    free_memory(ep->nodep->cluster, ep);
}

int baton_ep_close(struct baton_ep *pub)
{
    struct baton_epx *ep = baton_epx(pub);
    int rc = baton_wait_all(pub);
    drop_layers(ep);
    ep->nodep->cluster->ops->ep_close(ep);
    baton_arena_free(ep->nodep, ep->scratch);
    free_ep(ep);
    return rc;
}

void baton_ep_abandon(struct baton_epx *ep)
{
    drop_layers(ep);
    ep->nodep->cluster->ops->ep_abandon(ep);
    free_ep(ep);
}

struct baton_node *baton_ep_node(const struct baton_ep *ep)
{
    return ((const struct baton_epx *)ep)->nodep;
}

struct baton_cluster *baton_ep_cluster(const struct baton_ep *ep)
{
    return ((const struct baton_epx *)ep)->nodep->cluster;
}

void *baton_ep_alloc(struct baton_ep *ep, size_t bytes, size_t align)
{
    void *memory = baton_arena_alloc(baton_epx(ep)->nodep, bytes, align);
    if (!memory)
        baton_fail(-ENOMEM,
                   "the arena of node %" PRIu32 " has no room for %zu bytes, aligned to %zu",
                   ep->node, bytes, align);
    return memory;
}

void baton_ep_free(struct baton_ep *ep, void *memory)
{
    if (memory)
        baton_arena_free(baton_epx(ep)->nodep, memory);
}

int baton_ep_state(const struct baton_ep *ep, unsigned node)
{
    const struct baton_epx *x = (const struct baton_epx *)ep;
    return node < x->nodes ? baton_epx_peer(x, node)->broken : -ERANGE;
}

void baton_ep_error(const struct baton_ep *ep, struct baton_ep_fault *out)
{
    *out = ((const struct baton_epx *)ep)->fault;
}

void baton_ep_stats(const struct baton_ep *ep, struct baton_stats *out)
{
    *out = ((const struct baton_epx *)ep)->stats;
}

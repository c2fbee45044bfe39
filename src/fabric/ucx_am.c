/* SPDX-License-Identifier: MIT */
/*
 * Mode am: chains become messages, and answers become results.
 *
 * A transfer that is longer than a message carries goes in pieces, a message each, the last of which ends
 * the operation. Which node an answer comes from is said by the node, so it is judged before it is used.
 *
 * A message of puts that nobody waits for by an id is quiet: it is not answered, and known to be done when a
 * later one is. What a lock's release sends costs the host and the holder no answer. Some of the quiet ones in
 * a row are not, so that there is room for more; and who wants to know of all has the last one answered by an
 * empty message behind it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fabric/cpu_op.h"
#include "fabric/ucx_world.h"

#define PATIENCE_US 20000u /* of a chain that waits at its node */

/* ---- Answers */

static struct ucx_sent *sent_at(struct ucx_link *l, uint64_t number)
{
    return &l->sent[number % UCX_WINDOW];
}

/* Copies the result of a fetch; false if the answer has not so many bytes. */
static bool take_result(const struct ucx_sent *m, const struct baton_op *op, const char **body,
                        size_t *bytes)
{
    uint32_t size = m->piece ? m->bytes : op->bytes;
    uint64_t *to = (uint64_t *)((char *)op->local + m->before);
    if (op->kind == BATON_OP_PUT)
        return true;
    if (*bytes < size)
        return false;
    for (uint32_t i = 0; i < size / 8; i++) {
        uint64_t word;
        memcpy(&word, *body + 8 * i, 8);
        baton_word_store(to + i, word);
    }
    *body += size;
    *bytes -= size;
    return true;
}

/* All records are done, or those below a->failed. */
static void settle_message(struct ucx_link *l, const struct ucx_sent *m, const struct ucx_answer *a,
                           const char *body, size_t bytes)
{
    for (uint32_t i = 0; i < m->count; i++) {
        struct ucx_entry *e = baton_ucx_entry(l, m->first + i);
        if (m->first + i < l->head)
            continue; /* a piece of what has failed already */
        int rc = l->broken ? -ECANCELED : 0;
        if (!rc && a->rc && i == a->failed) {
            char text[96];
            const char *why = baton_cpu_op_refusal(&e->op, a->rc, a->base, a->bytes, a->rights,
                                                   text, sizeof(text));
            rc = a->rc;
            baton_ucx_link_break(l, rc, "%s", why ? why : baton_strerror(rc));
        } else if (!rc && !take_result(m, &e->op, &body, &bytes)) {
            rc = -EHOSTDOWN;
            baton_ucx_link_break(l, rc, "an answer that is too short");
        }
        if (rc && !e->rc)
            e->rc = rc;
        e->over |= m->last || rc;
    }
}

void baton_ucx_am_answered(struct ucx_link *l, const struct ucx_answer *a, const char *body,
                           size_t bytes)
{
    static const struct ucx_answer nothing_failed;
    if (a->number < l->done || a->number >= l->next)
        return;
    for (; l->done != a->number; l->done++) {
        /* In the order of sending: else it comes from a node that does not keep to the rules. */
        if (!sent_at(l, l->done)->quiet)
            return;
        settle_message(l, sent_at(l, l->done), &nothing_failed, NULL, 0);
    }
    settle_message(l, sent_at(l, a->number), a, body, bytes);
    l->done++;
}

/* ---- Requests */

/* A request that is being written, into the endpoint's buffer. */
struct draft {
    struct ucx_link *l;
    uint64_t first;
    uint32_t count, before, bytes;
    bool piece, last;
    bool awaited; /* an operation in it has an id that is waited for */
    bool held;    /* it waits at its node */
    size_t size, results;
};

static struct draft draft_make(struct ucx_link *l)
{
    return (struct draft){
        .l = l, .first = l->tail, .last = true, .size = sizeof(struct ucx_request)};
}

static void *draft_room(struct draft *d, size_t bytes)
{
    void *at = d->l->ep->buffer + d->size;
    d->size += bytes;
    return at;
}

/* Not more in a row than half of what there is room for, so that the answer is here before it is needed. */
static bool may_be_quiet(const struct draft *d)
{
    const struct ucx_link *l = d->l;
    const uint64_t after = l->owed < l->done ? l->done : l->owed + 1;
    return !d->awaited && d->count && !d->piece && l->next - after < UCX_WINDOW / 2 &&
           l->tail - l->head <= UCX_DEPTH / 2;
}

static void draft_send(struct draft *d)
{
    struct ucx_link *l = d->l;
    for (uint32_t idle = 0; l->next - l->done == UCX_WINDOW && !l->lost;)
        baton_ucx_link_wait(l, &idle);
    if (l->lost)
        return; /* and all entries are over */
    struct ucx_request q = baton_ucx_link_request(l, UCX_CHAIN);
    q.count = d->count;
    bool quiet = may_be_quiet(d);
    q.flags = quiet ? UCX_QUIET : d->held ? UCX_HOLD : 0;
    memcpy(l->ep->buffer, &q, sizeof(q));
    *sent_at(l, l->next) = (struct ucx_sent){.first = d->first,
                                             .count = d->count,
                                             .before = d->before,
                                             .bytes = d->bytes,
                                             .piece = d->piece,
                                             .last = d->last,
                                             .quiet = quiet};
    l->held = d->held;
    if (!quiet) {
        if (l->owed < l->done)
            l->still_ns = 0;
        l->owed = l->next;
    }
    l->next++;
    baton_ucx_link_send(l, l->ep->buffer, d->size);
}

/* Appends the operation, or the piece of it that is `bytes` long from `before` on. */
static void draft_add(struct draft *d, const struct baton_op *op, uint32_t before, uint32_t bytes)
{
    struct ucx_record *r = draft_room(d, sizeof(*r));
    *r = (struct ucx_record){.offset = baton_gptr_offset(op->remote) + before,
                             .value = op->value,
                             .expected = op->expected,
                             .bytes = bytes,
                             .before = before,
                             .whole = op->bytes,
                             .kind = op->kind};
    if (op->flags & BATON_OPF_MASKED) {
        uint64_t *masks = draft_room(d, 16);
        r->flags |= UCX_RECORD_MASKS;
        masks[0] = op->cmask;
        masks[1] = op->smask;
    }
    if (op->kind == BATON_OP_PUT && !(op->flags & BATON_OPF_INLINE)) {
        r->flags |= UCX_RECORD_BYTES;
        baton_cpu_copy(draft_room(d, bytes), (const uint64_t *)((const char *)op->local + before),
                       bytes);
    }
    if (op->kind != BATON_OP_PUT)
        d->results += bytes;
    d->awaited |= baton_id_is_waited(op->id) || op->kind != BATON_OP_PUT;
    d->count++;
}

/* Where the word will be among the results of the message; false: it fetches no such word. */
static bool result_at(const struct draft *d, const uint64_t *word, uint32_t *out)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        const struct baton_op *op = &baton_ucx_entry(d->l, d->first + i)->op;
        if (op->kind == BATON_OP_PUT)
            continue;
        const uintptr_t in = (uintptr_t)word - (uintptr_t)op->local;
        if (in < op->bytes) {
            *out = at + (uint32_t)in;
            return true;
        }
        at += op->bytes;
    }
    return false;
}

/* How long the node may keep the answer: not so long that it seems to be silent. */
static uint32_t patience_us(const struct ucx_world *w, uint64_t deadline_ns)
{
    const uint64_t now = baton_clock_ns();
    uint64_t us = w->timeout_ms * 1000u / 4;
    us = us < PATIENCE_US ? us : PATIENCE_US;
    if (now >= deadline_ns)
        return 0;
    return (uint32_t)((deadline_ns - now) / 1000u < us ? (deadline_ns - now) / 1000u : us);
}

/* Appends what the message waits for at its node, if it can tell it. */
static void draft_hold(struct draft *d, const struct baton_hold *hold)
{
    struct ucx_hold h = {.us = patience_us(d->l->ep->n->world, hold->deadline_ns),
                         .conds_n = (uint32_t)hold->count};
    for (unsigned i = 0; i < hold->count; i++) {
        const struct baton_until *u = &hold->until[i];
        struct ucx_cond *c = &h.conds[i];
        *c = (struct ucx_cond){.mask = u->mask,
                               .value = u->value,
                               .plus = UCX_NOTHING,
                               .shift = u->shift,
                               .negate = u->negate};
        if (!result_at(d, u->word, &c->at) || (u->plus && !result_at(d, u->plus, &c->plus)))
            return;
    }
    if (!h.us)
        return;
    const size_t bytes = offsetof(struct ucx_hold, conds) + h.conds_n * sizeof(h.conds[0]);
    memcpy(draft_room(d, bytes), &h, bytes);
    d->held = true;
}

static bool draft_fits(const struct draft *d, const struct baton_op *op)
{
    size_t body = d->size - sizeof(struct ucx_request);
    return body + op->bytes <= UCX_BODY_MAX && d->results + op->bytes <= UCX_BODY_MAX;
}

static void send_pieces(struct ucx_link *l, const struct baton_op *op)
{
    uint64_t first = l->tail - 1;
    for (uint32_t at = 0; at < op->bytes && !l->broken;) {
        uint32_t size = op->bytes - at < UCX_BODY_MAX ? op->bytes - at : UCX_BODY_MAX;
        struct draft d = draft_make(l);
        d.first = first;
        d.piece = true;
        d.before = at;
        d.bytes = size;
        draft_add(&d, op, at, size);
        at += size;
        d.last = at == op->bytes;
        draft_send(&d);
    }
    if (l->broken)
        baton_ucx_link_cancel(l, first);
}

/* Here the source is copied into the message, which has to wait then. */
static void await_source(struct draft *d, const struct baton_op *op)
{
    struct ucx_link *l = d->l;
    if (!baton_ucx_link_early(l, op))
        return;
    if (d->count) {
        draft_send(d);
        *d = draft_make(l);
    }
    for (uint32_t idle = 0; !l->lost && baton_ucx_link_early(l, op);)
        baton_ucx_link_wait(l, &idle);
}

/* Whether nothing will be heard of what was sent last. */
static bool ends_quiet(const struct ucx_link *l)
{
    return l->next != l->done && l->owed + 1 != l->next && !l->lost;
}

void baton_ucx_am_hear(struct ucx_link *l)
{
    struct draft d = draft_make(l);
    if (!ends_quiet(l))
        return;
    while (baton_ucx_ear_progress(&l->ep->ear))
        ; /* it may have been answered meanwhile */
    if (ends_quiet(l))
        draft_send(&d);
}

void baton_ucx_am_ring(struct ucx_link *l, const struct baton_op *ops, unsigned n)
{
    struct draft d = draft_make(l);
    for (unsigned i = 0; i < n; i++) {
        const struct baton_op *op = &ops[i];
        if (op->node != l->node)
            continue;
        bool is_long = op->bytes > UCX_BODY_MAX;
        if (d.count && (is_long || !draft_fits(&d, op))) {
            draft_send(&d);
            d = draft_make(l);
        }
        await_source(&d, op);
        baton_ucx_link_enter(l, op);
        if (baton_ucx_entry(l, l->tail - 1)->over)
            continue;
        if (is_long) {
            send_pieces(l, op);
            d = draft_make(l);
        } else {
            draft_add(&d, op, 0, op->bytes);
        }
    }
    if (d.count && l->ep->epx->hold)
        draft_hold(&d, l->ep->epx->hold);
    if (d.count && !l->broken)
        draft_send(&d);
    else
        baton_ucx_link_cancel(l, d.first); /* it has broken while this was written */
}

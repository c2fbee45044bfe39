/* SPDX-License-Identifier: MIT */
/*
 * Chains, where they are executed: records become operations of this thread.
 *
 * A request may ask to be held: it ends with gets, and with conditions on what was fetched. As long as none of
 * these holds, and until its time is over, the gets are repeated here instead of by who waits: after all that
 * came in, and now and then, since nobody tells what threads of the host store.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fabric/cpu_op.h"
#include "fabric/ucx_service.h"

/* A request that waits. */
struct ucx_held {
    uint64_t until_ns;
    uint64_t token, number;  /* of the request */
    uint32_t count, skipped; /* its records, and those of them before the gets */
    struct ucx_hold hold;
    size_t results, bytes; /* of what was fetched before the gets; of the gets' records */
    char data[];           /* both */
};

/* Reads a record; what follows it is left at *at. False if the bytes do not suffice. */
static bool read_record(const char **at, const char *end, unsigned self, struct ucx_record *r,
                        struct baton_op *op)
{
    if ((size_t)(end - *at) < sizeof(*r))
        return false;
    memcpy(r, *at, sizeof(*r));
    *at += sizeof(*r);
    *op = (struct baton_op){.kind = r->kind,
                            .flags = BATON_OPF_INLINE,
                            .node = (uint16_t)self,
                            .bytes = r->bytes,
                            .remote = baton_gptr_make(self, r->offset),
                            .value = r->value,
                            .expected = r->expected};
    if (r->kind >= BATON_OP_KINDS || r->offset >> 48 || r->offset & 7 || !r->bytes ||
        r->bytes & 7 || r->bytes > UCX_BODY_MAX || r->before > r->offset || r->bytes > r->whole ||
        r->before > r->whole - r->bytes)
        return false;
    if (r->flags & UCX_RECORD_MASKS) {
        const uint64_t *masks = (const uint64_t *)*at;
        if (end - *at < 16)
            return false;
        op->flags |= BATON_OPF_MASKED;
        op->cmask = masks[0];
        op->smask = masks[1];
        *at += 16;
    }
    if (r->flags & UCX_RECORD_BYTES) {
        if ((size_t)(end - *at) < r->bytes)
            return false;
        op->flags &= (uint8_t)~BATON_OPF_INLINE;
        op->local = (void *)(uintptr_t)*at;
        *at += r->bytes;
        return r->kind == BATON_OP_PUT;
    }
    return r->kind == BATON_OP_GET || r->bytes == 8;
}

/* Records on their way through. */
struct run {
    const char *at, *end; /* those that are to come */
    const char *gets;     /* the first of the gets at the end; null: the last was something else */
    uint32_t before_gets; /* records before it */
    size_t results;       /* bytes fetched before it */
    bool stores;          /* a store may be on its way to memory */
    char *out, *full;     /* where the next result goes, and how far there is room */
};

static struct run run_make(const char *records, const char *end, struct ucx_answer *a)
{
    return (struct run){.at = records,
                        .end = end,
                        .stores = true, /* of earlier requests */
                        .out = (char *)(a + 1),
                        .full = (char *)a + UCX_MESSAGE_MAX};
}

static void note_gets(struct run *run, const struct baton_op *op, const char *record,
                      const struct ucx_answer *a)
{
    if (op->kind != BATON_OP_GET) {
        run->gets = NULL;
    } else if (!run->gets) {
        run->gets = record;
        run->before_gets = a->failed;
        run->results = (size_t)(run->out - (const char *)(a + 1));
    }
}

/* Executes the records from a->failed up to `count`, or until one is refused. False: nonsense. */
static bool execute(struct ucx_service *s, struct run *run, uint32_t count, struct ucx_answer *a)
{
    for (; a->failed < count; a->failed++) {
        struct ucx_record r;
        struct baton_op op;
        struct baton_segment there = {0};
        uint64_t *word;
        bool wrote = false;
        const char *record = run->at;
        if (!read_record(&run->at, run->end, s->n->node->index, &r, &op))
            return false;
        note_gets(run, &op, record, a);
        if (op.kind != BATON_OP_PUT) {
            if ((size_t)(run->full - run->out) < r.bytes)
                return false;
            op.local = run->out;
            run->out += r.bytes;
        }
        a->rc = baton_ucx_place(s->n, &op, r.before, r.whole, &word, &there);
        if (a->rc) {
            a->base = there.base;
            a->bytes = there.bytes;
            a->rights = there.rights;
            return true;
        }
        run->stores = baton_cpu_op(&op, word, run->stores, &wrote);
        s->wrote |= baton_cpu_op_kinds(&op, word, wrote);
    }
    return true;
}

/* ---- Held */

static uint64_t result(const struct ucx_answer *a, uint32_t at)
{
    uint64_t word;
    memcpy(&word, (const char *)(a + 1) + at, 8);
    return word;
}

static bool any_holds(const struct ucx_hold *h, const struct ucx_answer *a)
{
    for (unsigned i = 0; i < h->conds_n; i++) {
        const struct ucx_cond *c = &h->conds[i];
        uint64_t want = c->plus == UCX_NOTHING ? 0 : result(a, c->plus) << c->shift;
        if ((((result(a, c->at) ^ (want + c->value)) & c->mask) == 0) != (c->negate != 0))
            return true;
    }
    return false;
}

/* Reads what is asked for behind the records. False: nothing that could be waited for. */
static bool read_hold(const struct run *run, const struct ucx_answer *a, struct ucx_hold *h)
{
    const size_t results = (size_t)(run->out - (const char *)(a + 1)),
                 head = offsetof(struct ucx_hold, conds), left = (size_t)(run->end - run->at);
    if (left < head)
        return false;
    memcpy(h, run->at, head);
    if (!h->conds_n || h->conds_n > BATON_CONDS_MAX || h->us > UCX_HOLD_MAX_US ||
        left - head < h->conds_n * sizeof(h->conds[0]))
        return false;
    memcpy(h->conds, run->at + head, h->conds_n * sizeof(h->conds[0]));
    for (unsigned i = 0; i < h->conds_n; i++) {
        const struct ucx_cond *c = &h->conds[i];
        if (results < 8 || c->at > results - 8 || c->shift > 63 ||
            (c->plus != UCX_NOTHING && c->plus > results - 8))
            return false;
    }
    return true;
}

/* Keeps the request, which has just been executed, if it is to wait. */
static bool hold(struct ucx_service *s, const struct ucx_request *q, const struct run *run,
                 struct ucx_inbound *from, const struct ucx_answer *a)
{
    struct ucx_hold asked;
    if (!from || from->held || a->rc || !run->gets || !read_hold(run, a, &asked) ||
        any_holds(&asked, a))
        return false;
    const size_t bytes = (size_t)(run->at - run->gets);
    struct ucx_held *h = malloc(sizeof(*h) + run->results + bytes);
    if (!h)
        return false;
    *h = (struct ucx_held){.until_ns = baton_clock_ns() + (uint64_t)asked.us * 1000u,
                           .token = q->token,
                           .number = q->number,
                           .count = q->count,
                           .skipped = run->before_gets,
                           .hold = asked,
                           .results = run->results,
                           .bytes = bytes};
    memcpy(h->data, a + 1, run->results);
    memcpy(h->data + run->results, run->gets, bytes);
    from->held = h;
    s->held_n++;
    return true;
}

void baton_ucx_held_drop(struct ucx_inbound *i)
{
    i->service->held_n -= i->held != NULL;
    free(i->held);
    i->held = NULL;
}

/* Fetches again. */
static void look(struct ucx_service *s, struct ucx_inbound *i, uint64_t now)
{
    const struct ucx_held *h = i->held;
    struct ucx_answer *a = baton_ucx_answer_begin(s, h->token, h->number, UCX_CHAIN);
    if (!a)
        return;
    const char *gets = h->data + h->results;
    struct run run = run_make(gets, gets + h->bytes, a);
    memcpy(run.out, h->data, h->results);
    run.out += h->results;
    a->failed = h->skipped;
    if (!execute(s, &run, h->count, a) || (!a->rc && now < h->until_ns && !any_holds(&h->hold, a)))
        return;
    baton_ucx_held_drop(i);
    baton_ucx_answer(s, i->ucp, (size_t)(run.out - (char *)a));
}

void baton_ucx_held_look(struct ucx_service *s)
{
    const uint64_t now = s->held_n ? baton_clock_ns() : 0;
    for (unsigned b = 0; s->held_n && b < UCX_BUCKETS; b++)
        for (struct ucx_inbound *i = s->inbound[b]; i; i = i->next)
            if (i->held && !i->over)
                look(s, i, now);
}

/* ---- All of it */

size_t baton_ucx_chain(struct ucx_service *s, const struct ucx_request *q, const char *end,
                       struct ucx_inbound *from, struct ucx_answer *a)
{
    struct run run = run_make((const char *)(q + 1), end, a);
    if (!execute(s, &run, q->count, a) || (q->flags & UCX_HOLD && hold(s, q, &run, from, a)))
        return 0;
    return (size_t)(run.out - (char *)a);
}

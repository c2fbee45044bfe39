/* SPDX-License-Identifier: MIT */
/* Chains, where they are executed: records become operations of this thread. */
#include <string.h>

#include "fabric/cpu_op.h"
#include "fabric/ucx_service.h"

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

/* Executes the records from a->failed up to `count`, or until one is refused. False: nonsense. */
static bool execute(struct ucx_service *s, struct run *run, uint32_t count, struct ucx_answer *a)
{
    for (; a->failed < count; a->failed++) {
        struct ucx_record r;
        struct baton_op op;
        struct baton_segment there = {0};
        uint64_t *word;
        bool wrote;
        if (!read_record(&run->at, run->end, s->n->node->index, &r, &op))
            return false;
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
    }
    return true;
}

size_t baton_ucx_chain(struct ucx_service *s, const struct ucx_request *q, const char *end,
                       struct ucx_answer *a)
{
    struct run run = run_make((const char *)(q + 1), end, a);
    if (!execute(s, &run, q->count, a))
        return 0;
    return (size_t)(run.out - (char *)a);
}

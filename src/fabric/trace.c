/* SPDX-License-Identifier: MIT */
/* The tracing wrapper: one line of plain words for everything that an endpoint does. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabric/layer.h"

struct trace {
    baton_trace_fn fn;
    void *arg;
};

static void say(struct baton_layer *l, struct baton_epx *ep, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void say(struct baton_layer *l, struct baton_epx *ep, const char *format, ...)
{
    struct trace *t = l->state;
    char line[192];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    t->fn(t->arg, &ep->pub, l->inner->ops->now(l->inner, ep), line);
}

/* "0x40" of memory that has an address, the pointer otherwise. */
static const char *place(struct baton_epx *ep, const void *word, char *buffer, size_t bytes)
{
    baton_gptr at = baton_addr(ep->nodep, word);
    if (at)
        snprintf(buffer, bytes, "%u+0x%" PRIx64, baton_gptr_node(at), baton_gptr_offset(at));
    else
        snprintf(buffer, bytes, "%p", word);
    return buffer;
}

static void trace_ring(struct baton_layer *l, struct baton_epx *ep, const struct baton_op *ops,
                       unsigned n)
{
    static const char *const names[BATON_OP_KINDS] = {"put", "get", "rcas", "rfaa"};
    for (unsigned i = 0; i < n; i++) {
        const struct baton_op *op = &ops[i];
        char operands[80] = "";
        if (op->kind == BATON_OP_RCAS)
            snprintf(operands, sizeof(operands), " 0x%" PRIx64 " to 0x%" PRIx64, op->expected,
                     op->value);
        else if (op->kind == BATON_OP_RFAA || op->flags & BATON_OPF_INLINE)
            snprintf(operands, sizeof(operands), " 0x%" PRIx64, op->value);
        say(l, ep, "%s%s%s %" PRIu32 " bytes at %u+0x%" PRIx64 "%s id %u",
            op->flags & BATON_OPF_RFENCE  ? "rfence; "
            : op->flags & BATON_OPF_ORDER ? "order; "
                                          : "",
            op->flags & BATON_OPF_MASKED ? "masked " : "", names[op->kind], op->bytes, op->node,
            baton_gptr_offset(op->remote), operands, op->id);
    }
    l->inner->ops->ring(l->inner, ep, ops, n);
}

static uint64_t trace_load(struct baton_layer *l, struct baton_epx *ep, const uint64_t *word)
{
    char at[40];
    uint64_t v = l->inner->ops->load(l->inner, ep, word);
    say(l, ep, "load %s is 0x%" PRIx64, place(ep, word, at, sizeof(at)), v);
    return v;
}

static void trace_store(struct baton_layer *l, struct baton_epx *ep, uint64_t *word, uint64_t value)
{
    char at[40];
    l->inner->ops->store(l->inner, ep, word, value);
    say(l, ep, "store %s 0x%" PRIx64, place(ep, word, at, sizeof(at)), value);
}

static uint64_t trace_swap(struct baton_layer *l, struct baton_epx *ep, uint64_t *word,
                           uint64_t value)
{
    char at[40];
    uint64_t v = l->inner->ops->swap(l->inner, ep, word, value);
    say(l, ep, "swap %s 0x%" PRIx64 " was 0x%" PRIx64, place(ep, word, at, sizeof(at)), value, v);
    return v;
}

static uint64_t trace_cas(struct baton_layer *l, struct baton_epx *ep, uint64_t *word,
                          uint64_t expected, uint64_t desired)
{
    char at[40];
    uint64_t v = l->inner->ops->cas(l->inner, ep, word, expected, desired);
    say(l, ep, "cas %s 0x%" PRIx64 " to 0x%" PRIx64 " was 0x%" PRIx64,
        place(ep, word, at, sizeof(at)), expected, desired, v);
    return v;
}

static uint64_t trace_faa(struct baton_layer *l, struct baton_epx *ep, uint64_t *word, uint64_t add)
{
    char at[40];
    uint64_t v = l->inner->ops->faa(l->inner, ep, word, add);
    say(l, ep, "faa %s 0x%" PRIx64 " was 0x%" PRIx64, place(ep, word, at, sizeof(at)), add, v);
    return v;
}

static void trace_mfence(struct baton_layer *l, struct baton_epx *ep)
{
    l->inner->ops->mfence(l->inner, ep);
    say(l, ep, "mfence");
}

static int trace_await(struct baton_layer *l, struct baton_epx *ep, const struct baton_cond *conds,
                       unsigned n, struct baton_wait *wait)
{
    int rc = l->inner->ops->await(l->inner, ep, conds, n, wait);
    for (unsigned i = 0; i < n; i++) {
        char at[40];
        say(l, ep, "await %s & 0x%" PRIx64 " %s 0x%" PRIx64 ": %s",
            place(ep, conds[i].word, at, sizeof(at)), conds[i].mask,
            conds[i].negate ? "!=" : "==", conds[i].value,
            rc ? baton_strerror(rc) : "one of them holds");
    }
    return rc;
}

static int trace_relax(struct baton_layer *l, struct baton_epx *ep, struct baton_wait *wait)
{
    int rc = l->inner->ops->relax(l->inner, ep, wait);
    say(l, ep, "relax: %s", baton_strerror(rc));
    return rc;
}

static void trace_note(struct baton_layer *l, struct baton_epx *ep, const char *what,
                       uint64_t value, int rc)
{
    say(l, ep, "%s %" PRIu64 ": %s", what, value, baton_strerror(rc));
    if (l->inner->ops->note)
        l->inner->ops->note(l->inner, ep, what, value, rc);
}

static struct baton_ep_ops ops;

static void fill_ops(void)
{
    ops = baton_layer_through;
    ops.ring = trace_ring;
    ops.load = trace_load;
    ops.store = trace_store;
    ops.swap = trace_swap;
    ops.cas = trace_cas;
    ops.faa = trace_faa;
    ops.mfence = trace_mfence;
    ops.await = trace_await;
    ops.relax = trace_relax;
    ops.note = trace_note;
}

int baton_ep_trace(struct baton_ep *pub, baton_trace_fn fn, void *arg)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct baton_epx *ep = baton_epx(pub);
    if (!fn)
        return baton_fail(-EINVAL, "a trace needs somebody to tell");
    struct trace *t = malloc(sizeof(*t));
    if (!t)
        return -ENOMEM;
    *t = (struct trace){fn, arg};
    pthread_once(&once, fill_ops);
    int rc = baton_layer_push(ep, &ops, t);
    if (rc)
        free(t);
    else
        pub->native = 0;
    return rc;
}

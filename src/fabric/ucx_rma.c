/* SPDX-License-Identifier: MIT */
/*
 * Mode rma: operations of UCX on remote memory.
 *
 * Bounds and rights are looked up before posting. What UCX does in software it does to any address, so there
 * the end of each chain gets the number of segments that the node has taken back so far: if it has risen, the
 * segments of the chain are looked up again, and what went to one that is gone has failed. Results come
 * through memory of our own, so that a failed operation leaves the caller's as it is.
 *
 * Software emulation is for trying the mode out: UCX 1.13 ends the process of the owner when a peer is killed
 * whose get it is about to answer.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/cpu_op.h"
#include "fabric/ucx_world.h"

#define KEY_MAX 1024u

struct region {
    uint64_t base, bytes;
    uint32_t rights;
    uint64_t address;
    ucp_rkey_h key;
};

/* What UCX is doing for an entry, or for the look at the end of a chain. */
struct work {
    struct ucx_rma *rma;
    uint64_t base;             /* of the segment; 0: none */
    uint64_t operand, fetched; /* of an atomic; the value of a put */
    void *bounce;              /* of a get; null: straight to its place */
    bool pending, stale;
    ucs_status_t status;
};

struct ucx_rma {
    unsigned pending; /* of all work */
    uint64_t gone;    /* segments that had been taken back when the regions were looked up */
    struct region directory;
    unsigned regions_n;
    struct region regions[BATON_SEGMENTS_MAX];
    struct work entries[UCX_DEPTH];
    struct work look;      /* one at a time, for the entries below `upto` */
    uint64_t judged, upto; /* those below `judged` are over */
    bool looking;
    bool failed; /* an entry that has been judged: the rest is cancelled */
};

static struct work *work_at(struct ucx_link *l, uint64_t i)
{
    return &l->rma->entries[i % UCX_DEPTH];
}

/* ---- Where memory is */

static int take_memory(struct ucx_link *l, const struct ucx_answer *a, const char *body,
                       size_t bytes, struct region *out, uint64_t *gone)
{
    struct ucx_memory m;
    uint64_t key[KEY_MAX / 8];
    if (bytes >= sizeof(m))
        memcpy(&m, body, sizeof(m));
    if (bytes < sizeof(m) || m.key_bytes > KEY_MAX || m.key_bytes > bytes - sizeof(m))
        return baton_fail(-EPROTO, "node %u does not say where its memory is", l->node);
    memcpy(key, body + sizeof(m), m.key_bytes);
    *out = (struct region){a->base, a->bytes, a->rights, m.address, NULL};
    *gone = m.gone;
    ucs_status_t status = UCX(ucp_ep_rkey_unpack)(l->ucp, key, &out->key);
    return status ? baton_fail(baton_ucx_errno(status), "UCX can not use the key of node %u: %s",
                               l->node, UCX(ucs_status_string)(status))
                  : 0;
}

static void forget_regions(struct ucx_rma *m)
{
    while (m->regions_n)
        UCX(ucp_rkey_destroy)(m->regions[--m->regions_n].key);
}

int baton_ucx_rma_met(struct ucx_link *l, const struct ucx_answer *a, const char *body,
                      size_t bytes)
{
    if (!l->rma)
        l->rma = calloc(1, sizeof(*l->rma));
    if (!l->rma)
        return -ENOMEM;
    struct ucx_rma *m = l->rma;
    m->judged = m->upto = l->tail;
    m->looking = m->failed = false;
    return take_memory(l, a, body, bytes, &m->directory, &m->gone);
}

void baton_ucx_rma_parted(struct ucx_link *l)
{
    struct ucx_rma *m = l->rma;
    if (!m || !m->directory.key)
        return;
    forget_regions(m);
    UCX(ucp_rkey_destroy)(m->directory.key);
    m->directory.key = NULL;
}

/* UCX ends what is under way when a connection is closed. */
void baton_ucx_rma_finish(struct ucx_link *l)
{
    while (l->rma && l->rma->pending)
        UCX(ucp_worker_progress)(l->ep->ear.worker);
}

static int take_region(struct ucx_link *l, const struct ucx_answer *a, const char *body,
                       size_t bytes)
{
    struct ucx_rma *m = l->rma;
    uint64_t unused;
    if (m->regions_n == BATON_SEGMENTS_MAX) /* some of them are gone */
        forget_regions(m);
    int rc = take_memory(l, a, body, bytes, &m->regions[m->regions_n], &unused);
    m->regions_n += !rc;
    return rc;
}

static const struct region *region_at(struct ucx_link *l, uint64_t offset)
{
    struct ucx_rma *m = l->rma;
    for (unsigned tries = 0; tries < 2; tries++) {
        for (unsigned i = 0; i < m->regions_n; i++)
            if (offset - m->regions[i].base < m->regions[i].bytes)
                return &m->regions[i];
        struct ucx_request q = baton_ucx_link_request(l, UCX_LOOK);
        q.offset = offset;
        if (tries || baton_ucx_link_ask(l, &q, take_region))
            return NULL;
    }
    return NULL;
}

static bool is_fence(const struct baton_op *op)
{
    return op->kind == BATON_OP_GET && op->bytes == 8 && op->remote == baton_gfence_word(op->node);
}

/* The memory that the operation works on; else the link is broken. */
static const struct region *place(struct ucx_link *l, const struct baton_op *op, uint64_t *address)
{
    const uint64_t offset = baton_gptr_offset(op->remote);
    char text[96];
    int rc = 0;
    if (is_fence(op)) {
        *address = l->rma->directory.address;
        return &l->rma->directory;
    }
    const struct region *r = region_at(l, offset);
    if (!r)
        rc = -EKEYREJECTED;
    else if (op->bytes > r->bytes - (offset - r->base))
        rc = -ERANGE;
    else if (!(r->rights & baton_cpu_op_rights[op->kind]))
        rc = -EACCES;
    if (rc) {
        const char *why = baton_cpu_op_refusal(op, rc, r ? r->base : 0, r ? r->bytes : 0,
                                               r ? r->rights : 0, text, sizeof(text));
        baton_ucx_link_break(l, rc, "%s", why);
        return NULL;
    }
    *address = r->address + (offset - r->base);
    return r;
}

/* ---- Posting */

static void finished(void *request, ucs_status_t status, void *arg)
{
    struct work *w = arg;
    w->status = status;
    w->pending = false;
    w->rma->pending--;
    UCX(ucp_request_free)(request);
}

static ucp_request_param_t param_for(struct work *w)
{
    return (ucp_request_param_t){.op_attr_mask =
                                     UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                 .cb.send = finished,
                                 .user_data = w};
}

static void begun(struct work *w, ucs_status_ptr_t r)
{
    w->pending = UCS_PTR_IS_PTR(r);
    w->status = UCS_PTR_IS_ERR(r) ? UCS_PTR_STATUS(r) : UCS_OK;
    w->rma->pending += w->pending;
}

static ucs_status_ptr_t post_get(struct ucx_link *l, struct work *w, void *to, size_t bytes,
                                 uint64_t address, ucp_rkey_h key)
{
    ucp_request_param_t p = param_for(w);
    return UCX(ucp_get_nbx)(l->ucp, to, bytes, address, key, &p);
}

static ucs_status_ptr_t post_atomic(struct ucx_link *l, struct work *w, const struct baton_op *op,
                                    uint64_t address, ucp_rkey_h key)
{
    ucp_request_param_t p = param_for(w);
    bool add = op->kind == BATON_OP_RFAA;
    p.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    p.datatype = ucp_dt_make_contig(8);
    p.reply_buffer = &w->fetched;
    w->operand = add ? op->value : op->expected;
    w->fetched = op->value; /* a compare-and-swap takes from here what it writes */
    return UCX(ucp_atomic_op_nbx)(l->ucp, add ? UCP_ATOMIC_OP_ADD : UCP_ATOMIC_OP_CSWAP,
                                  &w->operand, 1, address, key, &p);
}

static ucs_status_ptr_t post_put(struct ucx_link *l, struct work *w, const struct baton_op *op,
                                 uint64_t address, ucp_rkey_h key)
{
    ucp_request_param_t p = param_for(w);
    const void *from = op->local;
    if (op->flags & BATON_OPF_INLINE) {
        w->operand = op->value;
        from = &w->operand;
    }
    return UCX(ucp_put_nbx)(l->ucp, from, op->bytes, address, key, &p);
}

static void post(struct ucx_link *l, uint64_t i)
{
    struct ucx_entry *e = baton_ucx_entry(l, i);
    struct work *w = work_at(l, i);
    const struct baton_op *op = &e->op;
    uint64_t address;
    ucs_status_ptr_t r;
    *w = (struct work){.rma = l->rma};
    const struct region *there = place(l, op, &address);
    if (!there || l->lost) {
        e->rc = l->broken;
        e->over = true;
        return;
    }
    w->base = there->base;
    if (op->flags & (BATON_OPF_ORDER | BATON_OPF_RFENCE))
        UCX(ucp_worker_fence)(l->ep->ear.worker);
    if (op->kind == BATON_OP_GET) {
        w->bounce = op->bytes > 8 ? malloc(op->bytes) : &w->fetched;
        r = w->bounce ? post_get(l, w, w->bounce, op->bytes, address, there->key)
                      : UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);
    } else if (op->kind == BATON_OP_PUT) {
        r = post_put(l, w, op, address, there->key);
    } else {
        r = post_atomic(l, w, op, address, there->key);
    }
    begun(w, r);
}

/* The number of segments that are gone, behind all that was posted. */
static void look(struct ucx_link *l)
{
    struct ucx_rma *m = l->rma;
    m->look = (struct work){.rma = m};
    UCX(ucp_worker_fence)(l->ep->ear.worker);
    begun(&m->look,
          post_get(l, &m->look, &m->look.fetched, 8, m->directory.address, m->directory.key));
    m->upto = l->tail;
    m->looking = true;
}

/* ---- Judging */

static void take_results(struct ucx_link *l, uint64_t i)
{
    struct ucx_entry *e = baton_ucx_entry(l, i);
    struct work *w = work_at(l, i);
    const struct baton_op *op = &e->op;
    if (e->over) {
        l->rma->failed |= e->rc != 0;
    } else if (l->rma->failed) {
        e->rc = -ECANCELED;
    } else if (w->stale || w->status) {
        e->rc = w->stale ? -EKEYREJECTED : baton_ucx_errno(w->status);
        l->rma->failed = true;
        l->broken = 0; /* one behind it may have been refused already */
        if (w->stale)
            baton_ucx_link_break(l, e->rc, "node %u has no segment at 0x%" PRIx64, op->node,
                                 baton_gptr_offset(op->remote));
        else
            baton_ucx_link_break(l, e->rc, "%s", UCX(ucs_status_string)(w->status));
    } else if (op->kind == BATON_OP_GET) {
        baton_cpu_copy(op->local, w->bounce, op->bytes);
    } else if (op->kind != BATON_OP_PUT) {
        baton_word_store(op->local, w->fetched);
    }
    e->over = true;
    if (w->bounce != &w->fetched)
        free(w->bounce);
    w->bounce = NULL;
}

/* Some segment is gone: what went to it has failed. */
static void judge_again(struct ucx_link *l)
{
    struct ucx_rma *m = l->rma;
    forget_regions(m);
    m->gone = m->look.fetched;
    for (uint64_t i = m->judged; i < m->upto && !l->lost; i++) {
        const struct ucx_entry *e = baton_ucx_entry(l, i);
        struct work *w = work_at(l, i);
        if (!w->base || e->over)
            continue;
        const struct region *r = region_at(l, baton_gptr_offset(e->op.remote));
        w->stale = !r || r->base != w->base;
    }
}

static bool all_done(struct ucx_link *l)
{
    for (uint64_t i = l->rma->judged; i < l->rma->upto; i++)
        if (work_at(l, i)->pending)
            return false;
    return !l->rma->look.pending;
}

static void judge_until(struct ucx_link *l, uint64_t upto)
{
    if (l->rma->judged < upto)
        l->still_ns = 0; /* the node has been heard of */
    for (; l->rma->judged < upto; l->rma->judged++)
        take_results(l, l->rma->judged);
}

void baton_ucx_rma_settle(struct ucx_link *l)
{
    struct ucx_rma *m = l->rma;
    if (l->lost || !l->ucp) {
        baton_ucx_link_disconnect(l); /* what UCX still has in hand ends first */
        judge_until(l, l->tail);
        m->looking = false;
        return;
    }
    if (!l->ep->n->world->software)
        while (m->judged < l->tail && !work_at(l, m->judged)->pending)
            judge_until(l, m->judged + 1);
    if (!m->looking || !all_done(l))
        return;
    m->looking = false;
    if (!m->look.status && m->look.fetched != m->gone)
        judge_again(l);
    judge_until(l, m->upto);
    if (m->judged != l->tail && !l->lost)
        look(l);
}

bool baton_ucx_rma_idle(struct ucx_link *l)
{
    baton_ucx_rma_settle(l);
    return !l->rma->looking && l->rma->judged == l->tail;
}

/* UCX may read the source of a put when it is posted, which has to be later then. */
static void await_source(struct ucx_link *l, const struct baton_op *op)
{
    for (uint32_t idle = 0; !l->lost && baton_ucx_link_early(l, op);) {
        if (l->ep->n->world->software && !l->rma->looking)
            look(l);
        baton_ucx_rma_settle(l);
        if (baton_ucx_link_early(l, op))
            baton_ucx_link_wait(l, &idle);
    }
}

void baton_ucx_rma_ring(struct ucx_link *l, const struct baton_op *ops, unsigned n)
{
    if (l->rma && !l->broken)
        l->rma->failed = false;
    for (unsigned i = 0; i < n; i++) {
        if (ops[i].node != l->node)
            continue;
        await_source(l, &ops[i]);
        baton_ucx_link_enter(l, &ops[i]);
        if (!baton_ucx_entry(l, l->tail - 1)->over)
            post(l, l->tail - 1);
        else if (l->rma)
            *work_at(l, l->tail - 1) = (struct work){.rma = l->rma};
    }
    if (l->ucp && !l->lost && l->ep->n->world->software && !l->rma->looking)
        look(l);
}

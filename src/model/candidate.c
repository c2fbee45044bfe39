/* SPDX-License-Identifier: MIT */
/*
 * Taking a program apart into stamped accesses, and deciding a candidate execution step by step. The
 * rules of the axiomatic model are here and nowhere else: what orders what, and which choices exist.
 */
#include "model/candidate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Enters an edge into the orders it belongs to. */
static bool add(struct baton_candidate *c, enum baton_edge_kind kind, unsigned orders,
                unsigned from, unsigned to)
{
    if (c->logging) {
        if (c->n_edges == c->max_edges) {
            unsigned max = c->max_edges ? c->max_edges * 2 : 256;
            struct baton_edge *edge = realloc(c->edge, max * sizeof(*edge));
            if (!edge) {
                c->log_error = -ENOMEM;
                return false;
            }
            c->edge = edge;
            c->max_edges = max;
        }
        c->edge[c->n_edges++] =
            (struct baton_edge){(uint16_t)from, (uint16_t)to, (uint8_t)kind, (uint8_t)orders};
    }
    return (!(orders & BATON_EDGE_IN_IB) || baton_order_add_ib(&c->order, c->instant, from, to)) &&
           (!(orders & BATON_EDGE_IN_HB) || baton_order_add_hb(&c->order, from, to));
}

static const struct baton_op *op_of(const struct baton_candidate *c, unsigned part)
{
    return baton_candidate_op(c, part);
}

/* Every pair of parts of different operations of one thread, as the table has it. */
static bool add_program_order(struct baton_candidate *c)
{
    for (unsigned a = 0; a < c->n_parts; a++) {
        const struct baton_part *p = &c->part[a];
        for (unsigned b = a + 1; b < c->n_parts && c->part[b].thread == p->thread; b++) {
            const struct baton_part *q = &c->part[b];
            if (p->op == q->op)
                continue;
            unsigned orders = 0;
            if (baton_stamps_ordered(&c->stamps, p->stamp, p->node, q->stamp, q->node))
                orders |= BATON_EDGE_IN_HB;
            if (!p->library && !q->library &&
                baton_stamps_issued(&c->stamps, p->stamp, p->node, q->stamp, q->node))
                orders |= BATON_EDGE_IN_IB;
            if (orders &&
                !add(c, orders & BATON_EDGE_IN_HB ? BATON_EDGE_PPO : BATON_EDGE_IPPO, orders, a, b))
                return false;
            if (p->library && q->library && p->loc >= 0 && q->loc >= 0 &&
                !add(c, BATON_EDGE_SC, BATON_EDGE_IN_HB, a, b))
                return false;
        }
    }
    return true;
}

/* Within one operation: what is read before what is written. */
static bool add_inner_order(struct baton_candidate *c, unsigned op)
{
    unsigned first = c->first_part[op], end = c->first_part[op + 1];
    if (end - first < 2 || c->part[first].stamp == BATON_STAMP_GF)
        return true;
    unsigned orders = BATON_EDGE_IN_HB | (c->part[first].library ? 0 : BATON_EDGE_IN_IB);
    for (unsigned later = first + 1; later < end; later++)
        if (!add(c, BATON_EDGE_ISO, orders, first, later))
            return false;
    return true;
}

/* The last part of a remote operation: where a put writes remotely, where a result arrives. */
static bool add_awaited(struct baton_candidate *c, unsigned op, unsigned wait)
{
    unsigned done = c->first_part[op + 1] - 1;
    unsigned orders = BATON_EDGE_IN_IB;
    if (c->part[done].stamp == BATON_STAMP_NLW)
        orders |= BATON_EDGE_IN_HB;
    return add(c, BATON_EDGE_WAIT, orders, done, wait);
}

static bool add_wait(struct baton_candidate *c, unsigned thread, unsigned at)
{
    const struct baton_op *op = c->program->thread[thread].op, *wait = &op[at];
    unsigned base = c->first_op[thread], part = c->first_part[base + at];
    for (unsigned i = 0; i < at; i++)
        if (baton_op_is_remote(op[i].kind) && op[i].id == wait->id &&
            !add_awaited(c, base + i, part))
            return false;
    return true;
}

/*
 * The k-th poll of a node answers for the thread's k-th operation towards it. A poll that comes before
 * that operation never returns, and the program has no execution.
 */
static bool add_poll(struct baton_candidate *c, unsigned thread, unsigned at)
{
    const struct baton_op *op = c->program->thread[thread].op, *poll = &op[at];
    unsigned base = c->first_op[thread], polls = 0;
    for (unsigned i = 0; i < at; i++)
        polls += op[i].kind == BATON_OP_POLL && op[i].node == poll->node;
    for (unsigned i = 0; i < at; i++)
        if (baton_op_is_remote(op[i].kind) && baton_op_towards(c->program, &op[i]) == poll->node &&
            polls-- == 0)
            return add_awaited(c, base + i, c->first_part[base + at]);
    return false;
}

/* The release that ends the critical section which an acquire begins: the first part of the
 * operation; -1 when there is none. */
static int release_of(const struct baton_candidate *c, unsigned acquire)
{
    const struct baton_part *p = &c->part[acquire];
    const struct baton_thread *t = &c->program->thread[p->thread];
    for (unsigned i = p->op + 1; i < t->n_ops; i++)
        if (t->op[i].lock == t->op[p->op].lock)
            return t->op[i].kind == BATON_OP_REL ? (int)c->first_part[c->first_op[p->thread] + i]
                                                 : -1;
    return -1;
}

/* Acquire and release of every lock of this kind alternate in every thread. A lock library promises
 * nothing to a program that breaks this. */
static bool locks_paired(const struct baton_program *program, enum baton_lock_kind kind)
{
    for (unsigned t = 0; t < program->n_threads; t++) {
        uint64_t held = 0;
        for (unsigned i = 0; i < program->thread[t].n_ops; i++) {
            const struct baton_op *op = &program->thread[t].op[i];
            if ((op->kind != BATON_OP_ACQ && op->kind != BATON_OP_REL) ||
                program->lock[op->lock].kind != kind)
                continue;
            if ((held >> op->lock & 1) != (op->kind == BATON_OP_REL))
                return false;
            held ^= UINT64_C(1) << op->lock;
        }
        if (held)
            return false;
    }
    return true;
}

static bool is_remote_read(enum baton_stamp stamp)
{
    return stamp == BATON_STAMP_NRR || stamp == BATON_STAMP_NAR;
}

static bool nfo_applies(const struct baton_part *read, const struct baton_part *write)
{
    return read->thread == write->thread && read->node == write->node &&
           ((read->stamp == BATON_STAMP_NLR && write->stamp == BATON_STAMP_NLW) ||
            (is_remote_read(read->stamp) && write->stamp == BATON_STAMP_NRW));
}

static void add_pair(struct baton_candidate *c, enum baton_pair_kind kind, unsigned a, unsigned b)
{
    if (c->pair)
        c->pair[c->n_pairs] = (struct baton_pair){kind, a, b};
    c->n_pairs++;
}

/* Without an array this only counts. */
static void find_pairs(struct baton_candidate *c)
{
    bool paired[3] = {locks_paired(c->program, BATON_LOCK_WLOCK),
                      locks_paired(c->program, BATON_LOCK_SLOCK),
                      locks_paired(c->program, BATON_LOCK_NLOCK)};
    c->n_pairs = 0;
    for (unsigned a = 0; a < c->n_parts; a++) {
        const struct baton_part *p = &c->part[a];
        for (unsigned b = a + 1; b < c->n_parts; b++) {
            const struct baton_part *q = &c->part[b];
            if (p->writes && q->writes && p->loc >= 0 && p->loc == q->loc)
                add_pair(c, BATON_PAIR_MO, a, b);
            if (!p->library && !q->library && (nfo_applies(p, q) || nfo_applies(q, p)))
                add_pair(c, BATON_PAIR_NFO, a, b);
            if (p->stamp == BATON_STAMP_NAR && q->stamp == BATON_STAMP_NAR && p->node == q->node)
                add_pair(c, BATON_PAIR_RAO, a, b);
            const struct baton_op *first = op_of(c, a), *second = op_of(c, b);
            if (first->kind == BATON_OP_ACQ && second->kind == BATON_OP_ACQ &&
                first->lock == second->lock && paired[c->program->lock[first->lock].kind])
                add_pair(c, BATON_PAIR_LOCK, a, b);
        }
    }
}

static void find_parts(struct baton_candidate *c)
{
    const struct baton_program *program = c->program;
    c->n_parts = c->n_reads = 0;
    memset(c->instant, 0, sizeof(c->instant));
    for (unsigned t = 0, op = 0; t < program->n_threads; t++)
        for (unsigned i = 0; i < program->thread[t].n_ops; i++, op++) {
            c->first_part[op] = c->n_parts;
            unsigned n = baton_parts_of(program, t, i, c->succeeds[op], c->part + c->n_parts);
            for (; n; n--, c->n_parts++) {
                struct baton_part *part = &c->part[c->n_parts];
                if (part->reads && part->loc >= 0)
                    c->read[c->n_reads++] = (uint16_t)c->n_parts;
                if (baton_stamp_is_instant(part->stamp))
                    c->instant[c->n_parts / 64] |= UINT64_C(1) << (c->n_parts % 64);
            }
        }
    c->first_part[c->n_ops] = c->n_parts;

    unsigned n = 0;
    for (unsigned loc = 0; loc < program->n_locs; loc++) {
        c->first_write[loc] = n;
        for (unsigned p = 0; p < c->n_parts; p++)
            if (c->part[p].writes && c->part[p].loc == (int)loc)
                c->write[n++] = (uint16_t)p;
    }
    c->first_write[program->n_locs] = n;
}

void baton_candidate_shape(struct baton_candidate *c, uint64_t successes)
{
    const struct baton_program *program = c->program;
    unsigned choice = 0;
    for (unsigned t = 0, op = 0; t < program->n_threads; t++)
        for (unsigned i = 0; i < program->thread[t].n_ops; i++, op++) {
            bool chosen = baton_op_may_fail(program->thread[t].op[i].kind);
            c->succeeds[op] = !chosen || (successes >> choice & 1);
            choice += chosen;
        }
    find_parts(c);
    find_pairs(c);

    baton_order_init(&c->order, c->n_parts, c->state);
    c->source = (int16_t *)((uint64_t *)c->state + baton_order_size(c->n_parts));
    c->decided = (uint8_t *)(c->source + c->n_parts);
    for (unsigned p = 0; p < c->n_parts; p++)
        c->source[p] = c->part[p].loc < 0 ? BATON_SOURCE_INIT : BATON_SOURCE_OPEN;
    memset(c->decided, BATON_PAIR_OPEN, c->n_pairs);
    c->state_size = (size_t)((char *)(c->decided + c->n_pairs) - (char *)c->state);
    c->n_edges = 0;
    c->age++;

    c->possible = add_program_order(c);
    for (unsigned op = 0; op < c->n_ops && c->possible; op++)
        c->possible = add_inner_order(c, op);
    for (unsigned t = 0; t < program->n_threads; t++)
        for (unsigned i = 0; i < program->thread[t].n_ops && c->possible; i++)
            if (program->thread[t].op[i].kind == BATON_OP_WAIT)
                c->possible = add_wait(c, t, i);
            else if (program->thread[t].op[i].kind == BATON_OP_POLL)
                c->possible = add_poll(c, t, i);
}

/* `read` takes a value older than what `write` writes, so it comes before. */
static bool add_read_before(struct baton_candidate *c, unsigned read, unsigned write)
{
    const struct baton_part *r = &c->part[read], *w = &c->part[write];
    if (read == write)
        return true; /* the write half of the same RMW */
    if (r->stamp == BATON_STAMP_CR && w->stamp == BATON_STAMP_CW && r->thread == w->thread &&
        w->op < r->op)
        return add(c, BATON_EDGE_RB_OWN, BATON_EDGE_IN_IB | BATON_EDGE_IN_HB, read, write);
    return add(c, BATON_EDGE_RB, BATON_EDGE_IN_HB, read, write);
}

/*
 * Is `other` known to overwrite what `source` wrote? A log must show why, so there only a decision
 * counts; a search takes what follows from the orders.
 */
static bool overwrites(const struct baton_candidate *c, unsigned source, unsigned other)
{
    if (!c->logging)
        return baton_order_has(&c->order, BATON_ORDER_HB, source, other);
    for (unsigned i = 0; i < c->n_pairs; i++) {
        const struct baton_pair *p = &c->pair[i];
        if (p->kind == BATON_PAIR_MO &&
            ((p->a == source && p->b == other) || (p->a == other && p->b == source)))
            return c->decided[i] == (p->a == source ? BATON_PAIR_FORWARD : BATON_PAIR_BACKWARD);
    }
    return false;
}

bool baton_candidate_read_from(struct baton_candidate *c, unsigned read, int source)
{
    const struct baton_part *r = &c->part[read];
    c->source[read] = (int16_t)source;
    c->age++;
    if (source >= 0) {
        const struct baton_part *w = &c->part[source];
        unsigned orders = r->library ? 0 : BATON_EDGE_IN_IB;
        if (w->stamp != BATON_STAMP_CW || r->stamp != BATON_STAMP_CR || w->thread != r->thread)
            orders |= BATON_EDGE_IN_HB;
        if (!add(c, BATON_EDGE_RF, orders, (unsigned)source, read))
            return false;
    }
    for (unsigned i = c->first_write[r->loc]; i < c->first_write[r->loc + 1]; i++) {
        unsigned other = c->write[i];
        if ((int)other == source)
            continue;
        if (source >= 0 && !overwrites(c, (unsigned)source, other))
            continue; /* not known to overwrite; deciding that will bring the edge */
        if (!add_read_before(c, read, other))
            return false;
    }
    return true;
}

/* A later write to one place, with what follows for those who read the earlier one. */
static bool add_overwrite(struct baton_candidate *c, unsigned earlier, unsigned later)
{
    if (!add(c, BATON_EDGE_MO, BATON_EDGE_IN_HB, earlier, later))
        return false;
    for (unsigned i = 0; i < c->n_reads; i++)
        if (c->source[c->read[i]] == (int)earlier && !add_read_before(c, c->read[i], later))
            return false;
    return true;
}

static bool add_atomic_order(struct baton_candidate *c, unsigned earlier, unsigned later)
{
    if (!add(c, BATON_EDGE_RAO, BATON_EDGE_IN_HB, earlier, later))
        return false;
    /* The write of an RMW that has one follows its read in the list of parts. */
    return c->part[earlier + 1].stamp != BATON_STAMP_NRW ||
           add(c, BATON_EDGE_RAO_END, BATON_EDGE_IN_HB, earlier + 1, later);
}

static bool add_lock_order(struct baton_candidate *c, unsigned earlier, unsigned later)
{
    int release = release_of(c, earlier);
    const struct baton_part *first = &c->part[release];
    for (unsigned p = (unsigned)release;
         p < c->n_parts && c->part[p].thread == first->thread && c->part[p].op == first->op; p++)
        if (c->part[p].stamp != BATON_STAMP_RF &&
            !add(c, BATON_EDGE_LOCK, BATON_EDGE_IN_HB, p, later))
            return false;
    return true;
}

bool baton_candidate_decide(struct baton_candidate *c, unsigned pair, enum baton_pair_state way)
{
    const struct baton_pair *p = &c->pair[pair];
    unsigned earlier = way == BATON_PAIR_FORWARD ? p->a : p->b;
    unsigned later = way == BATON_PAIR_FORWARD ? p->b : p->a;
    c->decided[pair] = (uint8_t)way;
    switch (p->kind) {
    case BATON_PAIR_MO:
        return add_overwrite(c, earlier, later);
    case BATON_PAIR_NFO:
        return add(c, BATON_EDGE_NFO, BATON_EDGE_IN_IB | BATON_EDGE_IN_HB, earlier, later);
    case BATON_PAIR_RAO:
        return add_atomic_order(c, earlier, later);
    case BATON_PAIR_LOCK:
        return add_lock_order(c, earlier, later);
    }
    return false;
}

static bool hb(const struct baton_candidate *c, unsigned before, unsigned after)
{
    return baton_order_has(&c->order, BATON_ORDER_HB, before, after);
}

bool baton_candidate_refuses(const struct baton_candidate *c, unsigned pair,
                             enum baton_pair_state way)
{
    const struct baton_pair *p = &c->pair[pair];
    unsigned earlier = way == BATON_PAIR_FORWARD ? p->a : p->b;
    unsigned later = way == BATON_PAIR_FORWARD ? p->b : p->a;
    switch (p->kind) {
    case BATON_PAIR_MO:
        if (hb(c, later, earlier))
            return true;
        for (unsigned i = 0; i < c->n_reads; i++)
            if (c->source[c->read[i]] == (int)earlier && hb(c, later, c->read[i]))
                return true;
        return false;
    case BATON_PAIR_NFO:
        return hb(c, later, earlier) || baton_order_has(&c->order, BATON_ORDER_IB, later, earlier);
    case BATON_PAIR_RAO:
        return hb(c, later, earlier) ||
               (c->part[earlier + 1].stamp == BATON_STAMP_NRW && hb(c, later, earlier + 1));
    case BATON_PAIR_LOCK:
        return hb(c, later, (unsigned)release_of(c, earlier));
    }
    return false;
}

bool baton_candidate_propagate(struct baton_candidate *c)
{
    for (bool again = true; again;) {
        again = false;
        for (unsigned i = 0; i < c->n_pairs; i++) {
            if (c->decided[i] != BATON_PAIR_OPEN)
                continue;
            bool forward = !baton_candidate_refuses(c, i, BATON_PAIR_FORWARD);
            bool backward = !baton_candidate_refuses(c, i, BATON_PAIR_BACKWARD);
            if (forward && backward)
                continue;
            if (!baton_candidate_decide(c, i, forward ? BATON_PAIR_FORWARD : BATON_PAIR_BACKWARD))
                return false;
            again = true;
        }
    }
    return true;
}

static bool has_shared_variables(const struct baton_program *program)
{
    for (unsigned t = 0; t < program->n_threads; t++)
        for (unsigned i = 0; i < program->thread[t].n_ops; i++)
            if (program->thread[t].op[i].sv >= 0)
                return true;
    return false;
}

size_t baton_candidate_state_max(const struct baton_candidate *c)
{
    return baton_order_size(c->max_parts) * sizeof(uint64_t) + c->max_parts * sizeof(*c->source) +
           c->max_pairs + 1;
}

static int allocate(struct baton_candidate *c)
{
    const struct baton_program *program = c->program;
    struct baton_part scratch[BATON_PARTS_MAX];
    for (unsigned t = 0; t < program->n_threads; t++) {
        c->first_op[t] = c->n_ops;
        c->n_ops += program->thread[t].n_ops;
        for (unsigned i = 0; i < program->thread[t].n_ops; i++) {
            c->max_parts += baton_parts_of(program, t, i, true, scratch);
            c->n_choices += baton_op_may_fail(program->thread[t].op[i].kind);
        }
    }
    c->first_op[program->n_threads] = c->n_ops;
    if (c->max_parts > BATON_ORDER_MAX || c->n_choices > 63)
        return -E2BIG;

    /* One more part than there are: the search looks at the part behind an atomic read. */
    c->part = calloc(c->max_parts + 1, sizeof(*c->part));
    c->first_part = calloc(c->n_ops + 1, sizeof(*c->first_part));
    c->succeeds = malloc(c->n_ops + 1);
    c->read = calloc(c->max_parts + 1, sizeof(*c->read));
    c->write = calloc(c->max_parts + 1, sizeof(*c->write));
    c->first_write = calloc(program->n_locs + 1, sizeof(*c->first_write));
    c->memo = calloc(c->max_parts + c->n_ops + 1, sizeof(*c->memo));
    if (!c->part || !c->first_part || !c->succeeds || !c->read || !c->write || !c->first_write ||
        !c->memo)
        return -ENOMEM;

    /* The shape in which everything succeeds has the most parts and the most pairs. */
    memset(c->succeeds, 1, c->n_ops + 1);
    find_parts(c);
    find_pairs(c);
    c->max_pairs = c->n_pairs;
    c->pair = calloc(c->max_pairs + 1, sizeof(*c->pair));
    c->state = calloc(1, baton_candidate_state_max(c));
    return c->pair && c->state ? 0 : -ENOMEM;
}

int baton_candidate_init(struct baton_candidate *c, const struct baton_program *program,
                         enum baton_model model, const struct baton_stamps *stamps)
{
    *c = (struct baton_candidate){.program = program, .stamps = *stamps};
    const char *reason;
    if (model == BATON_MODEL_IMPL)
        return -EOPNOTSUPP;
    int rc = baton_program_supports(program, model, &reason);
    if (rc)
        return rc;
    if (has_shared_variables(program)) {
        rc = baton_program_lower(program, model, &c->lowered);
        if (rc)
            return rc;
        c->program = &c->lowered;
    }
    rc = allocate(c);
    if (rc)
        baton_candidate_fini(c);
    return rc;
}

void baton_candidate_fini(struct baton_candidate *c)
{
    free(c->part);
    free(c->first_part);
    free(c->succeeds);
    free(c->read);
    free(c->write);
    free(c->first_write);
    free(c->pair);
    free(c->memo);
    free(c->state);
    free(c->edge);
    baton_program_fini(&c->lowered);
}

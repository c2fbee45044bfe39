/* SPDX-License-Identifier: MIT */
/*
 * Queue pairs of the simulated NIC: posted operations become entries of the machine, steps of the machine
 * become effects on simulated memory and completions for the endpoint.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/nic_rules.h"
#include "sim/sim.h"

static const uint8_t fully_done[] = {
    [BATON_NIC_PUT] = 1 << BATON_NIC_COMMIT | 1 << BATON_NIC_LEAVE,
    [BATON_NIC_GET] = 1 << BATON_NIC_LAND,
    [BATON_NIC_RCAS] = 1 << BATON_NIC_COMMIT | 1 << BATON_NIC_LAND,
    [BATON_NIC_RFAA] = 1 << BATON_NIC_COMMIT | 1 << BATON_NIC_LAND,
    [BATON_NIC_FENCE] = 1 << BATON_NIC_LEAVE,
};

/* ---- Memory of a queue pair */

static size_t places_bytes(unsigned room)
{
    return room * (sizeof(struct baton_nic_entry) + sizeof(struct baton_nic_value) +
                   sizeof(struct sim_part)) +
           SIM_QP_FLAGS(room);
}

static void places_are(struct sim_qp *q, void *memory, unsigned room)
{
    q->values = memory;
    q->flags = (uint8_t *)(q->values + room);
    q->entries = (struct baton_nic_entry *)(q->flags + SIM_QP_FLAGS(room));
    q->parts = (struct sim_part *)(q->entries + room);
    q->room = room;
    q->nic.entry = q->entries;
    q->nic.flags = q->flags;
    q->nic.value = q->values;
}

static bool is_grown(const struct sim_qp *q)
{
    return q->room > SIM_QP_FEW;
}

/* Most queue pairs never have more than a few entries; of 12,000 threads each has several. */
static bool grow(struct sim_qp *q)
{
    struct sim_qp old = *q;
    void *memory = malloc(places_bytes(SIM_QP_MAX));
    if (!memory)
        return false;
    places_are(q, memory, SIM_QP_MAX);
    memcpy(q->entries, old.entries, old.nic.n * sizeof(*q->entries));
    memcpy(q->values, old.values, old.nic.n * sizeof(*q->values));
    memcpy(q->parts, old.parts, old.nic.n * sizeof(*q->parts));
    memcpy(q->flags, old.flags, old.nic.n * sizeof(*q->flags));
    return true;
}

static size_t own_bytes(const struct sim *s)
{
    return (s->driver->qp_bytes + 7) & ~(size_t)7;
}

size_t sim_qp_bytes(const struct sim *s)
{
    return sizeof(struct sim_qp) + own_bytes(s) + places_bytes(SIM_QP_FEW);
}

static struct sim_qp *qp_make(struct sim *s, struct sim_ep *e, unsigned node)
{
    if (s->qps_n == s->busy_room) {
        size_t room = s->busy_room ? 2 * s->busy_room : 64;
        struct sim_qp **more = realloc(s->busy, room * sizeof(*more));
        if (!more)
            return NULL;
        s->busy = more;
        s->busy_room = room;
    }
    struct sim_qp ***some = &e->ways[node / SIM_WAYS];
    if (!*some && !(*some = baton_pool_take(&s->ways_pool)))
        return NULL;
    struct sim_qp *q = baton_pool_take(&s->qp_pool);
    if (!q)
        return NULL;
    s->qps_n++;
    q->ep = e;
    q->node = node;
    q->nic.unit = &s->units[node];
    q->nic.free_reads = s->swap;
    q->driver = q + 1;
    places_are(q, (char *)q->driver + own_bytes(s), SIM_QP_FEW);
    return (*some)[node % SIM_WAYS] = q;
}

struct sim_qp *sim_qp_of(struct sim_ep *e, unsigned node)
{
    struct sim_qp *q = sim_qp_known(e, node);
    return q ? q : qp_make(sim_of(e->epx), e, node);
}

void sim_qp_free(struct sim_qp *q)
{
    if (is_grown(q))
        free(q->values); /* they come first */
}

static unsigned pieces_of(const struct sim *s, const struct baton_op *op)
{
    unsigned words = op->bytes / 8;
    if (s->driver->whole)
        return 1;
    return words < SIM_PIECES_MAX ? words : SIM_PIECES_MAX;
}

bool sim_qp_has_room(const struct sim *s, const struct sim_qp *q, const struct baton_op *op)
{
    return q->nic.n + pieces_of(s, op) + 1 <= SIM_QP_MAX;
}

/* Memory for words on their way; null: there is none. */
static uint64_t *words_make(struct sim *s, unsigned n)
{
    uint64_t *words = s->spare_words;
    if (n > SIM_PIECES_MAX || !words)
        return malloc((n > SIM_PIECES_MAX ? n : SIM_PIECES_MAX) * sizeof(*words));
    s->spare_words = (uint64_t *)(uintptr_t)*words;
    return words;
}

static void words_drop(struct sim *s, struct sim_part *p)
{
    if (p->words > SIM_PIECES_MAX) {
        free(p->extra);
    } else if (p->extra) {
        *p->extra = (uint64_t)(uintptr_t)s->spare_words;
        s->spare_words = p->extra;
    }
}

/* ---- Posting */

/* What is untouched may be passed, and a put that was accepted but is not visible. */
static bool may_pass(const struct sim_qp *q, unsigned at)
{
    if (q->entries[at].kind == BATON_NIC_PUT)
        return !(q->flags[at] & baton_nic_bit(BATON_NIC_COMMIT));
    return q->flags[at] == BATON_NIC_POSTED && q->entries[at].kind != BATON_NIC_FENCE;
}

/* Where the operation may go, when only fences keep its place: before older ones that let it pass. */
static unsigned earliest_place(const struct sim_qp *q, const struct baton_op *op)
{
    unsigned at = q->nic.n;
    if (op->flags & BATON_OPF_ORDER)
        return at;
    while (at > 0 && may_pass(q, at - 1)) {
        at--;
        if (q->parts[at].first && q->parts[at].op.flags & BATON_OPF_ORDER)
            break;
    }
    return at;
}

/*
 * An operation of several pieces is passed whole or not at all. This and what is for several pieces stand
 * apart for their frames: each thread has a stack of its own, and its lines are not near.
 */
static __attribute__((noinline)) unsigned choose_place(struct sim *s, const struct sim_qp *q,
                                                       const struct baton_op *op)
{
    unsigned n = q->nic.n;
    unsigned low = earliest_place(q, op);
    unsigned places[SIM_QP_MAX + 1], count = 0;
    for (unsigned at = low; at <= n; at++)
        if (at == n || at == 0 || q->parts[at].number != q->parts[at - 1].number)
            places[count++] = at;
    return count > 1 ? places[s->driver->choose(s, count)] : places[0];
}

static void entry_move(struct sim_qp *q, unsigned to, unsigned from)
{
    q->entries[to] = q->entries[from];
    q->flags[to] = q->flags[from];
    q->values[to] = q->values[from];
    q->parts[to] = q->parts[from];
}

static void make_room(struct sim_qp *q, unsigned at, unsigned count)
{
    for (unsigned i = q->nic.n; i-- > at;)
        entry_move(q, i + count, i);
    q->nic.n += count;
}

static void put_fence(struct sim_qp *q)
{
    unsigned at = q->nic.n++;
    q->entries[at] = (struct baton_nic_entry){.kind = BATON_NIC_FENCE};
    q->flags[at] = BATON_NIC_POSTED;
    q->values[at] = (struct baton_nic_value){0, 0};
    q->parts[at] = (struct sim_part){0};
}

static void set_entry(struct sim_qp *q, unsigned at, const struct baton_op *op, char *remote,
                      unsigned word)
{
    struct baton_nic_entry *n = &q->entries[at];
    static const enum baton_nic_kind kinds[BATON_OP_KINDS] = {BATON_NIC_PUT, BATON_NIC_GET,
                                                              BATON_NIC_RCAS, BATON_NIC_RFAA};
    bool constant = op->kind == BATON_OP_PUT && op->flags & BATON_OPF_INLINE;
    *n = (struct baton_nic_entry){
        .kind = kinds[op->kind],
        .constant = constant,
        .masked = op->flags & BATON_OPF_MASKED,
        .mask = {op->cmask, op->smask},
        .remote = (uint64_t)(uintptr_t)remote + 8 * (uint64_t)word,
        .local = constant ? 0 : (uint64_t)(uintptr_t)op->local + 8 * (uint64_t)word,
    };
    q->flags[at] = BATON_NIC_POSTED;
    q->values[at] = (struct baton_nic_value){
        .to_local = op->kind == BATON_OP_RCAS ? (int64_t)op->expected : 0,
        .to_remote = op->kind == BATON_OP_GET ? 0 : (int64_t)op->value,
    };
}

static void now_busy(struct sim *s, struct sim_qp *q)
{
    q->place = s->busy_n;
    s->busy[s->busy_n++] = q;
    q->ep->busy++;
}

static void now_idle(struct sim *s, struct sim_qp *q)
{
    struct sim_ep *e = q->ep;
    s->busy[q->place] = s->busy[--s->busy_n];
    s->busy[q->place]->place = q->place;
    e->busy--;
    if (!e->busy && e->thread && e->thread->state == SIM_WORK && e->thread->blocked == e)
        sim_try_wake(s, e->thread);
}

/* Tells an operation's end; its thread may have gone to sleep since it rang. */
static void tell(struct sim *s, struct sim_ep *e, const struct baton_op *op, int rc, bool wrote,
                 const char *text)
{
    struct sim_thread *t = e->thread;
    if (!e->epx)
        return;
    baton_op_done(e->epx, op, rc, wrote, text);
    if (t && t->state == SIM_WORK && t->blocked == e) {
        if (s->driver->found)
            s->driver->found(s, t);
        sim_try_wake(s, t);
    }
}

/* The order of the entries of an operation's pieces, which land in any order: it is drawn. */
static inline void draw_order(struct sim *s, const struct baton_op *op, unsigned *order,
                              unsigned count)
{
    order[0] = 0;
    for (unsigned i = 1; i < count; i++) {
        /* Gets read in any order as it is; the order of their entries only shows in time. */
        bool any = op->kind == BATON_OP_PUT || !s->driver->looks;
        unsigned j = any ? s->driver->choose(s, i + 1) : i;
        order[i] = order[j];
        order[j] = i;
    }
}

/* The entry `at` becomes one of the pieces of an operation. False: no memory. */
static inline bool set_piece(struct sim *s, struct sim_qp *q, unsigned at,
                             const struct baton_op *op, char *remote, unsigned from, unsigned words)
{
    struct sim_part *p = &q->parts[at];
    set_entry(q, at, op, remote, from);
    p->op = *op;
    p->number = q->numbers;
    p->pieces = 1;
    p->words = words;
    p->first = 1;
    p->wrote = 0;
    p->late = 0;
    p->extra = NULL;
    return words == 1 || (p->extra = words_make(s, words));
}

static __attribute__((noinline)) bool set_pieces(struct sim *s, struct sim_qp *q, unsigned at,
                                                 unsigned count, const struct baton_op *op,
                                                 char *remote)
{
    const unsigned words = op->bytes / 8;
    unsigned order[SIM_PIECES_MAX];
    bool memory = true;
    draw_order(s, op, order, count);
    for (unsigned i = 0; i < count; i++) {
        unsigned from = (unsigned)((uint64_t)words * order[i] / count);
        unsigned upto = (unsigned)((uint64_t)words * (order[i] + 1) / count);
        memory &= set_piece(s, q, at + i, op, remote, from, upto - from);
        q->parts[at + i].pieces = count;
        q->parts[at + i].first = i == 0;
    }
    return memory;
}

/* Fills in the entries of an operation, from `at` on. False: no memory. */
static bool set_entries(struct sim *s, struct sim_qp *q, unsigned at, unsigned count,
                        const struct baton_op *op, char *remote)
{
    return count > 1 ? set_pieces(s, q, at, count, op, remote)
                     : set_piece(s, q, at, op, remote, 0, op->bytes / 8);
}

void sim_qp_post(struct sim *s, struct sim_qp *q, const struct baton_op *op)
{
    int rc = 0;
    int known = baton_epx_peer(q->ep->epx, q->node)->broken;
    unsigned count = pieces_of(s, op), before = q->nic.n;
    if (known || q->broken) {
        tell(s, q->ep, op, known ? -ECANCELED : -EHOSTDOWN, false, NULL);
        return;
    }
    if (before + count + 1 > q->room && !grow(q)) {
        tell(s, q->ep, op, -ENOMEM, false, NULL);
        return;
    }
    char *remote = NULL;
    if (s->dead[q->ep->node] || s->dead[q->node])
        rc = -EHOSTDOWN;
    else
        remote = baton_local_resolve(s->cluster, op, &rc);
    if (!before)
        now_busy(s, q);
    if (op->flags & BATON_OPF_RFENCE && before)
        put_fence(q);
    unsigned at = s->swap ? choose_place(s, q, op) : q->nic.n;
    make_room(q, at, count);
    q->numbers++;
    q->ep->last = q;
    if (op->kind != BATON_OP_PUT)
        q->ep->landing = op->local;
    s->ops++;
    if (!set_entries(s, q, at, count, op, remote) && remote) {
        remote = NULL;
        rc = -ENOMEM;
    }
    if (!remote) {
        sim_misuse_access(s, op, rc);
        sim_qp_fail(s, q, at, rc, NULL);
        return;
    }
    if (s->driver->posted)
        s->driver->posted(s, q, at < before ? at : before);
}

/* ---- Steps */

static int64_t memory_load(void *arg, uint64_t location)
{
    return (int64_t) * (uint64_t *)(uintptr_t)location;
}

static void memory_store(void *arg, uint64_t location, int64_t value)
{
    sim_write(arg, (uint64_t *)(uintptr_t)location, (uint64_t)value);
}

#define SIM_MEMORY(s)                                                                              \
    {                                                                                              \
        memory_load, memory_store, s                                                               \
    }

/* What the rules look at. None of the model's variants is on, which the compiler knows here. */
static inline struct baton_nic_qp machine_of(const struct sim_qp *q)
{
    return (struct baton_nic_qp){.n = q->nic.n,
                                 .entry = q->entries,
                                 .flags = q->flags,
                                 .value = q->values,
                                 .unit = q->nic.unit,
                                 .free_reads = q->nic.free_reads};
}

NIC_RULE bool is_ready(struct sim *s, struct sim_qp *q, unsigned at, enum baton_nic_step step,
                       struct baton_nic_blocker *why)
{
    const struct baton_nic_memory memory = SIM_MEMORY(s);
    const struct baton_nic_qp nic = machine_of(q);
    return !(q->flags[at] & baton_nic_bit(step)) && nic_has(q->entries[at].kind, step) &&
           nic_ready(&nic, at, step, &memory, why);
}

bool sim_nic_ready(struct sim *s, struct sim_qp *q, unsigned at, enum baton_nic_step step,
                   struct baton_nic_blocker *why)
{
    return is_ready(s, q, at, step, why);
}

static void has_read(struct sim_thread *t, const uint64_t *word, uint64_t value)
{
    if (!t)
        return;
    if (t->reads_n < SIM_READS_MAX)
        t->reads[t->reads_n] = (struct sim_read){word, value};
    if (t->reads_n <= SIM_READS_MAX)
        t->reads_n++;
}

/* A word has been moved. */
static void trail(struct sim *s, const struct sim_qp *q, uint64_t value)
{
    s->trail = (s->trail ^ value) * UINT64_C(0x9e3779b97f4a7c15) + q->node;
}

/* The words of a long transfer behind its first: they move in the same step. */
static void move_extra(struct sim *s, struct sim_qp *q, unsigned at, enum baton_nic_step step)
{
    const struct baton_nic_entry *n = &q->entries[at];
    const struct sim_part *p = &q->parts[at];
    uint64_t *remote = (uint64_t *)(uintptr_t)n->remote, *local = (uint64_t *)(uintptr_t)n->local;
    const bool put = n->kind == BATON_NIC_PUT;
    uint64_t *to = put ? remote : local;
    if (step == BATON_NIC_READ)
        memcpy(p->extra, put ? local : remote, p->words * sizeof(*p->extra));
    if (step != (put ? BATON_NIC_COMMIT : BATON_NIC_LAND))
        return;
    for (unsigned i = 1; i < p->words; i++) {
        if (put)
            sim_misuse_write(s, q->node, &to[i], SIM_WRITER_RENEWAL);
        trail(s, q, p->extra[i]);
        sim_write(s, &to[i], p->extra[i]);
    }
}

static void drop_front(struct sim *s, struct sim_qp *q)
{
    unsigned n = 0;
    while (n < q->nic.n) {
        uint8_t need = fully_done[q->entries[n].kind];
        if ((q->flags[n] & need) != need)
            break;
        words_drop(s, &q->parts[n]);
        n++;
    }
    if (!n)
        return;
    q->dropped += n;
    unsigned rest = q->nic.n - n;
    for (unsigned i = 0; i < rest; i++)
        entry_move(q, i, i + n);
    q->nic.n = rest;
    if (!rest)
        now_idle(s, q);
}

/* One piece of an operation is done as far as its thread can tell. */
static void piece_done(struct sim *s, struct sim_qp *q, unsigned at)
{
    struct sim_part *p = &q->parts[at];
    uint32_t number = p->number;
    unsigned first = at;
    bool left = false;
    p->pieces = 0;
    while (first > 0 && q->parts[first - 1].number == number)
        first--;
    for (unsigned i = first; i < q->nic.n && q->parts[i].number == number; i++)
        left |= q->parts[i].pieces != 0;
    if (!left)
        tell(s, q->ep, &p->op, 0, p->wrote, NULL);
}

/* Before a write of the machine: what it does to words that others use. */
static void about_to_write(struct sim *s, struct sim_qp *q, unsigned at)
{
    const struct baton_nic_entry *n = &q->entries[at];
    const bool put = n->kind == BATON_NIC_PUT;
    if (!put)
        s->unit_words[q->node] = NULL;
    /* A put of several words makes them anew, whatever they are for. */
    sim_misuse_write(s, q->node, (uint64_t *)(uintptr_t)n->remote,
                     !put                        ? SIM_WRITER_NIC_RMW
                     : q->parts[at].op.bytes > 8 ? SIM_WRITER_RENEWAL
                                                 : SIM_WRITER_PUT);
}

/* After the machine has read a word of the remote node. */
static void has_fetched(struct sim *s, struct sim_qp *q, unsigned at)
{
    const struct baton_nic_entry *n = &q->entries[at];
    uint64_t *remote = (uint64_t *)(uintptr_t)n->remote;
    if (s->driver->reads)
        has_read(q->ep->thread, remote, (uint64_t)q->values[at].to_local);
    if (n->kind != BATON_NIC_GET && !(q->flags[at] & baton_nic_bit(BATON_NIC_COMMIT))) {
        s->unit_words[q->node] = remote;
        q->parts[at].wrote = 1;
    }
}

NIC_RULE void apply(struct sim *s, struct sim_qp *q, unsigned at, enum baton_nic_step step)
{
    const struct baton_nic_memory memory = SIM_MEMORY(s);
    const struct baton_nic_qp nic = machine_of(q);
    const enum baton_nic_kind kind = q->entries[at].kind;
    const uint64_t landing = (uint64_t)q->values[at].to_local;

    s->steps++;
    if (step == BATON_NIC_COMMIT) {
        about_to_write(s, q, at);
        trail(s, q, (uint64_t)q->values[at].to_remote);
    } else if (step == BATON_NIC_LAND) {
        trail(s, q, landing);
    }
    nic_apply(&nic, at, step, &memory);
    if (q->parts[at].extra)
        move_extra(s, q, at, step);
    if (step == BATON_NIC_READ && kind != BATON_NIC_PUT)
        has_fetched(s, q, at);
    if (s->driver->looks && step == BATON_NIC_LAND)
        sim_told(s, q->ep->thread, landing);
    if (step == (kind != BATON_NIC_PUT ? BATON_NIC_LAND
                 : s->immediate_ack    ? BATON_NIC_START
                                       : BATON_NIC_LEAVE))
        piece_done(s, q, at);
    if (!at && step != BATON_NIC_READ && step != BATON_NIC_START)
        drop_front(s, q);
}

void sim_nic_apply(struct sim *s, struct sim_qp *q, unsigned at, enum baton_nic_step step)
{
    apply(s, q, at, step);
}

NIC_RULE bool attempt(struct sim *s, struct sim_qp *q, unsigned at, enum baton_nic_step step,
                      struct baton_nic_blocker *why)
{
    if (!is_ready(s, q, at, step, why))
        return false;
    apply(s, q, at, step);
    return true;
}

/* Once for each step, so that what it does is worked out beforehand. */
bool sim_nic_attempt(struct sim *s, struct sim_qp *q, unsigned at, enum baton_nic_step step,
                     struct baton_nic_blocker *why)
{
    switch (step) {
    case BATON_NIC_READ:
        return attempt(s, q, at, BATON_NIC_READ, why);
    case BATON_NIC_START:
        return attempt(s, q, at, BATON_NIC_START, why);
    case BATON_NIC_COMMIT:
        return attempt(s, q, at, BATON_NIC_COMMIT, why);
    case BATON_NIC_LEAVE:
        return attempt(s, q, at, BATON_NIC_LEAVE, why);
    case BATON_NIC_LAND:
        return attempt(s, q, at, BATON_NIC_LAND, why);
    default:
        return false;
    }
}

static void finish_started(struct sim *s, struct sim_qp *q)
{
    for (unsigned at = 0; at < q->nic.n;) {
        uint64_t before = q->dropped;
        bool rmw = q->entries[at].kind == BATON_NIC_RCAS || q->entries[at].kind == BATON_NIC_RFAA;
        if (rmw && q->flags[at] & baton_nic_bit(BATON_NIC_READ) &&
            sim_nic_ready(s, q, at, BATON_NIC_START, NULL))
            sim_nic_apply(s, q, at, BATON_NIC_START);
        if (q->flags[at] & baton_nic_bit(BATON_NIC_START) &&
            sim_nic_ready(s, q, at, BATON_NIC_COMMIT, NULL)) {
            sim_nic_apply(s, q, at, BATON_NIC_COMMIT);
            if (rmw && s->driver->unit_freed)
                s->driver->unit_freed(s, q->node);
        }
        at += 1 - (unsigned)(q->dropped - before);
    }
}

void sim_qp_fail(struct sim *s, struct sim_qp *q, unsigned at, int rc, const char *text)
{
    uint64_t entry = q->dropped + at;
    if (!s->dead[q->node])
        finish_started(s, q);
    if (!q->nic.n)
        return;
    at = entry < q->dropped ? 0 : (unsigned)(entry - q->dropped);

    /* Take the entries away first: telling may wake a thread that posts again. */
    struct baton_op ops[SIM_QP_MAX];
    unsigned n = 0;
    uint32_t failed = q->parts[at].number;
    for (unsigned i = 0; i < q->nic.n; i++) {
        struct sim_part *p = &q->parts[i];
        bool waiting = false;
        words_drop(s, p);
        /* Of an operation whose first pieces are done and gone, the rest speaks. */
        if (!p->number || (i && q->parts[i - 1].number == p->number))
            continue;
        for (unsigned j = i; j < q->nic.n && q->parts[j].number == p->number; j++)
            waiting |= q->parts[j].pieces != 0;
        if (!waiting)
            continue;
        ops[n] = p->op;
        if (p->number == failed && n) {
            ops[n] = ops[0];
            ops[0] = p->op;
        }
        n++;
    }
    for (unsigned i = 0; i < q->nic.n; i++)
        if ((q->entries[i].kind == BATON_NIC_RCAS || q->entries[i].kind == BATON_NIC_RFAA) &&
            (q->flags[i] & baton_nic_bit(BATON_NIC_READ)) &&
            !(q->flags[i] & baton_nic_bit(BATON_NIC_COMMIT))) {
            *q->nic.unit = 0;
            s->unit_words[q->node] = NULL;
        }
    q->dropped += q->nic.n;
    q->nic.n = 0;
    q->broken = true;
    now_idle(s, q);
    for (unsigned i = 0; i < n; i++)
        tell(s, q->ep, &ops[i], i ? -ECANCELED : rc, false, i ? NULL : text);
}

void sim_drain(struct sim *s)
{
    while (s->busy_n) {
        struct sim_qp *q = s->busy[0];
        for (unsigned at = 0; at < q->nic.n; at++)
            for (int step = 0; step < BATON_NIC_STEPS; step++)
                while (step != BATON_NIC_POLL && at < q->nic.n &&
                       sim_nic_ready(s, q, at, step, NULL)) {
                    uint64_t before = q->dropped;
                    sim_nic_apply(s, q, at, step);
                    unsigned dropped = (unsigned)(q->dropped - before);
                    at -= dropped < at ? dropped : at;
                }
        if (s->busy_n && s->busy[0] == q && s->busy_n > 1) {
            /* It may wait for the RMW unit, which another queue pair holds. */
            struct sim_qp *other = s->busy[s->busy_n - 1];
            s->busy[0] = other;
            s->busy[s->busy_n - 1] = q;
            other->place = 0;
            q->place = s->busy_n - 1;
        }
    }
}

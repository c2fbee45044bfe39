/* SPDX-License-Identifier: MIT */
/*
 * Cases: the table of order. For each cell "X before Y" a small program between one remote thread and one
 * thread of the host in whose outcomes the exchange of X and Y shows. What the contract excludes must never
 * show; what it allows must show in the simulated worlds, or they would hide a missing fence.
 *
 *     X \ Y            host does                 exchanged when
 *     write, write     s = b; t = a              s = 1, t = 0     (tests/litmus/put-put-diff.litmus)
 *     write, get       b = 1; mfence; t = a      r = 0, t = 0     (store buffering)
 *     get, write       s = b; a = s              r = 1            (tests/litmus/get-lb.litmus)
 *     get, get         b = 1; a = 1              r = 1, r2 = 0    (tests/litmus/get-get.litmus)
 *
 * where X works on a, Y on b, writes are put 1, rcas 0 to 1 or rfaa 1, and r, r2 is what a get has got.
 */
#include <sched.h>
#include <stdio.h>

#include "rig.h"

enum { SEP_NONE, SEP_FLUSH, SEP_ORDER, SEP_RFENCE, SEP_WAIT, SEPS };
static const char *const sep_names[SEPS] = {"nothing", "flush", "order", "rfence", "wait"};
static const char *const kind_names[BATON_OP_KINDS] = {"put", "get", "rcas", "rfaa"};

struct cell {
    enum baton_op_kind x, y;
    unsigned sep;
    unsigned batch; /* rounds between two meetings of the threads */
    uint64_t rounds;
    uint64_t *word; /* on node 1 */
    baton_gptr at;
    uint64_t *got; /* of the remote thread: two words a round */
    uint64_t met;
    uint64_t *seen; /* of the host's thread: two words a round */
    uint64_t exchanged;
    uint64_t
        end_ns; /* a busy machine does not get through all rounds: each meeting may cost a time slice */
    bool enough; /* written by the host's thread before a meeting */
};

/* Words of a round: two cache lines. */
#define A(i) (16 * (i))
#define B(i) (16 * (i) + 8)

static bool is_get(enum baton_op_kind kind)
{
    return kind == BATON_OP_GET;
}

static int post(struct baton_ep *ep, enum baton_op_kind kind, baton_gptr at, uint64_t *to,
                baton_wid id)
{
    switch (kind) {
    case BATON_OP_PUT:
        return baton_put64(ep, at, 1, id);
    case BATON_OP_GET:
        return baton_get(ep, to, at, 8, id);
    case BATON_OP_RCAS:
        return baton_rcas(ep, to, at, 0, 1, id);
    default:
        return baton_rfaa(ep, to, at, 1, id);
    }
}

/* Both threads reach round n. Natively only: threads of a simulated run play a single batch. */
static void meet(struct cell *l, uint64_t n)
{
    baton_word_faa(&l->met, 1);
    for (unsigned turn = 0; baton_word_load(&l->met) < 2 * n; turn++)
        if (turn > 200)
            sched_yield();
}

static int remote_side(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct cell *l = arg;
    uint64_t meeting = 0;
    for (uint64_t done = 0; done < l->rounds; done += l->batch) {
        if (l->rounds > l->batch)
            meet(l, ++meeting);
        for (unsigned i = 0; i < l->batch; i++) {
            OK(post(ep, l->x, l->at + 8 * A(i), &l->got[2 * i], 1));
            if (l->sep == SEP_FLUSH)
                OK(baton_flush(ep));
            else if (l->sep == SEP_ORDER)
                OK(baton_order(ep, 1));
            else if (l->sep == SEP_RFENCE)
                OK(baton_rfence(ep, 1));
            else if (l->sep == SEP_WAIT)
                OK(baton_wait(ep, 1));
            OK(post(ep, l->y, l->at + 8 * B(i), &l->got[2 * i + 1], 2));
            OK(baton_wait(ep, 2));
        }
        OK(baton_wait_all(ep));
        if (l->rounds > l->batch) {
            meet(l, ++meeting); /* the other one judges */
            if (l->enough)
                break;
        }
    }
    return 0;
}

static bool exchanged(const struct cell *l, unsigned i)
{
    uint64_t s = l->seen[2 * i], t = l->seen[2 * i + 1], r = l->got[2 * i], r2 = l->got[2 * i + 1];
    if (is_get(l->x))
        return is_get(l->y) ? r == 1 && r2 == 0 : r == 1;
    return is_get(l->y) ? r2 == 0 && t == 0 : s == 1 && t == 0;
}

static int host_side(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct cell *l = arg;
    uint64_t meeting = 0;
    for (uint64_t done = 0; done < l->rounds; done += l->batch) {
        if (l->rounds > l->batch)
            meet(l, ++meeting);
        for (unsigned i = 0; i < l->batch; i++) {
            uint64_t *a = l->word + A(i), *b = l->word + B(i), s = 0, t = 0;
            if (is_get(l->x) && is_get(l->y)) {
                baton_store(ep, b, 1);
                baton_store(ep, a, 1);
            } else if (is_get(l->x)) {
                s = baton_load(ep, b);
                baton_store(ep, a, s);
            } else if (is_get(l->y)) {
                baton_store(ep, b, 1);
                baton_mfence(ep);
                t = baton_load(ep, a);
            } else {
                s = baton_load(ep, b);
                t = baton_load(ep, a);
            }
            l->seen[2 * i] = s;
            l->seen[2 * i + 1] = t;
        }
        if (l->rounds > l->batch) {
            l->enough = conf_clock_ns() > l->end_ns;
            meet(l, ++meeting);
            for (unsigned i = 0; i < l->batch; i++) {
                l->exchanged += exchanged(l, i);
                baton_store(ep, l->word + A(i), 0);
                baton_store(ep, l->word + B(i), 0);
            }
            if (l->enough)
                break;
        }
    }
    return 0;
}

/* Whether the contract excludes that X and Y change places. */
static bool excluded(const struct cell *l, bool chain_order)
{
    if (is_get(l->x))
        return l->sep == SEP_RFENCE || l->sep == SEP_WAIT;
    return chain_order || l->sep == SEP_ORDER || l->sep == SEP_RFENCE;
}

/*
 * A wait on an atomic promises no order of its write; that it shows in no simulated run is no fault. A slow
 * build looks at too few schedules to ask for what is rare.
 */
static bool must_show(const struct conf *c, const struct cell *l)
{
    if (c->slower > 1)
        return false;
    return l->sep != SEP_WAIT || l->x == BATON_OP_PUT;
}

static int play(const struct conf *c, struct cell *l, uint64_t seed)
{
    struct baton_cluster *cluster;
    struct baton_ep *ep;
    static uint64_t seen[128];
    void *memory;
    OK(conf_open(c, 2, seed, &cluster));
    OK(baton_segment_create(baton_cluster_node(cluster, 1), 64 * 128, RIG_ALL, NULL, 0, &l->at));
    OK(baton_ptr(baton_cluster_node(cluster, 1), l->at, 64 * 128, &memory));
    OK(baton_ep_open(baton_cluster_node(cluster, 0), &ep));
    l->word = memory;
    l->met = 0;
    l->seen = seen;
    l->got = baton_ep_alloc(ep, 128 * 8, 64);
    CHECK(l->got);
    struct baton_team teams[] = {{0, 1, remote_side, l}, {1, 1, host_side, l}};
    OK(baton_run(cluster, teams, 2));
    if (l->rounds == l->batch)
        for (unsigned i = 0; i < l->batch; i++)
            l->exchanged += exchanged(l, i);
    baton_ep_free(ep, l->got);
    OK(baton_ep_close(ep));
    OK(baton_cluster_close(cluster));
    return 0;
}

static int judge(const struct conf *c, const struct cell *l)
{
    bool chain_order = !conf_is(c, CONF_SWAP | CONF_UCX_RMA), never = excluded(l, chain_order);
    if (never && l->exchanged)
        return conf_fail(__FILE__, __LINE__, "%s, %s, %s: changed places %llu times",
                         kind_names[l->x], sep_names[l->sep], kind_names[l->y],
                         (unsigned long long)l->exchanged);
    if (!never && !l->exchanged && conf_is(c, CONF_SIMULATED) && must_show(c, l))
        return conf_fail(__FILE__, __LINE__, "%s, %s, %s: allowed to change places, but never did",
                         kind_names[l->x], sep_names[l->sep], kind_names[l->y]);
    return 0;
}

static int case_table(struct conf *c)
{
    int rc = 0;
    for (unsigned x = 0; x < BATON_OP_KINDS; x++)
        for (unsigned y = 0; y < BATON_OP_KINDS; y++)
            for (unsigned sep = 0; sep < SEPS; sep++) {
                struct cell l = {.x = x, .y = y, .sep = sep};
                if (conf_is(c, CONF_SIMULATED)) {
                    bool never = excluded(&l, !conf_is(c, CONF_SWAP | CONF_UCX_RMA));
                    l.batch = 1;
                    l.rounds = 1;
                    /* What may show shows sooner or later; rarely, if the first is almost there. */
                    uint64_t most = conf_rounds(c, never || c->slower > 1 ? 600 : 20000);
                    for (uint64_t i = 0; i < most && (never || !l.exchanged); i++)
                        OK(play(c, &l, c->seed * 100000 + i));
                } else {
                    l.batch = 32;
                    l.rounds = conf_rounds(c, 20000);
                    l.end_ns = conf_clock_ns() + 250000000;
                    OK(play(c, &l, 0));
                }
                if (judge(c, &l))
                    rc = -EPROTO;
            }
    return rc;
}

/* Store buffering, the shape that a memory model must not get wrong, a million times. */
static int case_store_buffering(struct conf *c)
{
    static const enum baton_op_kind writes[] = {BATON_OP_PUT, BATON_OP_RCAS, BATON_OP_RFAA};
    int rc = 0;
    for (unsigned k = 0; k < 3; k++)
        for (unsigned sep = SEP_NONE; sep <= SEP_ORDER; sep++) {
            struct cell l = {.x = writes[k], .y = BATON_OP_GET, .sep = sep};
            if (conf_is(c, CONF_SIMULATED)) {
                l.batch = l.rounds = 1;
                for (uint64_t i = 0; i < conf_rounds(c, 1500); i++)
                    OK(play(c, &l, c->seed * 10000 + i));
            } else {
                l.batch = 32;
                l.rounds = conf_rounds(c, 1000000) / 32 * 32;
                l.end_ns = conf_clock_ns() + 3000000000;
                OK(play(c, &l, 0));
            }
            if (judge(c, &l))
                rc = -EPROTO;
        }
    return rc;
}

/* ---- Two nodes: nothing orders operations towards different nodes, but a gfence does */

struct apart {
    struct rig *r;
    unsigned how; /* 0 nothing, 1 wait, 2 gfence */
    bool shown;
};

static int write_apart(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct apart *a = arg;
    OK(baton_put64(ep, rig_at(a->r, 1, 0), 1, 1));
    if (a->how == 1)
        OK(baton_wait(ep, 1));
    if (a->how == 2)
        OK(baton_gfence(ep, (const uint16_t[]){1}, 1));
    OK(baton_put64(ep, rig_at(a->r, 2, 0), 1, 2));
    return baton_wait_all(ep);
}

static int read_apart(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct apart *a = arg;
    uint64_t *to = baton_ep_alloc(ep, 8, 8);
    CHECK(to);
    for (unsigned i = 0; i < 12; i++) {
        uint64_t second = baton_load(ep, a->r->word[2]);
        OK(baton_get(ep, to, rig_at(a->r, 1, 0), 8, 1));
        OK(baton_wait(ep, 1));
        a->shown |= second == 1 && *to == 0;
    }
    baton_ep_free(ep, to);
    return 0;
}

static int case_two_nodes(struct conf *c)
{
    for (unsigned how = 0; how < 3; how++) {
        bool shown = false;
        bool must = how < 2 && conf_is(c, CONF_SIMULATED);
        for (uint64_t i = 0; must ? i < 10000 && !shown : i < conf_rounds(c, 400); i++) {
            struct conf one = *c;
            struct rig r;
            one.seed = c->seed * 100000 + i;
            OK(rig_open(&one, &r));
            struct apart a = {.r = &r, .how = how};
            struct baton_team teams[] = {{0, 1, write_apart, &a}, {2, 1, read_apart, &a}};
            OK(baton_run(r.cluster, teams, 2));
            shown |= a.shown;
            OK(rig_close(&r));
        }
        CHECK(how < 2 || !shown);
        CHECK(!must || shown);
    }
    return 0;
}

/* ---- A put's pieces, and what a wait on a put does not mean */

static int put_wide(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct rig *r = arg;
    uint64_t *from = baton_ep_alloc(ep, 32, 8);
    CHECK(from);
    for (unsigned i = 0; i < 4; i++)
        from[i] = 1;
    OK(baton_put(ep, rig_at(r, 1, 0), from, 32, 1));
    OK(baton_wait(ep, 1));
    for (unsigned i = 0; i < 4; i++)
        from[i] = 99;               /* the source may be used again */
    baton_store(ep, r->word[0], 1); /* accepted */
    for (unsigned i = 0; i < 20; i++)
        baton_mfence(ep); /* closing the endpoint would wait for it to land */
    baton_ep_free(ep, from);
    return 0;
}

struct pieces {
    struct rig *r;
    unsigned shapes; /* a bit per subset of the four words that was seen */
    bool late;       /* accepted, but not there yet */
};

static int watch_wide(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct pieces *p = arg;
    for (unsigned i = 0; i < 10; i++) {
        unsigned shape = 0;
        uint64_t accepted = baton_load(ep, p->r->word[0]);
        for (unsigned w = 0; w < 4; w++) {
            uint64_t v = baton_load(ep, p->r->word[1] + w);
            CHECK(v == 0 || v == 1);
            shape |= (unsigned)v << w;
        }
        p->shapes |= 1u << shape;
        p->late |= accepted && shape != 15;
    }
    return 0;
}

static int put_wide_body(struct baton_ep *ep, unsigned thread, void *arg)
{
    return put_wide(ep, thread, ((struct pieces *)arg)->r);
}

static int case_pieces(struct conf *c)
{
    struct pieces p = {0};
    for (uint64_t i = 0; i < conf_rounds(c, 2000); i++) {
        struct conf one = *c;
        struct rig r;
        one.seed = c->seed * 10000 + i;
        OK(rig_open(&one, &r));
        p.r = &r;
        struct baton_team teams[] = {{0, 1, put_wide_body, &p}, {1, 1, watch_wide, &p}};
        OK(baton_run(r.cluster, teams, 2));
        OK(rig_close(&r));
    }
    if (conf_is(c, CONF_SIMULATED)) {
        EQUAL(p.shapes, 0xffff); /* every subset, in any order */
        CHECK(p.late);
    }
    return 0;
}

/* ---- Peterson's lock between a CPU and a chain */

struct peterson {
    uint64_t *word; /* remote's flag, host's flag, victim, data: a line each */
    baton_gptr at;
    uint64_t rounds, end_ns;
    uint64_t inside, entries; /* plain: only the holder touches them */
};
enum { FLAG_REMOTE = 0, FLAG_HOST = 8, VICTIM = 16, DATA = 24 };

/* Both threads end with their rounds, or when a busy machine has had its time. */
static bool peterson_goes_on(const struct peterson *p, uint64_t round)
{
    return round % 64 || !p->end_ns || conf_clock_ns() < p->end_ns;
}

static int peterson_remote(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct peterson *p = arg;
    uint64_t *got = baton_ep_alloc(ep, 24, 8);
    CHECK(got);
    for (uint64_t i = 0; i < p->rounds && peterson_goes_on(p, i); i++) {
        struct baton_wait wait;
        baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
        OK(baton_order(ep, 1)); /* the flag of the last round goes down before it goes up again */
        OK(baton_put64(ep, p->at + 8 * FLAG_REMOTE, 1, 0));
        OK(baton_order(ep, 1));
        OK(baton_put64(ep, p->at + 8 * VICTIM, 2, 0));
        OK(baton_order(ep, 1));
        for (;;) {
            OK(baton_get(ep, &got[0], p->at + 8 * FLAG_HOST, 8, 1));
            OK(baton_get(ep, &got[1], p->at + 8 * VICTIM, 8, 1));
            OK(baton_wait(ep, 1));
            if (!got[0] || got[1] != 2)
                break;
            OK(baton_relax(ep, &wait));
        }
        CHECK(!p->inside);
        p->inside = 1;
        OK(baton_get(ep, &got[2], p->at + 8 * DATA, 8, 1));
        OK(baton_wait(ep, 1));
        EQUAL(got[2], p->entries);
        p->entries++;
        OK(baton_put64(ep, p->at + 8 * DATA, got[2] + 1, 0));
        p->inside = 0;
        OK(baton_rfence(ep, 1));
        OK(baton_put64(ep, p->at + 8 * FLAG_REMOTE, 0, 0));
        OK(baton_flush(ep));
    }
    OK(baton_wait_all(ep));
    baton_ep_free(ep, got);
    return 0;
}

static int peterson_host(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct peterson *p = arg;
    for (uint64_t i = 0; i < p->rounds && peterson_goes_on(p, i); i++) {
        struct baton_wait wait;
        struct baton_cond conds[2] = {baton_until_is(p->word + FLAG_REMOTE, UINT64_MAX, 0),
                                      baton_until_not(p->word + VICTIM, UINT64_MAX, 1)};
        baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
        baton_store(ep, p->word + FLAG_HOST, 1);
        baton_store(ep, p->word + VICTIM, 1);
        baton_mfence(ep);
        OK(baton_await(ep, conds, 2, &wait));
        CHECK(!p->inside);
        p->inside = 1;
        uint64_t data = baton_load(ep, p->word + DATA);
        EQUAL(data, p->entries);
        p->entries++;
        baton_store(ep, p->word + DATA, data + 1);
        p->inside = 0;
        baton_store(ep, p->word + FLAG_HOST, 0);
    }
    return 0;
}

static int case_peterson(struct conf *c)
{
    uint64_t runs = conf_is(c, CONF_SIMULATED) ? conf_rounds(c, 3000) : 1;
    for (uint64_t i = 0; i < runs; i++) {
        struct peterson p = {.rounds = runs > 1 ? 4 : conf_rounds(c, 500000)};
        p.end_ns = runs > 1 ? 0 : conf_clock_ns() + 5000000000;
        struct baton_cluster *cluster;
        void *memory;
        OK(conf_open(c, 2, c->seed * 10000 + i, &cluster));
        OK(baton_segment_create(baton_cluster_node(cluster, 1), 512, RIG_ALL, NULL, 0, &p.at));
        OK(baton_ptr(baton_cluster_node(cluster, 1), p.at, 512, &memory));
        p.word = memory;
        struct baton_team teams[] = {{0, 1, peterson_remote, &p}, {1, 1, peterson_host, &p}};
        OK(baton_run(cluster, teams, 2));
        CHECK(p.end_ns || p.entries == 2 * p.rounds);
        EQUAL(p.word[DATA], p.entries);
        OK(baton_cluster_close(cluster));
    }
    return 0;
}

const struct conf_case conf_order_cases[] = {
    {"table", "each cell of the table of order, between a chain and a CPU", CONF_ONE_PROCESS,
     case_table, 0},
    {"store-buffering", "a chain and a CPU do not both miss the other's write", CONF_ONE_PROCESS,
     case_store_buffering, 0},
    {"two-nodes", "a gfence orders what goes to different nodes, a wait on a put does not",
     CONF_ONE_PROCESS, case_two_nodes, 0},
    {"pieces", "the words of a put land in any order, and later than its wait", CONF_ONE_PROCESS,
     case_pieces, 0},
    {"peterson", "Peterson's lock between a chain and a CPU excludes", CONF_ONE_PROCESS,
     case_peterson, 0},
    {0},
};

/* SPDX-License-Identifier: MIT */
/*
 * Cases: waited round trips, doorbells and what is settled. Sequences of calls as short words, with the
 * counts that the contract gives them; the same numbers in every world, because they do not depend on when
 * things happen.
 *
 *     p1 g1 c1 C1 a1   put, get, failing rcas, succeeding rcas, rfaa with id 1, towards node 1; a second
 *                      digit is the node
 *     w1 W             wait for id 1, wait for all
 *     o r f            order, rfence towards node 1; flush
 *     G S              gfence, settle of node 1
 *     H                gfence of nodes 1 and 2
 */
#include <stdio.h>

#include "rig.h"

struct sequence {
    const char *calls;
    unsigned waited;    /* round trips, without chain order */
    unsigned chained;   /* the same where chains keep their order */
    unsigned doorbells; /* all that were rung */
};

static const struct sequence sequences[] = {
    /* One doorbell, one wait: one round trip. What was rung in the same round is then free. */
    {"W", 0, 0, 0},
    {"w1", 0, 0, 0},
    {"p1", 0, 0, 0},
    {"p1 f", 0, 0, 1},
    {"p1 w1", 1, 1, 1},
    {"p1 w1 w1", 1, 1, 1},
    {"p1 w2", 0, 0, 1},
    {"p1 w2 w1", 1, 1, 1},
    {"p1 p1 p1 w1", 1, 1, 1},
    {"p1 p2 w1 w2", 1, 1, 1},
    {"p1 p2 w2 w1", 1, 1, 1},
    {"p1 f p2 w1 w2", 1, 1, 2},
    {"p1 w1 p2 w2", 2, 2, 2},
    {"p1 f p2 f w2 w1", 1, 1, 2},
    {"p1 p2 w1 p1 w2 w1", 2, 2, 2},
    {"p1 p2 w1 p1 w1 w2", 2, 2, 2},
    {"p1 p2 w1 p2 w2", 2, 2, 2},
    {"g1 w1 g1 w1 g1 w1", 3, 3, 3},
    {"g1 p2 a3 c4 w4 w3 w2 w1", 1, 1, 1},
    {"o r", 0, 0, 0},
    {"p1 o p1 r g1 w1", 1, 1, 1},
    /* Without an id only wait_all and gfence cover it. */
    {"p0 f w1", 0, 0, 1},
    {"p0 W", 1, 1, 1},
    {"p0 W W", 1, 1, 1},
    {"p0 w1 W", 1, 1, 1},
    {"p0 p1 w1 W", 1, 1, 1},
    {"p0 f p1 w1 p0 W", 2, 2, 3},
    {"g1 w1 p0 f", 1, 1, 2},
    {"p1 w1 W", 1, 1, 1},
    {"p1 f p2 W w1 w2", 1, 1, 2},
    /* Several nodes: a doorbell each, one round trip for all. */
    {"p11 p12 p13 w1", 1, 1, 3},
    {"p11 p12 p11 p12 w1", 1, 1, 2},
    {"p11 p22 w1 w2", 1, 1, 2},
    {"p10 w1", 1, 1, 1}, /* loopback costs the same */
    /* gfence: one round trip in any case, for everything before. */
    {"G", 1, 1, 1},
    {"p0 G", 1, 1, 1},
    {"p0 G G", 2, 2, 2},
    {"p1 G w1", 1, 1, 1},
    {"p1 w1 G", 2, 2, 2},
    {"p1 p22 G w1 w2", 1, 1, 2},
    {"p1 p22 H w1 w2", 1, 1, 2},
    {"H", 1, 1, 2},
    /* settle: at once when nothing is unsettled. */
    {"S", 0, 0, 0},
    {"p12 S", 0, 0, 0}, /* another node's affair */
    {"p1 S", 1, 1, 1},
    {"p0 S S", 1, 1, 1},
    {"p1 w1 S", 2, 2, 2}, /* accepted is not visible */
    {"G S", 1, 1, 1},
    {"p0 G S", 1, 1, 1},
    {"p0 G p0 S", 2, 2, 2},
    {"g1 w1 S", 1, 1, 1},
    {"g1 S", 1, 1, 1}, /* not waited for: has perhaps not read */
    {"g0 W S", 1, 1, 1},
    {"g0 S", 1, 1, 1},
    {"c1 w1 S", 1, 1, 1}, /* wrote nothing */
    {"C1 w1 S", 2, 2, 2}, /* proves not its own write */
    {"a1 w1 S", 2, 2, 2},
    {"a1 w1 S S", 2, 2, 2},
    {"p0 g1 w1 S", 2, 1, 1}, /* the get proves the put only if it is ordered behind it */
    {"p0 o g1 w1 S", 1, 1, 1},
    {"p0 r g1 w1 S", 1, 1, 1},
    {"p0 o c1 w1 S", 1, 1, 1},
    {"p0 f o g1 w1 S", 1, 1, 2},
    {"p0 f g1 w1 S", 2, 1, 2},
    {"p1 w1 o g1 w1 S", 2, 2, 2},
    {"p1 o g1 w1 S", 1, 1, 1}, /* one id for both */
    {"a1 o g2 w1 w2 S", 1, 1, 1},
    {"C1 w1 o g2 w2 S", 2, 2, 2},
    {"C1 w1 g2 w2 S", 3, 2, 2},
    {"p0 o g1 p0 w1 S", 2, 2, 2}, /* the second put is behind the get */
    {"g1 p0 w1 S", 2, 2, 2},
    {"p0 o p0 g1 w1 S", 2, 1, 1},
    {"p0 o g1 w1 p0 o g1 w1 S", 2, 2, 2},
    {"g1 g2 w2 S", 2, 2, 2}, /* the first get was not waited for */
    {"g1 g2 w2 w1 S", 1, 1, 1},
    /* Gets before an rfence before a fetch that was waited for have read; those after it perhaps not. */
    {"g1 r g2 w2 S", 1, 1, 1},
    {"g1 r c2 w2 S", 1, 1, 1},
    {"g0 r g2 w2 S", 1, 1, 1},
    {"g1 g0 g3 r g2 g4 w4 w2 S", 1, 1, 1},
    {"g1 r f g2 w2 S w1", 1, 1, 2},
    {"g1 o g2 w2 S", 2, 2, 2},
    {"g1 r g0 g2 w2 S", 2, 2, 2},
    {"g1 r g3 g2 w2 S", 2, 2, 2},
    {"g1 r g1 g2 w2 S", 2, 2, 2},
    {"g1 r g3 r g2 w3 S", 2, 2, 2},
    {"g1 r g3 r g2 w3 w2 S", 1, 1, 1},
    {"g1 r g2 w2 g1 S", 2, 2, 2},
    {"g1 r p0 g2 w2 S", 2, 1, 1},
    {"g1 r p2 w2 S", 2, 2, 2},  /* a put proves nothing */
    {"g12 r g2 w2 S", 1, 1, 2}, /* another node's affair */
    {"p0 o g12 w1 S", 2, 2, 3}, /* towards another node: proves nothing here */
    {"p0 o g11 g12 w1 G S", 2, 2, 3},
    {"p0 W S", 2, 2, 2}, /* done is not visible */
};

static int one_call(struct rig *r, const char *call)
{
    baton_wid id = (baton_wid)(call[1] - '0');
    unsigned node = 1;
    if (call[1] && call[1] != ' ' && call[2] && call[2] != ' ')
        node = (unsigned)(call[2] - '0');
    baton_gptr at = rig_at(r, node, 3);
    uint64_t *to = &r->mine[8 * id];
    switch (*call) {
    case 'p':
        return baton_put64(r->ep, at, 0, id);
    case 'g':
        return baton_get(r->ep, to, at, 8, id);
    case 'c':
        return baton_rcas(r->ep, to, rig_at(r, node, 4), 99, 98, id);
    case 'C':
        return baton_rcas(r->ep, to, rig_at(r, node, 4), 0, 0, id);
    case 'a':
        return baton_rfaa(r->ep, to, rig_at(r, node, 5), 1, id);
    case 'w':
        return baton_wait(r->ep, id);
    case 'W':
        return baton_wait_all(r->ep);
    case 'o':
        return baton_order(r->ep, 1);
    case 'r':
        return baton_rfence(r->ep, 1);
    case 'f':
        return baton_flush(r->ep);
    case 'G':
        return baton_gfence(r->ep, (const uint16_t[]){1}, 1);
    case 'H':
        return baton_gfence(r->ep, (const uint16_t[]){1, 2}, 2);
    case 'S':
        return baton_settle(r->ep, 1);
    }
    return -EPROTO;
}

static int play(struct rig *r, const struct sequence *s, bool chain_order)
{
    struct baton_stats before, after;
    OK(baton_ep_close(r->ep));
    OK(baton_ep_open(r->node[0], &r->ep));
    baton_ep_stats(r->ep, &before);
    EQUAL(before.waited_round_trips, 0);
    for (const char *p = s->calls; *p;) {
        int rc = one_call(r, p);
        if (rc)
            return conf_fail(__FILE__, __LINE__, "\"%s\" at \"%s\": %d", s->calls, p, rc);
        while (*p && *p != ' ')
            p++;
        p += *p == ' ';
    }
    baton_ep_stats(r->ep, &after);
    uint64_t want = chain_order ? s->chained : s->waited;
    if (after.waited_round_trips != want)
        return conf_fail(__FILE__, __LINE__, "\"%s\": %llu waited round trips, not %llu", s->calls,
                         (unsigned long long)after.waited_round_trips, (unsigned long long)want);
    unsigned bells = s->doorbells + (unsigned)(want - (s->chained < want ? s->chained : want));
    if (after.doorbells != bells)
        return conf_fail(__FILE__, __LINE__, "\"%s\": %llu doorbells, not %u", s->calls,
                         (unsigned long long)after.doorbells, bells);
    return 0;
}

static int case_round_trips(struct conf *c)
{
    struct rig r;
    OK(rig_open(c, &r));
    int rc = 0;
    for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++)
        if (play(&r, &sequences[i], !conf_is(c, CONF_SWAP | CONF_UCX_RMA)))
            rc = -EPROTO;
    OK(rc);
    OK(rig_close(&r));
    return 0;
}

/* What settle calls complete without a round trip has come: also gets that nobody has waited for. */
static int settled_body(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct rig *r = arg;
    struct baton_stats before, after;
    uint64_t *at = baton_ep_alloc(ep, 64, 64);
    CHECK(at);
    for (uint64_t i = 1; i <= 20; i++) {
        baton_put64(ep, rig_at(r, 1, 3), i, 0);
        OK(baton_settle(ep, 1));
        baton_ep_stats(ep, &before);
        baton_get(ep, &at[0], rig_at(r, 1, 3), 8, i % 2);
        if (i % 3)
            OK(baton_flush(ep));
        OK(baton_rfence(ep, 1));
        if (i % 5)
            baton_get(ep, &at[1], rig_at(r, 1, 3), 8, 2);
        else
            baton_rcas(ep, &at[1], rig_at(r, 1, 4), 99, 98, 2);
        OK(baton_wait(ep, 2));
        OK(baton_settle(ep, 1));
        baton_ep_stats(ep, &after);
        EQUAL(at[0], i);
        EQUAL(after.waited_round_trips, before.waited_round_trips + 1);
    }
    OK(baton_wait_all(ep));
    baton_ep_free(ep, at);
    return 0;
}

static int case_settled(struct conf *c)
{
    struct conf one = *c;
    struct rig r;
    for (uint64_t n = 0; n < (conf_is(c, CONF_SIMULATED) ? conf_rounds(c, 100) : 1); n++) {
        one.seed = c->seed * 1000 + n;
        OK(rig_open(&one, &r));
        struct baton_team team = {0, 1, settled_body, &r};
        OK(baton_run(r.cluster, &team, 1));
        OK(rig_close(&r));
    }
    return 0;
}

/* Bytes and kinds; what a gfence adds; awaits and relaxes that count as no round trip. */
static int case_counters(struct conf *c)
{
    struct rig r;
    struct baton_stats s;
    OK(rig_open(c, &r));
    OK(baton_put(r.ep, r.at[1], r.mine, 80, 1));
    OK(baton_put64(r.ep, r.at[1], 1, 1));
    OK(baton_get(r.ep, r.mine, r.at[1], 160, 1));
    OK(baton_rcas(r.ep, r.mine, r.at[1], 0, 1, 1));
    OK(baton_rfaa(r.ep, r.mine, r.at[1], 1, 1));
    OK(baton_rfaa(r.ep, r.mine, r.at[1], 1, 1));
    OK(baton_wait(r.ep, 1));
    baton_ep_stats(r.ep, &s);
    EQUAL(s.ops[BATON_OP_PUT], 2);
    EQUAL(s.ops[BATON_OP_GET], 1);
    EQUAL(s.ops[BATON_OP_RCAS], 1);
    EQUAL(s.ops[BATON_OP_RFAA], 2);
    EQUAL(s.bytes_put, 88);
    EQUAL(s.bytes_got, 160);
    EQUAL(s.doorbells, 1);
    EQUAL(s.waited_round_trips, 1);
    OK(baton_gfence(r.ep, (const uint16_t[]){1, 2}, 2));
    baton_ep_stats(r.ep, &s);
    EQUAL(s.ops[BATON_OP_GET], 3);
    EQUAL(s.bytes_got, 176);
    EQUAL(s.doorbells, 3);
    EQUAL(s.waited_round_trips, 2);

    struct baton_wait wait;
    struct baton_cond now = baton_until_is(r.word[0], UINT64_MAX, 0);
    baton_wait_begin(r.ep, &wait, BATON_NEVER, NULL);
    OK(baton_await(r.ep, &now, 1, &wait));
    baton_ep_stats(r.ep, &s);
    EQUAL(s.awaits_blocked, 0);
    EQUAL(s.waited_round_trips, 2);
    /* await and relax ring. */
    OK(baton_put64(r.ep, r.at[1], 1, 0));
    OK(baton_await(r.ep, &now, 1, &wait));
    baton_ep_stats(r.ep, &s);
    EQUAL(s.doorbells, 4);
    EQUAL(s.waited_round_trips, 2);
    baton_wait_begin(r.ep, &wait, 1, NULL); /* long past */
    OK(baton_put64(r.ep, r.at[1], 1, 0));
    (void)baton_relax(r.ep, &wait);
    baton_ep_stats(r.ep, &s);
    EQUAL(s.doorbells, 5);
    EQUAL(s.relaxes, 1);
    EQUAL(s.waited_round_trips, 2);
    OK(rig_close(&r));
    return 0;
}

const struct conf_case conf_count_cases[] = {
    {"round-trips", "waited round trips, doorbells, what settle knows", CONF_ONE_PROCESS,
     case_round_trips, 0},
    {"settled", "what is settled without a round trip has come", CONF_ONE_PROCESS, case_settled, 0},
    {"counters", "operations, bytes, doorbells, awaits", CONF_ONE_PROCESS, case_counters, 0},
    {0},
};

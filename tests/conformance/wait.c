/* SPDX-License-Identifier: MIT */
/* Cases: time, await, relax, groups, and threads that wait for what can not come. */
#include "rig.h"

static int case_time(struct conf *c)
{
    struct rig r;
    OK(rig_open(c, &r));
    uint64_t before = baton_now(r.ep);
    CHECK(before > 0 || conf_is(c, CONF_SIMULATED));
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t now = baton_now(r.ep);
        CHECK(now >= before);
        before = now;
    }
    static const uint64_t delays[] = {0, 1, 999, 20000, 300000, 3000000};
    for (unsigned i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
        uint64_t begin = baton_now(r.ep);
        baton_delay(r.ep, delays[i]);
        uint64_t took = baton_now(r.ep) - begin;
        CHECK(took >= delays[i]);
        CHECK(!conf_is(c, CONF_SIMULATED) || took <= delays[i] + 10000);
    }
    OK(rig_close(&r));
    return 0;
}

/* ---- Two threads, one awaits what the other does */

struct pair {
    struct rig *r;
    uint64_t *word; /* on node 1, two of them */
    baton_gptr at;
    uint64_t rounds;
};

static int ping(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct pair *p = arg;
    for (uint64_t i = 1; i <= p->rounds; i++) {
        struct baton_wait wait;
        struct baton_cond conds[2] = {baton_until_is(p->word, 0xffffffff, i << 4 | 1),
                                      baton_until_is(p->word + 8, UINT64_MAX, i)};
        baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
        OK(baton_await(ep, conds, 2, &wait));
        CHECK((baton_load(ep, p->word) & 0xffffffff) == (i << 4 | 1) ||
              baton_load(ep, p->word + 8) == i);
        baton_store(ep, p->word + 16, i);
    }
    return 0;
}

/* A remote thread writes one of the words in turn, and polls for the answer. */
static int pong(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct pair *p = arg;
    uint64_t *seen = baton_ep_alloc(ep, 8, 8);
    CHECK(seen);
    for (uint64_t i = 1; i <= p->rounds; i++) {
        struct baton_wait wait;
        if (i % 2)
            OK(baton_put64(ep, p->at, 0xabcdef0000000000u | i << 4 | 1, 0));
        else
            OK(baton_put64(ep, p->at + 64, i, 0));
        baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
        for (;;) {
            OK(baton_get(ep, seen, p->at + 128, 8, 1));
            OK(baton_wait(ep, 1));
            if (*seen == i)
                break;
            OK(baton_relax(ep, &wait));
        }
    }
    baton_ep_free(ep, seen);
    return 0;
}

static int case_ping_pong(struct conf *c)
{
    struct rig r;
    OK(rig_open(c, &r));
    struct pair p = {&r, r.word[1], r.at[1], conf_rounds(c, 3000)};
    struct baton_team teams[] = {{1, 1, ping, &p}, {2, 1, pong, &p}};
    OK(baton_run(r.cluster, teams, 2));
    EQUAL(baton_load(r.ep, r.word[1] + 16), p.rounds);
    OK(rig_close(&r));
    return 0;
}

/* ---- Gets that are repeated until something holds */

/* A thread of the node stores, by turns, what the four forms of condition wait for. */
static int until_store(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct pair *p = arg;
    for (uint64_t i = 1; i <= p->rounds; i++) {
        struct baton_wait wait;
        struct baton_cond answered = baton_until_is(p->word + 16, UINT64_MAX, i);
        baton_store(ep, p->word, i << 8 | 0x77);
        baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
        OK(baton_await(ep, &answered, 1, &wait));
    }
    return 0;
}

static int until_seen(struct baton_ep *ep, struct pair *p, uint64_t i, uint64_t *got)
{
    const struct baton_until never = {.word = got, .mask = UINT64_MAX, .value = 1};
    const struct baton_until forms[] = {
        {.word = got, .mask = 0xffff00, .value = i << 8},
        {.word = got, .mask = UINT64_MAX, .value = (i - 1) << 8 | (i > 1 ? 0x77 : 0), .negate = 1},
        {.word = got, .mask = 0xffff00, .plus = got + 2, .shift = 8},
        {.word = got, .mask = UINT64_MAX, .value = 0x77, .plus = got + 2, .shift = 8}};
    const struct baton_until until[2] = {never, forms[i % 4]};
    struct baton_wait wait;
    baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
    do {
        OK(baton_put64(ep, p->at + 32, i, 0)); /* done once each time that it is posted */
        OK(baton_rfaa(ep, got + 2, p->at + 64, 0, 1));
        OK(baton_order(ep, 1));
        OK(baton_get(ep, got, p->at, 16, 1));
        OK(baton_wait_until(ep, 1, i % 3 ? until + 1 : until, i % 3 ? 1 : 2, &wait));
        EQUAL(got[2], i);
        if (got[0] == (i << 8 | 0x77))
            return 0;
    } while (!baton_relax(ep, &wait));
    return -ETIMEDOUT;
}

static int until_wait(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct pair *p = arg;
    uint64_t *got = baton_ep_alloc(ep, 32, 32);
    CHECK(got);
    for (uint64_t i = 1; i <= p->rounds; i++) {
        OK(baton_rfaa(ep, got + 3, p->at + 64, 1, 1));
        OK(baton_wait(ep, 1));
        EQUAL(got[3], i - 1);
        OK(until_seen(ep, p, i, got));
        OK(baton_put64(ep, p->at + 128, i, 0));
        OK(baton_flush(ep));
    }
    baton_ep_free(ep, got);
    return 0;
}

/* What never holds: in vain, until the deadline. */
static int until_late(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct rig *r = arg;
    static const uint64_t times[] = {0, 1000, 2000000, 60000000};
    uint64_t *got = baton_ep_alloc(ep, 16, 16);
    const struct baton_until never[5] = {{.word = got, .mask = 1, .value = 1}};
    CHECK(got);
    for (unsigned i = 0; i < 4; i++) {
        struct baton_wait wait;
        int rc = 0;
        uint64_t deadline = baton_now(ep) + times[i];
        baton_wait_begin(ep, &wait, deadline, NULL);
        for (unsigned turns = 0; !rc; turns++) {
            CHECK(turns < 100000);
            OK(baton_get(ep, got, rig_at(r, 1, 0), 8, 1));
            OK(baton_wait_until(ep, 1, never, 1, &wait));
            rc = baton_relax(ep, &wait);
        }
        EQUAL(rc, -ETIMEDOUT);
        CHECK(baton_now(ep) >= deadline);
    }
    struct baton_wait wait;
    baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
    EQUAL(baton_wait_until(ep, 1, never, 0, &wait), -EINVAL);
    EQUAL(baton_wait_until(ep, 1, never, BATON_CONDS_MAX + 1, &wait), -EINVAL);
    EQUAL(baton_wait_until(ep, 0, never, 1, &wait), -EINVAL);
    /* A condition on what is not fetched is none that could be waited for. */
    const struct baton_until elsewhere = {.word = got + 1, .mask = 1, .value = 1};
    OK(baton_get(ep, got, rig_at(r, 1, 0), 8, 1));
    OK(baton_wait_until(ep, 1, &elsewhere, 1, &wait));
    /* An error is one here too. */
    OK(baton_get(ep, got, baton_gptr_make(1, UINT64_C(1) << 40), 8, 1));
    EQUAL(baton_wait_until(ep, 1, never, 1, &wait), -EKEYREJECTED);
    baton_ep_free(ep, got);
    return 0;
}

static int case_until(struct conf *c)
{
    struct rig r;
    OK(rig_open(c, &r));
    struct pair p = {&r, r.word[1], r.at[1], conf_rounds(c, 400)};
    struct baton_team teams[] = {{1, 1, until_store, &p}, {2, 1, until_wait, &p}};
    OK(baton_run(r.cluster, teams, 2));
    EQUAL(baton_load(r.ep, r.word[1] + 4), p.rounds);
    struct baton_team late = {2, 2, until_late, &r};
    *r.word[1] = 0;
    OK(baton_run(r.cluster, &late, 1));
    OK(rig_close(&r));
    return 0;
}

/* ---- Deadlines */

static int wait_in_vain(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct rig *r = arg;
    struct baton_cond conds[5];
    for (unsigned i = 0; i < 5; i++)
        conds[i] = baton_until_is(r->word[1] + i, UINT64_MAX, 1);
    static const uint64_t times[] = {0, 1000, 2000000, 30000000};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned polling = 0; polling < 2; polling++) {
            struct baton_wait wait;
            uint64_t deadline = baton_now(ep) + times[i];
            int rc = 0;
            baton_wait_begin(ep, &wait, deadline, NULL);
            do {
                if (polling) {
                    baton_load(ep, r->word[1]);
                    rc = baton_relax(ep, &wait);
                } else {
                    rc = baton_await(ep, conds, 4, &wait);
                }
            } while (!rc);
            EQUAL(rc, -ETIMEDOUT);
            CHECK(baton_now(ep) >= deadline);
        }
    struct baton_wait wait;
    baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
    EQUAL(baton_await(ep, conds, 0, &wait), -EINVAL);
    EQUAL(baton_await(ep, conds, BATON_CONDS_MAX + 1, &wait), -EINVAL);
    /* What holds already needs no time, also when it is too late. */
    struct baton_cond holds = baton_until_not(r->word[1], UINT64_MAX, 1);
    baton_wait_begin(ep, &wait, 1, NULL);
    OK(baton_await(ep, &holds, 1, &wait));
    conds[3] = holds;
    OK(baton_await(ep, conds, 4, &wait));
    return 0;
}

static int case_deadlines(struct conf *c)
{
    struct rig r;
    OK(rig_open(c, &r));
    struct baton_team team = {1, 2, wait_in_vain, &r};
    OK(baton_run(r.cluster, &team, 1));
    OK(rig_close(&r));
    return 0;
}

/* ---- Groups */

struct grouped {
    struct rig *r;
    baton_gptr state;
    uint64_t waiting;
};

static int wait_grouped(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct grouped *g = arg;
    struct baton_group group = {g->state, 7, BATON_NULL, 0};
    struct baton_wait wait;
    struct baton_cond never = baton_until_is(g->r->word[1], UINT64_MAX, 1);
    struct baton_stats before, after;
    int rc;
    baton_ep_stats(ep, &before);
    baton_wait_begin(ep, &wait, BATON_NEVER, &group);
    baton_word_faa(&g->waiting, 1);
    do {
        if (thread % 2) {
            baton_load(ep, g->r->word[1]);
            rc = baton_relax(ep, &wait);
        } else {
            rc = baton_await(ep, &never, 1, &wait);
        }
    } while (!rc);
    baton_ep_stats(ep, &after);
    /* The library's own looks are not counted. */
    EQUAL(after.waited_round_trips, before.waited_round_trips);
    EQUAL(after.ops[BATON_OP_GET], before.ops[BATON_OP_GET]);
    return rc;
}

static int change_state(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct grouped *g = arg;
    baton_delay(ep, 20000000);
    OK(baton_put64(ep, g->state, 8, 1));
    return baton_wait(ep, 1);
}

static int remove_state(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct grouped *g = arg;
    baton_delay(ep, 20000000);
    return baton_segment_destroy(baton_ep_node(ep), g->state);
}

static int case_groups(struct conf *c)
{
    struct rig r;
    OK(rig_open(c, &r));
    for (unsigned remove = 0; remove < 2; remove++) {
        struct grouped g = {.r = &r};
        void *word;
        OK(baton_segment_create(r.node[2], 8, RIG_ALL, NULL, 0, &g.state));
        OK(baton_ptr(r.node[2], g.state, 8, &word));
        *(uint64_t *)word = 7;
        for (unsigned one = 0; one < 2; one++) { /* awaiting, polling */
            struct baton_team teams[] = {{1, 1 + one, wait_grouped, &g},
                                         {2, 1, remove ? remove_state : change_state, &g}};
            if (remove && one)
                continue;
            *(uint64_t *)word = 7;
            EQUAL(baton_run(r.cluster, teams, 2), remove ? -EHOSTDOWN : -EOWNERDEAD);
        }
        if (!remove)
            OK(baton_segment_destroy(r.node[2], g.state));
    }
    OK(rig_close(&r));
    return 0;
}

/* ---- Deadlock */

struct stuck {
    struct rig *r;
    unsigned how;
    int got[4];
};

static int get_stuck(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct stuck *s = arg;
    struct baton_wait wait;
    struct baton_cond never =
        baton_until_is(s->r->word[baton_node_index(baton_ep_node(ep))] + 9, UINT64_MAX, 1);
    baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
    if ((s->how + thread) % 2) {
        baton_load(ep, s->r->word[1]);
        s->got[thread] = baton_relax(ep, &wait);
    } else {
        s->got[thread] = baton_await(ep, &never, 1, &wait);
    }
    return s->got[thread];
}

static int case_deadlock(struct conf *c)
{
    struct rig r;
    OK(rig_open(c, &r));
    for (unsigned how = 0; how < 2; how++) {
        struct stuck s = {.r = &r, .how = how};
        struct baton_team team = {1, 4, get_stuck, &s};
        EQUAL(baton_run(r.cluster, &team, 1), -EDEADLK);
        for (unsigned i = 0; i < 4; i++)
            EQUAL(s.got[i], -EDEADLK);
    }
    /* Alone outside of baton_run nobody can come to help. */
    struct baton_wait wait;
    struct baton_cond never = baton_until_is(r.word[0], UINT64_MAX, 1);
    baton_wait_begin(r.ep, &wait, BATON_NEVER, NULL);
    EQUAL(baton_await(r.ep, &never, 1, &wait), -EDEADLK);
    baton_load(r.ep, r.word[0]);
    EQUAL(baton_relax(r.ep, &wait), -EDEADLK);
    OK(rig_close(&r));
    return 0;
}

/* The same seed gives the same run: its clock at the end and the words that race. */
struct race {
    struct rig *r;
    uint64_t hash;
};

static int race_body(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct race *race = arg;
    uint64_t *old = baton_ep_alloc(ep, 8, 8);
    for (unsigned i = 0; i < 20; i++) {
        OK(baton_rfaa(ep, old, rig_at(race->r, 1, 0), 1, 1));
        OK(baton_wait(ep, 1));
        race->hash = race->hash * 31 + *old * 7 + thread;
    }
    race->hash = race->hash * 31 + baton_now(ep);
    baton_ep_free(ep, old);
    return 0;
}

static int case_replay(struct conf *c)
{
    uint64_t seen[8];
    unsigned different = 0;
    for (unsigned i = 0; i < 8; i++) {
        struct conf one = *c;
        struct rig r;
        one.seed = c->seed + i / 2;
        OK(rig_open(&one, &r));
        struct race race = {&r, 0};
        struct baton_team teams[] = {{0, 2, race_body, &race}, {2, 2, race_body, &race}};
        OK(baton_run(r.cluster, teams, 2));
        EQUAL(r.word[1][0], 80);
        seen[i] = race.hash;
        if (i % 2)
            EQUAL(seen[i], seen[i - 1]);
        else if (i)
            different += seen[i] != seen[i - 1];
        OK(rig_close(&r));
    }
    CHECK(different);
    return 0;
}

const struct conf_case conf_wait_cases[] = {
    {"time", "the clock goes forward, delays pass", CONF_ONE_PROCESS, case_time, 0},
    {"ping-pong", "await and relax see what others do", CONF_ONE_PROCESS, case_ping_pong, 0},
    {"until", "gets are repeated until a condition on them holds", CONF_ONE_PROCESS, case_until, 0},
    {"deadlines", "await and relax give up at the deadline and not before", CONF_ONE_PROCESS,
     case_deadlines, 0},
    {"groups", "a wait ends when its group's state changes or is gone", CONF_ONE_PROCESS,
     case_groups, 0},
    /* Who polls in virtual time polls for ever. */
    {"deadlock", "waiting for what can not come is an error", CONF_STEP | CONF_SWAP, case_deadlock,
     0},
    {"replay", "the same seed gives the same run", CONF_SIMULATED, case_replay, 0},
    {0},
};

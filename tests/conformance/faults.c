/* SPDX-License-Identifier: MIT */
/* Cases: the two wrappers, fault injection and tracing, alone and one on top of the other. */
#include <stdio.h>

#include "rig.h"

static int post_one(struct rig *r, unsigned kind, unsigned node, unsigned word, baton_wid id)
{
    switch (kind) {
    case BATON_OP_PUT:
        return baton_put64(r->ep, rig_at(r, node, word), 1, id);
    case BATON_OP_GET:
        return baton_get(r->ep, &r->mine[id], rig_at(r, node, word), 8, id);
    case BATON_OP_RCAS:
        return baton_rcas(r->ep, &r->mine[id], rig_at(r, node, word), 0, 1, id);
    default:
        return baton_rfaa(r->ep, &r->mine[id], rig_at(r, node, word), 1, id);
    }
}

/* The k-th operation of a kind fails with each fault of a peer: at the wait for it, and only there. */
static int case_inject(struct conf *c)
{
    static const int all[] = {-EHOSTDOWN, -EKEYREJECTED, -ERANGE, -EACCES};
    struct rig r;
    OK(rig_open(c, &r));
    for (unsigned kind = 0; kind < BATON_OP_KINDS; kind++)
        for (unsigned k = 1; k <= 5; k++) {
            int want = all[(k + kind) % 4];
            struct baton_fault_rule rule = {kind, k, want, 0};
            struct baton_ep_fault fault;
            OK(baton_ep_close(r.ep));
            OK(baton_ep_open(r.node[0], &r.ep));
            OK(baton_ep_faults(r.ep, &rule, 1));
            for (unsigned i = 0; i < RIG_WORDS; i++)
                r.word[1][i] = r.word[2][i] = 0;
            for (unsigned i = 1; i <= 5; i++) {
                unsigned other = (kind + 1) % BATON_OP_KINDS;
                OK(post_one(&r, other, 1, 64, (baton_wid)(10 + i)));
                OK(baton_rfence(r.ep, 1));
                OK(post_one(&r, kind, 1, i, (baton_wid)i));
                OK(baton_rfence(r.ep, 1));
                OK(post_one(&r, BATON_OP_RFAA == kind ? BATON_OP_PUT : BATON_OP_RFAA, 2, i,
                            (baton_wid)(20 + i)));
            }
            for (unsigned i = 1; i <= 5; i++) {
                OK(baton_wait(r.ep, (baton_wid)(20 + i))); /* the other node does not notice */
                EQUAL(baton_wait(r.ep, (baton_wid)i), i < k ? 0 : i == k ? want : -ECANCELED);
                EQUAL(baton_wait(r.ep, (baton_wid)(10 + i)), i <= k ? 0 : -ECANCELED);
            }
            OK(baton_wait_all(r.ep));
            EQUAL(baton_ep_state(r.ep, 1), want);
            OK(baton_ep_state(r.ep, 2));
            baton_ep_error(r.ep, &fault);
            EQUAL(fault.rc, want);
            EQUAL(fault.kind, kind);
            EQUAL(fault.at, rig_at(&r, 1, k));
            CHECK(*fault.text);
            /* What was cancelled or has failed did not happen here: nothing of it had left. */
            EQUAL(baton_put64(r.ep, rig_at(&r, 1, 100), 7, 1), -ENOTCONN);
            EQUAL(baton_wait(r.ep, 1), -ENOTCONN);
            OK(baton_ep_reset(r.ep, 1));
            if (kind != BATON_OP_GET)
                for (unsigned i = 1; i <= 5; i++)
                    EQUAL(r.word[1][i], i < k);
            OK(baton_put64(r.ep, rig_at(&r, 1, 100), 7, 1));
            OK(baton_gfence(r.ep, (const uint16_t[]){1}, 1));
            OK(baton_wait(r.ep, 1));
            EQUAL(r.word[1][100], 7);
        }
    OK(rig_close(&r));
    return 0;
}

static int case_inject_more(struct conf *c)
{
    struct rig r;
    OK(rig_open(c, &r));
    struct baton_fault_rule wrong[] = {{BATON_OP_KINDS, 1, -EACCES, 0},
                                       {BATON_OP_PUT, 0, -EACCES, 0},
                                       {BATON_OP_PUT, 1, EACCES, 0}};
    for (unsigned i = 0; i < 3; i++)
        EQUAL(baton_ep_faults(r.ep, &wrong[i], 1), -EINVAL);
    OK(baton_put64(r.ep, rig_at(&r, 1, 0), 1, 1)); /* and none of them works */
    OK(baton_wait(r.ep, 1));

    /* Several rules; the count goes on over resets. A delay passes its time and fails nothing. */
    struct baton_fault_rule rules[] = {{BATON_OP_PUT, 2, -EHOSTDOWN, 0},
                                       {BATON_OP_PUT, 3, -EACCES, 0},
                                       {BATON_OP_PUT, 4, 0, 2000000},
                                       {BATON_OP_GET, 1, -ERANGE, 1000000}};
    OK(baton_ep_faults(r.ep, rules, 4));
    static const int want[] = {0, -EHOSTDOWN, -EACCES, 0, 0};
    for (unsigned i = 0; i < 5; i++) {
        uint64_t begin = baton_now(r.ep);
        OK(baton_put64(r.ep, rig_at(&r, 1, i), 1, 1));
        EQUAL(baton_wait(r.ep, 1), want[i]);
        uint64_t took = baton_now(r.ep) - begin;
        CHECK(i != 3 || took >= 2000000);
        OK(baton_ep_reset(r.ep, 1));
    }
    uint64_t begin = baton_now(r.ep);
    EQUAL(baton_gfence(r.ep, (const uint16_t[]){1}, 1), -ERANGE); /* its get counts too */
    CHECK(baton_now(r.ep) - begin >= 1000000);
    OK(baton_ep_reset(r.ep, 1));
    OK(baton_gfence(r.ep, (const uint16_t[]){1}, 1));

    /* A failed settle says so, and it is not believed to be settled. */
    struct baton_fault_rule settle = {BATON_OP_GET, 1, -EHOSTDOWN, 0};
    OK(baton_ep_faults(r.ep, &settle, 1));
    OK(baton_put64(r.ep, rig_at(&r, 1, 0), 1, 0));
    EQUAL(baton_settle(r.ep, 1), -EHOSTDOWN);
    EQUAL(baton_settle(r.ep, 1), -ENOTCONN);
    OK(baton_ep_reset(r.ep, 1));

    /* An error that only close can report. */
    struct baton_ep *ep;
    struct baton_fault_rule last = {BATON_OP_RFAA, 1, -EACCES, 0};
    OK(baton_ep_open(r.node[0], &ep));
    OK(baton_ep_faults(ep, &last, 1));
    OK(baton_rfaa(ep, r.mine, rig_at(&r, 1, 0), 1, 4));
    EQUAL(baton_ep_close(ep), -EACCES);
    OK(rig_close(&r));
    return 0;
}

/* ---- Tracing */

struct lines {
    unsigned n;
    uint64_t last_ns;
    char line[64][200];
};

static void keep_line(void *arg, const struct baton_ep *ep, uint64_t now_ns, const char *line)
{
    struct lines *l = arg;
    if (l->n < 64)
        snprintf(l->line[l->n++], sizeof(l->line[0]), "%s", line);
    l->last_ns = now_ns;
}

/* The words in their order, each somewhere in the line; "|" between them. */
static bool says(const char *line, const char *words)
{
    char word[64];
    while (*words) {
        size_t n = strcspn(words, "|");
        snprintf(word, sizeof(word), "%.*s", (int)n, words);
        const char *at = strstr(line, word);
        if (!at)
            return false;
        line = at + strlen(word);
        words += n + (words[n] == '|');
    }
    return true;
}

static int case_trace(struct conf *c)
{
    static struct lines l;
    struct rig r;
    char at[3][40];
    OK(rig_open(c, &r));
    for (unsigned n = 0; n < 3; n++)
        snprintf(at[n], sizeof(at[n]), "%u+0x%llx", n,
                 (unsigned long long)baton_gptr_offset(r.at[n]));
    EQUAL(baton_ep_trace(r.ep, NULL, NULL), -EINVAL);
    OK(baton_ep_trace(r.ep, keep_line, &l));
    struct baton_wait wait;
    struct baton_cond cond = baton_until_not(r.word[0], 0xff, 0x55);
    baton_wait_begin(r.ep, &wait, BATON_NEVER, NULL);
    OK(baton_put64(r.ep, r.at[1], 0x77, 3));
    OK(baton_order(r.ep, 1));
    OK(baton_rcas(r.ep, r.mine, r.at[1], 0x12, 0x34, 4));
    OK(baton_rfence(r.ep, 1));
    OK(baton_rfaa(r.ep, r.mine, r.at[1], 0x9, 5));
    EQUAL(l.n, 0); /* nothing has been rung */
    OK(baton_put(r.ep, r.at[2], r.mine, 24, 6));
    OK(baton_get(r.ep, r.mine, r.at[2], 8, 6));
    OK(baton_wait(r.ep, 3));
    baton_store(r.ep, r.word[0], 0x41);
    (void)baton_load(r.ep, r.word[0]);
    (void)baton_swap(r.ep, r.word[0], 0x42);
    (void)baton_cas(r.ep, r.word[0], 0x42, 0x43);
    (void)baton_faa(r.ep, r.word[0], 0x2);
    baton_mfence(r.ep);
    OK(baton_await(r.ep, &cond, 1, &wait));
    OK(baton_wait_all(r.ep));
    OK(baton_gfence(r.ep, (const uint16_t[]){1}, 1));
    EQUAL(baton_wait(r.ep, 7), 0);
    const char *want[][2] = {
        {"put|8 bytes", "id 3"},
        {"order|rcas", "0x12"},
        {"rfence|rfaa", "0x9"},
        {"put|24 bytes", "id 6"},
        {"get|8 bytes", "id 6"},
        {"wait 3", ""},
        {"store", "0x41"},
        {"load", "0x41"},
        {"swap|0x42", "0x41"},
        {"cas|0x42|0x43", "0x42"},
        {"faa|0x2", "0x43"},
        {"mfence", ""},
        {"await|0xff|!=", "0x55"},
        {"wait all", ""},
        {"get", ""},
        {"gfence", ""},
        {"wait 7", ""},
    };
    const char *where[] = {at[1], at[1], at[1], at[2], at[2], "",      at[0], at[0], at[0],
                           at[0], at[0], "",    at[0], "",    "1+0x8", "",    ""};
    for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        const char *line = i < l.n ? l.line[i] : "(nothing)";
        if (!says(line, want[i][0]) || !says(line, want[i][1]) || !says(line, where[i]))
            return conf_fail(__FILE__, __LINE__, "line %u is \"%s\"; it should have %s, %s, %s", i,
                             line, want[i][0], want[i][1], where[i]);
    }
    EQUAL(l.n, sizeof(want) / sizeof(want[0]));
    CHECK(l.last_ns && l.last_ns <= baton_now(r.ep));

    /* Both wrappers: the trace on top shows what was posted, the faults below it still work. */
    struct baton_ep *ep;
    struct baton_fault_rule rule = {BATON_OP_PUT, 1, -EACCES, 0};
    OK(baton_ep_open(r.node[0], &ep));
    OK(baton_ep_faults(ep, &rule, 1));
    OK(baton_ep_trace(ep, keep_line, &l));
    l.n = 0;
    OK(baton_put64(ep, r.at[1], 1, 1));
    EQUAL(baton_wait(ep, 1), -EACCES);
    EQUAL(l.n, 2);
    CHECK(says(l.line[0], "put"));
    CHECK(says(l.line[1], "wait 1"));
    CHECK(strstr(l.line[1], baton_strerror(-EACCES)));
    OK(baton_ep_close(ep));
    OK(rig_close(&r));
    return 0;
}

const struct conf_case conf_faults_cases[] = {
    {"inject", "an injected fault comes at the right wait; others go on; reset heals",
     CONF_ONE_PROCESS, case_inject, 0},
    {"inject-more", "several rules, delays, faults of fences and of close", CONF_ONE_PROCESS,
     case_inject_more, 0},
    {"trace", "one line for each thing that an endpoint does", CONF_ONE_PROCESS, case_trace, 0},
    {0},
};

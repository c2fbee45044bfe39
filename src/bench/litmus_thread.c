/* SPDX-License-Identifier: MIT */
/* Litmus threads against the contract; see litmus_thread.h. */
#include "bench/litmus_thread.h"

#include <assert.h>
#include <errno.h>

static_assert(LITMUS_AWAITED_MAX == BATON_CONDS_MAX,
              "an await of the language is one of the contract");

struct state {
    struct baton_ep *ep;
    const struct litmus_word *word;
    int64_t *reg;
    uint64_t deadline_ns;
    const struct litmus_harness *harness;
    bool ring; /* what is posted now */
};

static uint64_t sum(const struct state *s, const struct litmus_sum *e)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < e->n; i++) {
        uint64_t value =
            (uint64_t)(e->term[i].is_reg ? s->reg[e->term[i].value] : e->term[i].value);
        total += e->term[i].negative ? -value : value;
    }
    return total;
}

/* A CPU's act: it can not fail. */
static void compute(const struct state *s, const struct litmus_op *op)
{
    uint64_t got;
    switch (op->act) {
    case LITMUS_STORE:
        baton_store(s->ep, s->word[op->loc].here, sum(s, &op->a));
        return;
    case LITMUS_MFENCE:
        baton_mfence(s->ep);
        return;
    case LITMUS_LOAD:
        got = baton_load(s->ep, s->word[op->loc].here);
        break;
    case LITMUS_LET:
        got = sum(s, &op->a);
        break;
    case LITMUS_CAS:
        got = baton_cas(s->ep, s->word[op->loc].here, sum(s, &op->a), sum(s, &op->b));
        break;
    default:
        got = baton_faa(s->ep, s->word[op->loc].here, sum(s, &op->a));
        break;
    }
    s->reg[op->reg] = (int64_t)got;
}

static int post(const struct state *s, const struct litmus_op *op)
{
    baton_gptr remote = s->word[op->loc].at;
    uint64_t *local = s->word[op->local].here;
    int rc = baton_order(s->ep, baton_gptr_node(remote));
    if (rc)
        return rc;
    switch (op->act) {
    case LITMUS_PUT:
        rc = baton_put(s->ep, remote, local, 8, op->id);
        break;
    case LITMUS_PUT_VALUE:
        rc = baton_put64(s->ep, remote, sum(s, &op->a), op->id);
        break;
    case LITMUS_RCAS:
        rc = baton_rcas(s->ep, local, remote, sum(s, &op->a), sum(s, &op->b), op->id);
        break;
    case LITMUS_RFAA:
        rc = baton_rfaa(s->ep, local, remote, sum(s, &op->a), op->id);
        break;
    default:
        rc = baton_get(s->ep, local, remote, 8, op->id);
        break;
    }
    return rc || !s->ring ? rc : baton_flush(s->ep);
}

static int over(int rc)
{
    return rc == -ETIMEDOUT ? 1 : rc;
}

static int await(const struct state *s, const struct litmus_op *op)
{
    struct baton_cond conds[BATON_CONDS_MAX];
    struct baton_wait wait;
    for (unsigned i = 0; i < op->awaited_n; i++)
        conds[i] = baton_until_is(s->word[op->awaited[i]].here, UINT64_MAX, sum(s, &op->a));
    baton_wait_begin(s->ep, &wait, s->deadline_ns, NULL);
    return over(baton_await(s->ep, conds, op->awaited_n, &wait));
}

static int get_until(const struct state *s, const struct litmus_op *op)
{
    struct baton_wait wait;
    baton_wait_begin(s->ep, &wait, s->deadline_ns, NULL);
    for (;;) {
        int rc = post(s, op);
        if (!rc)
            rc = baton_wait(s->ep, op->id);
        if (rc || *s->word[op->local].here == sum(s, &op->a))
            return rc;
        rc = baton_relax(s->ep, &wait);
        if (rc)
            return over(rc);
    }
}

static int execute(const struct state *s, const struct litmus_op *op)
{
    switch (op->act) {
    case LITMUS_STORE:
    case LITMUS_LOAD:
    case LITMUS_LET:
    case LITMUS_CAS:
    case LITMUS_FAA:
    case LITMUS_MFENCE:
        compute(s, op);
        return 0;
    case LITMUS_ASSUME:
        return sum(s, &op->a) != sum(s, &op->b);
    case LITMUS_WAIT:
        return baton_wait(s->ep, op->id);
    case LITMUS_RFENCE:
        return baton_rfence(s->ep, op->node);
    case LITMUS_GFENCE:
        return baton_gfence(s->ep, op->nodes, op->nodes_n);
    case LITMUS_ACQUIRE:
    case LITMUS_RELEASE:
        return s->harness->lock(s->harness->arg, s->ep, op->lock, op->act == LITMUS_ACQUIRE);
    case LITMUS_AWAIT:
        return await(s, op);
    case LITMUS_GET_UNTIL:
        return get_until(s, op);
    case LITMUS_STUCK:
        return 1;
    default:
        return post(s, op);
    }
}

int litmus_thread_run(struct baton_ep *ep, const struct litmus_thread *thread,
                      const struct litmus_word *word, uint64_t deadline_ns,
                      const struct litmus_harness *harness, int64_t *reg)
{
    struct state s = {ep, word, reg, deadline_ns, harness, true};
    int rc = 0;
    for (unsigned i = 0; i < thread->ops_n && !rc; i++) {
        if (harness && harness->before)
            s.ring = harness->before(harness->arg, ep, i);
        rc = execute(&s, &thread->op[i]);
    }
    return rc;
}

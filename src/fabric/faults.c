/* SPDX-License-Identifier: MIT */
/*
 * The fault-injection wrapper: fails or delays the k-th operation of a kind. A failure is what a NIC's is: it
 * breaks the queue pair, and what stands behind it towards that node is cancelled.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/layer.h"

struct faults {
    uint64_t seen[BATON_OP_KINDS];
    unsigned count;
    struct baton_fault_rule rules[];
};

static const struct baton_fault_rule *rule_for(struct faults *f, const struct baton_op *op)
{
    uint64_t nth = ++f->seen[op->kind];
    for (unsigned i = 0; i < f->count; i++)
        if (f->rules[i].kind == (enum baton_op_kind)op->kind && f->rules[i].nth == nth)
            return &f->rules[i];
    return NULL;
}

static void faults_ring(struct baton_layer *l, struct baton_epx *ep, const struct baton_op *ops,
                        unsigned n)
{
    struct faults *f = l->state;
    unsigned begin = 0;
    for (unsigned i = 0; i < n; i++) {
        const struct baton_op *op = &ops[i];
        const struct baton_fault_rule *rule = rule_for(f, op);
        bool broken = baton_epx_peer(ep, op->node)->broken != 0;
        if (!rule && !broken)
            continue;
        if (i > begin)
            l->inner->ops->ring(l->inner, ep, ops + begin, i - begin);
        begin = i;
        if (rule && rule->delay_ns)
            l->inner->ops->delay(l->inner, ep, rule->delay_ns);
        /* What was just rung may have failed by itself, which then comes first. */
        if (baton_epx_peer(ep, op->node)->broken) {
            baton_op_done(ep, op, -ECANCELED, false, "an earlier operation failed");
            begin = i + 1;
        } else if (rule && rule->rc) {
            baton_op_done(ep, op, rule->rc, false, "injected fault");
            begin = i + 1;
        }
    }
    if (n > begin)
        l->inner->ops->ring(l->inner, ep, ops + begin, n - begin);
}

static struct baton_ep_ops ops;

static void fill_ops(void)
{
    ops = baton_layer_through;
    ops.ring = faults_ring;
}

int baton_ep_faults(struct baton_ep *pub, const struct baton_fault_rule *rules, unsigned count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    for (unsigned i = 0; i < count; i++)
        if (rules[i].kind >= BATON_OP_KINDS || !rules[i].nth || rules[i].rc > 0)
            return baton_fail(-EINVAL,
                              "fault rule %u: kinds are put, get, rcas, rfaa, operations count "
                              "from 1, errors are negative",
                              i);
    struct faults *f = calloc(1, sizeof(*f) + count * sizeof(*rules));
    if (!f)
        return -ENOMEM;
    f->count = count;
    memcpy(f->rules, rules, count * sizeof(*rules));
    pthread_once(&once, fill_ops);
    int rc = baton_layer_push(baton_epx(pub), &ops, f);
    if (rc)
        free(f);
    return rc;
}

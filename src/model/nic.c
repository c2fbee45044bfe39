/* SPDX-License-Identifier: MIT */
/* The machine of model/nic.h, as calls. */
#include "model/nic_rules.h"

bool baton_nic_has(enum baton_nic_kind kind, enum baton_nic_step step)
{
    return nic_has(kind, step);
}

bool baton_nic_ready(const struct baton_nic_qp *qp, unsigned at, enum baton_nic_step step,
                     const struct baton_nic_memory *memory, struct baton_nic_blocker *why)
{
    return nic_ready(qp, at, step, memory, why);
}

void baton_nic_apply(const struct baton_nic_qp *qp, unsigned at, enum baton_nic_step step,
                     const struct baton_nic_memory *memory)
{
    nic_apply(qp, at, step, memory);
}

bool baton_nic_acked(const struct baton_nic_qp *qp, unsigned at, struct baton_nic_blocker *why)
{
    return nic_has_done(qp, at,
                        qp->entry[at].kind == BATON_NIC_PUT ? NIC_READ | NIC_STARTED
                                                            : NIC_READ | NIC_LEFT | NIC_LANDED,
                        why);
}

bool baton_nic_drained(const struct baton_nic_qp *qp, unsigned at, struct baton_nic_blocker *why)
{
    switch (qp->entry[at].kind) {
    case BATON_NIC_PUT:
        return nic_has_done(qp, at, NIC_READ | NIC_STARTED | NIC_WRITTEN | NIC_LEFT, why);
    case BATON_NIC_GET:
        return nic_has_done(qp, at, NIC_READ | NIC_LEFT | NIC_LANDED, why);
    case BATON_NIC_FENCE:
        return nic_has_done(qp, at, NIC_LEFT, why);
    default:
        return nic_has_done(qp, at, NIC_READ | NIC_STARTED | NIC_WRITTEN | NIC_LEFT | NIC_LANDED,
                            why);
    }
}

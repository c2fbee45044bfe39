/* SPDX-License-Identifier: MIT */
/*
 * ts: test and set with truncated exponential back-off. A baseline.
 *
 *     word 0   owner: 0 free, else the address of the holder's waiter     NIC_RMW
 *
 * acquire    rcas 0 -> me; after a failure a pause that doubles, of which each waiter has a share of its own,
 *            then again
 * release    rfence, put 0 (where words may be torn: rfaa -me, see ts.c); nobody waits for it
 *
 * Costs (waited round trips + remote operations, acquire; release): uncontended 1 + 1; 0 + 1.
 * Contended one round trip and one rcas per attempt, without bound. Local threads pay the same: they
 * use the NIC too, because a CPU's and a NIC's read-modify-writes of one word are not atomic against
 * each other.
 * Not fair. try is exact. Deadlines work, as nobody queues.
 * Release covers all that the holder did towards the host.
 * A holder that dies leaves the word set; the table is marked, see baton/lock.h.
 * Source: folklore; a baseline of the asymmetric RDMA locks.
 */
#ifndef BATON_LOCK_TS_H
#define BATON_LOCK_TS_H

#include <baton/lock.h>

extern const struct baton_lock_ops baton_lock_ts;

#endif

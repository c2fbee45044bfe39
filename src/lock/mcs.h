/* SPDX-License-Identifier: MIT */
/*
 * mcs: a queue lock over far memory; waiters wait on a word of their own node.
 *
 *     lock     word 0   tail: 0 free, else the address of the last waiter's words     NIC_RMW
 *     waiter   word 0   next: the address of the successor's words     put by the successor
 *              word 1   granted                                        put by the predecessor
 *
 * acquire    swap me into tail (rcas until one wins); with a predecessor: put its next, await granted
 * release    rfence, rcas tail me -> 0; when somebody is behind me: await next, put its granted
 *
 * Costs (waited round trips + remote operations, acquire; release): uncontended 1 + 1; 1 + 1.
 * Contended 2 or more + 1 per rcas and the link, then no polling; 1 + 2. Local threads pay the same.
 * First come, first served: the doorway ends when the rcas of the tail has won. try is exact.
 * A release may wait for a successor that is about to link itself.
 * Release covers all that the holder did towards the host. The hand-over goes to the successor's
 * node, on another queue pair than what the section did to the host. It is safe only because the
 * failed rcas of the tail, waited for behind the rfence, proves all of that complete: so that rcas is
 * never skipped, even when next is known already.
 * A holder or waiter that dies stops the lock; the table is marked, see baton/lock.h.
 * Source: Mellor-Crummey and Scott, "Algorithms for Scalable Synchronization on Shared-Memory
 * Multiprocessors", over one-sided operations.
 */
#ifndef BATON_LOCK_MCS_H
#define BATON_LOCK_MCS_H

#include <baton/lock.h>

extern const struct baton_lock_ops baton_lock_mcs;

#endif

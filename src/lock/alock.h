/* SPDX-License-Identifier: MIT */
/*
 * alock: two queue locks, one for the threads of the host (by CPU) and one for all others (by NIC),
 * and a Peterson lock between the two heads.
 *
 *     lock     word 0   remote tail: address of the last remote waiter's words     NIC_RMW
 *              word 1   local tail: the same for the host's own threads            CPU_RMW
 *              word 2   victim: 1 local, 2 remote                                  PLAIN
 *     waiter   word 0   next: the address of the successor's words, written by the successor
 *              word 1   budget: all ones while waiting; written by the predecessor
 *
 * A tail that is not 0 is at the same time the class's flag of interest in the Peterson lock. Only
 * one class ever does read-modify-writes on a tail; victim is only stored and put.
 *
 * acquire    swap me into the tail of my class. With a predecessor: link, await a budget; a budget
 *            of 0 means that the class has had its share: Peterson again, then a fresh budget.
 *            Without one: Peterson, with a fresh budget.
 * Peterson   victim = my class; until the other tail is 0 or victim is not my class
 * release    tail me -> 0; when somebody is behind me: await next, budget of the next = mine - 1
 *
 * Costs (waited round trips + remote operations, acquire; release): remote, uncontended 2 + 3; 1 + 1.
 * Contended: 2 or more + 1 per rcas and the link, then no polling; 1 + 2; a head polls, one get a
 * time. Local, uncontended: no remote operation.
 * Fair within a class (first come, first served), and a class gives way after `budget` hand-overs if
 * the other one waits; not first come, first served over both.
 * try: -EBUSY without a write if the lock looks held or queued for; else as acquire.
 * A release may wait for a successor that is about to link itself.
 * Release covers all that the holder did towards the host. As in mcs, the failed rcas of the tail
 * behind the rfence is what proves that before the hand-over to another node; it is never skipped.
 * A holder or waiter that dies stops the lock; the table is marked, see baton/lock.h.
 * Source: ALock, "ALock: Asymmetric Lock Primitive for RDMA Systems", SPAA 2024.
 */
#ifndef BATON_LOCK_ALOCK_H
#define BATON_LOCK_ALOCK_H

#include <baton/lock.h>

extern const struct baton_lock_ops baton_lock_alock;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * farlock: first come, first served over threads of the host, which use the CPU, and remote ones.
 * farlock-g: the same with groups: neighbours in a queue share one ticket and pass the lock directly.
 *
 *     lock     word 0   remote tail: address of the last remote waiter's words, 0 none    NIC_RMW
 *              word 1   local tail: the same of the host's threads                        CPU_RMW
 *              word 2   remote flag: the remote head is competing for a ticket            PLAIN
 *              word 3   victim: 1 the local, 2 the remote head lets the other one go      PLAIN
 *              word 4   local flag                                                        PLAIN
 *              word 5   next ticket                                                       GUARDED
 *              word 6   current ticket: whose turn it is; only the holder writes it       PLAIN
 *     waiter   word 0   next: address of the successor's words                 put by the successor
 *              word 1   ready: I have my ticket, who follows may take one      mine; got by successor
 *              word 2   pass: 0, 1 become head, else a group's ticket          put by the predecessor
 *              word 3   granted: my predecessor has released                   put by the predecessor
 *              word 4   detached: my successor is done with these words        put by the successor
 *
 *     pass    63                                          6 5      0
 *            +---------------------------------------------+--------+   left: how many more may join
 *            |                   ticket                    | left+2 |   the group; 1 in these bits: no
 *            +---------------------------------------------+--------+   ticket, become head
 *
 * A thread enters the queue of its class. Only the two heads compete, by Peterson's algorithm, for the
 * next ticket; a head passes headship on as soon as it has its ticket. So both queues are in the order
 * of tickets, which is the order of service, and getting a ticket waits for no section to end.
 * The remote head passes headship on only after it knows that its flag is down on the host: the next
 * head raises the same flag over another queue pair, and the late put would take it down again.
 *
 * acquire    swap me into the tail; with a predecessor: link, look whether it is ready, else await pass
 *            flag and victim up, wait for the other head to give way; take a ticket; flag down
 *            ready, look whether somebody has linked himself, pass; await granted, then my turn
 * release    current ticket + 1; leave the tail, or await detached and grant
 *
 * Costs (waited round trips, acquire + release; remote operations): remote, uncontended 3 + 1, 9
 * (8 where a put lands in order); with farlock.chain=off, as published, every operation is waited for:
 * 7 + 2 (6 + 2). Contended: + 1 per lost race for the tail, + 1 to link, + polls of the head for its
 * ticket and its turn, the only ones that poll; - 1 in release if the successor is known, + 1 towards him
 * if he is linked but has not found out yet that he may go on. A group's members but the last pay one
 * round trip in release if the section left anything on its way. Local: no remote operation at all; 3
 * read-modify-writes or full fences and one more to leave.
 * Fair: first come, first served by tickets: the doorway ends with the ticket and may be long, because
 * a thread deep in its queue has none yet. farlock-g: the same between groups; a group is at most
 * farlock-g.group_local (5), .group_remote (1) neighbours of one class that were linked already. More
 * than 1 for remote threads empties their queue too fast to pay.
 * The token is the ticket; in a group its members count below it.
 * Release covers all that the holder did towards the host: the next one sees its turn in a word that is
 * put behind all that. Inside a group nobody looks at that word, so the holder settles first.
 * A release may wait for a successor that is about to link itself or to find out that it may go on.
 * A holder or waiter that dies stops the lock; the table is marked, see baton/lock.h.
 * Source: "FARLock: Asymmetric RDMA Locking Made Fair" (OSDI 2026).
 */
#ifndef BATON_LOCK_FARLOCK_H
#define BATON_LOCK_FARLOCK_H

#include <baton/lock.h>

extern const struct baton_lock_ops baton_lock_farlock;
extern const struct baton_lock_ops baton_lock_farlock_g;

#endif

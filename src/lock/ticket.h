/* SPDX-License-Identifier: MIT */
/*
 * ticket: a ticket lock whose words are used by NICs only.
 *
 *     word 0   dispenser: the next ticket            NIC_RMW
 *     word 1   serving: the ticket that may enter    PLAIN, put by the holder only
 *
 * acquire    one chain: rfaa dispenser, get serving; then poll serving until it is my ticket
 * release    rfence, put serving = ticket + 1; nobody waits for it (it needs no read-modify-write:
 *            only the holder writes the word)
 *
 * The two operations of the first chain need no order: if serving shows my ticket, nobody but me can
 * change it, whenever it was read.
 *
 * Costs (waited round trips + remote operations, acquire; release): uncontended 1 + 2; 0 + 1.
 * Contended one round trip more per look at serving; every waiter polls. Where the fabric holds gets
 * (baton_wait_until) the host answers when it is the ticket's turn: 1 + 2 as well. Local threads pay the same.
 * First come, first served: the doorway ends when the rfaa has been executed. try is exact.
 * Fencing token: ticket + 1.
 * Release covers all that the holder did towards the host.
 * A holder or waiter that dies stops the lock; the table is marked, see baton/lock.h.
 * Source: node lock of "Specifying and Verifying RDMA Synchronisation", section 4.4.
 */
#ifndef BATON_LOCK_TICKET_H
#define BATON_LOCK_TICKET_H

#include <baton/lock.h>

extern const struct baton_lock_ops baton_lock_ticket;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * merge: strictly first come, first served over threads of the host, which use the CPU, and remote
 * ones, with a doorway that waits for nobody.
 *
 *     lock     word 0      cl    local tickets given out                       CPU_RMW
 *              word 1      turn  how many of each class have released          PLAIN, the holder's
 *              word 2      cr    remote tickets given out                      NIC_RMW
 *              pre[N]      what local ticket l saw in cr before it was taken   PLAIN, l's
 *              (post,      what remote ticket r saw in cl after it was taken   PLAIN, r's
 *               who)[N]    and where its owner waits
 *     The slots of ticket t are those of index t mod N. They begin at word 8, with one slot at word 3,
 *     which keeps such a lock in 64 bytes. merge_rule.h draws turn and the slots. Zeroed memory is a
 *     free lock.
 *
 * Two dispensers give out tickets, one a class. Only the lowest ticket of each class that has not been
 * served can be next, and of these two the local one goes first iff it saw a cr not beyond the remote
 * ticket before it was taken, and the remote one saw a cl beyond the local ticket after it was taken.
 * Both are facts that never change, so both sides find the same winner without talking to each other.
 *
 * acquire    local: load cr, fetch-add cl; if both dispensers stand at the turn: in. Else publish what was
 *            seen, await the own half of turn, look at cr and the other's post until the rule decides
 *            remote: rfaa cr, get cl and turn; in if the turn is there and nobody local was before.
 *            Else publish what was seen, poll turn, and pre when the own half is there
 * release    local: store turn. remote: rfence, put turn, put a hint to who may sleep
 *
 * Sleeping: of the remote waiters with a slot, the two that are next poll, and the others wait for a word of
 * their own: bit 0 of who says that its owner will, in its release, put a hint to the waiter two tickets
 * behind. So who is woken has one more holder before him, and polls by the time of his turn; the hint is not
 * on the way of the hand-over. Waiters beyond the slots poll, the more seldom the further back they stand.
 * With fewer than 4 slots nobody sleeps.
 * Where the fabric holds gets (baton_wait_until) the host answers an acquire when it is the turn of its ticket, or
 * after a while: then nobody polls for that, sleeps, or is hinted at.
 *
 * Policy: with merge.bypass = b > 0 (standard 0) a releasing holder that knows of a local waiter lets it go
 * next whatever the rule says, up to b times before the next remote one is served: it sets flag and run in
 * the turn. Remote waiters that see the flag wait for a change. Then the kind is not first come, first served;
 * each class is, and a remote one is passed by at most b of the locals that came later for each remote one
 * served before it, itself included.
 *
 * Costs (waited round trips, acquire + release; remote operations): remote, uncontended 1 + 0; 3 (rfaa, get;
 * put). Contended + 1 per poll; release + 1 if a waiter two behind came so late that it was not seen before;
 * puts of who and post, at most one more into who, and the hint, none of them waited for. Local: no remote
 * operation; one fetch-add. Where gets are held: contended 1 + 0 as well, unless a local thread competes.
 * Fair (bypass 0): first come, first served; who starts after another's doorway has ended is served after it. A
 * local doorway ends with the fetch-add, a remote one when its one round trip is back; where gets are held, when
 * the rfaa has been executed.
 * The token counts the holders. Fewer than 2^19 threads may use one lock at a time: that is how far apart
 * what a slot holds and who reads it can be.
 * A slot is written only by who has to wait, and only when its ticket is less than N from being served;
 * meanwhile nothing is lost, since what will be written is fixed. So merge.slots may be 1, at the price of
 * a later decision. Who is let in at once need not tell what it saw: nobody enters before its release, which
 * changes the turn. (A slot that nobody has written for 2^44 tickets of its class would show a ticket again.)
 * Release covers all that the holder did towards the host: the turn is put behind that, and a local
 * holder settles first. It waits for nobody.
 * A holder or waiter that dies stops the lock; the table is marked, see baton/lock.h.
 */
#ifndef BATON_LOCK_MERGE_H
#define BATON_LOCK_MERGE_H

#include <baton/lock.h>

extern const struct baton_lock_ops baton_lock_merge;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of the merge lock: what its words hold, and the rule that merges two queues.
 *
 * Nothing here touches memory, so that a test can compare every function with plain 64-bit
 * arithmetic. Tickets count up in 64 bits. Words hold only their low bits, and a reader makes them
 * whole again with a ticket of its own that is known to be near.
 *
 *     turn   63            36 35             8 7       1   0      how many local and remote holders
 *           +----------------+----------------+---------+------+  have released; run and flag belong
 *           | local served   | remote served  |  run    | flag |  to the bypass policy and are zero in
 *           +----------------+----------------+---------+------+  the strict order
 *
 *     flag   the next local ticket goes first, whatever the rule says; its thread has it already
 *     run    how many such hand-overs there were since a remote thread was served or none waited
 *
 *     slot   63                               20 19            0  what the owner of that ticket saw
 *           +-----------------------------------+--------------+  of the other class's dispenser. The
 *           | tag: ticket + 1                   |    value     |  tag says whose it is: zeroed slots
 *           +-----------------------------------+--------------+  belong to no ticket near 0
 */
#ifndef BATON_LOCK_MERGE_RULE_H
#define BATON_LOCK_MERGE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include <baton/barrier.h>

#define MERGE_HALF_BITS 28
#define MERGE_LOCAL_SHIFT 36
#define MERGE_REMOTE_SHIFT 8
#define MERGE_HALF_MASK (((uint64_t)1 << MERGE_HALF_BITS) - 1)
#define MERGE_LOCAL_MASK (MERGE_HALF_MASK << MERGE_LOCAL_SHIFT)
#define MERGE_REMOTE_MASK (MERGE_HALF_MASK << MERGE_REMOTE_SHIFT)
#define MERGE_FLAG ((uint64_t)1)
#define MERGE_RUN_SHIFT 1
#define MERGE_RUN_MOST 127
#define MERGE_RUN_MASK ((uint64_t)MERGE_RUN_MOST << MERGE_RUN_SHIFT)
#define MERGE_TAG_BITS 44
#define MERGE_VALUE_BITS 20
#define MERGE_VALUE_MASK (((uint64_t)1 << MERGE_VALUE_BITS) - 1)
#define MERGE_TAG_MASK (~MERGE_VALUE_MASK)

/*
 * The 64-bit number with these low bits that is nearest to `near`. Right whenever the two are less
 * than 2^(bits - 1) apart.
 */
BATON_INLINE uint64_t merge_extend(uint64_t near, uint64_t low, unsigned bits)
{
    uint64_t ahead = (low - near) << (64 - bits);
    return near + (uint64_t)((int64_t)ahead >> (64 - bits));
}

BATON_INLINE uint64_t merge_turn(uint64_t local_served, uint64_t remote_served)
{
    return local_served << MERGE_LOCAL_SHIFT | (remote_served & MERGE_HALF_MASK)
                                                   << MERGE_REMOTE_SHIFT;
}

BATON_INLINE uint64_t merge_turn_local(uint64_t turn, uint64_t near)
{
    return merge_extend(near, turn >> MERGE_LOCAL_SHIFT, MERGE_HALF_BITS);
}

BATON_INLINE uint64_t merge_turn_remote(uint64_t turn, uint64_t near)
{
    return merge_extend(near, turn >> MERGE_REMOTE_SHIFT, MERGE_HALF_BITS);
}

/* Whether the turn stands at these two tickets, whatever the policy's bits say. */
BATON_INLINE bool merge_turn_is(uint64_t turn, uint64_t local, uint64_t remote)
{
    return (turn ^ merge_turn(local, remote)) >> MERGE_REMOTE_SHIFT == 0;
}

/*
 * What a local holder leaves: `after` is the turn behind it, with the run that it found. Up to `bypass`
 * times in a row the next local one goes before the remote ones that wait; a run is over only when a
 * remote one was served or none waits, since else any local one whose time has come would begin a new one.
 */
BATON_INLINE uint64_t merge_pass(uint64_t after, uint64_t bypass, uint64_t cl, uint64_t cr)
{
    const uint64_t run = (after & MERGE_RUN_MASK) >> MERGE_RUN_SHIFT;
    after &= ~(MERGE_RUN_MASK | MERGE_FLAG);
    if (merge_turn_remote(after, cr) == cr)
        return after;
    if (run < bypass && merge_turn_local(after, cl) != cl)
        return after | (run + 1) << MERGE_RUN_SHIFT | MERGE_FLAG;
    return after | run << MERGE_RUN_SHIFT;
}

/* The tag of a ticket at its place in a slot: a slot with these upper bits belongs to the ticket. */
BATON_INLINE uint64_t merge_tag(uint64_t ticket)
{
    return (ticket + 1) << MERGE_VALUE_BITS;
}

BATON_INLINE uint64_t merge_slot(uint64_t ticket, uint64_t value)
{
    return merge_tag(ticket) | (value & MERGE_VALUE_MASK);
}

BATON_INLINE bool merge_slot_is(uint64_t slot, uint64_t ticket)
{
    return (slot & MERGE_TAG_MASK) == merge_tag(ticket);
}

BATON_INLINE uint64_t merge_slot_value(uint64_t slot, uint64_t near)
{
    return merge_extend(near, slot, MERGE_VALUE_BITS);
}

/*
 * What a local ticket publishes of the remote dispenser it saw. The sight may be arbitrarily old
 * (its thread may have been stopped before it took the ticket), and then its low bits would lie.
 * Remote tickets that were served since decide nothing any more, so the count of those, read after
 * the ticket was taken, serves as well as any older sight and is near.
 */
BATON_INLINE uint64_t merge_clamp(uint64_t sight, uint64_t remote_served)
{
    return sight > remote_served ? sight : remote_served;
}

/*
 * The rule. Only local ticket l and remote ticket r, both next of their class, compete. l goes
 * first iff it began before r had its ticket (it saw a remote dispenser not beyond r) and had its
 * ticket before r looked (r saw a local dispenser beyond l): who starts first and gets his ticket
 * first. The two sights never change, so both sides compute the same.
 */
BATON_INLINE bool merge_local_first(uint64_t l, uint64_t sight_of_l, uint64_t r,
                                    uint64_t sight_of_r)
{
    return sight_of_l <= r && l < sight_of_r;
}

#endif

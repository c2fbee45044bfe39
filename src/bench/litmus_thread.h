/* SPDX-License-Identifier: MIT */
/*
 * One thread of a litmus test, executed against an endpoint of the contract. It knows of no fabric, no clock
 * and nobody who starts it: the same code runs on the simulated world, explored, and on real cards.
 *
 *     litmus language            contract
 *     x = e, r = x               baton_store, baton_load
 *     r = cas, r = faa, mfence   baton_cas, baton_faa, baton_mfence
 *     put x, y; put x, e         baton_put, baton_put64 of what e is when it is posted
 *     get, rcas, rfaa            baton_get, baton_rcas, baton_rfaa
 *     wait d                     baton_wait
 *     poll n                     baton_wait, by an id of its own for the operation that the poll answers
 *     rfence n, gfence n, m      baton_rfence, baton_gfence
 *     assume                     the run is no run, if it does not hold
 *     acq l, rel l               the harness's locks, or what the model has written out for them
 *
 * A baton_order stands before every post, since the language orders what the contract orders there. Every post
 * is followed by baton_flush, unless the harness wants otherwise: an operation of the language is under way as
 * soon as it is executed.
 * Locations are words of segments; what a NIC operation names as its local operand is the location itself.
 * litmus_plan.h has the instructions, and makes them of a program.
 */
#ifndef BATON_BENCH_LITMUS_THREAD_H
#define BATON_BENCH_LITMUS_THREAD_H

#include <baton/fabric.h>

#include "bench/litmus_plan.h"

/* Where a location is: for everybody, and on its own node. */
struct litmus_word {
    baton_gptr at;
    uint64_t *here; /* null elsewhere; the other threads' nodes' pointers do no harm */
};

/*
 * What a harness does in between. `before` is called before each operation with its number, and says whether the
 * post that it may be rings at once; whatever is not rung rings with the next wait. `lock` acquires or releases a
 * lock; only threads with such operations need it.
 */
struct litmus_harness {
    bool (*before)(void *arg, struct baton_ep *ep, unsigned op);
    int (*lock)(void *arg, struct baton_ep *ep, unsigned lock, bool acquire);
    void *arg;
};

/*
 * Executes the thread; `reg` (regs_n of them) begins as zeros and holds the final values. 0: done, though what
 * it has posted may still be on its way. 1: this is no run, see above, or a wait for others has reached
 * `deadline_ns`: its outcome does not count. Negative: an error of the fabric. `harness` may be null.
 */
int litmus_thread_run(struct baton_ep *ep, const struct litmus_thread *thread,
                      const struct litmus_word *word, uint64_t deadline_ns,
                      const struct litmus_harness *harness, int64_t *reg);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Which steps to try from a state, when the outcomes are all that matters.
 *
 * Most orders of steps are the same run told differently. From each state it is enough to try the
 * enabled steps of one set T of steps, if every run from here to a final state can be reordered so
 * that it begins with an enabled step of T. Two relations over step numbers, computed once per
 * program, make such sets:
 *
 *   must[u]  steps without which u can never happen, whatever else did. Closed under transitivity.
 *   dep[t]   steps that, when they happen before t, may matter to t or have t matter to them:
 * moving t in front of such a step may change the run. It is one-sided: moving u in front of t is
 * not asked.
 *
 * T is built from one enabled step by closing it: (1) for an enabled t in T, everything undone of
 * dep[t] is in T; (2) for a disabled u in T, T has all steps of some set without which u stays
 * disabled.
 *
 * Why that is enough. Take any run from the state to a final one. All steps are done at its end, so
 * T's seed is in it, and so it has a first step t of T. Nothing of T came before t, so by (2) t was
 * enabled in the state already, and by (1) nothing before t is in dep[t]; so t can be moved to the
 * front one place at a time, with the same final state. The graph of states has no cycles (every
 * step is taken once), so nothing can be put off for ever.
 *
 * What dep holds, rule by rule:
 *   - accesses of one location, at least one a write. Not between the CPU steps of one thread: a
 * load sees its own store in the buffer or in memory alike. A step that waits for a value (await,
 * the get that ends a loop) is not dependent on writes, since it reads that value or does not
 * happen; but writes are on it.
 *   - reads of RMWs of different queue pairs towards one node: the RMW unit.
 *   - for the LEAVE of a get or RMW, the local reads of later puts on its queue pair: a pending
 * local write stops them. (Not the other way: reading first stops nothing.)
 *   - for the START of a remote write, the reads of earlier gets on its queue pair: they have to push
 * it into memory once it is in wbR. (Not the other way, again.)
 *   - under nar-nrr: the read of an rcas and the reads of later gets on its queue pair.
 * Every other step only ever enables others (program order, buffers and pipes are queues), so
 * moving it to the front harms nothing.
 *
 * Fused steps. The stay in wbL between LEAVE and LAND is seen only by an rfence behind the entry,
 * which waits for LEAVE alone; polls and waits ask for LAND, and a put's local read is held up by
 * the stay. So where no rfence follows on the queue pair, LEAVE is put off until LAND can follow at
 * once, and the two are one step.
 */
#ifndef BATON_MODEL_REDUCE_H
#define BATON_MODEL_REDUCE_H

#include "model/machine.h"

struct baton_reduction {
    const struct baton_machine *m;
    bool naive;                        /* every enabled step is tried, nothing is fused */
    uint64_t *must, *dep;              /* n_steps sets of m->n_set_words words */
    uint64_t *readers, *writers;       /* the same, per location */
    bool *fused;                       /* per step: a LEAVE that takes its LAND along */
    uint64_t *enabled, *chosen, *best; /* scratch: one set each */
    unsigned *work;                    /* scratch: n_steps */
};

int baton_reduction_init(struct baton_reduction *r, const struct baton_machine *m, bool naive);
void baton_reduction_fini(struct baton_reduction *r);

/*
 * Writes the steps to try from the state into `steps` (room for n_steps), and returns how many.
 * None: the state is final, or no final state can be reached from it by the steps left.
 */
unsigned baton_reduction_choose(struct baton_reduction *r, int64_t *state, unsigned *steps);

/* Takes a chosen step. Returns the number of machine steps that were taken: 1, or 2 when it was
 * fused. */
unsigned baton_reduction_apply(const struct baton_reduction *r, int64_t *state, unsigned step);

/* The LAND step of a fused LEAVE. */
unsigned baton_reduction_partner(const struct baton_reduction *r, unsigned step);

#endif

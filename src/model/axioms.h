/* SPDX-License-Identifier: MIT */
/*
 * The axioms engine with its stamp table laid open: baton_axioms_run (engine.h) with another table.
 * Tests damage single cells through this to see that some litmus test notices.
 */
#ifndef BATON_MODEL_AXIOMS_H
#define BATON_MODEL_AXIOMS_H

#include "model/engine.h"
#include "model/stamps.h"

/* As baton_axioms_run, but the table is `stamps` as it stands: opts->variants is not looked at. */
int baton_axioms_run_stamps(const struct baton_program *program, enum baton_model model,
                            const struct baton_stamps *stamps, const struct baton_engine_opts *opts,
                            struct baton_outcomes *set, struct baton_engine_stats *stats);

#endif

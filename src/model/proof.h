/* SPDX-License-Identifier: MIT */
/*
 * Finds a short proof that a candidate, as far as it is decided, has no completion.
 */
#ifndef BATON_MODEL_PROOF_H
#define BATON_MODEL_PROOF_H

#include "model/refute.h"

/*
 * `broken`: the last decision was refused, so there is a cycle already. The candidate logs, and is
 * as before afterwards (but for a broken one, whose state is of no use anyway). A proof exists only if
 * no completion does. 0 or -ENOMEM.
 */
int baton_proof_find(struct baton_candidate *c, bool broken, struct baton_proof **proof);
void baton_proof_free(struct baton_proof *proof);

#endif

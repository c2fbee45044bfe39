/* SPDX-License-Identifier: MIT */
/* Users' programs, explored; see baton/check.h. */
#ifndef BATON_CHECK_PROGRAM_H
#define BATON_CHECK_PROGRAM_H

#include <baton/check.h>

#include "sim/explore.h"

/* Explores (or follows) as `x` says. 0 whatever the verdict; -EINVAL with the reason in the error detail. */
int check_program_run(const struct baton_check_program *program, struct sim_explore *x);

#endif

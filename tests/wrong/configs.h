/* SPDX-License-Identifier: MIT */
/* Configurations of the check in words, and the order in which a smallest one is looked for. */
#ifndef BATON_TEST_CONFIGS_H
#define BATON_TEST_CONFIGS_H

#include "check/lock_check.h"

/*
 * "1+2x1 put swap no-gfence try=remote slots=1": threads of the host, remote ones, rounds, what the section
 * works on, whether posts may change places, who tries or has a deadline, parameters of the kind. False: not of that form.
 */
bool config_read(struct check_lock *out, const struct baton_lock_ops *kind, const char *text);

/* Threads and rounds from few to many, ended by null. */
extern const char *const config_sizes[];

/* Explores depth first without bounds but the time. False: it could not be run. */
bool config_check(const struct check_lock *config, double seconds, struct sim_explore *out);

#endif

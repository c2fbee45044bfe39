/* SPDX-License-Identifier: MIT */
/* Settings in one string: "name=value,name=value". */
#ifndef BATON_BASE_OPTIONS_H
#define BATON_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the value of `name`, cut to `bytes`; false, and nothing is copied, if it is not there. */
bool baton_option(const char *options, const char *name, char *out, size_t bytes);

/* Leaves *out as it is if `name` is not there; -EINVAL if its value is no number from least to most. */
int baton_option_number(const char *options, const char *name, long least, long most, long *out);

/* -EINVAL, with what exists in the error detail, if there is a name that is not in `known`, or one twice. */
int baton_options_check(const char *options, const char *const *known);

/*
 * To `out`, of `bytes`: the settings of `standard` that `own` does not give, and then `own`. Both may be null.
 * -EINVAL if there is no room for them.
 */
int baton_options_join(char *out, size_t bytes, const char *standard, const char *own);

#endif

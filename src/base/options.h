/* SPDX-License-Identifier: MIT */
/* Settings in one string: "name=value,name=value". */
#ifndef BATON_BASE_OPTIONS_H
#define BATON_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the value of `name`, cut to `bytes`; false, and nothing is copied, if it is not there. */
bool baton_option(const char *options, const char *name, char *out, size_t bytes);

/* -EINVAL, with what exists in the error detail, if there is a name that is not in `known`. */
int baton_options_check(const char *options, const char *const *known);

#endif

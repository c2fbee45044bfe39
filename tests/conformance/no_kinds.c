/* SPDX-License-Identifier: MIT */
/* The suite as it is for real kinds of lock: no others than the library's. */
#include "suite.h"

const struct baton_lock_ops *const conf_own_kinds[] = {NULL};

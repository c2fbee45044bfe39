/* SPDX-License-Identifier: MIT */
/* `baton check`: explores programs exhaustively. */
#include "check.h"

#include <stddef.h>

static const struct cmd *const subs[] = {
    &check_lock_cmd,
    NULL,
};

const struct cmd check_cmd = {
    .name = "check",
    .summary = "explore every schedule and every order of the NIC, of a lock or of your program",
    .sub = subs,
};

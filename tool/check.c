/* SPDX-License-Identifier: MIT */
/* `baton check`: explores programs exhaustively. */
#include "check.h"

#include <stddef.h>

static const struct cmd *const subs[] = {
    &check_lock_cmd,
    &check_program_cmd,
    NULL,
};

/* `baton check FILE.so` is short for `baton check program FILE.so`. */
static int run_file(const struct cmd *self, int argc, char **argv)
{
    return check_program_cmd.run(&check_program_cmd, argc, argv);
}

const struct cmd check_cmd = {
    .name = "check",
    .summary = "explore every schedule and every order of the NIC, of a lock or of your program",
    .sub = subs,
    .run = run_file,
};

/* SPDX-License-Identifier: MIT */
/* `baton bench`: one subcommand per thing that can be measured. */
#include "bench.h"

#include <stddef.h>

static const struct cmd *const subs[] = {
    &bench_lock_cmd,
    NULL,
};

static int run(const struct cmd *self, int argc, char **argv)
{
    return cmd_dispatch(self->sub, argv[0], argc, argv);
}

const struct cmd bench_cmd = {"bench", "measure locks", subs, NULL, run};

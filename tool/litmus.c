/* SPDX-License-Identifier: MIT */
/* `baton litmus`: what the memory model says of small programs. */
#include "litmus.h"

#include <stddef.h>

static const struct cmd *const subs[] = {
    &litmus_check_cmd, &litmus_fmt_cmd, &litmus_gen_cmd, &litmus_cross_cmd, &litmus_run_cmd, NULL,
};

const struct cmd litmus_cmd = {
    .name = "litmus",
    .summary = "what may an RDMA program do: check, format, generate and run litmus tests",
    .sub = subs,
};

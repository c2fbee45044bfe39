/* SPDX-License-Identifier: MIT */
/* The verbs world of a build without libibverbs: it can only say so. */
#include "fabric/world.h"

static const char *unavailable(void)
{
    return "this build is without libibverbs; install libibverbs-dev and build again";
}

const struct baton_world_ops baton_world_verbs = {
    .size = sizeof(baton_world_verbs), .name = "verbs", .unavailable = unavailable};

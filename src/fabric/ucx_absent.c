/* SPDX-License-Identifier: MIT */
/* The ucx world of a build without UCX: it can only say so. */
#include "fabric/world.h"

static const char *unavailable(void)
{
    return "this build is without UCX; install libucx-dev and build again";
}

const struct baton_world_ops baton_world_ucx = {
    .size = sizeof(baton_world_ucx), .name = "ucx", .unavailable = unavailable};

/* SPDX-License-Identifier: MIT */
/* The table of worlds of this build. */
#include "fabric/world.h"

const struct baton_world_ops *const baton_worlds[] = {
    &baton_world_shm,  &baton_world_verbs, &baton_world_ucx,
    &baton_world_step, &baton_world_sim,   NULL,
};

static const char *const names[] = {"shm", "verbs", "ucx", "step", "sim", NULL};

const char *const *baton_fabrics(void)
{
    return names;
}

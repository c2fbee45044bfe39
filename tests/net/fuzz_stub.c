/* SPDX-License-Identifier: MIT */
/*
 * What the libFuzzer target leaves out: it makes its nets itself, and has no worlds whose nodes could
 * be told of deaths.
 */
#include <stdlib.h>

#include "fabric/net_bootstrap.h"

int baton_net_bootstrap(const struct baton_cluster_opts *opts, const char *fabric,
                        struct baton_net **out)
{
    abort();
}

void baton_node_note_death(struct baton_node *node, unsigned dead)
{
    abort();
}

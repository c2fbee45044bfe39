/* SPDX-License-Identifier: MIT */
/* How the settings of a cluster become a net of processes. */
#ifndef BATON_FABRIC_NET_BOOTSTRAP_H
#define BATON_FABRIC_NET_BOOTSTRAP_H

#include "fabric/net.h"

/* 0: the net is there; 1: the settings ask for none, all nodes are in this process; else -errno. */
int baton_net_bootstrap(const struct baton_cluster_opts *opts, const char *fabric,
                        struct baton_net **out);

/* Whether a launcher that speaks PMIx has started us; and the net that it helps to make. */
bool baton_net_pmix_present(void);
int baton_net_pmix_open(const struct baton_cluster_opts *opts, const char *fabric, unsigned join_ms,
                        const char *host, struct baton_net **out);

#endif

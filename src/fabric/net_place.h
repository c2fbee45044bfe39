/* SPDX-License-Identifier: MIT */
/*
 * A meeting place for processes that one program starts on this machine: a secret of its own, and a
 * port on loopback that nobody else gets meanwhile.
 */
#ifndef BATON_FABRIC_NET_PLACE_H
#define BATON_FABRIC_NET_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct baton_net_place {
    char folder[64]; /* with the file "secret" in it */
    unsigned port;
    int reserved;      /* holds the port */
    char options[160]; /* for baton_cluster_opts.options; the process with first = 0 founds */
};

/* -errno with words. */
int baton_net_place_make(struct baton_net_place *p);
void baton_net_place_remove(struct baton_net_place *p);

/* The setting for a cluster that meets nobody, whoever has started the process. */
#define BATON_NET_ALONE "pmix=0"

/* Whether processes on that fabric meet in this way; else they know each other by the cluster's name. */
bool baton_net_meets(const char *fabric);

#endif

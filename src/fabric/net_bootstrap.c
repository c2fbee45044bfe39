/* SPDX-License-Identifier: MIT */
/* Reads the settings of a net and goes the way that they ask for. */
#include "fabric/net_bootstrap.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "fabric/net_secret.h"
#include "fabric/rendezvous.h"

#define JOIN_MS 20000

const char *baton_net_unavailable(void)
{
    return NULL;
}

static int open_rendezvous(const struct baton_cluster_opts *opts, struct rendezvous_opts *rv,
                           struct baton_net **out)
{
    char path[4096], where[RENDEZVOUS_ADDRESS];
    if (!baton_option(opts->options, "secret", path, sizeof(path)))
        return baton_fail(-EINVAL,
                          "a rendezvous needs secret=FILE too; baton secret new makes one");
    int rc = baton_net_secret_read(path, rv->key);
    if (!rc)
        rc = opts->first == 0 ? baton_rendezvous_found(rv, out, where)
                              : baton_rendezvous_join(rv, out);
    sodium_memzero(rv->key, sizeof(rv->key));
    return rc;
}

bool baton_net_given(const char *options)
{
    char text[3]; /* longer than "0" is another word than "0" */
    if (baton_option(options, "rendezvous", text, sizeof(text)))
        return true;
    if (baton_option(options, "pmix", text, sizeof(text)) && *text)
        return strcmp(text, "0") != 0;
    return baton_net_pmix_present();
}

int baton_net_bootstrap(const struct baton_cluster_opts *opts, const char *fabric,
                        struct baton_net **out)
{
    char at[256], pmix[RENDEZVOUS_ADDRESS] = "";
    struct rendezvous_opts rv = {.fabric = fabric,
                                 .nodes = opts->nodes ? opts->nodes : 16,
                                 .first = opts->first,
                                 .local = opts->local};
    long join_ms = JOIN_MS;
    int rc = baton_option_number(opts->options, "join_ms", 1, 3600000, &join_ms);
    if (rc)
        return rc;
    rv.join_ms = (unsigned)join_ms;
    if (opts->local > BATON_NET_NODES_MAX || opts->first >= (int)BATON_NET_NODES_MAX)
        return baton_fail(-EINVAL, "a cluster of processes has at most %u nodes",
                          BATON_NET_NODES_MAX);
    if (baton_option(opts->options, "rendezvous", at, sizeof(at))) {
        rv.at = at;
        return open_rendezvous(opts, &rv, out);
    }
    if (!baton_net_given(opts->options))
        return 1;
    baton_option(opts->options, "pmix", pmix, sizeof(pmix));
    return baton_net_pmix_open(opts, fabric, rv.join_ms, *pmix && strcmp(pmix, "1") ? pmix : NULL,
                               out);
}

/* SPDX-License-Identifier: MIT */
/* What a build without libsodium has in place of clusters of processes: the reason. */
#include "fabric/net_bootstrap.h"

#include <errno.h>

#include "base/options.h"

const char *baton_net_unavailable(void)
{
    return "built without libsodium, which guards the rendezvous";
}

bool baton_net_has_pmix(void)
{
    return false;
}

int baton_net_bootstrap(const struct baton_cluster_opts *opts, const char *fabric,
                        struct baton_net **out)
{
    char text[2] = "";
    bool asked = baton_option(opts->options, "rendezvous", text, sizeof(text)) ||
                 (baton_option(opts->options, "pmix", text, sizeof(text)) && *text != '0');
    return asked ? baton_fail(-EOPNOTSUPP, "%s", baton_net_unavailable()) : 1;
}

int baton_secret_create(const char *path)
{
    return baton_fail(-EOPNOTSUPP, "%s", baton_net_unavailable());
}

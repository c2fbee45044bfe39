/* SPDX-License-Identifier: MIT */
/* What a build without libsodium has in place of clusters of processes: the reason. */
#include "fabric/net_bootstrap.h"

#include <errno.h>
#include <string.h>

#include "base/options.h"

const char *baton_net_unavailable(void)
{
    return "built without libsodium, which guards the rendezvous";
}

bool baton_net_has_pmix(void)
{
    return false;
}

bool baton_net_given(const char *options)
{
    char text[3] = ""; /* longer than "0" is another word than "0" */
    return baton_option(options, "rendezvous", text, sizeof(text)) ||
           (baton_option(options, "pmix", text, sizeof(text)) && *text && strcmp(text, "0") != 0);
}

int baton_net_bootstrap(const struct baton_cluster_opts *opts, const char *fabric,
                        struct baton_net **out)
{
    return baton_net_given(opts->options) ? baton_fail(-EOPNOTSUPP, "%s", baton_net_unavailable())
                                          : 1;
}

int baton_secret_create(const char *path)
{
    return baton_fail(-EOPNOTSUPP, "%s", baton_net_unavailable());
}

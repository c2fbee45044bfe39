/* SPDX-License-Identifier: MIT */
/* What a build without libpmix has in place of the launcher's help. */
#include "fabric/net_bootstrap.h"

#include <errno.h>

bool baton_net_has_pmix(void)
{
    return false;
}

bool baton_net_pmix_present(void)
{
    return false;
}

int baton_net_pmix_open(const struct baton_cluster_opts *opts, const char *fabric, unsigned join_ms,
                        const char *host, struct baton_net **out)
{
    return baton_fail(-EOPNOTSUPP, "built without libpmix, through which mpirun and Slurm tell");
}

/* SPDX-License-Identifier: MIT */
/*
 * More threads than the kernel gives a process stacks for, where it gives as many mappings as it does unless told
 * otherwise: the run says so, and how it could have more; the cluster is as it was. Where it gives more, all run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/fabric.h>

#include "../plain_check.h"

enum { MANY = 40000, FEW = 10 };

static int body(struct baton_ep *ep, unsigned thread, void *ran)
{
    ++*(unsigned *)ran;
    return 0;
}

static int run(struct baton_cluster *cluster, unsigned threads, unsigned *ran)
{
    const struct baton_team team = {0, threads, body, ran};
    *ran = 0;
    return baton_run(cluster, &team, 1);
}

int main(void)
{
    static const char *const worlds[] = {"step", "sim"};
    for (unsigned i = 0; i < 2; i++) {
        struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
        struct baton_cluster *cluster;
        unsigned ran;
        opts.fabric = worlds[i];
        opts.nodes = 1;
        opts.arena_bytes = (size_t)MANY * 1024;
        CHECK(!baton_cluster_open(&opts, &cluster));
        int rc = run(cluster, MANY, &ran);
        printf("%s: %u of %d ran%s%s\n", worlds[i], ran, MANY, rc ? "; " : "",
               rc ? baton_error_detail() : "");
        if (rc) {
            CHECK(rc == -ENOMEM && !ran);
            CHECK(strstr(baton_error_detail(), "of 40000") &&
                  strstr(baton_error_detail(), "vm.max_map_count"));
        }
        CHECK(rc || ran == MANY);
        CHECK(!run(cluster, FEW, &ran) && ran == FEW);
        CHECK(!baton_cluster_close(cluster));
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Shows what the setting dev= of ucx stands for, in a tree like that of the kernel: a RoCE device with two ports, each
 * on an interface, and an InfiniBand device, whose port is on none.
 *
 *   usage: device_test FOLDER
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/ucx_device.h"

static int is(const char *root, const char *name, const char *net, const char *rdma)
{
    struct ucx_device d;
    baton_ucx_device_find(root, name, &d);
    if (!strcmp(d.net, net) && !strcmp(d.rdma, rdma))
        return 0;
    printf("dev=%s: interface \"%s\", device \"%s\"; not \"%s\" and \"%s\"\n", name, d.net, d.rdma,
           net, rdma);
    return 1;
}

int main(int argc, char **argv)
{
    char command[1024];
    if (argc != 2)
        return 2;
    const char *root = argv[1];
    snprintf(command, sizeof(command),
             "rm -rf '%s' && cd / && mkdir -p '%s'/roce/ports/1/gid_attrs/ndevs "
             "'%s'/roce/ports/2/gid_attrs/ndevs '%s'/ib0/ports/1/gid_attrs/ndevs && "
             "echo eth1 >'%s'/roce/ports/1/gid_attrs/ndevs/0 && "
             "echo eth2 >'%s'/roce/ports/2/gid_attrs/ndevs/0",
             root, root, root, root, root, root);
    if (system(command))
        return 1;
    int bad = is(root, "roce", "eth1", "roce:1");
    bad += is(root, "roce:2", "eth2", "roce:2");
    bad += is(root, "ib0:1", "", "ib0:1");
    bad += is(root, "eth2", "eth2", "roce:2");
    bad += is(root, "eth0", "eth0", "");
    bad += is(root, "roce:3", "roce:3", "");
    bad += is(root, "roce:", "roce:", "");
    bad += is(root, "../x", "../x", "");
    bad += is("/nowhere", "eth1", "eth1", "");
    return bad != 0;
}

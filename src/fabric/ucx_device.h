/* SPDX-License-Identifier: MIT */
/* What the setting dev= names: a network interface, or a port of an RDMA device. Either may stand for both. */
#ifndef BATON_FABRIC_UCX_DEVICE_H
#define BATON_FABRIC_UCX_DEVICE_H

#define UCX_DEVICES "/sys/class/infiniband"

struct ucx_device {
    char net[64];  /* the interface, for tcp and for connecting; empty: the port has none */
    char rdma[80]; /* "mlx5_0:1", for RDMA; empty: no RDMA device is on this interface */
};

/* `root`: UCX_DEVICES. "mlx5_0" is its port 1. What is no RDMA device is an interface. */
void baton_ucx_device_find(const char *root, const char *name, struct ucx_device *out);

#endif

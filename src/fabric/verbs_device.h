/* SPDX-License-Identifier: MIT */
/* An RDMA device with the port and the address that this process uses. */
#ifndef BATON_FABRIC_VERBS_DEVICE_H
#define BATON_FABRIC_VERBS_DEVICE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct verbs_device {
    struct ibv_context *context;
    struct ibv_device_attr attr;
    uint8_t port;
    bool ethernet; /* RoCE: every address has a GID */
    bool software; /* words are copied by a CPU, perhaps byte by byte; see fence in verbs_ep.c */
    uint8_t gid_index; /* where the address has a GID */
    union ibv_gid gid; /* ours */
    uint16_t lid;      /* ours, on InfiniBand */
    enum ibv_mtu mtu;  /* of the port, now */
    uint32_t message;  /* bytes of the longest work request */
    uint8_t reads_out; /* gets and atomics that may be outstanding on a queue pair of ours */
    uint8_t reads_in;  /* and of others, towards us */
    uint32_t inline_max;
    bool in_order;  /* a put's bytes land in rising order */
    char text[128]; /* for errors: name, port, GID and its kind */
};

/*
 * `name` null: the first that has an active port. `port` 0: its first active one. `gid` -1: chosen
 * by kind, RoCE v2 over IPv4 before RoCE v2 over IPv6 before RoCE v1.
 */
int baton_verbs_device_open(const char *name, unsigned port, int gid, struct verbs_device *out);
void baton_verbs_device_close(struct verbs_device *device);

/* Null if there is a device here, else why not. */
const char *baton_verbs_unavailable(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Which device, which port, which address. A cluster that does not start usually fails here, so each
 * refusal names what was looked at and what could be tried.
 */
#include "fabric/verbs_device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define READS_MOST 16 /* more outstanding gets than this make no queue pair faster */
#define INLINE_WANTED 64

const char *baton_verbs_unavailable(void)
{
    int n = 0;
    struct ibv_device **list = ibv_get_device_list(&n);
    if (list)
        ibv_free_device_list(list);
    return n > 0 ? NULL
                 : "no RDMA device on this machine (a software one: modprobe rdma_rxe; rdma link "
                   "add rxe0 type rxe netdev NAME)";
}

/* ---- Ports */

static int port_use(struct verbs_device *d, unsigned port)
{
    struct ibv_port_attr attr;
    int rc = ibv_query_port(d->context, (uint8_t)port, &attr);
    if (rc)
        return -rc;
    if (attr.state != IBV_PORT_ACTIVE)
        return -ENETDOWN;
    d->port = (uint8_t)port;
    d->ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET;
    d->lid = attr.lid;
    d->mtu = attr.active_mtu;
    d->message = attr.max_msg_sz;
    return 0;
}

static int port_choose(struct verbs_device *d, const char *name, unsigned wanted)
{
    unsigned ports = d->attr.phys_port_cnt;
    if (wanted > ports)
        return baton_fail(-EINVAL, "device %s has %u ports; port=%u does not exist", name, ports,
                          wanted);
    for (unsigned p = wanted ? wanted : 1; p <= (wanted ? wanted : ports); p++)
        if (!port_use(d, p))
            return 0;
    if (wanted)
        return baton_fail(-EHOSTDOWN,
                          "device %s port %u is not active; bring its link up (ip link set .. up) "
                          "or choose another one with device=, port=",
                          name, wanted);
    return baton_fail(-EHOSTDOWN,
                      "device %s has no active port; bring its link up (ip link set .. up) or "
                      "choose another one with device=",
                      name);
}

/* ---- Addresses */

static const char *kind_of(const struct ibv_gid_entry *e)
{
    switch (e->gid_type) {
    case IBV_GID_TYPE_ROCE_V2:
        return "RoCE v2";
    case IBV_GID_TYPE_ROCE_V1:
        return "RoCE v1";
    default:
        return "InfiniBand";
    }
}

static bool is_ipv4(const union ibv_gid *gid)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return !memcmp(gid->raw, mapped, sizeof(mapped));
}

/* RoCE v1 does not pass routers, and IPv4 addresses are those that people have set up on purpose. */
static int rank_of(const struct ibv_gid_entry *e)
{
    if (e->gid_type != IBV_GID_TYPE_ROCE_V2)
        return 1;
    return is_ipv4(&e->gid) ? 3 : 2;
}

static int gid_choose(struct verbs_device *d, const char *name, int wanted)
{
    struct ibv_gid_entry entries[128], *best = NULL;
    ssize_t n = ibv_query_gid_table(d->context, entries, 128, 0);
    for (ssize_t i = 0; i < n; i++) {
        struct ibv_gid_entry *e = &entries[i];
        if (e->port_num != d->port || (wanted >= 0 && e->gid_index != (uint32_t)wanted))
            continue;
        if (!best || rank_of(e) > rank_of(best))
            best = e;
    }
    if (!best && !d->ethernet && wanted < 0) {
        snprintf(d->text, sizeof(d->text), "device %s port %u lid %u", name, d->port, d->lid);
        return 0;
    }
    if (!best && wanted >= 0)
        return baton_fail(-EINVAL,
                          "device %s port %u has no GID with index %d; ibv_devinfo -v lists those "
                          "that it has",
                          name, d->port, wanted);
    if (!best)
        return baton_fail(-EHOSTDOWN,
                          "device %s port %u has no GID; give its network interface an address",
                          name, d->port);
    d->gid = best->gid;
    d->gid_index = (uint8_t)best->gid_index;
    snprintf(d->text, sizeof(d->text), "device %s port %u GID index %u (%s)", name, d->port,
             d->gid_index, kind_of(best));
    return 0;
}

/* ---- What the device can do */

static uint8_t at_most(int value, int limit)
{
    return (uint8_t)(value < 0 ? 0 : value < limit ? value : limit);
}

/* Only a queue pair tells how much it takes inline; devices differ in whether they round down. */
static int look_at_queue_pair(struct verbs_device *d)
{
    int rc = -EOPNOTSUPP;
    struct ibv_pd *pd = ibv_alloc_pd(d->context);
    struct ibv_cq *cq = pd ? ibv_create_cq(d->context, 2, NULL, NULL, 0) : NULL;
    for (uint32_t bytes = INLINE_WANTED; cq && rc; bytes /= 2) {
        struct ibv_qp_init_attr init = {.send_cq = cq,
                                        .recv_cq = cq,
                                        .cap = {.max_send_wr = 2,
                                                .max_recv_wr = 1,
                                                .max_send_sge = 1,
                                                .max_recv_sge = 1,
                                                .max_inline_data = bytes},
                                        .qp_type = IBV_QPT_RC};
        struct ibv_qp *qp = ibv_create_qp(pd, &init);
        if (qp) {
            d->inline_max = bytes;
            d->in_order = ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0) > 0;
            ibv_destroy_qp(qp);
            rc = 0;
        } else if (!bytes) {
            break;
        }
    }
    if (rc)
        rc = baton_fail(-EOPNOTSUPP, "%s makes no reliable queue pair: %s", d->text,
                        strerror(errno));
    if (cq)
        ibv_destroy_cq(cq);
    if (pd)
        ibv_dealloc_pd(pd);
    return rc;
}

/* The software devices of the Linux kernel, which copy with the CPU, as their makers number them. */
static bool is_software(const struct ibv_device_attr *attr)
{
    return attr->vendor_id == 0xffffff || attr->vendor_id == 0x626d74 || !attr->vendor_id;
}

static int device_use(struct ibv_device *device, unsigned port, int gid, struct verbs_device *out)
{
    const char *name = ibv_get_device_name(device);
    *out = (struct verbs_device){.context = ibv_open_device(device)};
    if (!out->context)
        return baton_fail(errno == EACCES || errno == EPERM ? -EPERM : -EHOSTDOWN,
                          "device %s can not be opened: %s; look at the rights of "
                          "/dev/infiniband/uverbs*",
                          name, strerror(errno));
    int rc = -ibv_query_device(out->context, &out->attr);
    if (!rc)
        rc = port_choose(out, name, port);
    if (!rc)
        rc = gid_choose(out, name, gid);
    if (!rc)
        rc = look_at_queue_pair(out);
    if (rc) {
        ibv_close_device(out->context);
        return rc;
    }
    out->software = is_software(&out->attr);
    out->reads_out = at_most(out->attr.max_qp_init_rd_atom, READS_MOST);
    out->reads_in = at_most(out->attr.max_qp_rd_atom, READS_MOST);
    return 0;
}

int baton_verbs_device_open(const char *name, unsigned port, int gid, struct verbs_device *out)
{
    int n = 0, rc = -ENOENT;
    struct ibv_device **list = ibv_get_device_list(&n);
    char all[96] = "";
    for (int i = 0; i < n; i++) {
        const char *has = ibv_get_device_name(list[i]);
        size_t used = strlen(all);
        snprintf(all + used, sizeof(all) - used, " %s", has);
        if (name && strcmp(name, has))
            continue;
        rc = device_use(list[i], port, gid, out);
        if (!rc || name)
            break;
    }
    if (list)
        ibv_free_device_list(list);
    if (rc == -ENOENT)
        rc = name && n > 0 ? baton_fail(-EHOSTDOWN, "no RDMA device %s; there is:%s", name, all)
                           : baton_fail(-EOPNOTSUPP, "%s", "no RDMA device on this machine");
    return rc;
}

void baton_verbs_device_close(struct verbs_device *device)
{
    ibv_close_device(device->context);
}

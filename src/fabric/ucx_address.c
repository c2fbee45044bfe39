/* SPDX-License-Identifier: MIT */
/*
 * Over which interface nodes are reached. The data plane shows itself no further than the net that the cluster
 * has met over: on loopback unless told otherwise, and else where this process is a member; or on the interface
 * that the user names.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "fabric/ucx_world.h"

/* The bytes of an IP address; null for anything else. */
static const void *ip_of(const struct sockaddr *a, size_t *bytes)
{
    if (a && a->sa_family == AF_INET) {
        *bytes = sizeof(struct in_addr);
        return &((const struct sockaddr_in *)a)->sin_addr;
    }
    if (a && a->sa_family == AF_INET6) {
        *bytes = sizeof(struct in6_addr);
        return &((const struct sockaddr_in6 *)a)->sin6_addr;
    }
    return NULL;
}

static bool is_any(const void *ip, size_t bytes)
{
    static const uint8_t zero[sizeof(struct in6_addr)];
    return !memcmp(ip, zero, bytes);
}

static bool fits(const struct ifaddrs *i, const char *dev, const void *ip, size_t bytes)
{
    size_t size = 0;
    const void *its = i->ifa_flags & IFF_UP ? ip_of(i->ifa_addr, &size) : NULL;
    if (!its)
        return false;
    if (*dev)
        return !strcmp(i->ifa_name, dev) && size == sizeof(struct in_addr);
    return size == bytes && !memcmp(its, ip, bytes);
}

int baton_ucx_interface(const struct ucx_world *w, char *dev, size_t room)
{
    struct sockaddr_storage here;
    struct ifaddrs *list;
    size_t bytes = 0;
    int rc = baton_net_here(w->net, &here);
    if (rc)
        return rc;
    const void *ip = ip_of((const struct sockaddr *)&here, &bytes);
    const bool named = *dev;
    if (!named && is_any(ip, bytes))
        return 0;
    if (getifaddrs(&list))
        return baton_fail(-errno, "the interfaces of this machine: %s", strerror(errno));
    const struct ifaddrs *i = list;
    while (i && !fits(i, dev, ip, bytes))
        i = i->ifa_next;
    if (i)
        snprintf(dev, room, "%s", i->ifa_name);
    else if (named)
        rc = baton_fail(-EHOSTDOWN, "dev=%s: no interface of that name has an IPv4 address", dev);
    freeifaddrs(list);
    return rc;
}

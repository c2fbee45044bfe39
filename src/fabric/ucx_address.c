/* SPDX-License-Identifier: MIT */
/*
 * Where nodes listen. The data plane shows itself no further than the net that the cluster has met over:
 * on loopback unless told otherwise, and else at the address where this process is a member; or on the
 * interface that the user names.
 */
#include <arpa/inet.h>
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

static void set(struct sockaddr_storage *out, sa_family_t family, const void *ip, in_port_t port)
{
    memset(out, 0, sizeof(*out));
    if (family == AF_INET6) {
        struct sockaddr_in6 *a = (struct sockaddr_in6 *)out;
        a->sin6_port = port;
        memcpy(&a->sin6_addr, ip, sizeof(a->sin6_addr));
    } else {
        struct sockaddr_in *a = (struct sockaddr_in *)out;
        a->sin_port = port;
        memcpy(&a->sin_addr, ip, sizeof(a->sin_addr));
    }
    out->ss_family = family;
}

static bool is_any(const void *ip, size_t bytes)
{
    static const uint8_t zero[sizeof(struct in6_addr)];
    return !memcmp(ip, zero, bytes);
}

/* ---- Cards */

void baton_ucx_card_place(struct ucx_card *card, const struct sockaddr_storage *at)
{
    size_t bytes = 0;
    const void *ip = ip_of((const struct sockaddr *)at, &bytes);
    card->family = at->ss_family;
    card->port = at->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)at)->sin6_port
                                           : ((const struct sockaddr_in *)at)->sin_port;
    if (ip)
        memcpy(card->address, ip, bytes);
}

int baton_ucx_card_address(const struct ucx_world *w, unsigned node, const struct ucx_card *card,
                           struct sockaddr_storage *out, socklen_t *size)
{
    size_t bytes = card->family == AF_INET6 ? sizeof(struct in6_addr) : sizeof(struct in_addr);
    sa_family_t family = card->family;
    const void *ip = card->address;
    struct sockaddr_storage known;
    if (is_any(ip, bytes)) {
        int rc = baton_net_address(w->net, node, &known);
        if (rc)
            return rc;
        family = known.ss_family;
        ip = ip_of((const struct sockaddr *)&known, &bytes);
    }
    set(out, family, ip, card->port);
    *size = family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    return 0;
}

/* ---- Here */

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

int baton_ucx_address_here(struct ucx_world *w, char *dev, size_t room)
{
    struct ifaddrs *list;
    size_t bytes = 0;
    int rc = baton_net_here(w->net, &w->here);
    if (rc)
        return rc;
    const void *ip = ip_of((const struct sockaddr *)&w->here, &bytes);
    const bool named = *dev;
    if (!named && is_any(ip, bytes))
        return 0;
    if (getifaddrs(&list))
        return baton_fail(-errno, "the interfaces of this machine: %s", strerror(errno));
    const struct ifaddrs *i = list;
    while (i && !fits(i, dev, ip, bytes))
        i = i->ifa_next;
    if (i) {
        size_t size;
        const void *its = ip_of(i->ifa_addr, &size);
        set(&w->here, i->ifa_addr->sa_family, its, 0);
        snprintf(dev, room, "%s", i->ifa_name);
    } else if (named) {
        rc = baton_fail(-EHOSTDOWN, "dev=%s: no interface of that name has an IPv4 address", dev);
    }
    freeifaddrs(list);
    return rc;
}

/* SPDX-License-Identifier: MIT */
/* Interfaces and RDMA devices, as the kernel pairs them. */
#include "fabric/ucx_device.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The interface of the first GID of a port; empty where it has none, as with InfiniBand. */
static void read_interface(const char *root, const char *device, unsigned port, char *out,
                           size_t room)
{
    char path[512];
    *out = 0;
    if (snprintf(path, sizeof(path), "%s/%s/ports/%u/gid_attrs/ndevs/0", root, device, port) >=
        (int)sizeof(path))
        return;
    FILE *f = fopen(path, "re");
    if (!f)
        return;
    if (!fgets(out, (int)room, f))
        *out = 0;
    out[strcspn(out, "\n")] = 0;
    fclose(f);
}

static bool has_port(const char *root, const char *device, unsigned port)
{
    char path[512];
    int n = snprintf(path, sizeof(path), "%s/%s/ports/%u", root, device, port);
    DIR *d = n < (int)sizeof(path) ? opendir(path) : NULL;
    if (d)
        closedir(d);
    return d != NULL;
}

/* "NAME:PORT", or NAME for its first port. */
static bool is_device(const char *root, const char *name, struct ucx_device *out)
{
    char device[64], *end;
    size_t n = strcspn(name, ":");
    unsigned long port = name[n] ? strtoul(name + n + 1, &end, 10) : 1;
    if (!n || n >= sizeof(device) || memchr(name, '/', n) || (name[n] && (!name[n + 1] || *end)) ||
        port > 255)
        return false;
    snprintf(device, sizeof(device), "%.*s", (int)n, name);
    if (!has_port(root, device, (unsigned)port))
        return false;
    snprintf(out->rdma, sizeof(out->rdma), "%s:%lu", device, port);
    read_interface(root, device, (unsigned)port, out->net, sizeof(out->net));
    return true;
}

static bool is_on(const char *root, const char *device, const char *interface,
                  struct ucx_device *out)
{
    char net[sizeof(out->net)];
    for (unsigned port = 1; has_port(root, device, port); port++) {
        read_interface(root, device, port, net, sizeof(net));
        if (strcmp(net, interface))
            continue;
        snprintf(out->rdma, sizeof(out->rdma), "%.64s:%u", device, port);
        return true;
    }
    return false;
}

void baton_ucx_device_find(const char *root, const char *name, struct ucx_device *out)
{
    *out = (struct ucx_device){{0}, {0}};
    if (is_device(root, name, out))
        return;
    snprintf(out->net, sizeof(out->net), "%s", name);
    DIR *all = opendir(root);
    for (const struct dirent *e; all && (e = readdir(all));)
        if (*e->d_name != '.' && is_on(root, e->d_name, name, out))
            break;
    if (all)
        closedir(all);
}

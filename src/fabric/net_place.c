/* SPDX-License-Identifier: MIT */
/* Meeting places on this machine. */
#include "fabric/net_place.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <baton/fabric.h>

#include "base/error.h"

/*
 * A socket that is bound and does not listen keeps the port from those who ask for any, and lets node
 * 0, which sets SO_REUSEADDR too, have it.
 */
static int reserve_port(struct baton_net_place *p)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(a);
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
        bind(fd, (struct sockaddr *)&a, size) || getsockname(fd, (struct sockaddr *)&a, &size)) {
        int rc = baton_fail(-errno, "a port on loopback: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return rc;
    }
    p->reserved = fd;
    p->port = ntohs(a.sin_port);
    return 0;
}

int baton_net_place_make(struct baton_net_place *p)
{
    char path[sizeof(p->folder) + 8];
    const char *parent = getenv("TMPDIR");
    if (!parent || strlen(parent) > sizeof(p->folder) - 16 || strchr(parent, ','))
        parent = "/tmp";
    snprintf(p->folder, sizeof(p->folder), "%s/baton-XXXXXX", parent);
    if (!mkdtemp(p->folder))
        return baton_fail(-errno, "%s: %s", p->folder, strerror(errno));
    snprintf(path, sizeof(path), "%s/secret", p->folder);
    int rc = baton_secret_create(path);
    if (rc)
        goto no_secret;
    rc = reserve_port(p);
    if (rc)
        goto no_port;
    snprintf(p->options, sizeof(p->options), "rendezvous=127.0.0.1:%u,secret=%s", p->port, path);
    return 0;
no_port:
    unlink(path);
no_secret:
    rmdir(p->folder);
    return rc;
}

void baton_net_place_remove(struct baton_net_place *p)
{
    char path[sizeof(p->folder) + 8];
    snprintf(path, sizeof(path), "%s/secret", p->folder);
    unlink(path);
    rmdir(p->folder);
    close(p->reserved);
}

bool baton_net_meets(const char *fabric)
{
    return !strcmp(fabric, "verbs") || !strcmp(fabric, "ucx");
}

/* SPDX-License-Identifier: MIT */
/* Where the nodes of a test meet. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "net_test.h"

unsigned place_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)&a, size) &&
          !getsockname(fd, (struct sockaddr *)&a, &size));
    close(fd);
    return ntohs(a.sin_port);
}

void place_make(struct place *p)
{
    char path[80];
    strcpy(p->folder, "/tmp/baton-net-XXXXXX");
    CHECK(mkdtemp(p->folder));
    snprintf(path, sizeof(path), "%s/secret", p->folder);
    CHECK(!baton_secret_create(path));
    p->port = place_port();
    snprintf(p->options, sizeof(p->options), "rendezvous=127.0.0.1:%u,secret=%s,join_ms=10000",
             p->port, path);
}

void place_remove(struct place *p)
{
    char path[80];
    snprintf(path, sizeof(path), "%s/secret", p->folder);
    unlink(path);
    rmdir(p->folder);
}

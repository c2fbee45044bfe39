/* SPDX-License-Identifier: MIT */
/* TCP sockets of a rendezvous. Those in use never block; set-up waits in poll, with a deadline. */
#include "fabric/rendezvous.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

int baton_rv_split(const char *at, char host[RENDEZVOUS_ADDRESS], char port[8])
{
    const char *colon = strrchr(at, ':');
    const char *begin = at, *end = colon;
    if (colon && *at == '[' && colon > at + 1 && colon[-1] == ']') {
        begin = at + 1;
        end = colon - 1;
    }
    size_t number = colon ? strspn(colon + 1, "0123456789") : 0;
    if (!number || number > 5 || colon[1 + number] || end - begin >= RENDEZVOUS_ADDRESS)
        return baton_fail(-EINVAL, "rendezvous \"%s\": HOST:PORT is needed", at);
    /* Nobody but this machine, unless told otherwise. */
    snprintf(host, RENDEZVOUS_ADDRESS, "%.*s", (int)(end - begin), begin);
    if (!*host)
        strcpy(host, "127.0.0.1");
    snprintf(port, 8, "%s", colon + 1);
    return 0;
}

static int resolve(const char *host, const char *port, int flags, struct addrinfo **out)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    int rc = getaddrinfo(host, port, &hints, out);
    return rc ? baton_fail(-EINVAL, "host \"%s\": %s", host, gai_strerror(rc)) : 0;
}

int baton_rv_listen(const char *host, const char *port, int *out)
{
    struct addrinfo *list;
    int on = 1, rc = resolve(host, port, AI_PASSIVE, &list);
    if (rc)
        return rc;
    rc = -EADDRNOTAVAIL;
    for (struct addrinfo *a = list; a && rc; a = a->ai_next) {
        int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) {
            rc = -errno;
            continue;
        }
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, SOMAXCONN)) {
            rc = baton_fail(-errno, "listening at %s port %s: %s", host, port, strerror(errno));
            close(fd);
        } else {
            rc = 0;
            *out = fd;
        }
    }
    freeaddrinfo(list);
    return rc;
}

int baton_rv_name(int fd, char host[RENDEZVOUS_ADDRESS], char port[8])
{
    struct sockaddr_storage name;
    socklen_t size = sizeof(name);
    if (getsockname(fd, (struct sockaddr *)&name, &size) ||
        getnameinfo((struct sockaddr *)&name, size, host, RENDEZVOUS_ADDRESS - 8, port, 8,
                    NI_NUMERICHOST | NI_NUMERICSERV))
        return baton_fail(-EIO, "the address of our end of a connection is not known");
    return 0;
}

/*
 * The kernel asks a silent machine each second: a process that is stopped for a while still has a kernel that
 * answers, and is not dead. What is lost on its way counts anew from when it is first sent again, and nothing
 * is asked until then, so the kernel's own limit of four seconds may take eight: see baton_rv_silence.
 */
void baton_rv_tune(int fd)
{
    int on = 1, idle = 1, count = 3;
    unsigned silent_ms = 4000;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent_ms, sizeof(silent_ms));
}

/* *asked: since then it has been asked in vain, or what was sent to it is being sent again. */
unsigned baton_rv_silence(const struct rv_peer *p, bool *asked)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);
    *asked = false;
    if (getsockopt(p->fd, IPPROTO_TCP, TCP_INFO, &info, &size))
        return 0;
    *asked = info.tcpi_probes || info.tcpi_retransmits;
    return info.tcpi_last_ack_recv < info.tcpi_last_data_recv ? info.tcpi_last_ack_recv
                                                              : info.tcpi_last_data_recv;
}

/* Until the socket is ready or the deadline has passed; it is looked at at least once. */
static int wait_ready(int fd, short events, uint64_t deadline_ns)
{
    for (;;) {
        struct pollfd p = {fd, events, 0};
        uint64_t now = baton_clock_ns();
        uint64_t ms = now < deadline_ns ? (deadline_ns - now) / 1000000u + 1 : 0;
        int n = poll(&p, 1, ms < 60000 ? (int)ms : 60000);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0 && ms == 0)
            return -ETIMEDOUT;
    }
}

static int dial_one(const struct addrinfo *a, uint64_t deadline_ns, int *out)
{
    int error = 0, rc = 0;
    socklen_t size = sizeof(error);
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, a->ai_addr, a->ai_addrlen))
        rc = errno == EINPROGRESS ? wait_ready(fd, POLLOUT, deadline_ns) : -errno;
    if (!rc && !getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))
        rc = -error;
    if (rc) {
        close(fd);
        return rc;
    }
    baton_rv_tune(fd);
    *out = fd;
    return 0;
}

int baton_rv_dial(const char *host, const char *port, uint64_t deadline_ns, int *fd)
{
    struct addrinfo *list;
    int rc = resolve(host, port, 0, &list);
    if (rc)
        return rc;
    rc = -EADDRNOTAVAIL;
    for (struct addrinfo *a = list; a && rc; a = a->ai_next)
        rc = dial_one(a, deadline_ns, fd);
    freeaddrinfo(list);
    return rc ? baton_fail(rc, "connecting to %s port %s: %s", host, port, strerror(-rc)) : 0;
}

int baton_rv_send(struct rv_peer *p)
{
    while (p->link.out_size) {
        ssize_t n = send(p->fd, p->link.out, p->link.out_size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            baton_net_link_left(&p->link, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            return 0;
        else if (n < 0 && errno != EINTR)
            return baton_fail(-errno, "sending to a node: %s", strerror(errno));
    }
    return 0;
}

int baton_rv_receive(struct rv_peer *p)
{
    size_t room;
    uint8_t *at = baton_net_link_room(&p->link, &room);
    ssize_t n = recv(p->fd, at, room, MSG_DONTWAIT);
    if (n > 0) {
        baton_net_link_came(&p->link, (size_t)n);
        return 1;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return n ? baton_fail(-errno, "receiving from a node: %s", strerror(errno))
             : baton_fail(-ECONNRESET, "the other end has closed the connection");
}

/* What has come while this process was kept from looking is taken, but nobody is listened to for ever. */
int baton_rv_await(struct rv_peer *p, uint64_t deadline_ns, struct net_message *m)
{
    for (bool late = false;;) {
        int rc = baton_net_link_next(&p->link, m);
        if (rc)
            return rc < 0 ? rc : 0;
        rc = late ? -ETIMEDOUT : baton_rv_send(p);
        late = baton_clock_ns() >= deadline_ns;
        if (!rc)
            rc = wait_ready(p->fd, p->link.out_size ? POLLIN | POLLOUT : POLLIN, deadline_ns);
        if (rc)
            return baton_fail(rc, "a node does not answer: %s", strerror(-rc));
        rc = baton_rv_receive(p);
        if (rc < 0)
            return rc;
    }
}

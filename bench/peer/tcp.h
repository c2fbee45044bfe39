/* SPDX-License-Identifier: MIT */
/* A connection to a server on this machine, for the clients of bench/peers that speak over sockets. */
#ifndef BATON_BENCH_PEER_TCP_H
#define BATON_BENCH_PEER_TCP_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct tcp {
    int fd;
    size_t n; /* bytes of the answer so far */
    char answer[8192];
};

static inline int tcp_open(struct tcp *t, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((unsigned short)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    t->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (t->fd < 0 || connect(t->fd, (struct sockaddr *)&to, sizeof(to))) {
        perror("connecting to the server");
        return 1;
    }
    setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return 0;
}

static inline int tcp_send(struct tcp *t, const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t sent = write(t->fd, text, bytes);
        if (sent <= 0) {
            perror("writing to the server");
            return 1;
        }
        text += sent;
        bytes -= (size_t)sent;
    }
    t->n = 0;
    return 0;
}

/* More of the answer, which stays a string. */
static inline int tcp_more(struct tcp *t)
{
    ssize_t got = read(t->fd, t->answer + t->n, sizeof(t->answer) - 1 - t->n);
    if (got <= 0) {
        fprintf(stderr, "the server has ended the connection\n");
        return 1;
    }
    t->n += (size_t)got;
    t->answer[t->n] = 0;
    return 0;
}

#endif

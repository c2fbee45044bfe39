/* SPDX-License-Identifier: MIT */
/*
 * The lock service of etcd for bench/peers, through the JSON gateway: one lease a client, then lock and unlock over
 * a connection that stays open. The service lets a client wait until its turn has come.
 *
 *   usage: etcd_peer NAME WAY VERSION CLIENTS SECONDS PORT
 */
#include "peer.h"
#include "tcp.h"

struct client {
    struct peer_client *peer;
    struct tcp tcp;
    int port;
    char lease[32];
};

/* The text of a member "name":"text" of the answer. */
static int member(const struct tcp *t, const char *name, char *out, size_t bytes)
{
    char head[32];
    snprintf(head, sizeof(head), "\"%s\":\"", name);
    const char *at = strstr(t->answer, head);
    if (!at) {
        fprintf(stderr, "etcd: no \"%s\" in: %s\n", name, t->answer);
        return 1;
    }
    at += strlen(head);
    snprintf(out, bytes, "%.*s", (int)strcspn(at, "\""), at);
    return 0;
}

static int post(struct client *c, const char *path, const char *json)
{
    char request[1024];
    int n = snprintf(request, sizeof(request),
                     "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     path, c->port, strlen(json), json);
    if (tcp_send(&c->tcp, request, (size_t)n))
        return 1;
    for (;;) {
        if (tcp_more(&c->tcp))
            return 1;
        const char *body = strstr(c->tcp.answer, "\r\n\r\n");
        const char *length = strstr(c->tcp.answer, "Content-Length: ");
        if (!body)
            continue;
        if (!length || length > body) {
            fprintf(stderr, "etcd: an answer without a length: %s\n", c->tcp.answer);
            return 1;
        }
        if (strlen(body + 4) >= strtoul(length + 16, NULL, 10))
            break;
    }
    if (!strncmp(c->tcp.answer, "HTTP/1.1 200", 12))
        return 0;
    fprintf(stderr, "etcd: %s\n", c->tcp.answer);
    return 1;
}

static int pair(void *arg)
{
    struct client *c = ((struct peer_client *)arg)->arg;
    char json[256], key[160];
    snprintf(json, sizeof(json), "{\"name\":\"YmF0b24=\",\"lease\":\"%s\"}", c->lease);
    if (post(c, "/v3/lock/lock", json) || member(&c->tcp, "key", key, sizeof(key)))
        return 1;
    peer_section(c->peer);
    snprintf(json, sizeof(json), "{\"key\":\"%s\"}", key);
    return post(c, "/v3/lock/unlock", json);
}

static int body(struct peer_client *peer)
{
    struct client c = {.peer = peer, .port = *(const int *)peer->arg};
    if (tcp_open(&c.tcp, c.port) || post(&c, "/v3/lease/grant", "{\"TTL\":\"120\"}") ||
        member(&c.tcp, "ID", c.lease, sizeof(c.lease)))
        return 1;
    peer->arg = &c;
    return peer_begin(peer, pair);
}

int main(int argc, char **argv)
{
    if (argc < 7)
        return 2;
    int port = atoi(argv[6]);
    return peer_run(argv[1], argv[2], argv[3], (unsigned)atoi(argv[4]), atof(argv[5]), body, &port);
}

/* SPDX-License-Identifier: MIT */
/*
 * A lock in Redis for bench/peers, as its documentation has it: SET with NX and an expiry, tried again until it
 * works, and a script that deletes the key if it is ours still.
 *
 *   usage: redis_peer NAME WAY VERSION CLIENTS SECONDS PORT
 */
#include "peer.h"
#include "tcp.h"

static const char script[] = "if redis.call('get',KEYS[1])==ARGV[1] then "
                             "return redis.call('del',KEYS[1]) else return 0 end";

struct client {
    struct peer_client *peer;
    struct tcp tcp;
    char sha[41];
    char set[160], release[256];
    size_t set_bytes, release_bytes;
};

/* One line of answer; a bulk string has one more behind its length. */
static int ask(struct tcp *t, const char *command, size_t bytes)
{
    if (tcp_send(t, command, bytes))
        return 1;
    for (unsigned lines = 1;;) {
        unsigned seen = 0;
        if (tcp_more(t))
            return 1;
        for (size_t i = 0; i < t->n; i++)
            seen += t->answer[i] == '\n';
        if (t->answer[0] == '$' && t->answer[1] != '-')
            lines = 2;
        if (seen >= lines)
            break;
    }
    if (t->answer[0] != '-')
        return 0;
    fprintf(stderr, "redis: %s", t->answer);
    return 1;
}

static int pair(void *arg)
{
    struct client *c = ((struct peer_client *)arg)->arg;
    do
        if (ask(&c->tcp, c->set, c->set_bytes))
            return 1;
    while (c->tcp.answer[0] != '+');
    peer_section(c->peer);
    return ask(&c->tcp, c->release, c->release_bytes);
}

static int body(struct peer_client *peer)
{
    struct client c = {.peer = peer};
    char token[24], load[300];
    if (tcp_open(&c.tcp, *(const int *)peer->arg))
        return 1;
    int n = snprintf(load, sizeof(load), "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
                     strlen(script), script);
    if (ask(&c.tcp, load, (size_t)n) || sscanf(c.tcp.answer, "$40 %40s", c.sha) != 1)
        return 1;
    snprintf(token, sizeof(token), "client-%06u", peer->number);
    c.set_bytes = (size_t)snprintf(
        c.set, sizeof(c.set),
        "*6\r\n$3\r\nSET\r\n$5\r\nbaton\r\n$13\r\n%s\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n",
        token);
    c.release_bytes = (size_t)snprintf(
        c.release, sizeof(c.release),
        "*5\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$5\r\nbaton\r\n$13\r\n%s\r\n", c.sha,
        token);
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

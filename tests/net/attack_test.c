/* SPDX-License-Identifier: MIT */
/*
 * Shows that whoever comes to the rendezvous port, or to that of another node, without the secret or
 * with bad manners loses the connection, soon, and that the cluster lives: garbage of many lengths, a
 * wrong secret, a recorded conversation said again, a prefix of the hand-shake and then silence, one
 * byte at a time, a hundred connections that say nothing, and a member's words changed on the way.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include "base/random.h"
#include "net_test.h"

static struct baton_net_place place;
static struct child a, b;
static struct baton_random dice;

static int dial(unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof(to)));
    return fd;
}

/* Reads until the other end closes; false: it has not. */
static bool closes(int fd)
{
    uint64_t end = test_now() + PATIENCE_NS;
    char rest[4096];
    for (;;) {
        struct pollfd p = {fd, POLLIN, 0};
        uint64_t now = test_now();
        if (now >= end)
            return false;
        if (poll(&p, 1, (int)((end - now) / 1000000u) + 1) > 0 && read(fd, rest, sizeof(rest)) <= 0)
            return true;
    }
}

/* The cluster does what a cluster does, and a new node can join and leave. */
static void lives(void)
{
    static int round;
    struct child c = child_start();
    CHECK_IS(child_ask(&a, "publish 0 n%d 1", ++round), 0);
    CHECK_IS(child_ask(&b, "find n%d", round), 0);
    CHECK_IS(child_ask(&b, "withdraw 1 n%d", round), -ENOENT);
    CHECK_IS(child_ask(&a, "gone"), 0);
    CHECK_IS(child_ask(&c, "open %s|-1|0|0", place.options), 0);
    CHECK_IS(child_ask(&c, "find n%d", round), 0);
    child_end(&c);
}

/* The port at which the second node listens: the one of its sockets that is not node 0's. */
static unsigned port_of(pid_t pid)
{
    char command[200], line[64] = "";
    snprintf(
        command, sizeof(command),
        "for i in $(ls -l /proc/%d/fd 2>/dev/null | sed -n 's/.*socket:.\\([0-9]*\\).*/\\1/p'); do "
        "awk -v i=$i '$10 == i && $4 == \"0A\" {split($2,p,\":\"); print p[2]}' /proc/net/tcp; "
        "done",
        (int)pid);
    FILE *f = popen(command, "r");
    CHECK(f);
    if (!fgets(line, sizeof(line), f))
        *line = 0;
    pclose(f);
    return (unsigned)strtoul(line, NULL, 16);
}

static void garbage(unsigned port)
{
    for (int round = 0; round < 60; round++) {
        uint8_t bytes[4096];
        size_t size = round < 20 ? (size_t)round * 10 : 1 + (size_t)baton_random_below(&dice, 4096);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)baton_random_next(&dice);
        if (round % 3 == 0) /* right up to a point */
            memcpy(bytes, "batonnet\1\0\0\1", size < 12 ? size : 12);
        int fd = dial(port);
        if (size)
            CHECK(send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size);
        shutdown(fd, SHUT_WR);
        CHECK(closes(fd));
        close(fd);
    }
}

static void wrong_secret(void)
{
    char path[96];
    struct child c = child_start();
    snprintf(path, sizeof(path), "%s/wrong", place.folder);
    CHECK(!baton_secret_create(path));
    CHECK_IS(child_ask(&c, "open rendezvous=127.0.0.1:%u,secret=%s|-1|0|0", place.port, path),
             -EPERM);
    unlink(path);
    child_end(&c);
}

/* Stands between a node and the cluster; what the node says is kept. -1: passes all on, else turns
 * over one bit of that byte of what it says. */
struct record {
    uint8_t bytes[65536];
    size_t size;
};

static int listen_any(unsigned *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)&at, size) && !listen(fd, 4) &&
          !getsockname(fd, (struct sockaddr *)&at, &size));
    *port = ntohs(at.sin_port);
    return fd;
}

static void relay(int listener, struct record *said, long spoil)
{
    uint8_t bytes[4096];
    int in = accept(listener, NULL, NULL), out = dial(place.port);
    CHECK(in >= 0);
    said->size = 0;
    for (;;) {
        struct pollfd p[2] = {{in, POLLIN, 0}, {out, POLLIN, 0}};
        CHECK(poll(p, 2, 20000) > 0);
        ssize_t n = 0;
        if (p[0].revents) {
            n = read(in, bytes, sizeof(bytes));
            if (n <= 0)
                break;
            for (ssize_t i = 0; i < n; i++, said->size++) {
                if ((long)said->size == spoil)
                    bytes[i] ^= 1;
                if (said->size < sizeof(said->bytes))
                    said->bytes[said->size] = bytes[i];
            }
            send(out, bytes, (size_t)n, MSG_NOSIGNAL);
        } else {
            n = read(out, bytes, sizeof(bytes));
            if (n <= 0)
                break;
            send(in, bytes, (size_t)n, MSG_NOSIGNAL);
        }
    }
    close(in);
    close(out);
}

static void replay(void)
{
    static struct record said, ignored;
    unsigned port;
    int listener = listen_any(&port);
    struct child c = child_start();
    child_tell(&c, "open rendezvous=127.0.0.1:%u,secret=%s/secret|-1|0|0", port, place.folder);
    fflush(NULL);
    pid_t helper = fork();
    CHECK(helper >= 0);
    if (!helper) { /* ends the conversation once it has seen all of the way in, and the way out */
        relay(listener, &said, -1);
        int fd = dial(place.port);
        send(fd, said.bytes, said.size, MSG_NOSIGNAL);
        shutdown(fd, SHUT_WR);
        exit(said.size > 200 && closes(fd) ? 0 : 1);
    }
    CHECK_IS(child_hear(&c), 0);
    child_end(&c);
    int status;
    CHECK(waitpid(helper, &status, 0) == helper && WIFEXITED(status) && !WEXITSTATUS(status));

    /* The same with a byte changed, in hello, proof and the wish to join. */
    static const long at[] = {3, 30, 70, 100, 126, 140, 160};
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
        c = child_start();
        child_tell(&c, "open rendezvous=127.0.0.1:%u,secret=%s/secret,join_ms=1000|-1|0|0", port,
                   place.folder);
        relay(listener, &ignored, at[i]);
        child_kill(&c);
    }
    close(listener);
}

static void silence(void)
{
    enum { MANY = 100 };
    int slow[3], many[MANY];
    char hello[92] = "batonnet\1\0\0\1";
    uint64_t begin = test_now();
    for (int i = 0; i < 3; i++)
        slow[i] = dial(place.port);
    CHECK(send(slow[1], hello, 40, MSG_NOSIGNAL) == 40);
    CHECK(send(slow[2], hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello));
    /* One byte now and then does not keep a connection alive. */
    for (int i = 0; i < 40; i++) {
        send(slow[1], "x", 1, MSG_NOSIGNAL);
        test_sleep_ms(20);
    }
    lives();
    for (int i = 0; i < 3; i++) {
        CHECK(closes(slow[i]));
        close(slow[i]);
    }
    double s = (double)(test_now() - begin) * 1e-9;
    printf("silent connections were closed after %.1f s\n", s);
    CHECK(s < 30); /* five, and patience */
    for (int i = 0; i < MANY; i++)
        many[i] = dial(place.port);
    lives();
    for (int i = 0; i < MANY; i++)
        close(many[i]);
    lives();
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    printf("seed %" PRIu64 "\n", seed);
    baton_random_init(&dice, seed);
    signal(SIGPIPE, SIG_IGN);
    CHECK(!baton_net_place_make(&place));
    a = child_start();
    b = child_start();
    CHECK_IS(child_ask(&a, "open %s|0|16|0", place.options), 0);
    CHECK_IS(child_ask(&b, "open %s|-1|0|0", place.options), 0);
    unsigned port_b = port_of(b.pid);
    CHECK(port_b && port_b != place.port);
    lives();
    garbage(place.port);
    garbage(port_b);
    lives();
    wrong_secret();
    lives();
    replay();
    lives();
    silence();
    child_end(&b);
    child_end(&a);
    baton_net_place_remove(&place);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Shows what a net of processes promises: numbers, blobs, names, who is there and who has gone; that
 * the death of node 0 stops joins and nothing else; that numbers get new lives, and what is said when
 * one has no more. Four processes on loopback do what they are told (net_test.h).
 */
#include "net_test.h"

enum { NODES = 4 };

static struct baton_net_place place;
static struct child node[NODES];

static int open_as(struct child *c, int first, unsigned nodes)
{
    return child_ask(c, "open %s|%d|%u|0", place.options, first, nodes);
}

static void start_all(void)
{
    CHECK(!baton_net_place_make(&place));
    for (int i = 0; i < NODES; i++)
        node[i] = child_start();
    /* Node 0 comes last, and the others wait for it. */
    for (int i = 1; i < NODES; i++)
        child_tell(&node[i], "open %s|%d|0|0", place.options, i);
    test_sleep_ms(100);
    CHECK_IS(open_as(&node[0], 0, NODES), 0);
    CHECK(!strcmp(answer, "0 4"));
    for (int i = 1; i < NODES; i++) {
        char wanted[16];
        CHECK_IS(child_hear(&node[i]), 0);
        snprintf(wanted, sizeof(wanted), "%d 4", i);
        CHECK(!strcmp(answer, wanted));
    }
    for (int i = 0; i < NODES; i++)
        for (int k = 0; k < NODES; k++) {
            char question[32];
            snprintf(question, sizeof(question), "state %d", k);
            CHECK(child_comes_to(&node[i], question, BATON_NODE_ALIVE));
            CHECK_IS(child_ask(&node[i], "life %d", k), 1);
        }
}

static void end_all(void)
{
    for (int i = 0; i < NODES; i++)
        if (node[i].pid)
            child_end(&node[i]);
    baton_net_place_remove(&place);
}

static void blobs(void)
{
    CHECK_IS(child_ask(&node[1], "get 2 3 0"), -ENOENT);
    CHECK_IS(child_ask(&node[1], "get 2 3 20"), -ETIMEDOUT);
    child_tell(&node[1], "get 2 3 2000");
    CHECK_IS(child_ask(&node[2], "blob 2 3 hello"), 0);
    CHECK_IS(child_hear(&node[1]), 0);
    CHECK(!strcmp(answer, "hello"));
    CHECK_IS(child_ask(&node[2], "get 2 3 0"), 0);
    CHECK_IS(child_ask(&node[2], "blob 1 3 hello"), -EINVAL);
    CHECK_IS(child_ask(&node[2], "get 4 3 0"), -ERANGE);
}

static void names(void)
{
    CHECK_IS(child_ask(&node[3], "find x"), -ENOENT);
    CHECK_IS(child_ask(&node[1], "publish 1 x 77"), 0);
    for (int i = 0; i < NODES; i++) {
        if (!node[i].pid)
            continue;
        CHECK_IS(child_ask(&node[i], "find x"), 0);
        CHECK(!strcmp(answer, "77"));
        CHECK_IS(child_ask(&node[i], "publish %d x 78", i), -EEXIST);
    }
    CHECK_IS(child_ask(&node[2], "withdraw 2 x"), -ENOENT);
    CHECK_IS(child_ask(&node[1], "withdraw 1 x"), 0);
    for (int i = 0; i < NODES; i++)
        if (node[i].pid)
            CHECK_IS(child_ask(&node[i], "find x"), -ENOENT);
    CHECK_IS(child_ask(&node[3], "publish 3 x 79"), 0);
    CHECK_IS(child_ask(&node[3], "withdraw 3 x"), 0);
}

/* All want the same name at once: one gets it, whoever that is, and all see that one's address. */
static void races(void)
{
    int won = 0, rounds = 200;
    for (int r = 0; r < rounds; r++) {
        int winner = -1;
        char wanted[16];
        for (int i = 0; i < NODES; i++)
            child_tell(&node[(i + r) % NODES], "publish %d r%d %d", (i + r) % NODES, r,
                       100 + (i + r) % NODES);
        for (int i = 0; i < NODES; i++) {
            int rc = child_hear(&node[i]);
            CHECK(rc == 0 || rc == -EEXIST);
            CHECK(rc || winner < 0);
            if (!rc)
                winner = i;
        }
        won += winner >= 0;
        snprintf(wanted, sizeof(wanted), "%d", 100 + winner);
        for (int i = 0; i < NODES && winner >= 0; i++) {
            CHECK_IS(child_ask(&node[i], "find r%d", r), 0);
            CHECK(!strcmp(answer, wanted));
        }
    }
    printf("%d of %d races were won by somebody\n", won, rounds);
    CHECK(won == rounds);
}

/* One leaves, one is killed: all others know which is which, and a number can be taken again. */
static void departures(void)
{
    CHECK_IS(child_ask(&node[2], "publish 2 mine 5"), 0);
    CHECK_IS(child_ask(&node[3], "publish 3 theirs 5"), 0);
    child_end(&node[3]);
    for (int i = 0; i < 3; i++)
        CHECK(child_comes_to(&node[i], "state 3", BATON_NODE_LEFT));
    uint64_t killed = test_now();
    child_kill(&node[2]);
    for (int i = 0; i < 2; i++) {
        CHECK(child_comes_to(&node[i], "state 2", BATON_NODE_DEAD));
        CHECK(child_comes_to(&node[i], "gone", 1));
        CHECK(!strcmp(answer, "1"));
        CHECK_IS(child_ask(&node[i], "get 2 3 30000"), -EHOSTDOWN);
        CHECK_IS(child_ask(&node[i], "find mine"), -ENOENT);
        CHECK_IS(child_ask(&node[i], "find theirs"), -ENOENT);
    }
    printf("a death was known everywhere after %.1f ms\n", (double)(test_now() - killed) * 1e-6);
    node[2] = child_start();
    CHECK_IS(open_as(&node[2], -1, 0), 0);
    CHECK(!strcmp(answer, "2 4"));
    CHECK_IS(child_ask(&node[2], "life 2"), 2);
    CHECK(child_comes_to(&node[1], "life 2", 2));
    CHECK_IS(child_ask(&node[1], "state 2"), BATON_NODE_ALIVE);
    CHECK_IS(child_ask(&node[1], "get 2 3 0"), -ENOENT);
}

static void refusals(void)
{
    struct baton_net_place empty; /* a port that nobody listens at */
    struct child c = child_start();
    CHECK(!baton_net_place_make(&empty));
    CHECK_IS(open_as(&c, 1, 0), -EBUSY);
    CHECK(strstr(answer, "node 1 is taken"));
    CHECK_IS(open_as(&c, 900, 0), -EBUSY);
    CHECK_IS(open_as(&c, 0, NODES), -EADDRINUSE);
    node[3] = child_start();
    CHECK_IS(open_as(&node[3], 3, 0), 0);
    CHECK_IS(open_as(&c, -1, 0), -EBUSY);
    CHECK_IS(child_ask(&c, "open rendezvous=127.0.0.1:%u|-1|0|0", place.port), -EINVAL);
    CHECK_IS(child_ask(&c, "open rendezvous=127.0.0.1,secret=x|-1|0|0"), -ENOENT);
    CHECK_IS(child_ask(&c, "open rendezvous=127.0.0.1:%u,secret=%s/secret,join_ms=300|-1|0|0",
                       empty.port, place.folder),
             -ETIMEDOUT);
    /* So it says, too, when the time has passed while it could not look. */
    child_tell(&c, "open rendezvous=127.0.0.1:%u,secret=%s/secret,join_ms=300|-1|0|0", empty.port,
               place.folder);
    test_sleep_ms(100);
    CHECK(!kill(c.pid, SIGSTOP));
    test_sleep_ms(300);
    CHECK(!kill(c.pid, SIGCONT));
    CHECK_IS(child_hear(&c), -ETIMEDOUT);
    CHECK(strstr(answer, "nobody answers"));
    baton_net_place_remove(&empty);
    child_end(&c);
}

static void without_node_0(void)
{
    struct child c = child_start();
    child_kill(&node[0]);
    for (int i = 1; i < NODES; i++)
        CHECK(child_comes_to(&node[i], "state 0", BATON_NODE_DEAD));
    names();
    CHECK_IS(child_ask(&node[1], "blob 1 2 still"), 0);
    CHECK_IS(child_ask(&node[3], "get 1 2 30000"), 0);
    CHECK_IS(child_ask(&c, "open rendezvous=127.0.0.1:%u,secret=%s/secret,join_ms=300|-1|0|0",
                       place.port, place.folder),
             -ETIMEDOUT);
    child_kill(&node[2]);
    CHECK(child_comes_to(&node[1], "state 2", BATON_NODE_DEAD));
    CHECK(child_comes_to(&node[3], "state 2", BATON_NODE_DEAD));
    child_end(&c);
}

/* A process can be several nodes. */
static void several(void)
{
    CHECK(!baton_net_place_make(&place));
    struct child a = child_start(), b = child_start();
    CHECK_IS(child_ask(&a, "open %s|0|8|3", place.options), 0);
    CHECK_IS(child_ask(&b, "open %s|-1|0|4", place.options), 0);
    CHECK(!strcmp(answer, "3 8"));
    CHECK_IS(child_ask(&b, "blob 6 0 six"), 0);
    CHECK_IS(child_ask(&a, "get 6 0 1000"), 0);
    CHECK_IS(child_ask(&b, "publish 5 n 9"), 0);
    CHECK_IS(child_ask(&b, "publish 6 n 9"), -EEXIST);
    CHECK_IS(child_ask(&a, "publish 2 n 9"), -EEXIST);
    child_kill(&b);
    CHECK(child_comes_to(&a, "gone", 4));
    CHECK_IS(child_ask(&a, "state 7"), BATON_NODE_ABSENT);
    child_end(&a);
    baton_net_place_remove(&place);
}

/* A number is not taken when it has no lives left, and nobody says so. */
static void lives(void)
{
    enum { LIVES = 128 };
    CHECK(!baton_net_place_make(&place));
    struct child a = child_start(), b = child_start();
    uint64_t begin = test_now();
    CHECK_IS(child_ask(&a, "open %s|0|2|0", place.options), 0);
    for (int life = 1; life <= LIVES; life++) {
        CHECK_IS(open_as(&b, life % 2 ? 1 : -1, 0), 0);
        CHECK_IS(child_ask(&b, "life 1"), life);
        CHECK_IS(child_ask(&b, "close"), 0);
        CHECK(child_comes_to(&a, "state 1", BATON_NODE_LEFT));
    }
    printf("%d lives took %.2f s\n", LIVES, (double)(test_now() - begin) * 1e-9);
    for (int first = -1; first < 2; first += 2) {
        CHECK_IS(open_as(&b, first, 0), -EBUSY);
        CHECK(strstr(answer, "128 times") && strstr(answer, "found a new cluster"));
        CHECK(!strstr(answer, "is taken") && !strstr(answer, "are taken"));
    }
    child_end(&b);
    child_end(&a);
    baton_net_place_remove(&place);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    start_all();
    blobs();
    names();
    races();
    departures();
    refusals();
    without_node_0();
    end_all();
    several();
    lives();
    return 0;
}

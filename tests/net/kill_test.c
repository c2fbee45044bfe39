/* SPDX-License-Identifier: MIT */
/*
 * Shows that processes may be killed at any moment, of joining, publishing, withdrawing, leaving: every
 * call of every other process returns within two seconds, at most one owns a name, and when it is
 * quiet again all who live agree on who is there. At the end node 0 is killed too, in the middle of
 * joins. Random, with a printed seed, for the seconds in BATON_SOAK_SECONDS (3 unless given).
 *
 *   usage: net_kill_test BATON [SEED]
 */
#include <poll.h>

#include "base/random.h"
#include "net_test.h"

enum { PLACES = 6, NAMES = 2 };

static struct baton_net_place place;
static struct baton_random dice;
static unsigned long killed, joined, asked;

/* A process that is node `node` once it has joined; busy: it owes an answer. */
static struct one {
    struct child c;
    int node;
    bool busy, opening, publishing;
    unsigned name; /* what it was told to publish or withdraw */
    bool owns[NAMES];
    uint64_t since;
} one[PLACES];

static unsigned roll(unsigned n)
{
    return (unsigned)baton_random_below(&dice, n);
}

/* The answer, if it is there within the time; false if it is not. */
static bool hear_within(struct one *o, unsigned ms, int *rc)
{
    struct pollfd p = {fileno(o->c.in), POLLIN, 0};
    if (poll(&p, 1, (int)ms) <= 0)
        return false;
    *rc = child_hear(&o->c);
    o->busy = false;
    return true;
}

/* Takes the answer of whoever is busy. */
static void settle(struct one *o, unsigned ms)
{
    int rc;
    if (!o->busy || !o->c.pid)
        return;
    if (!hear_within(o, ms, &rc)) {
        if (test_now() - o->since > PATIENCE_NS) {
            fprintf(stderr, "process %d (node %d) does not answer\n", (int)(o - one), o->node);
            exit(1);
        }
        return;
    }
    if (o->opening) {
        o->opening = false;
        if (rc == 0) {
            o->node = atoi(answer);
            joined++;
        } else {
            CHECK_IS(rc, -EBUSY); /* the dead one's place is not free for a moment */
            child_end(&o->c);
        }
    } else {
        CHECK(rc == 0 || rc == -EEXIST || rc == -ENOENT);
        if (rc == 0)
            o->owns[o->name] = o->publishing;
    }
}

static void start(struct one *o)
{
    *o = (struct one){
        .c = child_start(), .node = -1, .busy = true, .opening = true, .since = test_now()};
    child_tell(&o->c, "open %s|-1|0|0", place.options);
}

static void act(struct one *o)
{
    if (!o->c.pid) {
        start(o);
        return;
    }
    settle(o, roll(3));
    if (!o->c.pid)
        return;
    unsigned what = roll(20);
    if (what < 5 && o != one) {
        child_kill(&o->c);
        killed++;
        o->busy = false;
    } else if (what < 6 && o != one && !o->busy) {
        child_end(&o->c);
    } else if (!o->busy) {
        o->publishing = what & 1;
        o->name = roll(NAMES);
        child_tell(&o->c, what & 1 ? "publish %d n%u 1" : "withdraw %d n%u", o->node, o->name);
        o->busy = true;
        o->since = test_now();
        asked++;
    }
}

static void finish_all(void)
{
    uint64_t end = test_now() + PATIENCE_NS;
    for (;;) {
        bool busy = false;
        for (int i = 0; i < PLACES; i++) {
            settle(&one[i], 5);
            busy |= one[i].c.pid && one[i].busy;
        }
        if (!busy)
            return;
        CHECK(test_now() < end);
    }
}

static unsigned owners(unsigned name)
{
    unsigned n = 0;
    for (int i = 0; i < PLACES; i++)
        n += one[i].c.pid && one[i].owns[name];
    CHECK(n <= 1);
    return n;
}

/* All see the living alive and everybody else not, and the same names. */
static void agree(void)
{
    finish_all();
    for (int i = 0; i < PLACES; i++) {
        if (!one[i].c.pid)
            continue;
        for (unsigned n = 0; n < PLACES; n++) {
            bool lives = false;
            char question[32];
            for (int k = 0; k < PLACES; k++)
                lives |= one[k].c.pid && one[k].node == (int)n;
            snprintf(question, sizeof(question), "state %u", n);
            uint64_t end = test_now() + PATIENCE_NS;
            while ((child_ask(&one[i].c, "%s", question) == BATON_NODE_ALIVE) != lives) {
                CHECK(test_now() < end);
                test_sleep_ms(2);
            }
        }
        for (unsigned n = 0; n < NAMES; n++)
            CHECK_IS(child_ask(&one[i].c, "find n%u", n), owners(n) ? 0 : -ENOENT);
    }
}

int main(int argc, char **argv)
{
    const char *soak = getenv("BATON_SOAK_SECONDS");
    double seconds = soak ? atof(soak) : 3;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : soak ? test_now() : 1;
    printf("seed %" PRIu64 "; again with: net_kill_test BATON %" PRIu64 "\n", seed, seed);
    fflush(stdout);
    baton_random_init(&dice, seed);
    signal(SIGPIPE, SIG_IGN);
    CHECK(!baton_net_place_make(&place));
    uint64_t end = test_now() + (uint64_t)(seconds * 1e9);
    unsigned long rounds = 0;
    while (test_now() < end) {
        one[0] = (struct one){.c = child_start()};
        CHECK_IS(child_ask(&one[0].c, "open %s|0|%d|0", place.options, PLACES), 0);
        for (unsigned turn = 0; turn < 300 && test_now() < end; turn++) {
            act(&one[roll(PLACES)]);
            if (turn % 50 == 49)
                agree();
        }
        agree();
        for (int i = 1; i < PLACES; i++)
            if (!one[i].c.pid && roll(2))
                start(&one[i]);
        test_sleep_ms(roll(6));
        child_kill(&one[0].c);
        for (int i = 1; i < PLACES; i++) {
            struct one *o = &one[i];
            if (!o->c.pid)
                continue;
            if (!o->opening) { /* those who are in go on */
                while (o->busy)
                    settle(o, 2000);
                CHECK_IS(child_ask(&o->c, "publish %d last%d 1", o->node, i), 0);
            }
            child_kill(&o->c);
            o->busy = false;
        }
        memset(one, 0, sizeof(one));
        rounds++;
    }
    baton_net_place_remove(&place);
    printf("%lu clusters, %lu joins, %lu names asked for, %lu kills\n", rounds, joined, asked,
           killed);
    return 0;
}

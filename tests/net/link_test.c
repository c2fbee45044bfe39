/* SPDX-License-Identifier: MIT */
/*
 * Shows, byte by byte and without sockets, that a connection opens for two holders of one secret and
 * for nobody else: every bit of the hand-shake and of a frame is turned once, secrets and versions
 * differ, own words come back as an echo, frames come twice, out of order, or from another connection.
 * Also that messages survive their way, and that no wrong one is read.
 */
#include <sodium.h>

#include "fabric/net_link.h"
#include "net_test.h"

static const uint8_t key_a[NET_KEY_BYTES] = {1}, key_b[NET_KEY_BYTES] = {2};
static struct net_link dial, hear; /* the two ends */

static void begin(const uint8_t *dial_key, const uint8_t *hear_key)
{
    struct net_hello mine = {.version = NET_VERSION, .purpose = NET_TO_JOIN, .node = NET_ANY};
    struct net_hello theirs = {.version = NET_VERSION, .node = 0, .count = 1, .life = 1};
    strcpy(mine.fabric, "a-fabric-of-15c");
    CHECK(!baton_net_link_init(&dial, false, dial_key, &mine));
    CHECK(!baton_net_link_init(&hear, true, hear_key, &theirs));
}

static void end(void)
{
    baton_net_link_fini(&dial);
    baton_net_link_fini(&hear);
}

static int feed(struct net_link *l, const uint8_t *bytes, size_t size)
{
    struct net_message m;
    size_t room;
    uint8_t *at = baton_net_link_room(l, &room);
    CHECK(size <= room);
    memcpy(at, bytes, size);
    baton_net_link_came(l, size);
    return baton_net_link_next(l, &m);
}

/* Brings over what waits, with bit `turn` of it turned over (-1: none); the result of the reader. */
static int carry(struct net_link *from, struct net_link *to, long turn)
{
    uint8_t bytes[4 * NET_HELLO_BYTES];
    size_t size = from->out_size;
    CHECK(size && size <= sizeof(bytes));
    memcpy(bytes, from->out, size);
    baton_net_link_left(from, size);
    if (turn >= 0)
        bytes[turn / 8] ^= (uint8_t)(1 << turn % 8);
    return feed(to, bytes, size);
}

static void open_both(void)
{
    begin(key_a, key_a);
    CHECK(carry(&dial, &hear, -1) == 0);
    CHECK(carry(&hear, &dial, -1) == 0);
    CHECK(carry(&dial, &hear, -1) == 1);
    CHECK(carry(&hear, &dial, -1) == 1);
    CHECK(dial.stage == NET_OPEN && hear.stage == NET_OPEN);
    CHECK(!strcmp(hear.peer.fabric, "a-fabric-of-15c") && hear.peer.node == NET_ANY);
    CHECK(dial.peer.count == 1 && dial.peer.life == 1);
}

static void turned_bits(void)
{
    static const size_t bytes[] = {NET_HELLO_BYTES, NET_HELLO_BYTES, NET_PROOF_BYTES,
                                   NET_PROOF_BYTES};
    for (int step = 0; step < 4; step++)
        for (long bit = 0; bit < (long)bytes[step] * 8; bit++) {
            int rc = 0;
            begin(key_a, key_a);
            for (int s = 0; s < 4 && rc >= 0; s++) {
                struct net_link *from = s % 2 ? &hear : &dial, *to = s % 2 ? &dial : &hear;
                if (!from->out_size)
                    break;
                rc = carry(from, to, s == step ? bit : -1);
            }
            /* In no case both; the last proof is for the dialler alone. */
            CHECK(rc < 0);
            CHECK(dial.stage != NET_OPEN && (step == 3 || hear.stage != NET_OPEN));
            end();
        }
}

static void strangers(void)
{
    begin(key_a, key_b);
    CHECK(carry(&dial, &hear, -1) == 0 && carry(&hear, &dial, -1) == 0);
    CHECK(carry(&dial, &hear, -1) == -EPERM);
    CHECK(hear.out_size == 0); /* it has told nothing that depends on the secret */
    end();

    /* Its own words are no answer to a dialler. */
    begin(key_a, key_a);
    CHECK(carry(&dial, &dial, -1) == -EPROTO);
    end();

    struct net_hello old = {.version = NET_VERSION + 1, .purpose = NET_TO_JOIN};
    begin(key_a, key_a);
    baton_net_link_fini(&dial);
    CHECK(!baton_net_link_init(&dial, false, key_a, &old));
    CHECK(carry(&dial, &hear, -1) == -EOPNOTSUPP);
    CHECK(hear.out_size == NET_HELLO_BYTES); /* from which the other can tell why */
    end();

    begin(key_a, key_a);
    CHECK(feed(&hear,
               (const uint8_t *)"GET / HTTP/1.1\r\nHost: somewhere.example\r\nUser-Agent: "
                                "a program of another kind, quite long\r\n\r\n",
               NET_HELLO_BYTES) == -EPROTO);
    CHECK(feed(&hear, (const uint8_t *)"x", 1) == -EPROTO);
    end();
}

static size_t frame(struct net_link *l, uint32_t ticket, uint8_t out[256])
{
    struct net_message m = {.type = NET_ANSWER, .ticket = ticket};
    CHECK(!baton_net_link_send(l, &m));
    size_t size = l->out_size;
    CHECK(size <= 256);
    memcpy(out, l->out, size);
    baton_net_link_left(l, size);
    return size;
}

static void frames(void)
{
    uint8_t a[256], b[256];
    open_both();
    size_t size = frame(&dial, 1, a);
    CHECK(frame(&dial, 2, b) == size);
    CHECK(feed(&hear, a, size) == 1 && feed(&hear, b, size) == 1);
    CHECK(feed(&hear, b, size) == -EPROTO); /* again */
    end();

    open_both();
    frame(&dial, 1, a);
    frame(&dial, 2, b);
    CHECK(feed(&hear, b, size) == -EPROTO); /* the second first */
    end();

    open_both();
    frame(&dial, 1, a);
    CHECK(feed(&dial, a, size) == -EPROTO); /* back to the sender */
    end();

    open_both(); /* same secret, same number: but another connection */
    CHECK(feed(&hear, a, size) == -EPROTO);
    end();

    for (size_t bit = 0; bit < size * 8; bit++) {
        open_both();
        frame(&dial, 1, a);
        a[bit / 8] ^= (uint8_t)(1 << bit % 8);
        int rc = feed(&hear, a, size);
        CHECK(rc <= 0); /* a length that got longer waits for the rest */
        memset(b, 0, sizeof(b));
        while (rc == 0 && hear.in_size + sizeof(b) <= sizeof(hear.in))
            rc = feed(&hear, b, sizeof(b));
        CHECK(rc == -EPROTO);
        end();
    }

    /* Byte by byte is as good as at once. */
    open_both();
    frame(&dial, 7, a);
    for (size_t i = 0; i + 1 < size; i++)
        CHECK(feed(&hear, a + i, 1) == 0);
    CHECK(feed(&hear, a + size - 1, 1) == 1);
    end();

    /* Who never reads is given up, at a limit. */
    struct net_message m = {
        .type = NET_BLOB, .bytes = calloc(1, BATON_NET_BLOB_MAX), .size = BATON_NET_BLOB_MAX};
    int rc = 0, n = 0;
    open_both();
    while (!rc && n++ < 1000000)
        rc = baton_net_link_send(&dial, &m);
    CHECK(rc == -ENOBUFS && dial.out_size <= NET_OUT_MAX);
    free((void *)(uintptr_t)m.bytes);
    end();
}

static void messages(void)
{
    uint8_t out[NET_MESSAGE_MAX], blob[BATON_NET_BLOB_MAX];
    struct net_message back, m = {.type = NET_BLOB,
                                  .key = 7,
                                  .node = 1023,
                                  .count = 1,
                                  .nodes = 1024,
                                  .life = UINT32_MAX,
                                  .ticket = 5,
                                  .rc = -EEXIST,
                                  .at = UINT64_MAX,
                                  .bytes = blob,
                                  .size = sizeof(blob)};
    memset(m.text, 'x', NET_TEXT_MAX);
    memset(blob, 0xa5, sizeof(blob));
    size_t size = baton_net_message_write(&m, out);
    CHECK(size == sizeof(out) && !baton_net_message_read(out, size, &back));
    CHECK(back.key == 7 && back.node == 1023 && back.nodes == 1024 && back.life == UINT32_MAX &&
          back.ticket == 5 && back.rc == -EEXIST && back.at == UINT64_MAX &&
          !strcmp(back.text, m.text) && back.size == m.size && !memcmp(back.bytes, blob, m.size));
    for (size_t short_by = 1; short_by <= size; short_by += 97) {
        int rc = baton_net_message_read(out, size - short_by, &back);
        CHECK(rc == 0 || rc == -EPROTO);
    }
    static const struct {
        size_t at;
        uint8_t value;
    } wrong[] = {{0, NET_OPENED}, {0, NET_TYPES}, {0, 255},  {1, BATON_NET_KEYS}, {3, 4},
                 {5, 5},          {7, 5},         {19, 127}, {28, 255},           {40, 0}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        baton_net_message_write(&m, out);
        out[wrong[i].at] = wrong[i].value;
        CHECK(baton_net_message_read(out, size, &back) == -EPROTO);
    }
}

int main(void)
{
    CHECK(sodium_init() >= 0);
    open_both();
    end();
    turned_bits();
    strangers();
    frames();
    messages();
    return 0;
}

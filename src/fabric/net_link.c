/* SPDX-License-Identifier: MIT */
/* The hand-shake and the frames of one connection. */
#include "fabric/net_link.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(NET_SEAL_BYTES == crypto_aead_chacha20poly1305_ietf_ABYTES, "what a seal adds");
_Static_assert(NET_KEY_BYTES == crypto_aead_chacha20poly1305_ietf_KEYBYTES, "a key");

static const uint8_t magic[8] = {'b', 'a', 't', 'o', 'n', 'n', 'e', 't'};

/* ---- Hellos */

static void hello_write(const struct net_hello *h, bool listener, uint8_t out[NET_HELLO_BYTES])
{
    memset(out, 0, NET_HELLO_BYTES);
    memcpy(out, magic, 8);
    baton_net_put(out + 8, h->version, 2);
    out[10] = listener;
    out[11] = h->purpose;
    baton_net_put(out + 12, h->node, 2);
    baton_net_put(out + 14, h->count, 2);
    baton_net_put(out + 16, h->to, 2);
    baton_net_put(out + 20, h->life, 4);
    baton_net_put(out + 24, h->to_life, 4);
    memcpy(out + 28, h->cluster, NET_CLUSTER_BYTES);
    memcpy(out + 44, h->fabric, NET_FABRIC_MAX);
    randombytes_buf(out + 60, NET_NONCE_BYTES);
}

/* Only what must be right for the two to speak on; what it says is judged when it is proved. */
static int hello_read(const uint8_t in[NET_HELLO_BYTES], bool from_listener, struct net_hello *h)
{
    if (memcmp(in, magic, 8))
        return baton_fail(-EPROTO, "the other end is no baton node");
    *h = (struct net_hello){.version = (uint16_t)baton_net_get(in + 8, 2),
                            .purpose = in[11],
                            .node = (uint16_t)baton_net_get(in + 12, 2),
                            .count = (uint16_t)baton_net_get(in + 14, 2),
                            .to = (uint16_t)baton_net_get(in + 16, 2),
                            .life = (uint32_t)baton_net_get(in + 20, 4),
                            .to_life = (uint32_t)baton_net_get(in + 24, 4)};
    if (h->version != NET_VERSION)
        return baton_fail(-EOPNOTSUPP, "the other node speaks version %u of the rendezvous, not %u",
                          h->version, NET_VERSION);
    if (in[10] != from_listener)
        return baton_fail(-EPROTO, "a hello that is an echo of our own");
    memcpy(h->cluster, in + 28, NET_CLUSTER_BYTES);
    memcpy(h->fabric, in + 44, NET_FABRIC_MAX);
    return 0;
}

/* ---- Keys */

static void derive(const struct net_link *l, const char *purpose, uint8_t out[NET_KEY_BYTES])
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, l->secret, NET_KEY_BYTES, NET_KEY_BYTES);
    crypto_generichash_update(&state, (const uint8_t *)purpose, strlen(purpose) + 1);
    crypto_generichash_update(&state, l->hellos, sizeof(l->hellos));
    crypto_generichash_final(&state, out, NET_KEY_BYTES);
    sodium_memzero(&state, sizeof(state));
}

static void derive_proof(const struct net_link *l, bool listener, uint8_t out[NET_PROOF_BYTES])
{
    derive(l, listener ? "baton proof of the listener" : "baton proof of the dialler", out);
}

static void derive_keys(struct net_link *l)
{
    static const char *const key[] = {"baton frames of the dialler",
                                      "baton frames of the listener"};
    derive(l, key[l->listener], l->send_key);
    derive(l, key[!l->listener], l->receive_key);
}

static void nonce_of(uint64_t number, uint8_t out[crypto_aead_chacha20poly1305_ietf_NPUBBYTES])
{
    memset(out, 0, crypto_aead_chacha20poly1305_ietf_NPUBBYTES);
    baton_net_put(out, number, 8);
}

/* ---- Bytes that wait to be sent */

static int out_reserve(struct net_link *l, size_t size)
{
    if (size > NET_OUT_MAX - l->out_size)
        return baton_fail(-ENOBUFS, "the other node does not read what it is sent");
    if (l->out_room - l->out_size >= size)
        return 0;
    size_t room = 2 * (l->out_size + size);
    uint8_t *out = realloc(l->out, room);
    if (!out)
        return -ENOMEM;
    l->out = out;
    l->out_room = room;
    return 0;
}

static int out_add(struct net_link *l, const uint8_t *bytes, size_t size)
{
    int rc = out_reserve(l, size);
    if (rc)
        return rc;
    memcpy(l->out + l->out_size, bytes, size);
    l->out_size += size;
    return 0;
}

void baton_net_link_left(struct net_link *l, size_t size)
{
    memmove(l->out, l->out + size, l->out_size - size);
    l->out_size -= size;
}

/* ---- Life of a link */

static uint8_t *hello_of(struct net_link *l, bool listener)
{
    return l->hellos + (listener ? NET_HELLO_BYTES : 0);
}

int baton_net_link_init(struct net_link *l, bool listener, const uint8_t secret[NET_KEY_BYTES],
                        const struct net_hello *mine)
{
    if (sodium_init() < 0)
        return baton_fail(-EIO, "libsodium finds no source of randomness");
    memset(l, 0, sizeof(*l));
    l->listener = listener;
    memcpy(l->secret, secret, NET_KEY_BYTES);
    hello_write(mine, listener, hello_of(l, listener));
    return listener ? 0 : out_add(l, hello_of(l, false), NET_HELLO_BYTES);
}

void baton_net_link_fini(struct net_link *l)
{
    free(l->out);
    sodium_memzero(l, sizeof(*l));
    l->stage = NET_FAILED;
}

uint8_t *baton_net_link_room(struct net_link *l, size_t *room)
{
    *room = sizeof(l->in) - l->in_size;
    return l->in + l->in_size;
}

void baton_net_link_came(struct net_link *l, size_t size)
{
    l->in_size += size;
}

static void in_drop(struct net_link *l, size_t size)
{
    memmove(l->in, l->in + size, l->in_size - size);
    l->in_size -= size;
}

static int take_hello(struct net_link *l)
{
    uint8_t proof[NET_PROOF_BYTES];
    int rc = hello_read(l->in, !l->listener, &l->peer);
    if (rc && rc != -EOPNOTSUPP)
        return rc;
    /* One of another version is answered with our hello, so that it can tell its user why. */
    if (l->listener) {
        int full = out_add(l, hello_of(l, true), NET_HELLO_BYTES);
        if (rc || full)
            return rc ? rc : full;
    }
    if (rc)
        return rc;
    memcpy(hello_of(l, !l->listener), l->in, NET_HELLO_BYTES);
    in_drop(l, NET_HELLO_BYTES);
    derive_keys(l);
    l->stage = NET_WAIT_PROOF;
    if (l->listener)
        return 0;
    derive_proof(l, false, proof);
    return out_add(l, proof, NET_PROOF_BYTES);
}

static int take_proof(struct net_link *l)
{
    uint8_t proof[NET_PROOF_BYTES];
    derive_proof(l, !l->listener, proof);
    if (sodium_memcmp(proof, l->in, NET_PROOF_BYTES))
        return baton_fail(-EPERM, "the other end does not know the secret");
    in_drop(l, NET_PROOF_BYTES);
    l->stage = NET_OPEN;
    if (!l->listener)
        return 0;
    derive_proof(l, true, proof);
    return out_add(l, proof, NET_PROOF_BYTES);
}

static int take_frame(struct net_link *l, struct net_message *m)
{
    uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
    unsigned long long size;
    if (l->in_size < 4)
        return 0;
    size_t sealed = (size_t)baton_net_get(l->in, 4);
    if (sealed < NET_SEAL_BYTES || sealed > NET_FRAME_MAX - 4)
        return baton_fail(-EPROTO, "a frame of %zu bytes", sealed);
    if (l->in_size - 4 < sealed)
        return 0;
    nonce_of(l->received, nonce);
    if (crypto_aead_chacha20poly1305_ietf_decrypt(l->plain, &size, NULL, l->in + 4, sealed, l->in,
                                                  4, nonce, l->receive_key))
        return baton_fail(-EPROTO, "frame %llu has been changed, repeated or forged",
                          (unsigned long long)l->received);
    l->received++;
    in_drop(l, 4 + sealed);
    int rc = baton_net_message_read(l->plain, (size_t)size, m);
    return rc ? rc : 1;
}

int baton_net_link_next(struct net_link *l, struct net_message *m)
{
    int rc = 0;
    if (l->stage == NET_FAILED)
        return baton_fail(-EPROTO, "the connection has failed already");
    if (l->stage == NET_WAIT_HELLO && l->in_size >= NET_HELLO_BYTES)
        rc = take_hello(l);
    if (!rc && l->stage == NET_WAIT_PROOF && l->in_size >= NET_PROOF_BYTES) {
        rc = take_proof(l);
        if (!rc) {
            *m = (struct net_message){.type = NET_OPENED};
            return 1;
        }
    } else if (!rc && l->stage == NET_OPEN) {
        rc = take_frame(l, m);
    }
    if (rc < 0)
        l->stage = NET_FAILED;
    return rc;
}

int baton_net_link_send(struct net_link *l, const struct net_message *m)
{
    uint8_t plain[NET_MESSAGE_MAX], nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
    size_t size = baton_net_message_write(m, plain);
    int rc = out_reserve(l, 4 + size + NET_SEAL_BYTES);
    if (rc)
        return rc;
    uint8_t *frame = l->out + l->out_size;
    baton_net_put(frame, size + NET_SEAL_BYTES, 4);
    nonce_of(l->sent++, nonce);
    crypto_aead_chacha20poly1305_ietf_encrypt(frame + 4, NULL, plain, size, frame, 4, NULL, nonce,
                                              l->send_key);
    l->out_size += 4 + size + NET_SEAL_BYTES;
    return 0;
}

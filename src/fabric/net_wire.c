/* SPDX-License-Identifier: MIT */
/* Messages to bytes and back. What is read comes from a holder of the secret, and is checked anyway. */
#include "fabric/net_wire.h"

#include <errno.h>
#include <string.h>

void baton_net_put(uint8_t *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> 8 * i);
}

uint64_t baton_net_get(const uint8_t *in, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)in[i] << 8 * i;
    return value;
}

size_t baton_net_message_write(const struct net_message *m, uint8_t *out)
{
    size_t text = strlen(m->text);
    out[0] = m->type;
    out[1] = m->key;
    baton_net_put(out + 2, m->node, 2);
    baton_net_put(out + 4, m->count, 2);
    baton_net_put(out + 6, m->nodes, 2);
    baton_net_put(out + 8, m->life, 4);
    baton_net_put(out + 12, m->ticket, 4);
    baton_net_put(out + 16, (uint32_t)m->rc, 4);
    baton_net_put(out + 20, m->at, 8);
    out[28] = (uint8_t)text;
    memcpy(out + NET_FIXED_BYTES, m->text, text);
    if (m->size)
        memcpy(out + NET_FIXED_BYTES + text, m->bytes, m->size);
    return NET_FIXED_BYTES + text + m->size;
}

static const char *wrong_field(const struct net_message *m)
{
    bool name = m->type == NET_CLAIM || m->type == NET_NAME || m->type == NET_WITHDRAW;
    bool any = m->type == NET_JOIN && m->node == NET_ANY;
    if (m->type == NET_OPENED || m->type >= NET_TYPES)
        return "type";
    if (m->key >= BATON_NET_KEYS)
        return "key";
    if (!any && m->node >= BATON_NET_NODES_MAX)
        return "node";
    if (m->count > BATON_NET_NODES_MAX || m->nodes > BATON_NET_NODES_MAX ||
        (!any && m->node + m->count > BATON_NET_NODES_MAX))
        return "count";
    if (name && (!*m->text || strlen(m->text) > BATON_NAME_MAX))
        return "name";
    if (m->rc > 0)
        return "result";
    return NULL;
}

int baton_net_message_read(const uint8_t *in, size_t size, struct net_message *m)
{
    if (size < NET_FIXED_BYTES || size > NET_MESSAGE_MAX)
        return baton_fail(-EPROTO, "a message of %zu bytes", size);
    size_t text = in[28];
    if (text > NET_TEXT_MAX || text > size - NET_FIXED_BYTES ||
        size - NET_FIXED_BYTES - text > BATON_NET_BLOB_MAX)
        return baton_fail(-EPROTO, "a message of %zu bytes with a text of %zu", size, text);
    *m = (struct net_message){.type = in[0],
                              .key = in[1],
                              .node = (uint16_t)baton_net_get(in + 2, 2),
                              .count = (uint16_t)baton_net_get(in + 4, 2),
                              .nodes = (uint16_t)baton_net_get(in + 6, 2),
                              .life = (uint32_t)baton_net_get(in + 8, 4),
                              .ticket = (uint32_t)baton_net_get(in + 12, 4),
                              .rc = (int32_t)(uint32_t)baton_net_get(in + 16, 4),
                              .at = baton_net_get(in + 20, 8),
                              .bytes = in + NET_FIXED_BYTES + text,
                              .size = size - NET_FIXED_BYTES - text};
    memcpy(m->text, in + NET_FIXED_BYTES, text);
    const char *wrong = strlen(m->text) != text ? "text" : wrong_field(m);
    return wrong ? baton_fail(-EPROTO, "a message of type %u with a wrong %s", m->type, wrong) : 0;
}

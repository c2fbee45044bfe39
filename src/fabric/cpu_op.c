/* SPDX-License-Identifier: MIT */
/* Rights that operations need, and refusals in words. */
#include "fabric/cpu_op.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

const unsigned baton_cpu_op_rights[BATON_OP_KINDS] = {[BATON_OP_PUT] = BATON_WRITE,
                                                      [BATON_OP_GET] = BATON_READ,
                                                      [BATON_OP_RCAS] = BATON_ATOMIC,
                                                      [BATON_OP_RFAA] = BATON_ATOMIC};

const char *baton_cpu_op_refusal(const struct baton_op *op, int rc, uint64_t base, uint64_t bytes,
                                 unsigned rights, char *text, size_t room)
{
    if (rc == -ERANGE)
        snprintf(text, room, "the segment there is %" PRIu64 " bytes from 0x%" PRIx64, bytes, base);
    else if (rc == -EACCES)
        snprintf(text, room, "the segment grants%s%s%s%s", rights & BATON_READ ? " read" : "",
                 rights & BATON_WRITE ? " write" : "", rights & BATON_ATOMIC ? " atomic" : "",
                 rights ? "" : " nothing");
    else if (rc == -EKEYREJECTED)
        snprintf(text, room, "node %u has no segment at 0x%" PRIx64, op->node,
                 baton_gptr_offset(op->remote));
    else
        return NULL;
    return text;
}

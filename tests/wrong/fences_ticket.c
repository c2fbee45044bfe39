/* SPDX-License-Identifier: MIT */
/* ticket with fences that can be left out; see fences.h. */
#include "fences.h"

#define baton_lock_ticket fences_ops_ticket
#include "lock/ticket.c"

extern const struct fences_kind fences_ticket;
const struct fences_kind fences_ticket = {&fences_ops_ticket, __COUNTER__};

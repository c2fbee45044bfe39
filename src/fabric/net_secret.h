/* SPDX-License-Identifier: MIT */
/* The file with the secret that makes a process a member of a cluster. */
#ifndef BATON_FABRIC_NET_SECRET_H
#define BATON_FABRIC_NET_SECRET_H

#include <stdint.h>

#include "fabric/net_link.h"

#define NET_SECRET_LEAST 32u
#define NET_SECRET_MOST 4096u

/*
 * The key that the file stands for. -EPERM: it is not ours, or others may read or write it, or it is
 * too short or no plain file; -ENOENT and others of open and read.
 */
int baton_net_secret_read(const char *path, uint8_t key[NET_KEY_BYTES]);

#endif

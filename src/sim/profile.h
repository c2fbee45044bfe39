/* SPDX-License-Identifier: MIT */
/*
 * Profiles: how long things take on machines with a given generation of NIC. Built in are cx3, cx5 and cx6; a
 * user's own is a file of lines "name value", before them "like cx5" if what it does not give is to be as in
 * that one, else it is as in cx6; # begins a comment. All times are in nanoseconds. Some must not be 0: a
 * loop has to take time, or the virtual clock stands still.
 */
#ifndef BATON_SIM_PROFILE_H
#define BATON_SIM_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct baton_profile {
    char name[32];
    /* CPU */
    uint64_t cpu_hit, cpu_miss, cpu_rmw, cpu_fence, store_drain, wake;
    uint64_t post, doorbell, poll_cq;
    /* NIC and wire */
    uint64_t nic_tx, nic_rx, wire, loopback, pcie_read, pcie_write;
    uint64_t jitter; /* each way, drawn from 0 .. this */
    uint64_t qp_gap, nic_gap,
        rx_gap;            /* between operations of one queue pair, of one NIC, at the target */
    uint64_t bytes_per_us; /* of the link */
    uint64_t atomic_qp_gap, atomic_gap; /* between atomics of one queue pair; of one target NIC */
    uint64_t masked;                    /* 1: native masked atomics */
    uint64_t repoll;                    /* a polling loop's own work between two polls */
};

struct baton_profile_field {
    const char *name;
    size_t offset;
    uint32_t least, most; /* a file may give */
    const char *unit;
    const char *meaning;
    const char *source; /* of the built-in values; "assumption" where there is none */
};

extern const struct baton_profile_field baton_profile_fields[]; /* ended by a null name */
extern const struct baton_profile baton_profiles[];             /* ended by an empty name */

/* A built-in name or the path of a file. -ENOENT, -EINVAL with file and line in the detail. */
int baton_profile_load(const char *name, struct baton_profile *out);

uint64_t baton_profile_get(const struct baton_profile *p, const struct baton_profile_field *f);

#endif

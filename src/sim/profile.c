/* SPDX-License-Identifier: MIT */
/* Profiles of NIC generations, and the file format for a user's own. */
#include "sim/profile.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define F(field, unit, meaning, source)                                                            \
    {                                                                                              \
#field, offsetof(struct baton_profile, field), unit, meaning, source                       \
    }

#define SEED1 "dynamic lock ownership primer, section 2"
#define SEED2 "FARLock summary: local access about 100 ns against microseconds"
#define ASSUMED "assumption"

const struct baton_profile_field baton_profile_fields[] = {
    F(cpu_hit, "ns", "CPU access to a line that this CPU has", ASSUMED),
    F(cpu_miss, "ns", "CPU access to a line that another CPU or a NIC wrote last", SEED2),
    F(cpu_rmw, "ns", "a CPU's read-modify-write, on top of the access", ASSUMED),
    F(cpu_fence, "ns", "a CPU's full fence", ASSUMED),
    F(store_drain, "ns", "until a store leaves the store buffer", ASSUMED),
    F(wake, "ns", "a thread that waits for a word notices that it has changed", ASSUMED),
    F(post, "ns", "writing one work request", ASSUMED),
    F(doorbell, "ns", "the PCIe write that rings, once per chain", ASSUMED),
    F(poll_cq, "ns", "finding a completion", ASSUMED),
    F(nic_tx, "ns", "the sending NIC's work on one operation, pipelined", ASSUMED),
    F(nic_rx, "ns", "the target NIC's work on one operation, pipelined", ASSUMED),
    F(wire, "ns", "one way through cables and one switch",
      ASSUMED
      ", chosen so that an rfaa and the wait for it take 2 us, the order that both summaries name"),
    F(loopback, "ns", "one way inside the NIC to its own host",
      ASSUMED ", of the order of the wire: loopback costs about what remote access does"),
    F(pcie_read, "ns", "a NIC's read of host memory", ASSUMED),
    F(pcie_write, "ns", "until a NIC's write is visible to the host's CPU", ASSUMED),
    F(jitter, "ns", "added to each way, drawn evenly from 0 to this", ASSUMED),
    F(qp_gap, "ns", "between two operations of one queue pair", ASSUMED),
    F(nic_gap, "ns", "between two operations sent by one NIC", ASSUMED),
    F(rx_gap, "ns", "between two operations that one NIC receives", ASSUMED),
    F(bytes_per_us, "B/us", "of the link", SEED1 " (link rate)"),
    F(atomic_qp_gap, "ns", "between two atomics of one queue pair", SEED1 " (one queue pair)"),
    F(atomic_gap, "ns", "between two atomics at one target NIC", SEED1 " (many queue pairs)"),
    F(masked, "0|1", "masked atomics in hardware", SEED1),
    F(repoll, "ns", "a polling loop's own work between two polls", ASSUMED),
    {0},
};

const struct baton_profile baton_profiles[] = {
    {"cx3", 2,   100, 6,  8,  4,  40, 20,   150, 40,  120, 120, 350,
     300,   400, 250, 60, 90, 30, 30, 7000, 385, 385, 0,   30},
    {"cx5", 2,   100, 6,  8,  4,  40, 15,    120, 30,  80, 80, 470,
     400,   420, 220, 40, 60, 10, 10, 12500, 333, 222, 1,  30},
    {"cx6", 2,   100, 6,  8,  4, 40, 15,    120, 30,  70, 70, 480,
     410,   440, 210, 40, 50, 7, 7,  12500, 333, 172, 1,  30},
    {.name = ""},
};

static uint64_t *value_at(struct baton_profile *p, const struct baton_profile_field *f)
{
    return (uint64_t *)((char *)p + f->offset);
}

uint64_t baton_profile_get(const struct baton_profile *p, const struct baton_profile_field *f)
{
    return *(const uint64_t *)((const char *)p + f->offset);
}

static const struct baton_profile *built_in(const char *name)
{
    for (const struct baton_profile *p = baton_profiles; *p->name; p++)
        if (!strcmp(p->name, name))
            return p;
    return NULL;
}

static int take_line(struct baton_profile *p, const char *path, unsigned number, char *line)
{
    line[strcspn(line, "#\r\n")] = 0;
    char name[64], word[64], rest[2];
    int n = sscanf(line, "%63s %63s %1s", name, word, rest);
    if (n <= 0)
        return 0;
    if (n != 2)
        return baton_fail(-EINVAL, "%s:%u: \"name value\" is needed", path, number);
    if (!strcmp(name, "like")) {
        const struct baton_profile *like = built_in(word);
        char own[sizeof(p->name)];
        if (!like)
            return baton_fail(-EINVAL, "%s:%u: no profile \"%s\"; there is: cx3 cx5 cx6", path,
                              number, word);
        memcpy(own, p->name, sizeof(own));
        *p = *like;
        memcpy(p->name, own, sizeof(own));
        return 0;
    }
    for (const struct baton_profile_field *f = baton_profile_fields; f->name; f++) {
        if (strcmp(f->name, name))
            continue;
        char *end;
        errno = 0;
        unsigned long long v = strtoull(word, &end, 10);
        if (!isdigit((unsigned char)*word) || *end || errno || v > 1000000000u)
            return baton_fail(-EINVAL, "%s:%u: %s: a whole number from 0 to 1000000000 is needed",
                              path, number, name);
        *value_at(p, f) = v;
        return 0;
    }
    return baton_fail(-EINVAL, "%s:%u: no field \"%s\"; baton info --profile cx6 lists them", path,
                      number, name);
}

int baton_profile_load(const char *name, struct baton_profile *out)
{
    const struct baton_profile *known = built_in(name);
    if (known) {
        *out = *known;
        return 0;
    }
    FILE *f = fopen(name, "r");
    if (!f)
        return baton_fail(-ENOENT, "no profile \"%s\" (there is: cx3 cx5 cx6) and no such file: %s",
                          name, strerror(errno));
    struct baton_profile p = *built_in("cx6");
    const char *base = strrchr(name, '/');
    snprintf(p.name, sizeof(p.name), "%.31s", base ? base + 1 : name);
    char line[512];
    int rc = 0;
    for (unsigned number = 1; !rc && fgets(line, sizeof(line), f); number++)
        rc = take_line(&p, name, number, line);
    fclose(f);
    if (!rc && !p.bytes_per_us)
        rc = baton_fail(-EINVAL, "%s: bytes_per_us must not be 0", name);
    if (!rc)
        *out = p;
    return rc;
}

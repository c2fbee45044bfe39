/* SPDX-License-Identifier: MIT */
/* Profiles of NIC generations, and the file format for a user's own. */
#include "sim/profile.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define LONGEST 1000000000 /* of a time, in ns */

#define F(field, least, most, unit, meaning, source)                                               \
    {                                                                                              \
#field, offsetof(struct baton_profile, field), least, most, unit, meaning, source          \
    }

#define OTHERS                                                                                     \
    "ib_atomic_bw of others, 2026, on APT c6220 (cx3) and CloudLab c6525-25g (cx6); cx5 by their " \
    "table"
#define FARLOCK "FARLock (OSDI 2026): about 100 ns locally, microseconds by the NIC"
#define ASSUMED "assumption"

const struct baton_profile_field baton_profile_fields[] = {
    F(cpu_hit, 1, LONGEST, "ns", "CPU access to a line that this CPU has", ASSUMED),
    F(cpu_miss, 1, LONGEST, "ns", "CPU access to a line that another CPU or a NIC wrote last",
      FARLOCK),
    F(cpu_rmw, 0, LONGEST, "ns", "a CPU's read-modify-write, on top of the access", ASSUMED),
    F(cpu_fence, 0, LONGEST, "ns", "a CPU's full fence", ASSUMED),
    F(store_drain, 0, LONGEST, "ns", "until a store leaves the store buffer", ASSUMED),
    F(wake, 0, LONGEST, "ns", "a thread that waits for a word notices that it has changed",
      ASSUMED),
    F(post, 1, LONGEST, "ns", "writing one work request", ASSUMED),
    F(doorbell, 0, LONGEST, "ns", "the PCIe write that rings, once per chain", ASSUMED),
    F(poll_cq, 0, LONGEST, "ns", "finding a completion", ASSUMED),
    F(nic_tx, 0, LONGEST, "ns", "the sending NIC's work on one operation, pipelined", ASSUMED),
    F(nic_rx, 0, LONGEST, "ns", "the target NIC's work on one operation, pipelined", ASSUMED),
    F(wire, 0, LONGEST, "ns", "one way through cables and one switch",
      ASSUMED
      ", chosen so that an rfaa and the wait for it take 2 us, the order that evaluations name"),
    F(loopback, 0, LONGEST, "ns", "one way inside the NIC to its own host",
      ASSUMED ", of the order of the wire: loopback costs about what remote access does"),
    F(pcie_read, 0, LONGEST, "ns", "a NIC's read of host memory", ASSUMED),
    F(pcie_write, 0, LONGEST, "ns", "until a NIC's write is visible to the host's CPU", ASSUMED),
    F(jitter, 0, LONGEST, "ns", "added to each way, drawn evenly from 0 to this", ASSUMED),
    F(qp_gap, 1, LONGEST, "ns", "between two operations of one queue pair", ASSUMED),
    F(nic_gap, 0, LONGEST, "ns", "between two operations sent by one NIC", ASSUMED),
    F(rx_gap, 0, LONGEST, "ns", "between two operations that one NIC receives", ASSUMED),
    F(bytes_per_us, 1, LONGEST, "B/us", "of the link",
      "nominal: 56 Gb/s (cx3), 100 Gb/s (cx5, cx6)"),
    F(atomic_qp_gap, 0, LONGEST, "ns", "between two atomics of one queue pair",
      "CAS on one queue pair: " OTHERS),
    F(atomic_gap, 0, LONGEST, "ns", "between two atomics at one target NIC",
      "CAS on many queue pairs: " OTHERS),
    F(masked, 0, 1, "0|1", "masked atomics in hardware", "the same table"),
    F(repoll, 0, LONGEST, "ns", "a polling loop's own work between two polls", ASSUMED),
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

/* What has been read of a file. */
struct reading {
    const char *path;
    unsigned line;
    uint64_t given; /* bits of fields */
    bool like;
};

/* The file may be anything: what it says is shown as letters. */
static void make_printable(char *text)
{
    for (; *text; text++)
        if (!isprint((unsigned char)*text))
            *text = '?';
}

static int take_like(struct baton_profile *p, struct reading *r, const char *word)
{
    const struct baton_profile *like = built_in(word);
    char own[sizeof(p->name)];
    if (!like)
        return baton_fail(-EINVAL, "%s:%u: no profile \"%s\"; there is: cx3 cx5 cx6", r->path,
                          r->line, word);
    if (r->like || r->given)
        return baton_fail(-EINVAL, "%s:%u: \"like\" comes once, before all values", r->path,
                          r->line);
    r->like = true;
    memcpy(own, p->name, sizeof(own));
    *p = *like;
    memcpy(p->name, own, sizeof(own));
    return 0;
}

static int take_line(struct baton_profile *p, struct reading *r, char *line)
{
    line[strcspn(line, "#\r\n")] = 0;
    char name[64], word[64], rest[2];
    int n = sscanf(line, "%63s %63s %1s", name, word, rest);
    if (n <= 0)
        return 0;
    if (n != 2)
        return baton_fail(-EINVAL, "%s:%u: \"name value\" is needed", r->path, r->line);
    make_printable(name);
    make_printable(word);
    if (!strcmp(name, "like"))
        return take_like(p, r, word);
    for (const struct baton_profile_field *f = baton_profile_fields; f->name; f++) {
        uint64_t bit = UINT64_C(1) << (f - baton_profile_fields);
        if (strcmp(f->name, name))
            continue;
        char *end;
        errno = 0;
        unsigned long long v = strtoull(word, &end, 10);
        if (!isdigit((unsigned char)*word) || *end || errno || v < f->least || v > f->most)
            return baton_fail(-EINVAL, "%s:%u: %s %s: a whole number from %u to %u is needed",
                              r->path, r->line, name, word, f->least, f->most);
        if (r->given & bit)
            return baton_fail(-EINVAL, "%s:%u: %s is given twice", r->path, r->line, name);
        r->given |= bit;
        *value_at(p, f) = v;
        return 0;
    }
    return baton_fail(-EINVAL, "%s:%u: no field \"%s\"; baton info --profile cx6 lists them",
                      r->path, r->line, name);
}

static int read_file(FILE *f, struct baton_profile *p, struct reading *r)
{
    char line[512];
    while (fgets(line, sizeof(line), f)) {
        r->line++;
        if (strlen(line) == sizeof(line) - 1 && line[sizeof(line) - 2] != '\n')
            return baton_fail(-EINVAL, "%s:%u: a line of more than %zu characters", r->path,
                              r->line, sizeof(line) - 2);
        int rc = take_line(p, r, line);
        if (rc)
            return rc;
    }
    if (ferror(f))
        return baton_fail(-EINVAL, "%s: %s", r->path, strerror(errno));
    if (!r->like && !r->given)
        return baton_fail(-EINVAL, "%s: gives no value", r->path);
    return 0;
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
    struct reading r = {.path = name};
    const char *base = strrchr(name, '/');
    snprintf(p.name, sizeof(p.name), "%.31s", base ? base + 1 : name);
    int rc = read_file(f, &p, &r);
    fclose(f);
    if (!rc)
        *out = p;
    return rc;
}

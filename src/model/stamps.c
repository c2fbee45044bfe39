/* SPDX-License-Identifier: MIT */
/*
 * The stamp table of RDMA^WAIT with remote RMWs. Rows are the earlier access, columns the later one.
 */
#include "model/stamps.h"

#include "model/program.h"

const struct baton_stamps baton_stamps_default = {
    /* clang-format off */
    /*         CR   CW   CAS  MF   WT   NLR  NRW  NAR  NRR  NLW  RF   GF */
    {
    /* CR  */ {'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y'},
    /* CW  */ {'i', 'Y', 'Y', 'Y', 'i', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y'},
    /* CAS */ {'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y'},
    /* MF  */ {'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y'},
    /* WT  */ {'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y'},
    /* NLR */ {'-', '-', '-', '-', '-', 's', 's', 's', 's', 's', 's', 's'},
    /* NRW */ {'-', '-', '-', '-', '-', '-', 's', 's', 's', 's', 'n', 's'},
    /* NAR */ {'-', '-', '-', '-', '-', '-', 's', 's', 's', 's', 's', 's'},
    /* NRR */ {'-', '-', '-', '-', '-', '-', '-', '-', '-', 's', 's', 's'},
    /* NLW */ {'-', '-', '-', '-', '-', '-', '-', '-', '-', 's', 'n', 's'},
    /* RF  */ {'-', '-', '-', '-', '-', 's', 's', 's', 's', 's', 's', 's'},
    /* GF  */ {'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y'},
    },
    /* clang-format on */
};

static const struct {
    const char *name, *words;
} texts[BATON_STAMP_COUNT] = {
    [BATON_STAMP_CR] = {"CR", "CPU read"},
    [BATON_STAMP_CW] = {"CW", "CPU write"},
    [BATON_STAMP_CAS] = {"CAS", "CPU read-modify-write"},
    [BATON_STAMP_MF] = {"MF", "memory fence"},
    [BATON_STAMP_WT] = {"WT", "wait"},
    [BATON_STAMP_NLR] = {"NLR", "NIC local read"},
    [BATON_STAMP_NRW] = {"NRW", "NIC remote write"},
    [BATON_STAMP_NAR] = {"NAR", "NIC atomic read"},
    [BATON_STAMP_NRR] = {"NRR", "NIC remote read"},
    [BATON_STAMP_NLW] = {"NLW", "NIC local write"},
    [BATON_STAMP_RF] = {"RF", "remote fence"},
    [BATON_STAMP_GF] = {"GF", "global fence"},
};

void baton_stamps_vary(struct baton_stamps *stamps, unsigned variants)
{
    if (variants & BATON_VARIANT_NRR_NRR)
        stamps->cell[BATON_STAMP_NRR][BATON_STAMP_NRR] = 's';
    if (variants & BATON_VARIANT_NAR_NRR)
        stamps->cell[BATON_STAMP_NAR][BATON_STAMP_NRR] = '-';
    if (variants & BATON_VARIANT_NAR_NLR)
        stamps->cell[BATON_STAMP_NAR][BATON_STAMP_NLR] = 's';
}

const char *baton_stamp_name(enum baton_stamp stamp)
{
    return texts[stamp].name;
}

const char *baton_stamp_words(enum baton_stamp stamp)
{
    return texts[stamp].words;
}

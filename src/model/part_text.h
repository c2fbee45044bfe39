/* SPDX-License-Identifier: MIT */
/*
 * Words for the parts of a program, for stories and pictures.
 */
#ifndef BATON_MODEL_PART_TEXT_H
#define BATON_MODEL_PART_TEXT_H

#include <stddef.h>

#include "model/candidate.h"

enum { BATON_PART_TEXT = 512 };

/* `P0 "put z, x #d"`: the operation as it was written in `program`. */
void baton_part_op_text(const struct baton_candidate *c, const struct baton_program *program,
                        unsigned part, char *buf, size_t size);

/* "NIC remote write of z": the part itself. */
void baton_part_text(const struct baton_candidate *c, unsigned part, char *buf, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
/* Reads every litmus test of a folder, for tests that go over all of them. */
#ifndef BATON_TESTS_MODEL_CORPUS_H
#define BATON_TESTS_MODEL_CORPUS_H

#include <stddef.h>

#include "model/program.h"

struct corpus {
    struct baton_program *program;
    size_t n;
};

/* In the order of the file names. Ends the test, saying why, if something is not as it should be. */
void corpus_read(struct corpus *corpus, const char *folder);
void corpus_free(struct corpus *corpus);

/* One program from its text; ends the test if it is malformed. */
void corpus_parse(const char *text, size_t size, const char *name, struct baton_program *program);

#endif

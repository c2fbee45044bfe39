/* SPDX-License-Identifier: MIT */
/*
 * Shows that no input makes the parser of litmus tests crash, and that what it accepts it can print and
 * read back: the second text must be accepted and print as itself. Lowering gets every accepted program
 * as well, since its bounds depend on the input.
 *
 * This is a libFuzzer target. driver.c runs it where there is no libFuzzer.
 */
#include "model/parse.h"
#include "model/program.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *print(const struct baton_program *p, size_t *size)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, size);
    if (!f)
        abort();
    baton_program_print(p, f);
    if (fclose(f))
        abort();
    return text;
}

static void lower(const struct baton_program *p)
{
    for (int model = 0; model < BATON_MODELS; model++) {
        struct baton_program lowered;
        if (!baton_program_lower(p, (enum baton_model)model, &lowered))
            baton_program_fini(&lowered);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct baton_program p, again;
    struct baton_parse_error error;
    /* A copy of exactly this size: reading past its end is then an error that a sanitizer sees. */
    char *text = malloc(size ? size : 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    int rc = baton_program_parse(text, size, &p, &error);
    free(text);
    if (rc)
        return 0;
    size_t first_size, second_size;
    char *first = print(&p, &first_size);
    if (baton_program_parse(first, first_size, &again, &error)) {
        fprintf(stderr, "printed, but not accepted again: line %u: %s\n%s", error.line,
                error.message, first);
        abort();
    }
    char *second = print(&again, &second_size);
    if (first_size != second_size || memcmp(first, second, first_size) != 0) {
        fprintf(stderr, "does not print as itself:\n%s\n%s", first, second);
        abort();
    }
    lower(&p);
    free(first);
    free(second);
    baton_program_fini(&p);
    baton_program_fini(&again);
    return 0;
}

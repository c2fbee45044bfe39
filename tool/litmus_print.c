/* SPDX-License-Identifier: MIT */
/* Final states of litmus tests, as `check` and `run` print them. */
#include "litmus_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

bool litmus_shown(const struct baton_program *program, unsigned column, bool all)
{
    return all || baton_program_cond_uses(program, column);
}

void litmus_mask(const struct baton_program *program, const int64_t *row, bool all, int64_t *out)
{
    for (unsigned k = 0; k < program->width; k++)
        out[k] = litmus_shown(program, k, all) ? row[k] : 0;
}

int litmus_project(const struct baton_program *program, const struct baton_outcomes *from, bool all,
                   struct baton_outcomes *to)
{
    int64_t *row = calloc(program->width + 1, sizeof(*row));
    int rc = row ? 0 : -ENOMEM;
    baton_outcomes_init(to, program->width);
    for (size_t i = 0; rc >= 0 && i < from->n; i++) {
        litmus_mask(program, baton_outcomes_row(from, i), all, row);
        rc = baton_outcomes_add(to, row);
    }
    free(row);
    if (rc < 0) {
        baton_outcomes_fini(to);
        return rc;
    }
    baton_outcomes_sort(to);
    return 0;
}

static void print_values(const struct baton_program *program, const int64_t *row, bool all,
                         const char *form, const char *separator, FILE *to)
{
    char name[2 * BATON_NAME_MAX];
    const char *between = "";
    for (unsigned k = 0; k < program->width; k++) {
        if (!litmus_shown(program, k, all))
            continue;
        baton_program_column_name(program, k, name, sizeof(name));
        fputs(between, to);
        fprintf(to, form, name, row[k]);
        between = separator;
    }
}

void litmus_print_values(const struct baton_program *program, const int64_t *row, bool all,
                         FILE *to)
{
    print_values(program, row, all, "%s=%" PRId64 ";", " ", to);
}

void litmus_print_json_values(const struct baton_program *program, const int64_t *row, bool all,
                              FILE *to)
{
    putc('{', to);
    print_values(program, row, all, "\"%s\":%" PRId64, ",", to);
    putc('}', to);
}

void litmus_print_hash(const struct baton_program *program, FILE *to)
{
    char *text = NULL;
    size_t size = 0;
    FILE *form = open_memstream(&text, &size);
    if (form) {
        baton_program_print(program, form);
        fclose(form);
    }
    uint64_t a = 0xcbf29ce484222325u, b = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < size; i++) {
        a = (a ^ (unsigned char)text[i]) * 0x100000001b3u;
        b = (b ^ a) * 0xff51afd7ed558ccdu;
        b ^= b >> 32;
    }
    free(text);
    fprintf(to, "Hash=%016" PRIx64 "%016" PRIx64 "\n", a, b);
}

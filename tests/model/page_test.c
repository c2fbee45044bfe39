/* SPDX-License-Identifier: MIT */
/*
 * Shows that baton-memory-model(7) tells the truth: its table is the table of the axioms, cell by cell,
 * and each rule's test exists and states the verdict that the page gives it. That the verdicts hold is
 * checked where all litmus tests are.
 */
#include "model/parse.h"
#include "model/stamps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static char *read_all(const char *name, size_t *size)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", BATON_SOURCE_DIR, name);
    FILE *f = fopen(path, "r");
    char *text = malloc(1 << 17);
    if (!f || !text) {
        printf("FAIL: no %s\n", path);
        exit(1);
    }
    *size = fread(text, 1, (1 << 17) - 1, f);
    text[*size] = 0;
    fclose(f);
    return text;
}

/* A row of the table: the name of a stamp, then one cell for each stamp, with a bar in between. */
static bool check_row(const char *line, bool seen[])
{
    int row = 0;
    while (row < BATON_STAMP_COUNT) {
        const char *name = baton_stamp_name((enum baton_stamp)row);
        if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ' ')
            break;
        row++;
    }
    if (row == BATON_STAMP_COUNT || seen[row])
        return false;
    line += strlen(baton_stamp_name((enum baton_stamp)row));
    for (int column = 0; column < BATON_STAMP_COUNT; column++) {
        line += strspn(line, " |");
        if (*line != baton_stamps_default.cell[row][column]) {
            printf("FAIL: %s to %s is '%c' in the axioms, and '%c' in the page\n",
                   baton_stamp_name((enum baton_stamp)row),
                   baton_stamp_name((enum baton_stamp)column),
                   baton_stamps_default.cell[row][column], *line);
            failures++;
        }
        line++;
    }
    seen[row] = true;
    return true;
}

/* ".It Pa NAME : VERDICT": some model of the test must have this verdict stated. */
static void check_rule(const char *line)
{
    char name[64], verdict[16], path[128];
    struct baton_program p;
    struct baton_parse_error error;
    size_t size;
    bool stated = false;
    if (sscanf(line, ".It Pa %63s : %15s", name, verdict) != 2) {
        printf("FAIL: not a rule: %s\n", line);
        failures++;
        return;
    }
    snprintf(path, sizeof(path), "tests/litmus/%s.litmus", name);
    char *text = read_all(path, &size);
    if (baton_program_parse(text, size, &p, &error)) {
        baton_parse_error_print(&error, path, stdout);
        exit(1);
    }
    for (unsigned i = 0; i < p.n_results; i++)
        stated |= !strcmp(baton_verdict_name(p.result[i].verdict), verdict);
    if (!stated) {
        printf("FAIL: %s does not state %s\n", path, verdict);
        failures++;
    }
    baton_program_fini(&p);
    free(text);
}

int main(void)
{
    size_t size;
    char *page = read_all("man/baton-memory-model.7", &size), *rest = page, *line;
    bool seen[BATON_STAMP_COUNT] = {false};
    int rows = 0, rules = 0;
    while ((line = strsep(&rest, "\n"))) {
        rows += check_row(line, seen);
        if (!strncmp(line, ".It Pa ", 7)) {
            check_rule(line);
            rules++;
        }
    }
    free(page);
    printf("%d rows, %d rules\n", rows, rules);
    if (rows != BATON_STAMP_COUNT || rules < 40)
        failures++;
    return failures != 0;
}

/* SPDX-License-Identifier: MIT */
/* Reads litmus tests for tests; whatever goes wrong ends the test. */
#include "corpus.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/parse.h"

void corpus_parse(const char *text, size_t size, const char *name, struct baton_program *program)
{
    struct baton_parse_error error;
    int rc = baton_program_parse(text, size, program, &error);
    if (!rc)
        return;
    if (rc == -EINVAL)
        baton_parse_error_print(&error, name, stderr);
    else
        fprintf(stderr, "%s: %s\n", name, strerror(-rc));
    exit(1);
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "r");
    char *text = NULL, chunk[4096];
    FILE *copy = open_memstream(&text, size);
    size_t n;
    while (file && copy && (n = fread(chunk, 1, sizeof(chunk), file)) > 0)
        fwrite(chunk, 1, n, copy);
    if (!file || !copy || ferror(file) || fclose(copy)) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return text;
}

static int is_litmus(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 7 && !strcmp(entry->d_name + n - 7, ".litmus");
}

void corpus_read(struct corpus *corpus, const char *folder)
{
    struct dirent **entry;
    int n = scandir(folder, &entry, is_litmus, alphasort);
    if (n <= 0) {
        fprintf(stderr, "no litmus tests in %s\n", folder);
        exit(1);
    }
    corpus->n = (size_t)n;
    corpus->program = calloc(corpus->n, sizeof(*corpus->program));
    if (!corpus->program)
        exit(1);
    for (int i = 0; i < n; i++) {
        char path[4096];
        size_t size;
        snprintf(path, sizeof(path), "%s/%s", folder, entry[i]->d_name);
        char *text = read_file(path, &size);
        corpus_parse(text, size, path, &corpus->program[i]);
        free(text);
        free(entry[i]);
    }
    free(entry);
}

void corpus_free(struct corpus *corpus)
{
    for (size_t i = 0; i < corpus->n; i++)
        baton_program_fini(&corpus->program[i]);
    free(corpus->program);
}

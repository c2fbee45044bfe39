/* SPDX-License-Identifier: MIT */
/*
 * Runs a libFuzzer target without libFuzzer: first every file of the given folders as it is, then
 * seeded mutations of them until the time is over.
 *
 *   usage: fuzz SECONDS SEED FOLDER...
 *
 * The input under test is kept in ./fuzz-input, a shared mapping, so that after a crash the file holds
 * what crashed; `fuzz 0 0 FOLDER` with that file in FOLDER runs it again. The same seed makes the same
 * inputs, however far it gets.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 8192, FILES_MAX = 1024 };

struct input {
    size_t size;
    uint8_t byte[INPUT_MAX];
};

static struct input file[FILES_MAX];
static int files;

/* What the language is made of: single bytes hardly ever spell a word. */
static const char *const words[] = {
    "RDMA ",  "nodes ",  "sc ",      "sv ",     "lock ",    "wlock",    "slock",    "nlock",
    "put ",   "get ",    "rcas ",    "rfaa ",   "wait ",    "poll ",    "rfence",   "gfence",
    "mfence", "assume ", "acq ",     "rel ",    "scwrite ", "scread ",  "sccas ",   "scfaa ",
    "bcast ", "svread",  "svwrite ", "exists ", "forall ",  "~exists ", "(* ",      " *)",
    "Result", "tso",     "wait",     "spec",    "Never",    "Always",   "P0@1",     " | ",
    " ;\n",   "{\n",     "}\n",      "/\\",     "\\/",      "~",        "!=",       "==",
    "#d",     "@",       "cas ",     "faa ",    "\"",       "((((",     "99999999", "-1",
    "0:r",    "x@1",     " x = 1 ;", "= x",     "\n",       "+",        "65536",
};

static void load(const char *folder)
{
    struct dirent **entry;
    int n = scandir(folder, &entry, NULL, alphasort);
    if (n < 0) {
        perror(folder);
        exit(2);
    }
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", folder, entry[i]->d_name);
        FILE *f = entry[i]->d_name[0] == '.' ? NULL : fopen(path, "rb");
        free(entry[i]);
        if (!f || files == FILES_MAX) {
            if (f)
                fclose(f);
            continue;
        }
        file[files].size = fread(file[files].byte, 1, INPUT_MAX, f);
        files += !ferror(f);
        fclose(f);
    }
    free(entry);
}

/* Replaces `cut` bytes at `at` by `n` bytes of `from`, as far as there is room. */
static void replace(struct input *in, size_t at, size_t cut, const void *from, size_t n)
{
    if (cut > in->size - at)
        cut = in->size - at;
    if (n > INPUT_MAX - (in->size - cut))
        n = INPUT_MAX - (in->size - cut);
    uint8_t copy[INPUT_MAX];
    memcpy(copy, from, n);
    memmove(in->byte + at + n, in->byte + at + cut, in->size - at - cut);
    memcpy(in->byte + at, copy, n);
    in->size += n - cut;
}

static size_t below(struct baton_random *r, size_t n)
{
    return (size_t)baton_random_below(r, n);
}

static void mutate(struct input *in, struct baton_random *r)
{
    size_t at = below(r, in->size + 1), length = below(r, 24);
    const struct input *other = &file[below(r, (size_t)files)];
    const char *word = words[below(r, sizeof(words) / sizeof(*words))];
    size_t from = below(r, other->size + 1), copied = below(r, other->size - from + 1);
    uint8_t byte = (uint8_t)below(r, 256);
    switch (below(r, 7)) {
    case 0:
        replace(in, at, 1, &byte, 1);
        break;
    case 1:
        replace(in, at, length, "", 0);
        break;
    case 2:
        replace(in, at, 0, word, strlen(word));
        break;
    case 3:
        replace(in, at, length, word, strlen(word));
        break;
    case 4:
        replace(in, at, length, other->byte + from, copied);
        break;
    case 5:
        replace(in, at, 0, in->byte + at, length < in->size - at ? length : in->size - at);
        break;
    default:
        in->size = at;
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *shared_input(void)
{
    int fd = open("fuzz-input", O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || ftruncate(fd, INPUT_MAX)) {
        perror("fuzz-input");
        exit(2);
    }
    void *at = mmap(NULL, INPUT_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        perror("fuzz-input");
        exit(2);
    }
    close(fd);
    return at;
}

static void run(uint8_t *shared, const struct input *in)
{
    memcpy(shared, in->byte, in->size);
    memset(shared + in->size, 0, INPUT_MAX - in->size);
    LLVMFuzzerTestOneInput(in->byte, in->size);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: %s SECONDS SEED FOLDER...\n", argv[0]);
        return 2;
    }
    double end = now() + atof(argv[1]);
    uint64_t seed = strtoull(argv[2], NULL, 10), count = 0;
    for (int i = 3; i < argc; i++)
        load(argv[i]);
    if (!files) {
        fprintf(stderr, "%s: no input found\n", argv[0]);
        return 2;
    }
    void *shared = shared_input();
    for (int i = 0; i < files; i++)
        run(shared, &file[i]);
    printf("seed %" PRIu64 ", %d files replayed; what crashes stays in ./fuzz-input\n", seed,
           files);
    fflush(stdout);
    struct baton_random random;
    baton_random_init(&random, seed);
    static struct input in;
    while (now() < end) {
        for (int batch = 0; batch < 256; batch++, count++) {
            in = file[below(&random, (size_t)files)];
            for (size_t n = 1 + below(&random, 5); n; n--)
                mutate(&in, &random);
            run(shared, &in);
        }
    }
    unlink("fuzz-input");
    printf("%" PRIu64 " mutations, no crash\n", count);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Reads and makes secret files. */
#include "fabric/net_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_file(int fd, const char *path)
{
    struct stat s;
    if (fstat(fd, &s))
        return baton_fail(-errno, "secret %s: %s", path, strerror(errno));
    if (!S_ISREG(s.st_mode))
        return baton_fail(-EPERM, "secret %s is not a plain file", path);
    if (s.st_uid != geteuid())
        return baton_fail(-EPERM, "secret %s belongs to user %u, not to us", path,
                          (unsigned)s.st_uid);
    if (s.st_mode & 07177)
        return baton_fail(-EPERM, "secret %s has mode %04o; others must have no access: chmod 600",
                          path, (unsigned)(s.st_mode & 07777));
    if (s.st_size < NET_SECRET_LEAST || s.st_size > NET_SECRET_MOST)
        return baton_fail(-EPERM, "secret %s has %lld bytes; %u to %u are needed", path,
                          (long long)s.st_size, NET_SECRET_LEAST, NET_SECRET_MOST);
    return 0;
}

int baton_net_secret_read(const char *path, uint8_t key[NET_KEY_BYTES])
{
    uint8_t bytes[NET_SECRET_MOST];
    size_t size = 0;
    if (sodium_init() < 0)
        return baton_fail(-EIO, "libsodium finds no source of randomness");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return baton_fail(-errno, "secret %s: %s", path, strerror(errno));
    int rc = check_file(fd, path);
    while (!rc && size < sizeof(bytes)) {
        ssize_t n = read(fd, bytes + size, sizeof(bytes) - size);
        if (n == 0)
            break;
        if (n > 0)
            size += (size_t)n;
        else if (errno != EINTR)
            rc = baton_fail(-errno, "secret %s: %s", path, strerror(errno));
    }
    close(fd);
    if (!rc && size < NET_SECRET_LEAST)
        rc = baton_fail(-EPERM, "secret %s has %zu bytes; at least %u are needed", path, size,
                        NET_SECRET_LEAST);
    if (!rc)
        crypto_generichash(key, NET_KEY_BYTES, bytes, size, NULL, 0);
    sodium_memzero(bytes, sizeof(bytes));
    return rc;
}

int baton_secret_create(const char *path)
{
    uint8_t random[NET_KEY_BYTES];
    char text[2 * NET_KEY_BYTES + 1];
    if (sodium_init() < 0)
        return baton_fail(-EIO, "libsodium finds no source of randomness");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return baton_fail(-errno, "secret %s: %s", path, strerror(errno));
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(text, sizeof(text), random, sizeof(random));
    text[sizeof(text) - 1] = '\n';
    int rc = 0;
    if (fchmod(fd, 0600) || write(fd, text, sizeof(text)) != (ssize_t)sizeof(text) || fsync(fd))
        rc = baton_fail(-errno, "secret %s: %s", path, strerror(errno));
    close(fd);
    sodium_memzero(random, sizeof(random));
    sodium_memzero(text, sizeof(text));
    if (rc)
        unlink(path);
    return rc;
}

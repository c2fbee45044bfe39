/* SPDX-License-Identifier: MIT */
/*
 * Shows which secret files are taken and which are refused: mode, owner, kind, length; that a new one
 * is for its user only whatever the umask, never replaces a file, and is another one each time.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "fabric/net_secret.h"
#include "net_test.h"

static char folder[] = "/tmp/baton-secret-XXXXXX";
static uint8_t key[NET_KEY_BYTES], other[NET_KEY_BYTES];

static const char *path_of(const char *name)
{
    static char path[96];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static const char *file_of(const char *name, size_t bytes, mode_t mode)
{
    const char *path = path_of(name);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && !ftruncate(fd, (off_t)bytes) && !fchmod(fd, mode));
    close(fd);
    return path;
}

static void made(void)
{
    struct stat s;
    umask(0);
    CHECK(!baton_secret_create(path_of("one")) && !baton_secret_create(path_of("two")));
    CHECK(!stat(path_of("one"), &s) && (s.st_mode & 07777) == 0600);
    CHECK(s.st_size >= NET_SECRET_LEAST);
    CHECK(!baton_net_secret_read(path_of("one"), key) &&
          !baton_net_secret_read(path_of("two"), other));
    CHECK(memcmp(key, other, sizeof(key)));
    CHECK(!baton_net_secret_read(path_of("one"), other) && !memcmp(key, other, sizeof(key)));
    CHECK(baton_secret_create(path_of("one")) == -EEXIST);
    CHECK(!baton_net_secret_read(path_of("one"), other) && !memcmp(key, other, sizeof(key)));
    CHECK(baton_secret_create("/nowhere/secret") == -ENOENT);
}

static void refused(void)
{
    static const mode_t bad[] = {0640, 0604, 0620, 0602, 0610, 0601, 0700, 0666, 04600};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CHECK(baton_net_secret_read(file_of("mode", 64, bad[i]), key) == -EPERM);
        CHECK(strstr(baton_error_detail(), "chmod 600"));
    }
    CHECK(!baton_net_secret_read(file_of("mode", 64, 0600), key));
    CHECK(!baton_net_secret_read(file_of("mode", 64, 0400), key));
    CHECK(!baton_net_secret_read(file_of("size", NET_SECRET_LEAST, 0600), key));
    CHECK(baton_net_secret_read(file_of("size", NET_SECRET_LEAST - 1, 0600), key) == -EPERM);
    CHECK(baton_net_secret_read(file_of("size", 0, 0600), key) == -EPERM);
    CHECK(!baton_net_secret_read(file_of("size", NET_SECRET_MOST, 0600), key));
    CHECK(baton_net_secret_read(file_of("size", NET_SECRET_MOST + 1, 0600), key) == -EPERM);
    CHECK(baton_net_secret_read(folder, key) == -EPERM);
    CHECK(baton_net_secret_read("/dev/zero", key) == -EPERM);
    CHECK(baton_net_secret_read(path_of("none"), key) == -ENOENT);
    CHECK(!mkfifo(path_of("pipe"), 0600) && baton_net_secret_read(path_of("pipe"), key) == -EPERM);
    if (!geteuid()) { /* only root can give a file away */
        CHECK(!chown(file_of("owner", 64, 0600), 1, 1));
        CHECK(baton_net_secret_read(path_of("owner"), key) == -EPERM);
    }
}

int main(void)
{
    CHECK(mkdtemp(folder));
    made();
    refused();
    static const char *const all[] = {"one", "two", "mode", "size", "pipe", "owner"};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        unlink(path_of(all[i]));
    return rmdir(folder) != 0;
}

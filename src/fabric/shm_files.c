/* SPDX-License-Identifier: MIT */
/*
 * Files and locks of shm clusters.
 *
 * The user's number is part of every file's name, so two users' clusters of one name are two clusters.
 * The folder lets everybody make files, so a file with our number in its name may still be somebody
 * else's, and memory in it would be his: every open checks the owner.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "fabric/shm_control.h"
#include "fabric/shm_files.h"

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";

bool baton_shm_name_ok(const char *name)
{
    size_t n = strnlen(name, BATON_NAME_MAX + 1);
    return n && n <= BATON_NAME_MAX && strspn(name, name_letters) == n;
}

void baton_shm_control_path(char path[SHM_PATH_MAX], const char *name)
{
    snprintf(path, SHM_PATH_MAX, SHM_FOLDER "/baton.%u.%s.ctl", (unsigned)geteuid(), name);
}

void baton_shm_segment_path(char path[SHM_PATH_MAX], const char *name, unsigned node, uint64_t base)
{
    snprintf(path, SHM_PATH_MAX, SHM_FOLDER "/baton.%u.%s.%u.%llx", (unsigned)geteuid(), name, node,
             (unsigned long long)base);
}

int baton_shm_reserve(int fd, uint64_t bytes)
{
    int rc;
    do
        rc = posix_fallocate(fd, 0, (off_t)bytes);
    while (rc == EINTR);
    return -rc;
}

/* ---- Locks */

static struct flock range(int type, unsigned byte, unsigned count)
{
    struct flock l;
    memset(&l, 0, sizeof(l)); /* l_pid must be 0 for this kind of lock */
    l.l_type = (short)type;
    l.l_whence = SEEK_SET;
    l.l_start = byte;
    l.l_len = count;
    return l;
}

int baton_shm_lock(int fd, unsigned byte, bool wait)
{
    struct flock l = range(F_WRLCK, byte, 1);
    int rc;
    do
        rc = fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &l);
    while (rc && errno == EINTR);
    if (!rc)
        return 0;
    return errno == EACCES ? -EAGAIN : -errno;
}

void baton_shm_unlock(int fd, unsigned byte)
{
    struct flock l = range(F_UNLCK, byte, 1);
    fcntl(fd, F_OFD_SETLK, &l);
}

int baton_shm_locked(int fd, unsigned byte, unsigned count)
{
    struct flock l = range(F_WRLCK, byte, count);
    if (fcntl(fd, F_OFD_GETLK, &l))
        return -errno;
    return l.l_type != F_UNLCK;
}

/* ---- The control file */

static int check_owner(const struct stat *st, const char *path)
{
    if (st->st_uid != geteuid() || !S_ISREG(st->st_mode))
        return baton_fail(-EPERM, "%s belongs to user %u%s", path, (unsigned)st->st_uid,
                          S_ISREG(st->st_mode) ? "" : " and is no plain file");
    return 0;
}

int baton_shm_open_gated(const char *name, bool create, int *out)
{
    char path[SHM_PATH_MAX];
    baton_shm_control_path(path, name);
    for (;;) {
        int fd =
            open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (create ? O_CREAT : 0), 0600);
        if (fd < 0) {
            int rc = -errno;
            if (rc == -EACCES || rc == -EPERM || rc == -ELOOP || rc == -EISDIR || rc == -ENXIO)
                return baton_fail(-EPERM, "%s belongs to another user or is no plain file", path);
            return baton_fail(rc, "%s can not be opened: %s", path, strerror(-rc));
        }
        struct stat st;
        int rc = fstat(fd, &st) ? -errno : check_owner(&st, path);
        if (!rc && (rc = baton_shm_lock(fd, SHM_GATE, true)))
            baton_fail(rc, "%s can not be locked: %s", path, strerror(-rc));
        if (!rc && fstat(fd, &st))
            rc = -errno;
        if (!rc && st.st_nlink) {
            *out = fd;
            return 0;
        }
        /* The cluster's last node has removed the file while we waited for the gate. */
        close(fd);
        if (rc)
            return rc;
    }
}

/* ---- Removing */

static void remove_file(const char *path, baton_shm_removed_fn removed, void *arg)
{
    struct stat st;
    if (lstat(path, &st) || unlink(path) || !removed)
        return;
    removed(arg, path, (uint64_t)st.st_size);
}

void baton_shm_remove_control(const char *name, baton_shm_removed_fn removed, void *arg)
{
    char path[SHM_PATH_MAX];
    baton_shm_control_path(path, name);
    remove_file(path, removed, arg);
}

void baton_shm_remove_segments(const char *name, int node, baton_shm_removed_fn removed, void *arg)
{
    char prefix[SHM_PATH_MAX], path[sizeof(SHM_FOLDER) + sizeof(((struct dirent *)0)->d_name)];
    int n = snprintf(prefix, sizeof(prefix), "baton.%u.%s.", (unsigned)geteuid(), name);
    if (node >= 0)
        n += snprintf(prefix + n, sizeof(prefix) - (size_t)n, "%d.", node);
    DIR *folder = opendir(SHM_FOLDER);
    if (!folder)
        return;
    struct dirent *e;
    while ((e = readdir(folder))) {
        if (strncmp(e->d_name, prefix, (size_t)n) || !strcmp(e->d_name + n, "ctl"))
            continue;
        snprintf(path, sizeof(path), SHM_FOLDER "/%s", e->d_name);
        remove_file(path, removed, arg);
    }
    closedir(folder);
}

/* ---- All clusters */

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

int baton_shm_names(char (**out)[BATON_NAME_MAX + 1])
{
    char prefix[32];
    size_t n = (size_t)snprintf(prefix, sizeof(prefix), "baton.%u.", (unsigned)geteuid());
    size_t room = 0, count = 0;
    char(*names)[BATON_NAME_MAX + 1] = NULL;
    DIR *folder = opendir(SHM_FOLDER);
    if (!folder)
        return baton_fail(-errno, SHM_FOLDER " can not be read: %s", strerror(errno));
    struct dirent *e;
    while ((e = readdir(folder))) {
        const char *name = e->d_name + n;
        size_t length = strncmp(e->d_name, prefix, n) ? 0 : strcspn(name, ".");
        if (!length || length > BATON_NAME_MAX || strspn(name, name_letters) != length)
            continue;
        if (count == room) {
            room = room ? 2 * room : 16;
            void *more = realloc(names, room * sizeof(*names));
            if (!more) {
                free(names);
                closedir(folder);
                return -ENOMEM;
            }
            names = more;
        }
        memcpy(names[count], name, length);
        names[count++][length] = 0;
    }
    closedir(folder);
    size_t kept = 0;
    if (count)
        qsort(names, count, sizeof(*names), compare_names);
    for (size_t i = 0; i < count; i++)
        if (!kept || strcmp(names[kept - 1], names[i]))
            memmove(names[kept++], names[i], sizeof(*names));
    *out = names;
    return (int)kept;
}

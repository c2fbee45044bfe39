/* SPDX-License-Identifier: MIT */
/*
 * What can not be joined is refused with the right error and a detail that says why, and nothing is
 * left or changed by it: bad names, full table, a number that is taken, another layout, a file of that
 * name that is another user's; a full table of names; more memory than there is.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "shm_test.h"

static void refused(const char *name, unsigned nodes, int first, unsigned local, int want,
                    const char *word)
{
    struct baton_cluster *c;
    CHECK_RC(test_open(name, nodes, first, local, &c), want);
    CHECK(strstr(baton_error_detail(), word), "the detail does not say \"%s\"", word);
}

static void bad_names(void)
{
    static const char *const bad[] = {
        "",       "Capital", "two words", "dot.dot",
        "sla/sh", "../x",    "\303\244",  "a23456789b123456789c123456789d123456789e12345678"};
    struct baton_cluster *c;
    refused(NULL, 0, -1, 1, -EINVAL, "name");
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refused(bad[i], 0, -1, 1, -EINVAL, "a-z");
    const char *longest = "a23456789b123456789c123456789d123456789-_123456";
    CHECK(strlen(longest) == BATON_NAME_MAX, "%zu", strlen(longest));
    CHECK_RC(test_open(longest, 0, -1, 1, &c), 0);
    CHECK_RC(baton_cluster_close(c), 0);
    CHECK(!test_files(longest, ""), "%u files are left", test_files(longest, ""));
}

static void no_place(const char *name)
{
    struct baton_cluster *a, *b, *c;
    refused(name, 3, 3, 1, -EINVAL, "3 places");
    refused(name, 3, -1, 4, -EINVAL, "3 places");
    CHECK(!test_files(name, ""), "a refused founder left files");
    CHECK_RC(test_open(name, 3, 1, 1, &a), 0);
    refused(name, 0, 1, 1, -EBUSY, "number 1 is taken");
    refused(name, 0, -1, 2, -EBUSY, "3 places");
    refused(name, 0, 7, 1, -EINVAL, "3 places");
    /* The founder's number of places holds. */
    CHECK_RC(test_open(name, 99, -1, 1, &b), 0);
    CHECK(baton_cluster_nodes(b) == 3, "%u", baton_cluster_nodes(b));
    CHECK(baton_node_index(baton_cluster_self(b)) == 0, "the lowest number was free");
    CHECK_RC(test_open(name, 0, -1, 1, &c), 0);
    CHECK(baton_node_index(baton_cluster_self(c)) == 2, "%u",
          baton_node_index(baton_cluster_self(c)));
    refused(name, 0, -1, 1, -EBUSY, "3 places, 3 are taken");
    /* Place is made by who leaves. */
    CHECK_RC(baton_cluster_close(a), 0);
    CHECK_RC(test_open(name, 0, -1, 1, &a), 0);
    CHECK(baton_node_index(baton_cluster_self(a)) == 1, "%u",
          baton_node_index(baton_cluster_self(a)));
    CHECK_RC(baton_cluster_close(a), 0);
    CHECK_RC(baton_cluster_close(b), 0);
    CHECK_RC(baton_cluster_close(c), 0);
    CHECK(!test_files(name, ""), "%u files are left", test_files(name, ""));
}

static void control_path(char *path, size_t bytes, const char *name)
{
    snprintf(path, bytes, "/dev/shm/baton.%u.%s.ctl", (unsigned)geteuid(), name);
}

/* The second word of the file is the layout's version, in every layout. */
static void write_version(const char *path, uint64_t version)
{
    int fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && pwrite(fd, &version, 8, 8) == 8, "%s", path);
    close(fd);
}

static void other_layout(const char *name)
{
    struct baton_cluster *c, *d;
    char path[128];
    control_path(path, sizeof(path), name);
    CHECK_RC(test_open(name, 4, -1, 1, &c), 0);
    write_version(path, 77);
    refused(name, 0, -1, 1, -EOPNOTSUPP, "layout 77");
    CHECK(strstr(baton_error_detail(), "layout 1"), "both versions are said");
    write_version(path, 1);
    CHECK_RC(test_open(name, 0, -1, 1, &d), 0);
    CHECK_RC(baton_cluster_close(d), 0);
    CHECK_RC(baton_cluster_close(c), 0);

    /* Nobody holds this one: whatever it was, it is a leftover. */
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0 && write(fd, "left by something else", 22) == 22, "%s", path);
    close(fd);
    CHECK_RC(test_open(name, 0, -1, 1, &c), 0);
    CHECK_RC(baton_cluster_close(c), 0);
    CHECK(!test_files(name, ""), "%u files are left", test_files(name, ""));
}

static void other_user(const char *name)
{
    char path[128];
    struct stat st;
    control_path(path, sizeof(path), name);
    /* No plain file, whoever made it. */
    CHECK(!symlink("/etc/passwd", path), "%s", path);
    refused(name, 0, -1, 1, -EPERM, path);
    CHECK(!unlink(path) && !mkdir(path, 0700), "%s", path);
    refused(name, 0, -1, 1, -EPERM, path);
    CHECK(!rmdir(path), "%s", path);
    if (geteuid()) {
        printf("a file of another user: not tried, it takes root to make one\n");
        return;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0666);
    CHECK(fd >= 0 && !fchown(fd, 65534, 65534), "%s", path);
    refused(name, 0, -1, 1, -EPERM, path);
    CHECK(!fstat(fd, &st) && !st.st_size && st.st_nlink == 1, "the other user's file was touched");
    close(fd);
    unlink(path);
}

/* A table of names that is full, and names that are somebody else's. */
static void no_names(const char *name)
{
    struct baton_cluster *c;
    struct baton_ep *ep;
    baton_gptr at;
    char text[32];
    int rc = 0, n = 0;
    CHECK_RC(test_open(name, 4, -1, 2, &c), 0);
    struct baton_node *a = baton_cluster_node(c, 0), *b = baton_cluster_node(c, 1);
    CHECK_RC(baton_ep_open(a, &ep), 0);
    CHECK_RC(baton_name_publish(b, "of b", baton_gptr_make(1, 4096)), 0);
    CHECK_RC(baton_name_publish(a, "of b", baton_gptr_make(0, 4096)), -EEXIST);
    CHECK_RC(baton_name_withdraw(a, "of b"), -ENOENT);
    CHECK_RC(baton_name_lookup(ep, "of c", 0, &at), -ENOENT);
    CHECK_RC(baton_name_lookup(ep, "of c", baton_now(ep) + 20000000, &at), -ETIMEDOUT);
    for (; !rc && n < 100000; n++) {
        snprintf(text, sizeof(text), "name %d", n);
        rc = baton_name_publish(a, text, baton_gptr_make(0, 4096));
    }
    CHECK(rc == -EBUSY && strstr(baton_error_detail(), "full"), "%d after %d names", rc, n);
    CHECK_RC(baton_name_lookup(ep, "of b", 0, &at), 0);
    CHECK(at == baton_gptr_make(1, 4096), "0x%llx", (unsigned long long)at);
    CHECK_RC(baton_name_withdraw(b, "of b"), 0);
    CHECK_RC(baton_name_lookup(ep, "of b", 0, &at), -ENOENT);
    CHECK_RC(baton_name_publish(a, "of b", baton_gptr_make(0, 8192)), 0);
    CHECK_RC(baton_ep_close(ep), 0);
    CHECK_RC(baton_cluster_close(c), 0);
}

/* More than the machine has is an error when it is asked for, not a signal when it is touched. */
static void no_memory(const char *name)
{
    struct baton_cluster *c;
    struct statvfs fs;
    baton_gptr at;
    CHECK(!statvfs("/dev/shm", &fs), "/dev/shm");
    uint64_t all = (uint64_t)fs.f_blocks * fs.f_frsize;
    if (!all || all > (uint64_t)1 << 44) {
        printf("a segment larger than /dev/shm: not tried, it has no limit here\n");
        return;
    }
    CHECK_RC(test_open(name, 0, -1, 1, &c), 0);
    CHECK_RC(baton_segment_create(baton_cluster_self(c), 2 * all, BATON_READ, NULL, 0, &at),
             -ENOMEM);
    CHECK(strstr(baton_error_detail(), "no room"), "the cause is not said");
    CHECK(test_files(name, "") == 2, "%u files", test_files(name, ""));
    CHECK_RC(baton_segment_create(baton_cluster_self(c), 4096, BATON_READ, NULL, 0, &at), 0);
    CHECK_RC(baton_cluster_close(c), 0);
    CHECK(!test_files(name, ""), "%u files are left", test_files(name, ""));
}

static void modes(const char *name)
{
    struct baton_cluster *c;
    struct stat st;
    char path[128];
    control_path(path, sizeof(path), name);
    CHECK_RC(test_open(name, 0, -1, 1, &c), 0);
    CHECK(!stat(path, &st) && (st.st_mode & 07777) == 0600, "mode 0%o", st.st_mode);
    snprintf(path, sizeof(path), "/dev/shm/baton.%u.%s.0.1000", (unsigned)geteuid(), name);
    CHECK(!stat(path, &st) && (st.st_mode & 07777) == 0600, "mode 0%o", st.st_mode);
    CHECK_RC(baton_cluster_close(c), 0);
}

int main(void)
{
    const char *name = test_name("refuse");
    bad_names();
    no_place(name);
    other_layout(name);
    other_user(name);
    no_names(name);
    no_memory(name);
    modes(name);
    return 0;
}

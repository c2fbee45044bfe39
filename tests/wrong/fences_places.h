/* SPDX-License-Identifier: MIT */
/*
 * The fences of the locks, in the order of their sources: source, number, what and where; the kind and the
 * configuration that shows that it is needed, or null and why it is there all the same.
 */
PLACE("ts", 0, "rfence", "ts_release", "ts", "1+1x1 put swap")
PLACE("ts", 0, "rfence", "ts_release", "ts", "1+1x1 get")
PLACE("ticket", 0, "rfence", "ticket_release", "ticket", "1+1x1 put swap")
PLACE("ticket", 0, "rfence", "ticket_release", "ticket", "1+1x1 get")
PLACE("mcs", 0, "rfence", "mcs_release", "mcs", "1+1x1 put swap")
PLACE("mcs", 0, "rfence", "mcs_release", "mcs", "1+1x1 get")
UNSEEN("mcs", 1, "settle", "mcs_release",
       "waits for nothing: the failed rcas has proved all; it reports puts that failed")
PLACE("alock", 0, "mfence", "alock_peterson_local", "alock", "1+1x1 cpu")
UNSEEN(
    "alock", 1, "order", "alock_peterson_remote",
    "behind a rcas that was waited for, whose write may be late: swapped posts do not reach that")
PLACE("alock", 2, "order", "alock_peterson_remote", "alock", "1+1x1 cpu swap")
PLACE("alock", 3, "settle", "alock_release_local", "alock", "1+1x1 put")
PLACE("alock", 4, "rfence", "alock_release_remote", "alock", "1+1x1 put swap")
PLACE("alock", 4, "rfence", "alock_release_remote", "alock", "1+1x1 get")
UNSEEN("alock", 5, "settle", "alock_release_remote",
       "waits for nothing: the failed rcas has proved all; it reports puts that failed")
PLACE("farlock", 0, "mfence", "local_follow", "farlock", "2+0x1 cpu")
PLACE("farlock", 1, "mfence", "local_compete", "farlock", "1+1x1 cpu")
PLACE("farlock", 2, "mfence", "local_pass", "farlock", "2+0x1 cpu")
PLACE("farlock", 3, "settle", "local_release", "farlock", "1+1x1 put")
PLACE("farlock", 4, "order", "remote_follow", "farlock", "0+2x1 cpu swap")
PLACE("farlock", 5, "order", "remote_compete", "farlock", "1+1x1 cpu swap")
PLACE("farlock", 6, "order", "remote_compete", "farlock", "1+1x1 cpu swap")
PLACE("farlock", 7, "order", "remote_ticket", "farlock", "1+1x1 cpu swap")
PLACE_SOAK("farlock", 8, "order", "remote_ticket", "farlock", "1+2x1 cpu swap")
PLACE("farlock", 9, "mfence", "remote_pass", "farlock", "0+2x1 cpu")
UNSEEN("farlock", 10, "settle", "remote_grant", "for a pass that failed, and nothing fails here")
UNSEEN(
    "farlock", 11, "order", "remote_grant",
    "behind a pass that is still on its way when a whole round has been made: too large to explore")
PLACE("farlock", 12, "settle", "remote_release", "farlock-g", "0+2x1 put group_remote=2")
PLACE("farlock", 13, "rfence", "remote_release", "farlock", "1+1x1 put swap")
PLACE("farlock", 13, "rfence", "remote_release", "farlock", "1+1x1 get")
UNSEEN("merge", 0, "mfence_after_rmw", "local_enter",
       "a CPU's fetch-add is a fence here; where it is none, this is one")
PLACE("merge", 1, "settle", "local_release", "merge", "1+1x1 put slots=1")
UNSEEN("merge", 2, "order", "remote_publish",
       "for waiters that sleep, which takes four remote threads: caught at random")
UNSEEN("merge", 3, "order", "remote_queue",
       "for waiters that sleep, which takes four remote threads")
PLACE("merge", 4, "order", "remote_look", "merge", "1+1x1 cpu swap slots=1")
PLACE("merge", 5, "rfence", "remote_release", "merge", "1+1x1 put swap slots=1")
PLACE("merge", 5, "rfence", "remote_release", "merge", "1+1x1 get slots=1")

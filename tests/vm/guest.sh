#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs in the guest: two software RDMA devices on the two ends of a virtual cable, then each line of the
# plan (a name, seconds, a command). What a command prints goes to a file that the host can read.
ip link set lo up
ip link add v0 type veth peer name v1
for i in v0 v1; do
    echo 0 >"/proc/sys/net/ipv6/conf/$i/accept_dad" # else its address is no good for seconds
    ip link set "$i" mtu 4200 up
done
# The devices take their MTU from the interfaces when they are made.
rdma link add rxe0 type rxe netdev v0 || exit 90
rdma link add rxe1 type rxe netdev v1 || exit 91

# Only the command's first process is killed when its time is over; others would disturb what comes next.
kill_others() {
    for process in /proc/[0-9]*; do
        number=${process#/proc/}
        # The kernel's threads have no program.
        [ "$number" = 1 ] || [ "$number" = $$ ] || [ ! -e "$process/exe" ] || kill -KILL "$number"
    done
}

failed=0
while read -r name seconds command; do
    case $name in '' | \#*) continue ;; esac
    begin=$(cut -d' ' -f1 /proc/uptime)
    timeout -s KILL "$seconds" sh -c "$command" >"/out/$name.log" 2>&1 </dev/null
    rc=$?
    [ "$rc" -lt 128 ] || kill_others
    for i in v0 v1; do # as before, whatever a test has left
        tc qdisc del dev "$i" root 2>/dev/null
        ip link set "$i" up
    done
    [ "$rc" = 0 ] || failed=$((failed + 1))
    echo "@@ $name $rc from $begin to $(cut -d' ' -f1 /proc/uptime)"
done </t/plan
[ "$failed" -le 80 ] || failed=80
exit "$failed"

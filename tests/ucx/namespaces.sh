#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: namespaces.sh CONFORMANCE MODE
#
# Shows that nodes on different machines work together, here four network namespaces with a cable (veth) from
# each to a switch: locks keep counts that nobody loses; in mode am, nodes come and go, and are killed. The namespaces
# reach each other at 10.77.0.N only, and have a loopback of their own. Needs root and ip(8).
set -eu
conformance=$1 mode=$2
name=baton-$$-
folder=$(mktemp -d)
nodes='0 1 2 3'
skip() {
    echo "skipped: $*"
    exit 77
}
tidy() {
    for n in $nodes hub; do
        ip netns delete "$name$n" 2>/dev/null || true
    done
    rm -rf "$folder"
}
trap tidy EXIT

command -v ip >/dev/null || skip "no ip(8)"
ip netns add "${name}hub" 2>/dev/null || skip "no network namespace may be made here"
ip -n "${name}hub" link add switch type bridge || skip "no bridge may be made here"
ip -n "${name}hub" link set switch up
for n in $nodes; do
    ip netns add "$name$n"
    ip -n "$name$n" link add wire type veth peer name "port$n" netns "${name}hub" ||
        skip "no veth may be made here"
    ip -n "${name}hub" link set "port$n" master switch up
    ip -n "$name$n" addr add "10.77.0.$((n + 1))/24" dev wire
    ip -n "$name$n" link set lo up
    ip -n "$name$n" link set wire up
done
umask 077
head -c 32 /dev/urandom >"$folder/secret"

run() {
    "$conformance" --world "ucx-$mode-processes" --slower 200 --namespaces "$name" \
        --meet "rendezvous=10.77.0.1:7000,secret=$folder/secret" "$@"
}
run --group lock --case exclusion --lock merge,farlock
if [ "$mode" = am ]; then
    run --group lock-death --case late-join,worker-killed,host-killed --lock merge
fi

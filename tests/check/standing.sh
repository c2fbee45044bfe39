#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: standing.sh BATON KIND
#
# The standing set of one kind of lock, as much of it as BATON_SOAK_SECONDS allow; or, without that, the part
# for every day. No case may be Violated. One that does not finish is Unknown and said so: without a bound on the
# time none may be.
set -u
baton=$1 kind=$2
seconds=${BATON_SOAK_SECONDS:-}
if [ -z "$seconds" ]; then
    exec "$baton" check lock --all --quick --lock "$kind"
fi
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
# Cases are about sixty; most take no time, so the few that do may have a third each. In half an hour all are through.
timeout "$seconds" "$baton" check lock --all --jobs 2 --lock "$kind" --timeout $((seconds / 3 + 1)) >"$out"
status=$?
cat "$out"
grep -q Violated "$out" && exit 1
unknown=$(grep -c Unknown "$out")
echo "$(grep -c Verified "$out") cases Verified, $unknown Unknown in that time"
case $status in 0 | 3 | 124) exit 0 ;; *) exit 1 ;; esac

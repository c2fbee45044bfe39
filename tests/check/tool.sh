#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: tool.sh BATON
#
# What `baton check lock` says with its exit status, and that a violation can be followed again: every kind
# is verified with one thread of the host and one remote thread; data on another node without a gfence is a
# lost update, whose schedule leads there again; a bound that was hit is "Unknown"; wrong use is refused.
set -u
baton=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

expect() { # status words...
    status=$1
    shift
    "$@" >"$dir/out" 2>&1
    found=$?
    if [ "$found" != "$status" ]; then
        echo "status $found instead of $status: $*"
        cat "$dir/out"
        failed=1
    fi
}

for kind in ts ticket mcs alock farlock farlock-g merge; do
    expect 0 "$baton" check lock --lock $kind
    grep -q Verified "$dir/out" || failed=1
    expect 1 "$baton" check lock --lock $kind --data other-node --no-gfence --schedule "$dir/$kind"
    grep -q 'lost update' "$dir/out" || failed=1
    expect 1 "$baton" check lock --replay "$dir/$kind"
    grep -q '^Violated: lost update' "$dir/out" || failed=1
done
# Who tries, and who has a deadline, are part of a schedule; a kind without them says so.
expect 1 "$baton" check lock --lock merge --try remote --data other-node --no-gfence --schedule "$dir/try"
grep -q 'merge 1+1x1 other-node try=remote order: Violated: lost update' "$dir/out" || failed=1
grep -q '^try remote' "$dir/try" || failed=1
expect 1 "$baton" check lock --replay "$dir/try"
expect 0 "$baton" check lock --lock ts --deadline all --try local --rounds 2
grep -q 'try=local deadline=remote: Verified' "$dir/out" || failed=1
expect 2 "$baton" check lock --lock merge --deadline all
grep -q 'can not give up its place' "$dir/out" || failed=1
expect 2 "$baton" check lock --try some
expect 3 "$baton" check lock --lock merge --rounds 2 --max-states 100
grep -q 'Unknown: the bound on states' "$dir/out" || failed=1
expect 2 "$baton" check lock --lock nothing
expect 2 "$baton" check lock --replay "$0"
exit $failed

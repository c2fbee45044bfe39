#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: programs.sh BATON FOLDER SWAPS QUOTES
#
# The examples of users' programs: as they are they are verified, with a mistake of order or a forgotten fence
# they are not, and the schedule that shows it can be followed again. What is no program is refused, and so is a
# schedule of another program, or one of SWAPS, whose posts change places, with a choice that there is not.
# The name of QUOTES, which has some, is whole in JSON.
set -u
baton=$1 folder=$2 swaps=$3 quotes=$4
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

expect() { # status, what must be said, words...
    status=$1 said=$2
    shift 2
    "$@" >"$dir/out" 2>&1
    found=$?
    if [ "$found" != "$status" ] || ! grep -q -- "$said" "$dir/out"; then
        echo "status $found instead of $status, or not \"$said\": $*"
        cat "$dir/out"
        failed=1
    fi
}

for good in check_peterson check_message check_broadcast_lock check_broadcast_lock_weak_rmw; do
    expect 0 Verified "$baton" check "$folder/$good.so"
done
for bad in check_peterson_victim_first check_peterson_no_fence check_message_no_fence \
    check_broadcast_lock_weak check_broadcast_lock_own_node; do
    expect 1 Violated "$baton" check "$folder/$bad.so" --schedule "$dir/$bad"
    expect 1 '^Violated' "$baton" check "$folder/$bad.so" --replay "$dir/$bad"
    expect 1 '^Violated' "$baton" check program "$folder/$bad.so" --replay "$dir/$bad"
done
expect 2 'is a schedule of the program' "$baton" check "$folder/check_message.so" \
    --replay "$dir/check_peterson_no_fence"
expect 1 '"verdict":"Violated"' "$baton" check "$folder/check_message_no_fence.so" --json \
    --replay "$dir/check_message_no_fence"
expect 1 '{"program":"by \\"hand\\"",' "$baton" check "$quotes" --json
expect 1 Violated "$baton" check "$swaps" --schedule "$dir/swaps"
sed 's: / .*: / 200:' "$dir/swaps" >"$dir/choice"
expect 3 '^Unknown: a choice' "$baton" check "$swaps" --replay "$dir/choice"
expect 3 Unknown "$baton" check "$folder/check_peterson.so" --max-states 5
expect 2 baton "$baton" check "$0"
exit $failed

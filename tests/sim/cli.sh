#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: cli.sh BATON TIMELINE_TEST
# The simulated world from the command line: the same seed prints the same bytes and another seed other ones;
# replay accepts the unseed of a run and no other; controlled arrivals are served in order by the locks
# that promise it and not by alock; a timeline has the spans of every thread, one after the other, and is
# the same for the same seed; the times of the profiles are told.
set -eu
baton=$1
timeline_test=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "$1"
    exit 1
}

for driver in timed 'random --faults all'; do
    # The words of a driver and its faults are several arguments.
    # shellcheck disable=SC2086
    run() { "$baton" bench lock --fabric sim --driver $driver --nodes 3 --threads 3 --lock all \
        --duration 0.001 --warmup 0 --format json "$@" 2> "$dir/err"; }
    run --seed 7 > "$dir/one"
    run --seed 7 > "$dir/two"
    run --seed 8 > "$dir/other"
    cmp "$dir/one" "$dir/two" || fail "$driver: the same seed printed different bytes"
    ! cmp -s "$dir/one" "$dir/other" || fail "$driver: another seed printed the same bytes"
    grep -q 'million remote operations simulated' "$dir/err" || fail "no rate on stderr"
done

run --lock merge --seed 7 > "$dir/one"
unseed=$(sed -n 's/.*"unseed":"\([0-9a-f]*\)".*/\1/p' "$dir/one")
run --lock merge --replay "7:$unseed" > "$dir/two" || fail "the replay of seed 7 ended otherwise"
cmp "$dir/one" "$dir/two"
! run --lock merge --replay "7:1" > /dev/null || fail "a wrong unseed was accepted"

arrive() { "$baton" bench lock --fabric sim --nodes 4 --arrivals "$2" --lock "$1" --format json; }
for lock in ticket mcs farlock merge; do
    arrive "$lock" 12local-12remote | grep -q '"in_order":true' || fail "$lock: out of order"
done
arrive alock 12local-12remote | grep -q '"in_order":false' || fail "alock: in order"
printf '# late\n40000 1\n0 0\n' > "$dir/list"
arrive merge "$dir/list" | grep -q '"arrival":1,"class":"local".*"arrival":2,"class":"remote"' ||
    fail "arrivals from a file"
echo '0 9' > "$dir/list"
! arrive merge "$dir/list" 2> "$dir/err" || fail "a node that is not there was accepted"
grep -q 'list:1: ' "$dir/err" || fail "the error does not name the line"

driver=timed
run --lock ticket,merge --seed 7 --trace "$dir/one.json" > "$dir/one"
run --lock ticket,merge --seed 7 --trace "$dir/two.json" > "$dir/two"
cmp "$dir/one.json" "$dir/two.json" || fail "the same seed gave two timelines"
"$timeline_test" "$dir/one.json" 2 3 3 || fail "the timeline is not as it should be"
! run --trace "$dir/none/file" > /dev/null || fail "a timeline in no folder"
! run --trace "$dir/one.json" --arrivals 2local > /dev/null || fail "arrivals have no timeline"

for profile in cx3 cx5 cx6; do
    "$baton" info --profile $profile | grep -q '^  wire  *[0-9][0-9]* ns' || fail "info: $profile"
done
printf 'like cx5\nwire 900\n' > "$dir/mine"
"$baton" info --profile "$dir/mine" | grep -q '^  wire  *900 ns' || fail "info of a file"
echo "same bytes, replay, arrivals, timelines and profiles are as they should be"

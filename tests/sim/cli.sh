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
for line in '0 9' '-5 1' '5 -1' '5 4294967297' '1000000001 1' '99999999999999999999999 1' '5.5 1' '5 1 x' '5'; do
    printf '# one\n%s\n' "$line" > "$dir/list"
    ! arrive merge "$dir/list" 2> "$dir/err" || fail "an arrival was accepted: $line"
    grep -q 'list:2: .*nanoseconds 0 to 1000000000, nodes 0 to 3' "$dir/err" || fail "not told well: $(cat "$dir/err")"
done
printf '7 1\n7 0\n7 2\n' > "$dir/list"
arrive merge "$dir/list" | grep -q '"in_order":true' || fail "who come together have no order"

# Arrivals say in each format that they are simulated, and what they were drawn from; they can be replayed.
arrivals() { "$baton" bench lock --fabric sim --nodes 3 --lock merge,mcs --arrivals 2local-1remote "$@"; }
arrivals | head -1 | grep -q '(simulated), 3 nodes, seed 1' || fail "a table of arrivals does not say what it is"
arrivals --format csv > "$dir/one"
[ "$(awk -F, '{print NF}' "$dir/one" | uniq -c | tr -d ' ')" = 712 ] || fail "arrivals as CSV"
arrivals --lock mcs --format json > "$dir/one"
grep -q '"simulated":true.*"drawn":"driver timed, seed 1, profile cx6"' "$dir/one" || fail "arrivals as JSON"
unseed=$(sed -n 's/.*"unseed":"\([0-9a-f]*\)".*/\1/p' "$dir/one")
arrivals --lock mcs --replay "1:$unseed" > /dev/null || fail "arrivals end otherwise when replayed"
! arrivals --lock mcs --replay 1:2 > /dev/null 2>&1 || fail "arrivals accept a wrong unseed"

driver=timed
run --lock ticket,merge --seed 7 --trace "$dir/one.json" > "$dir/one"
run --lock ticket,merge --seed 7 --trace "$dir/two.json" > "$dir/two"
cmp "$dir/one.json" "$dir/two.json" || fail "the same seed gave two timelines"
grep -q '"time":"simulated"' "$dir/one.json" || fail "the timeline does not say that it is simulated"
[ "$(grep -c 'node 0 (host)' "$dir/one.json")" = 2 ] || fail "the timeline does not name the host"
"$timeline_test" "$dir/one.json" 2 3 3 || fail "the timeline is not as it should be"
! run --trace "$dir/none/file" > /dev/null || fail "a timeline in no folder"
! run --trace "$dir/one.json" --arrivals 2local > /dev/null || fail "arrivals have no timeline"

# Wrong use has its own exit status and tells what is wrong.
wrong() {
    words=$1
    shift
    status=0
    timeout 60 "$baton" bench lock --fabric sim --duration 0.001 "$@" > "$dir/out" 2> "$dir/err" || status=$?
    [ $status = 2 ] || fail "status $status, not 2: $*"
    [ ! -s "$dir/out" ] || fail "ran all the same: $*"
    grep -q "$words" "$dir/err" || fail "$*: $(cat "$dir/err")"
}
wrong 'no fault "bogus"; there is: kill-thread' --driver random --faults bogus
wrong 'timed or random' --driver exhaustive
wrong 'no profile "cx7"' --profile cx7
wrong 'comma' --profile cx6,faults=all
wrong 'no times' --profile cx5 --driver random
wrong 'do not go with --arrivals' --arrivals 2local --plot "$dir/plot"
: > "$dir/file"
wrong 'Not a directory' --plot "$dir/file"

for profile in cx3 cx5 cx6; do
    "$baton" info --profile $profile | grep -q '^  wire  *[0-9][0-9]* ns' || fail "info: $profile"
done
printf 'like cx5\nwire 900\n' > "$dir/mine"
"$baton" info --profile "$dir/mine" | grep -q '^  wire  *900 ns' || fail "info of a file"
printf '# as cx5\n\nlike cx5 # but\n wire 0\n' > "$dir/mine"
"$baton" info --profile "$dir/mine" | grep -q '^  wire  *0 ns' || fail "info of a file with comments"

# A file that is no profile is refused with the line in question.
refused() {
    printf '%b' "$2" > "$dir/mine"
    wrong "$1" --profile "$dir/mine"
}
refused 'mine: gives no value' '# nothing\n'
refused 'mine:1: "name value"' 'wire\n'
refused 'mine:2: "name value"' 'wire 3\nwire 3 ns\n'
refused 'mine:1: no profile "cx9"; there is: cx3 cx5 cx6' 'like cx9\n'
refused 'mine:2: "like" comes once, before all values' 'wire 3\nlike cx5\n'
refused 'mine:2: wire is given twice' 'wire 3\nwire 4\n'
refused 'mine:1: no field "wyre"' 'wyre 3\n'
refused 'mine:1: no field "???"' '\0001\0002\0003 3\n'
refused 'mine:1: wire -3: a whole number from 0 to' 'wire -3\n'
refused 'mine:1: wire 1e3: a whole' 'wire 1e3\n'
refused 'mine:1: masked 2: a whole number from 0 to 1' 'masked 2\n'
refused 'mine:1: bytes_per_us 0: a whole number from 1' 'bytes_per_us 0\n'
refused 'mine:1: post 0: a whole number from 1' 'post 0\n'
refused 'mine:1: a line of more than' "# $(printf '%0600d' 1)"
wrong 'directory' --profile "$dir"

# The fastest machines that a file can describe still let time pass.
{
    echo 'bytes_per_us 1000000000'
    "$baton" info --profile cx6 | awk 'NF > 2 && $2 ~ /^[0-9]+$/ && $1 != "bytes_per_us" {print $1,
        $1 == "cpu_hit" || $1 == "cpu_miss" || $1 == "post" || $1 == "qp_gap"}'
} > "$dir/mine"
[ "$(wc -l < "$dir/mine")" = 24 ] || fail "not all values: $(cat "$dir/mine")"
timeout 60 "$baton" bench lock --fabric sim --profile "$dir/mine" --nodes 3 --threads 3 --lock all --local-cs 0 \
    --remote-cs 0 --duration 0.0001 --warmup 0 > /dev/null 2> "$dir/err" || fail "no time passes: $(cat "$dir/err")"
echo "same bytes, replay, arrivals, timelines and profiles are as they should be"

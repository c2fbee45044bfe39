#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: members.sh PART BATON TESTS
#
# Shows that commands run on clusters of processes: those that they start themselves, and those that they are
# part of. PART is one of:
#   given     three that meet at a rendezvous: node 0 tells what came of it, and all end alike
#   spawn     one that starts its nodes
#   mpirun    three that mpirun has started, with neither rendezvous nor secret
#   wrong     members that have been told different things, or too few nodes, or a member that is killed: all of
#             them say why, and end
set -u
export LC_ALL=C
part=$1 baton=$2 tests=$3
work=$(mktemp -d) || exit 1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
bad=0
kill_after=0 # seconds, the second member
# Ports of their own for parts that run at the same time.
case $part in given) ports=20000 ;; *) ports=22500 ;; esac
bench=(bench lock --fabric ucx --duration 1 --warmup 0 --no-pair --format json --lock 'merge,mcs')
litmus=(litmus run --fabric ucx --runs 200 --json)
some=("$tests"/fig[2-8]*.litmus "$tests"/assume-*.litmus) # locks, and runs that are none, among them

wrong() {
    echo "$*"
    tail -n 5 "$work"/*.out "$work"/*.err
    bad=1
}

"$baton" info | grep -q '^  ucx *available' || {
    echo "skipped: no ucx here"
    exit 77
}
"$baton" secret new "$work/secret" || exit 1

# WORD... [+ WORD...]...: one member for each list of words, of which --nodes makes one node 0; their statuses are in
# `ended`.
members() {
    local i=0 place words=() pids=()
    place="--rendezvous :$((ports + RANDOM % 2500)) --secret $work/secret"
    rm -f "$work"/*.out "$work"/*.err
    set -- "$@" +
    for word; do
        if [ "$word" != + ]; then
            words+=("$word")
            continue
        fi
        # shellcheck disable=SC2086 # two options
        timeout 300 "$baton" "${words[@]}" $place >"$work/$i.out" 2>"$work/$i.err" &
        pids+=($!) words=() i=$((i + 1))
    done
    # Whatever it is doing by then; the command is the child of timeout.
    # shellcheck disable=SC2046 # one number
    [ "$kill_after" = 0 ] || { sleep "$kill_after" && kill -KILL $(cat /proc/"${pids[1]}"/task/*/children); }
    ended=
    for pid in "${pids[@]}"; do
        wait "$pid"
        ended+="${ended:+ }$?"
    done
}

# FILE: what a benchmark of three has printed
is_bench() {
    local kind
    for kind in merge mcs; do
        grep "\"lock\":\"$kind\"" "$1" | grep '"fabric":"ucx"' | grep '"nodes":3' | grep '"threads":6' |
            grep '"exclusion_violations":0,"lost_updates":0,"bypasses":0' | grep -q '"acquisitions":[1-9]' ||
            wrong "no good result of $kind"
    done
    [ "$(grep -c . "$1")" = 2 ] || wrong "not one line for each kind"
}

# FILE: what runs of the tests have printed
is_litmus() {
    [ "$(grep -c '"ok":true' "$1")" = "${#some[@]}" ] || wrong "not all tests are good"
    grep -q '"voids":[1-9]' "$1" || wrong "an assume has ended no run"
    grep -q '"count":.*"count":' "$1" || wrong "no test has ended in more than one way"
}

given() {
    members "${bench[@]}" --nodes 3 + "${bench[@]}" + "${bench[@]}"
    [ "$ended" = "0 0 0" ] || wrong "bench lock: $ended"
    is_bench "$work/0.out"
    [ -z "$(cat "$work"/[12].out)" ] || wrong "more than one has told the result"
    # Locks on every node, and a kind that does not tell who came first.
    members "${bench[@]}" --host spread --locks 10 --nodes 3 + "${bench[@]}" --host spread --locks 10 + \
        "${bench[@]}" --host spread --locks 10
    [ "$ended" = "0 0 0" ] || wrong "bench lock --host spread: $ended"
    is_bench "$work/0.out"
    members "${litmus[@]}" --nodes 4 "${some[@]}" + "${litmus[@]}" "${some[@]}" + "${litmus[@]}" "${some[@]}" + \
        "${litmus[@]}" "${some[@]}"
    [ "$ended" = "0 0 0 0" ] || wrong "litmus run: $ended"
    is_litmus "$work/0.out"
    [ ! -s "$work/1.out" ] || wrong "more than one has told what was seen"
}

spawn() {
    "$baton" "${bench[@]}" --spawn 3 >"$work/0.out" 2>"$work/0.err" || wrong "bench lock: $?"
    is_bench "$work/0.out"
    "$baton" "${litmus[@]}" --spawn 4 "${some[@]}" >"$work/0.out" 2>"$work/0.err" || wrong "litmus run: $?"
    is_litmus "$work/0.out"
}

with_mpirun() {
    command -v mpirun >/dev/null || {
        echo "skipped: no mpirun"
        exit 77
    }
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    local mpi=(timeout 300 mpirun --oversubscribe -n)
    "${mpi[@]}" 3 "$baton" "${bench[@]}" >"$work/0.out" 2>"$work/0.err" || wrong "bench lock: $?"
    is_bench "$work/0.out"
    "${mpi[@]}" 4 "$baton" "${litmus[@]}" --nodes 4 "${some[@]}" >"$work/0.out" 2>"$work/0.err" || wrong "litmus run: $?"
    is_litmus "$work/0.out"
    ! "${mpi[@]}" 2 "$baton" "${bench[@]}" --nodes 3 >"$work/0.out" 2>"$work/0.err" || wrong "--nodes is not looked at"
    grep -q '3 nodes are asked for, and 2 processes have been started' "$work/0.err" || wrong "it does not say so"
    # Each of them for itself.
    "${mpi[@]}" 2 "$baton" "${bench[@]}" --spawn 3 >"$work/0.out" 2>"$work/0.err" || wrong "--spawn: $?"
    [ "$(grep -c '"nodes":3' "$work/0.out")" = 4 ] || wrong "--spawn: not two results each"
}

# TEXT: each of the members has ended with this
all_say() {
    local file
    for file in "$work"/*.err; do
        grep -qF -- "$1" "$file" || wrong "$(basename "$file" .err) does not say \"$1\""
    done
}

# TEXT WORD...: refused before anything begins
refused() {
    local text=$1 status
    shift
    "$baton" "$@" >"$work/0.out" 2>"$work/0.err"
    status=$?
    [ "$status" = 2 ] || wrong "status $status: $*"
    grep -qF -- "$text" "$work/0.err" || wrong "no \"$text\": $*"
}

told_wrong() {
    members "${bench[@]}" --nodes 3 + "${bench[@]}" + "${bench[@]}" --locks 5
    [ "$ended" = "2 2 2" ] || wrong "different --locks: $ended"
    all_say 'not all have been told the same: node 0 "--locks 1", node '
    all_say ' "--locks 5"'
    members "${bench[@]}" --nodes 2 + "${litmus[@]}" "$tests/fig5.litmus"
    [ "$ended" = "2 2" ] || wrong "different commands: $ended"
    all_say ' bench lock"'
    all_say ' litmus run"'
    members "${litmus[@]}" --nodes 2 "$tests/fig5.litmus" + "${litmus[@]}" "$tests/fig7a.litmus"
    [ "$ended" = "2 2" ] || wrong "different tests: $ended"
    all_say '"fig5 Hash='
    members "${bench[@]}" --host 2 --nodes 2 + "${bench[@]}" --host 2
    [ "$ended" = "2 2" ] || wrong "no such host: $ended"
    all_say '--host 2: the nodes are 0 to 1'
    members "${litmus[@]}" --nodes 2 "$tests" + "${litmus[@]}" "$tests"
    [ "$ended" = "2 2" ] || wrong "too few nodes: $ended"
    all_say 'needs 4 nodes, and the cluster has 2'
    # Node 0, which counts the time, begins last: by then the other one is there.
    members "${bench[@]}" + "${bench[@]}" --nodes 3 --options join_ms=3000
    [ "$ended" = "1 1" ] || wrong "one has not come: $ended"
    all_say 'node 2 of 3 has not come'
    kill_after=5
    members "${bench[@]}" --duration 100 --nodes 3 + "${bench[@]}" --duration 100 + "${bench[@]}" --duration 100
    kill_after=0
    [ "$ended" = "1 137 1" ] || wrong "one was killed: $ended"
    grep -q 'node . has died\|node . of 3 has not come' "$work/0.err" || wrong "it does not say who"

    "$baton" "${bench[@]}" --spawn 2 --options no-such=1 >"$work/0.out" 2>"$work/0.err"
    [ $? = 1 ] || wrong "an unknown setting"
    grep -q 'mcs: a parameter has no meaning here; node [01]: no setting "no-such"[^"]*$' "$work/0.err" ||
        wrong "it does not say what is wrong, once"

    refused 'go together' "${bench[@]}" --rendezvous :1
    refused '--rendezvous goes with --fabric ucx' bench lock --rendezvous :1 --secret "$work/secret"
    refused 'there is no --spawn' "${bench[@]}" --rendezvous :1 --secret "$work/secret" --spawn 2
    refused 'there is no --in-process' "${bench[@]}" --rendezvous :1 --secret "$work/secret" --in-process
    refused '--spawn 2 makes so many nodes, not --nodes 3' "${bench[@]}" --spawn 2 --nodes 3
    refused '--spawn goes with fabrics whose nodes are processes' bench lock --fabric sim --spawn 2
    refused 'have options of their own' "${bench[@]}" --options "rendezvous=:1,secret=$work/secret"
    refused 'needs 2 nodes, and the cluster has 1' "${litmus[@]}" --spawn 1 "$tests/fig5.litmus"
}

case $part in
given) given ;;
spawn) spawn ;;
mpirun) with_mpirun ;;
wrong) told_wrong ;;
*)
    echo "there is no part $part"
    exit 2
    ;;
esac
exit $bad

#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: run.sh PART BATON [MODEL|FABRIC] [FABRIC]
#
# Shows what `baton litmus run` sees, prints and how it exits. PART is one of:
#   corpus    every test of the collection, a thousand times on FABRIC, under MODEL (any: the one that fits
#             the test): nothing that the model forbids is seen, and nothing is skipped but what has to be
#   locks     the tests with locks, and sequentially consistent memory, with every kind of lock
#   simulated the same on FABRIC, which is simulated: what it does by chance the model allows
#   threads   the same on shm, its nodes in one process
#   form      the output, line by line, is litmus7's with ours below it; the JSON says the same
#   wrong     what contradicts model or test is found, and told with all that brings it back
#   status    exit status and message for bad input, bad usage, limits
#   kill      a process of a node that dies, or that stands still, ends the run soon, with words
#   soak      corpus on FABRIC, and random programs, again and again, under seeds that are new each time
set -u
export LC_ALL=C
part=$1 baton=$2 what=${3-} fabric=${4-shm}
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../litmus" || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
bad=0

wrong() {
    echo "$*"
    bad=1
}

# ARGUMENT...: nothing is seen that is forbidden or that a test denies
good() {
    "$baton" litmus run "$@" >"$tmp/out"
    local status=$?
    tail -n 1 "$tmp/out"
    [ "$status" = 0 ] && return
    grep -B 25 -A 3 -E '^(Forbidden by|Not as stated|Failed)' "$tmp/out"
    wrong "status $status: baton litmus run $*"
}

skips() { # how many were skipped with this reason
    grep -c "^Skipped .*: $1\$" "$tmp/out"
}

corpus() {
    local model=(--model "$what")
    [ "$what" != any ] || model=()
    good --fabric "$fabric" "${model[@]}" --runs 1000 .
    local tests skipped all
    tests=$(find . -name '*.litmus' | wc -l)
    tail -n 1 "$tmp/out" | grep -q "^$tests tests, .* 0 with a forbidden state, .* 0 failed, 0 unknown" ||
        wrong "not all of the $tests tests"
    skipped=$(grep -c '^Skipped' "$tmp/out")
    case $what in
    any) all=$(skips 'it polls what no .*') ;;
    tso) all=$(($(skips 'locks and sequentially consistent memory .*') + $(skips 'it polls what no .*'))) ;;
    wait) all=$(($(skips 'locks and sequentially consistent memory .*') + $(skips '"poll" exists only under tso.*'))) ;;
    spec | impl) all=$(($(skips '"poll" exists only under tso.*') + $(skips 'a thread that an assume ends .*'))) ;;
    esac
    [ "$skipped" = "$all" ] || wrong "$skipped tests skipped, of them $all for a reason that is known"
    grep -q '^Observation .* Sometimes' "$tmp/out" || wrong "no test has ended in more than one way"
}

locks() {
    local kind
    mkdir "$tmp/tests"
    grep -lE '^ (lock|sc) ' ./*.litmus | xargs -I '{}' cp '{}' "$tmp/tests"
    for kind in ts ticket mcs alock farlock farlock-g merge; do
        for what in shm step; do
            good --fabric $what --lock $kind --runs 100 "$tmp/tests"
            grep -q "^Fabric $what.*, locks of kind $kind\$" "$tmp/out" || wrong "it does not name the kind"
        done
    done
}

# step keeps what the contract promises, and nothing else: not that results of gets arrive in the order of the
# gets, nor that a get takes a put with it that has passed it. Tests of that are left out, see wrong.
simulated() {
    mkdir "$tmp/tests"
    cp ./*.litmus "$tmp/tests"
    [ "$what" != step ] || rm "$tmp"/tests/get-get-local-writes.litmus "$tmp"/tests/get-put-pushed*.litmus
    good --fabric "$what" --runs 200 "$tmp/tests"
    grep -q '^Fabric .* (simulated), 200 runs' "$tmp/out" || wrong "it does not say that it is simulated"
}

matches() { # each line of the file against the pattern in the same place
    local line=0 pattern
    while IFS= read -r pattern; do
        line=$((line + 1))
        sed -n "${line}p" "$1" | grep -qE "^$pattern\$" ||
            wrong "line $line is \"$(sed -n "${line}p" "$1")\", not \"$pattern\""
    done
    line=$((line + 1))
    [ -z "$(sed -n "${line}p" "$1")" ] || wrong "line $line and on: $(sed -n "$line,\$p" "$1")"
}

form() {
    "$baton" litmus run --runs 500 --seed 3 get-wait-read.litmus >"$tmp/out" || wrong "status $?"
    sed -i '/^$/d; /tests, .* skipped/d' "$tmp/out"
    matches "$tmp/out" <<'END'
Test get-wait-read Allowed
Histogram \([0-9]+ states\)
500   :>.*0:.*;
No
Witnesses
Positive: 0, Negative: 500
Condition exists \(.*\) is NOT validated
Hash=[0-9a-f]{32}
Observation get-wait-read Never 0 500
Time get-wait-read [0-9]+\.[0-9][0-9]
Model tso \(machine: [0-9]+ states\), of its [0-9]+ final states seen: [0-9]+
Fabric shm, 500 runs, seed 3
END
    "$baton" litmus run --runs 500 --show all fig8a.litmus >"$tmp/out" || wrong "fig8a: status $?"
    grep -qE '^[0-9 ]*:>1:a=[0-9]+; 1:b=[0-9]+; x=1; y=1;$' "$tmp/out" || wrong "--show all shows less"
    grep -q '^Model spec (axioms: ' "$tmp/out" || wrong "a test with locks is not compared with spec"
    sed 's/^exists/~exists/; /Result/d' get-wait-read.litmus >"$tmp/get-wait-read.litmus"
    "$baton" litmus run --runs 500 "$tmp/get-wait-read.litmus" >"$tmp/out" || wrong "~exists: status $?"
    for line in 'Test get-wait-read Forbidden' Ok 'Positive: 500, Negative: 0'; do
        grep -qx "$line" "$tmp/out" || wrong "~exists: no line \"$line\""
    done
    "$baton" litmus run --json --runs 500 get-wait-read.litmus poll-nothing.litmus 2>/dev/null >"$tmp/out" ||
        wrong "--json: status $?"
    sed -i -E 's/"(seconds|first)":[0-9.]+/"\1":T/g' "$tmp/out"
    matches "$tmp/out" <<'END'
\{"test":"get-wait-read","model":"tso","fabric":"shm","simulated":false,"seed":1,"batch":64,"lock":null,"skipped":null,"error":null,"observation":"Never","runs":500,"voids":0,"positive":0,"negative":500,"expected":"Never","ok":true,"forbidden":0,"torn":0,"undone":0,"allowed":[0-9]+,"allowed_seen":[0-9]+,"states":\[(,?\{"count":[0-9]+,"witness":false,"class":"allowed","first":T,"values":\{"[^}]*\}\})+\],"seconds":T\}
\{"test":"poll-nothing","model":"tso","fabric":"shm","simulated":false,"seed":1,"batch":64,"lock":null,"skipped":"it polls what no operation answers, so no run of it ends","error":null\}
END
}

# STATUS TEXT ARGUMENT...: exit status, and text somewhere in the output
ends() {
    local expected=$1 text=$2 got
    shift 2
    "$baton" litmus run "$@" >"$tmp/out" 2>&1
    got=$?
    [ "$got" = "$expected" ] || wrong "status $got instead of $expected: baton litmus run $*"
    grep -qF -- "$text" "$tmp/out" || wrong "no \"$text\" from: baton litmus run $*"
}

judge() {
    sed 's/tso: Sometimes/tso: Never/' get-then-read.litmus >"$tmp/get-then-read.litmus"
    ends 1 'Not as stated: Result tso: Never' --runs 500 "$tmp/get-then-read.litmus"
    sed 's/tso: Never/tso: Always/' get-wait-read.litmus >"$tmp/get-wait-read.litmus"
    ends 1 'Not as stated: Result tso: Always' --runs 500 "$tmp/get-wait-read.litmus"
    ends 1 '"ok":false' --json --runs 500 "$tmp/get-wait-read.litmus"
    sed 's/^exists/~exists/; /Result/d' get-then-read.litmus >"$tmp/get-then-read.litmus"
    ends 1 'Not as stated: ~exists' --runs 500 "$tmp/get-then-read.litmus"

    # What the model forbids: step lets the results of two gets arrive in any order.
    ends 1 'Forbidden by the model: ' --fabric step get-get-local-writes.litmus
    local again
    again=$(sed -n 's/^  again: baton //p' "$tmp/out")
    grep '^Forbidden by' "$tmp/out" >"$tmp/first"
    # shellcheck disable=SC2086  # words of a command line
    "$baton" $again >"$tmp/out"
    grep '^Forbidden by' "$tmp/out" | cmp - "$tmp/first" || wrong "another run of it: $again"
}

status() {
    ends 2 'Usage:'
    ends 2 'there is: shm' --fabric none fig5.litmus
    ends 2 'No such file' "$tmp/none.litmus"
    echo 'RDMA x' >"$tmp/x.litmus"
    ends 2 'x.litmus:1:7:' "$tmp/x.litmus"
    # One bad file does not keep the others from running.
    ends 2 'Observation fig5 ' --runs 100 "$tmp/x.litmus" fig5.litmus
    ends 2 '--model takes tso, wait, spec or impl' --model sc fig5.litmus
    ends 2 'no lock "none"; there is: ts' --lock none fig8a.litmus
    ends 2 '--runs takes a whole number from 1' --runs 0 fig5.litmus
    ends 2 '--batch takes a whole number from 1' --batch x fig5.litmus
    ends 2 'cond or all' --show some fig5.litmus
    ends 2 '--swap goes with --fabric step and sim' --swap fig5.litmus
    ends 0 '1 tests, 1 skipped' --model wait fig5-poll.litmus
    # Two models, one set of runs; one model twice is one.
    ends 0 '4 tests, 1 skipped' --model tso --model wait --model tso fig5.litmus fig5-poll.litmus
    [ "$(grep -c '^Observation fig5 ' "$tmp/out")" = 2 ] || wrong "fig5 is not compared with both models"
    ends 0 '"model":"wait"' --json --model tso --model wait fig5.litmus
    [ "$(sed -n 's/.*"runs":\(.*\),"seconds".*/\1/p' "$tmp/out" | sed 's/.*"states"//' | sort -u | grep -c .)" = 1 ] ||
        wrong "the runs compared with the two models are not the same"
    ends 0 'Model wait' --fabric step --model tso --model wait --runs 10 fig5.litmus
    ends 0 'Skipped fig8a under tso: locks' --model tso fig8a.litmus
    ends 3 'gave up at the limit of states' --max-states 1 --runs 100 fig4b.litmus
    ends 3 '"ok":null' --json --max-states 1 --runs 100 fig4b.litmus
    ends 0 'Observation fig5 ' --in-process --runs 500 fig5.litmus
    # Own settings stand before the standard ones.
    ends 0 'Observation fig5 ' --fabric sim --options misuse=ignore --runs 100 fig5.litmus
    ends 1 'one of them is lost' --fabric sim --options misuse=report --runs 100 cell-cr-nar.litmus
    ends 2 'given twice' --fabric sim --options misuse=ignore,misuse=ignore fig5.litmus
    ends 0 ' 500 runs, seed 18446744073709551615' --seed 18446744073709551615 --round 3 --runs 500 fig5.litmus
}

children() { # of the process $1
    cat /proc/"$1"/task/*/children 2>/dev/null
}

worked() { # whether the process $1 has had a fifth of a second of a processor
    [ "$(awk '{ print $14 + $15 }' /proc/"$1"/stat)" -ge $(($(getconf CLK_TCK) / 5)) ]
}

# SIGNAL TEXT ARGUMENT...: sends it to a node's process while the test is running
disturb() {
    local signal=$1 text=$2 pid begin took node nodes=
    shift 2
    "$baton" litmus run --runs 1000000000 "$@" fig5.litmus >"$tmp/out" 2>&1 &
    pid=$!
    for ((i = 0; i < 600; i++)); do
        nodes=$(children $pid)
        [ "$(echo "$nodes" | wc -w)" -ge 2 ] && break
        sleep 0.1
    done
    # To begin takes less work than this.
    for node in $nodes; do
        for ((; i < 600; i++)); do
            worked "$node" && break
            sleep 0.1
        done
    done
    begin=$(date +%s%N)
    # The one that looks after them looks away, so that the others are the first to say what has happened.
    kill -STOP $pid
    kill -"$signal" "$(echo "$nodes" | cut -d' ' -f2)"
    sleep 0.5
    kill -CONT $pid
    wait $pid
    [ $? = 1 ] || wrong "another status than 1 after SIG$signal"
    took=$((($(date +%s%N) - begin) / 1000000))
    echo "over $took ms after SIG$signal"
    [ "$took" -lt 60000 ] || wrong "$took ms"
    grep -qE "$text" "$tmp/out" || { cat "$tmp/out" && wrong "no \"$text\""; }
    # shellcheck disable=SC2086  # a list of numbers
    kill -0 $nodes 2>/dev/null && wrong "a node's process is left"
    compgen -G "/dev/shm/baton.*.litmus-$pid.*" && wrong "its memory is left"
}

kill_node() {
    disturb KILL 'Failed: .*the process of node 2 died of signal 9'
    disturb STOP 'Failed: .*(waiting for the other threads|nothing has moved)' --patience 1
}

soak() {
    local seed=${BATON_SOAK_SEED:-$(date +%s)} end=$((SECONDS + BATON_SOAK_SECONDS)) model models=(tso wait spec impl)
    fabric=$what
    echo "first seed $seed (BATON_SOAK_SEED=$seed repeats it)"
    # Small pieces, so that the time is kept on a slow machine too.
    for ((i = seed; ; i++)); do
        model=${models[i % 4]}
        good --fabric "$fabric" --model "$model" --seed "$seed" --runs 500 .
        [ "$SECONDS" -lt "$end" ] || break
        if ((i % 4 < 2)); then
            rm -rf "$tmp/random"
            "$baton" litmus gen --random 20 --seed "$seed" --model "$model" --output "$tmp/random" || exit 1
            good --fabric "$fabric" --model "$model" --seed "$seed" --runs 1000 "$tmp/random"
        fi
        [ "$bad" = 0 ] || break
        [ "$SECONDS" -lt "$end" ] || break
        seed=$((seed + 1))
    done
}

case $part in
corpus) corpus ;;
locks) locks ;;
simulated) simulated ;;
threads) good --in-process --runs 300 . ;;
form) form ;;
wrong) judge ;;
status) status ;;
kill) kill_node ;;
soak) soak ;;
*)
    echo "there is no part $part"
    exit 2
    ;;
esac
exit $bad

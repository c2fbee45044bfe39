#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: check.sh PART BATON [--update]
#
# Shows what `baton litmus check` and `fmt` print and how they exit. PART is one of:
#   stated    every test of this folder is as stated, in its one form, and -j changes nothing
#   time      all of them, one thread, process start included, in at most half a second of CPU time
#   output    the output, word for word, is what stands in expected/ (times are masked);
#             with --update the files there are rewritten, and a person reads the difference
#   picture   --dot and --svg draw one picture for each check that has one, and say what went wrong
#   status    exit status and message for wrong results, bad input, bad usage, and limits
set -u
export LC_ALL=C
part=$1
baton=$2
update=${3-}
here=$(cd "$(dirname "$0")" && pwd)
cd "$here" || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
bad=0

wrong() {
    echo "$*"
    bad=1
}

mask() {
    sed -E 's/^(Time [^ ]+) .*/\1 T/; s/"seconds":[0-9.]+/"seconds":T/; s/[0-9.]+ s$/T s/'
}

stated() {
    "$baton" litmus check . >"$tmp/one" || wrong "some test is not as stated: status $?"
    "$baton" litmus check -j 3 . >"$tmp/three" || wrong "with three threads: status $?"
    mask <"$tmp/one" >"$tmp/one.masked"
    mask <"$tmp/three" | cmp - "$tmp/one.masked" || wrong "-j 3 prints something else"
    tail -n 1 "$tmp/one"
    tests=$(find . -name '*.litmus' | wc -l)
    tail -n 1 "$tmp/one" | grep -q "^$tests tests, .* 0 not, 0 unknown" || wrong "not $tests tests"
    "$baton" litmus fmt --check . || wrong "these are not in the form of fmt"
}

# What `times` has said of the commands of this shell, in ms of CPU time.
used() {
    awk -F'[ms ]+' 'NR == 2 {printf "%.0f\n", 1000 * (60 * ($1 + $3) + $2 + $4)}' "$1"
}

# The fastest of five, in CPU time: the target is about the work, not about what else runs on this machine.
time_limit() {
    best=
    for _ in 1 2 3 4 5; do
        times >"$tmp/begin"
        "$baton" litmus check -j 1 . >/dev/null || wrong "status $?"
        times >"$tmp/end"
        took=$(($(used "$tmp/end") - $(used "$tmp/begin")))
        if [ -z "$best" ] || [ "$took" -lt "$best" ]; then best=$took; fi
    done
    echo "$best ms for all tests, both engines"
    [ "$best" -le 500 ] || wrong "more than 500 ms"
}

# NAME ARGUMENT...: compares with expected/NAME
prints() {
    name=$1
    shift
    "$baton" litmus "$@" 2>&1 | mask >"$tmp/$name"
    if [ "$update" = --update ]; then
        cp "$tmp/$name" "expected/$name"
    else
        diff -u "expected/$name" "$tmp/$name" || wrong "$name: baton litmus $*"
    fi
}

output() {
    mkdir -p expected
    prints sometimes.out check fig5.litmus
    prints never.out check -m wait fig7b.litmus
    prints spec-impl.out check fig8b.litmus
    prints all.out check --show all -m wait sv-bcast-all.litmus get-lb.litmus
    prints json.out check --json fig6a.litmus fig8b.litmus
    prints not-exists.out check -m wait not-exists-mp.litmus not-exists-broken.litmus
    prints forall.out check -m wait forall-tickets.litmus forall-wait.litmus
    prints no-final-state.out check poll-nothing.litmus assume-never.litmus
    prints variant.out check -m wait --variant nrr-nrr get-get.litmus
    prints run-wait.out check -m wait --explain rmw-wait-othernode.litmus sb-wait-no-drain.litmus
    prints run-poll.out check --explain fig2b.litmus fig4b.litmus
    prints why-values.out check -m wait --explain cell-cw-cas.litmus cell-cas-cw.litmus let-chain.litmus
    prints why-spec.out check -m spec --explain sc-faa-write.litmus
    prints run-impl.out check -m impl --explain fig11a.litmus fig8b.litmus
}

# STATUS TEXT ARGUMENT...: exit status, and text somewhere in the output
ends() {
    status=$1
    text=$2
    shift 2
    "$baton" litmus "$@" >"$tmp/out" 2>&1
    got=$?
    [ "$got" = "$status" ] || wrong "status $got instead of $status: baton litmus $*"
    grep -qF -- "$text" "$tmp/out" || wrong "no \"$text\" from: baton litmus $*"
}

status() {
    sed 's/wait: Sometimes/wait: Never/' fig5.litmus >"$tmp/fig5.litmus"
    ends 0 'Ok' check fig5.litmus
    ends 1 'Not as stated: Result wait: Never' check "$tmp/fig5.litmus"
    ends 1 '"ok":false' check --json "$tmp/fig5.litmus"
    sed '/Result/d; s/^exists/~exists/' fig5.litmus >"$tmp/fig5.litmus"
    ends 1 'Test fig5 Forbidden' check -m wait "$tmp/fig5.litmus"
    sed '/Result/d' fig5.litmus >"$tmp/fig5.litmus"
    ends 0 '1 tests, 2 checks' check "$tmp/fig5.litmus"
    sed 's/a = x/a = y/' fig5.litmus >"$tmp/fig5.litmus"
    ends 2 'fig5.litmus:12:6: "y" is on node 2' check "$tmp/fig5.litmus"
    ends 2 'a = y' check "$tmp/fig5.litmus"
    # One bad file does not keep the others from being checked.
    ends 2 'Observation fig6a Sometimes' check "$tmp/fig5.litmus" fig6a.litmus
    cp fig5.litmus "$tmp/other.litmus"
    ends 2 'the test is named "fig5"' check "$tmp/other.litmus"
    ends 2 'cannot run under wait: "poll" exists only under tso' check -m wait fig2a.litmus
    ends 2 'cannot run under tso: locks' check -m tso fig8a.litmus
    ends 2 'No such file' check "$tmp/none.litmus"
    mkdir "$tmp/empty"
    ends 2 'no file named *.litmus' check "$tmp/empty"
    ends 2 'there is no model "sc"' check -m sc fig5.litmus
    ends 2 'there is no variant "x"' check --variant x fig5.litmus
    ends 2 'cond or all' check --show some fig5.litmus
    ends 2 ': --jobs takes a whole number from 1' check -j x fig5.litmus
    ends 2 ': --max-states takes a whole number from 1' check --max-states x fig5.litmus
    ends 2 'Usage:' check
    ends 3 'Observation fig4b Unknown' check --max-states 1 fig4b.litmus
    ends 3 '"observation":"Unknown"' check --json --max-states 1 fig4b.litmus
    ends 3 'gave up at the limit of time' check --timeout 0.000001 fig4b.litmus
    ends 3 'Unknown: fig4b under wait, machine: gave up at the limit of time' check \
        --timeout 0.000001 fig5.litmus fig4b.litmus
    grep -q '^Unknown: fig5 under tso, machine' "$tmp/out" || wrong "nothing of fig5 under tso"
    ends 3 '1 unknown' check -m wait --max-states 10 fig5.litmus fig4b.litmus
    [ "$(grep '^Unknown: ' "$tmp/out")" = \
        'Unknown: fig4b under wait, axioms: gave up at the limit of states' ] ||
        wrong "not fig4b alone, or not its axioms alone: $(grep '^Unknown' "$tmp/out")"
    ends 0 'Impossible: none of the 2 states of the machine leads there' check -m impl --explain \
        --max-states 5 fig8b.litmus
    grep -q '^No explanation: gave up at the limit of states' "$tmp/out" || wrong "not why not"
    # In folders, what the model does not take is skipped, and so is what is no test.
    mkdir "$tmp/mixed"
    cp fig8a.litmus fig4b.litmus check.sh "$tmp/mixed"
    ends 0 ', 1 skipped that are no programs of the model, 1 files skipped that are no tests;' \
        check -m wait "$tmp/mixed"
    ends 0 '2 tests, 1 checks: 1 as stated, 0 not, 0 unknown, 1 skipped' check -m wait "$tmp/mixed"
    ends 2 'cannot run under wait: locks' check -m wait "$tmp/mixed" fig8a.litmus
    # What is known to be wrong outweighs what is not known.
    sed 's/Result impl: Never/Result impl: Always/' fig8b.litmus >"$tmp/fig8b.litmus"
    ends 1 '1 not, 2 unknown' check --max-states 2 "$tmp/fig8b.litmus" fig4b.litmus
    tr -s ' ' <fig5.litmus >"$tmp/fig5.litmus"
    ends 1 fig5.litmus fmt --check "$tmp/fig5.litmus"
    "$baton" litmus fmt --in-place "$tmp/fig5.litmus" || wrong "fmt --in-place: status $?"
    cmp fig5.litmus "$tmp/fig5.litmus" || wrong "fmt --in-place gave another form"
}

picture() {
    "$baton" litmus check --dot "$tmp" fig5.litmus fig8b.litmus >"$tmp/out" || wrong "status $?"
    mkdir -p "$tmp/locked/fig5-tso.dot"
    for name in fig5-wait fig5-tso fig8b-spec; do
        grep -q '^digraph' "$tmp/$name.dot" || wrong "$name.dot is no graph"
    done
    [ "$(find "$tmp" -maxdepth 1 -name '*.dot' | wc -l)" = 3 ] || wrong "not three pictures"
    "$baton" litmus check -m tso --dot "$tmp/new" fig5.litmus >"$tmp/out" || wrong "status $?"
    [ -s "$tmp/new/fig5-tso.dot" ] || wrong "no picture in a new folder"
    ends 0 Observation check -m tso --dot "$tmp/new" fig5.litmus
    ends 2 ": $tmp/none/new: No such file" check --dot "$tmp/none/new" fig5.litmus
    ends 2 ": $tmp/out: Not a directory" check --svg "$tmp/out" fig5.litmus
    ends 2 "$tmp/locked/fig5-tso.dot: Is a directory" check -m tso --dot "$tmp/locked" fig5.litmus
    if command -v dot >/dev/null; then
        ends 0 'Observation' check -m tso --svg "$tmp" fig5.litmus
        grep -q '<svg' "$tmp/fig5-tso.svg" || wrong "fig5-tso.svg is no picture"
        rm "$tmp/new/fig5-tso.dot"
        ends 0 'Observation' check -m tso --svg "$tmp/svg" --dot "$tmp/new" fig5.litmus
        [ -s "$tmp/new/fig5-tso.dot" ] || wrong "no fig5-tso.dot in the folder of --dot"
        grep -q '<svg' "$tmp/svg/fig5-tso.svg" || wrong "no fig5-tso.svg in the folder of --svg"
    fi
    (PATH=$tmp "$baton" litmus check -m tso --svg "$tmp" fig5.litmus) >"$tmp/out" 2>&1
    [ $? = 2 ] || wrong "without the program dot, another status than 2"
    grep -qF 'the program dot (graphviz) failed' "$tmp/out" || wrong "no word of the missing dot"
}

case $part in
picture) picture ;;
stated) stated ;;
time) time_limit ;;
output) output ;;
status) status ;;
*)
    echo "there is no part $part"
    exit 2
    ;;
esac
exit $bad

#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: plot.sh BATON
#
# Shows that `baton bench lock --plot` draws all its pictures in both formats, and that a picture says
# whether its numbers are simulated or measured. The run is a simulated one, so it takes no time.
set -u
baton=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0
"$baton" bench lock --fabric step --lock ticket,merge --duration 0.01 --warmup 0 --plot "$work" \
    >"$work/out" 2>&1 || {
    cat "$work/out"
    exit 1
}
for picture in latency throughput fairness; do
    for format in svg png; do
        [ -s "$work/$picture.$format" ] || {
            echo "$picture.$format is empty or missing"
            status=1
        }
    done
    grep -q '(simulated)' "$work/$picture.svg" || {
        echo "$picture.svg does not say that it is simulated"
        status=1
    }
done
grep -q 'merge remote' "$work/latency.svg" || {
    echo "latency.svg has no curve of a lock"
    status=1
}
exit $status

#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: members.sh BATON PAGE
#
# Shows that the page of the benchmark names every member of its JSON objects, on every fabric and with
# the options that add some. Names of parameters are those of the kinds.
set -u
baton=$1 page=$2
status=0
run() {
    "$baton" bench lock "$@" --lock ts --duration 0.001 --warmup 0 --no-pair --format json 2>/dev/null
}
members=$({
    run --fabric shm
    run --fabric step
    run --fabric sim --real
    run --fabric sim --driver random --faults delay
} | sed 's/"params":{[^}]*}/"params":0/g' | grep -o '"[a-z0-9_]*":' | tr -d '":' | sort -u)
[ "$(wc -w <<<"$members")" -gt 30 ] || {
    echo "the benchmark did not print what was expected"
    exit 1
}
for member in $members; do
    grep -q -w -- "$member" "$page" || {
        echo "$(basename "$page") does not name $member"
        status=1
    }
done
exit $status

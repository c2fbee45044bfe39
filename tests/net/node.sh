#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: node.sh BATON [FABRIC...]
#
# Shows `baton node` and `baton secret new`: a cluster comes to be, tells who comes, leaves and dies,
# and ends in order; what is wrong is refused with words. On shm, and on the given fabrics, over a
# rendezvous, where this machine has them.
set -u
baton=$1
shift
work=$(mktemp -d) || exit 1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
secret=$work/secret

fail() {
    echo "$*"
    tail -n 20 "$work"/*.out
    exit 1
}

# The file comes to have a line.
shows() { # file line
    for _ in $(seq 1500); do
        grep -q -x "$2" "$work/$1" && return
        sleep 0.02
    done
    fail "$1 does not show \"$2\""
}

refused() { # status words command...
    local status=$1 words=$2
    shift 2
    timeout 100 "$@" >"$work/refused.out" 2>&1
    [ $? = "$status" ] || fail "exit status is not $status: $*"
    grep -q "$words" "$work/refused.out" || fail "not told \"$words\": $*"
}

cluster() { # fabric settings-of-all founder-settings
    local fabric=$1 all=$2 founder=$3
    # shellcheck disable=SC2086  # settings are words
    "$baton" node --fabric "$fabric" $all --number 1 >"$work/one.out" 2>&1 &
    local one=$!
    # shellcheck disable=SC2086
    "$baton" node --fabric "$fabric" $all $founder >"$work/zero.out" 2>&1 &
    local zero=$!
    shows zero.out "node 0 of 3, $fabric"
    shows one.out "node 1 of 3, $fabric"
    shows zero.out "node 1 is there"
    # shellcheck disable=SC2086
    "$baton" node --fabric "$fabric" $all --memory 64k >"$work/two.out" 2>&1 &
    local two=$!
    shows two.out "node 2 of 3, $fabric"
    shows one.out "node 2 is there"
    # shellcheck disable=SC2086
    refused 1 'taken\|no place' "$baton" node --fabric "$fabric" $all
    kill -KILL $two
    wait $two 2>/dev/null
    shows one.out "node 2 has died"
    shows zero.out "node 2 has died"
    kill -TERM $zero
    wait $zero || fail "node 0 has not left in order"
    shows one.out "node 0 has left"
    kill -TERM $one
    wait $one || fail "node 1 has not left in order"
}

"$baton" secret new "$secret" || fail "no secret"
refused 1 'File exists' "$baton" secret new "$secret"
refused 2 'FILE is missing' "$baton" secret new
refused 2 'go together' "$baton" node --fabric shm --secret "$secret"
refused 2 'fabric is needed' "$baton" node
refused 2 'cluster go together' "$baton" node --fabric shm
refused 2 'cluster go together' "$baton" node --fabric sim --cluster some
refused 2 'in one process' "$baton" node --fabric sim
refused 1 'there is: shm' "$baton" node --fabric nosuch
cluster shm "--cluster node-test-$$ --nodes 3" "--number 0"
for fabric; do
    "$baton" info | grep -q "^  $fabric *available" || {
        echo "$fabric: not here"
        continue
    }
    refused 2 'nobody could join' "$baton" node --fabric "$fabric"
    port=$((25000 + RANDOM % 2500)) # members.sh has others
    cluster "$fabric" "--rendezvous 127.0.0.1:$port --secret $secret" "--nodes 3"
    chmod 640 "$secret"
    refused 1 'chmod 600' "$baton" node --fabric "$fabric" --rendezvous ":$port" --secret "$secret"
    chmod 600 "$secret"
    refused 1 'nobody answers' "$baton" node --fabric "$fabric" --rendezvous ":$port" \
        --secret "$secret" --options join_ms=300
    echo "$fabric: good"
done

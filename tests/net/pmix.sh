#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: pmix.sh PEER
# Shows that processes which mpirun starts find each other with neither rendezvous nor secret: four
# ranks exchange what they know, once on loopback and once at an address that others could reach. A rank
# that does not come keeps the others no longer than they have been told to wait.
set -u
peer=$1
command -v mpirun >/dev/null || {
    echo "skipped: no mpirun"
    exit 77
}
run() {
    out=$(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        timeout 120 mpirun --oversubscribe -n 4 "$@" 2>&1) || {
        echo "$out"
        exit 1
    }
    [ "$(echo "$out" | grep -c 'has met all')" = 4 ] || {
        echo "not all four: $out"
        exit 1
    }
}
run "$peer" 4
run "$peer" 4 pmix=0.0.0.0
# One that never comes is not waited for for ever.
out=$(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    timeout 120 mpirun --oversubscribe -n 3 "$peer" 3 join_ms=2000 1 2>&1)
echo "$out" | grep -q 'rank 1 does not come' || {
    echo "somebody waits for rank 1: $out"
    exit 1
}
# Without the launcher the setting says so.
"$peer" 4 pmix=1 2>&1 | grep -q 'no launcher' || {
    echo "pmix=1 without a launcher has not been refused"
    exit 1
}

#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: peers.sh PART BENCH-PEERS BUILD-FOLDER
#
# Shows that bench/peers works whatever is on this machine. PART is one of:
#   absent    with no peer, no compiler and nothing built it says what is missing, and where it could come from
#   ours      our own rows have all their numbers, and exclude
set -u
export LC_ALL=C
part=$1 peers=$2 build=$3
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
bad=0

wrong() {
    echo "$*"
    bad=1
}

absent() {
    mkdir "$tmp/bin"
    local tool
    for tool in awk cut dirname env getconf grep head mkdir mktemp readlink rm sed sleep tail timeout tr uname; do
        ln -s "$(command -v $tool)" "$tmp/bin/$tool"
    done
    PATH=$tmp/bin "$peers" --build "$tmp/none" --out "$tmp/out" >"$tmp/table" 2>"$tmp/errors" ||
        wrong "status $?: $(cat "$tmp/errors")"
    cat "$tmp/table"
    local row
    for row in 'merge shm nothing is built' 'merge ucx-tcp nothing is built' \
        'MPI_Win_lock-openmpi tcp no Open MPI here; .* libopenmpi-dev' \
        'MPI_Win_lock-mpich ucx-tcp no MPICH here; .* libmpich-dev' 'OpenSHMEM ucx-tcp no OpenSHMEM here; .*' \
        'redis tcp no redis-server or no cc here; .*' 'etcd tcp no etcd or no cc here; .*'; do
        # shellcheck disable=SC2086  # its words
        set -- $row
        grep -qE "^$1 +$2 +skipped: ${*:3}" "$tmp/table" || wrong "no row \"$row\""
    done
    [ "$(grep -c '"skipped":"' "$tmp/out/peers.json")" = 7 ] || wrong "peers.json does not tell of 7 peers skipped"
    grep -q 'no picture' "$tmp/errors" || wrong "not a word of the picture"
    "$peers" --out "$tmp/out" nobody 2>"$tmp/errors"
    [ $? = 2 ] || wrong "another status than 2 for a peer that nobody knows"
    grep -q 'peers: ours-shm' "$tmp/errors" || wrong "it does not say which peers there are"
}

ours() {
    "$peers" --build "$build" --out "$tmp/out" --seconds 0.1 ours-shm >"$tmp/table" 2>"$tmp/errors" ||
        wrong "status $?: $(cat "$tmp/errors")"
    cat "$tmp/table"
    local kind
    for kind in rcas chain merge farlock ticket; do
        grep -qE "^$kind +shm +[0-9.]+( +[0-9]+\.[0-9]+){6} *$" "$tmp/table" || wrong "no full row of $kind"
    done
    [ "$(grep -c '"check":"exclusive"' "$tmp/out/peers.json")" = 10 ] || wrong "not ten results that exclude"
    command -v gnuplot >/dev/null || return
    [ -s "$tmp/out/peers.svg" ] || wrong "no picture as SVG"
    [ -s "$tmp/out/peers.png" ] || wrong "no picture as PNG"
}

case $part in
absent) absent ;;
ours) ours ;;
*)
    echo "there is no part $part"
    exit 2
    ;;
esac
exit $bad

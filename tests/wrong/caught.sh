#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: caught.sh PROGRAM WORLD KIND SECONDS MESSAGE [CASE]
#
# Runs the conformance case of exclusion (or CASE) on a broken kind of lock, which has to be found within that many
# seconds and for the right reason: MESSAGE is an extended regular expression. That the case fails is what
# the test wants.
program=$1 world=$2 kind=$3 seconds=$4 message=$5
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
export BATON_SOAK_SECONDS="$seconds"
begin=$(date +%s%N)
timeout 100 "$program" --world "$world" --group lock --case "${6:-exclusion}" --lock "$kind" --seed 1 >"$out" 2>&1
status=$?
took=$((($(date +%s%N) - begin) / 1000000))
cat "$out"
echo "exit status $status after $took ms"
[ "$status" = 1 ] || exit 1
grep -qE "$message" "$out" || exit 1
# By the clock, so others who use the machine are allowed for.
[ "$took" -le $((seconds * 10000)) ]

#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: docs/pictures/draw.sh [BATON [LAB]]
#
# Draws the picture of the README again, and where LAB is the folder of a run
#
#   baton lab farlock --length 0.2 --out LAB
#
# takes those of docs/fairness.md from it. The runs are simulated, so the same sources draw the same lines
# on every machine; gnuplot's version may change how they look.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
baton=${1:-$here/../../build/baton}
lab=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

take() { # FROM NAME
    {
        sed -n '1{/^<?xml/p}' "$1"
        echo '<!-- SPDX-License-Identifier: MIT -->'
        echo '<!-- Drawn by docs/pictures/draw.sh: change that, not this. -->'
        sed '1{/^<?xml/d}' "$1"
    } >"$here/$2.svg"
}

"$baton" bench lock --fabric sim --profile cx6 --nodes 10 --threads 12 --locks 1 \
    --lock ts,mcs,alock,farlock,merge --duration 0.05 --warmup 0.005 --plot "$work"
take "$work/latency.svg" latency-sim
if [ -n "$lab" ]; then
    take "$lab/bound.svg" fairness-bound
    take "$lab/waits.svg" fairness-waits
    take "$lab/section-local-p999.svg" fairness-section
    take "$lab/section-tickets.svg" fairness-tickets
    take "$lab/bypass.svg" fairness-bypass
fi

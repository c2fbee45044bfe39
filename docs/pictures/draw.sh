#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: docs/pictures/draw.sh [BATON]
#
# Draws the picture of the README again. The run is simulated, so the same sources draw the same lines
# on every machine; gnuplot's version may change how they look.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
baton=${1:-$here/../../build/baton}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$baton" bench lock --fabric sim --profile cx6 --nodes 10 --threads 12 --locks 1 \
    --lock ts,mcs,alock,farlock,merge --duration 0.05 --warmup 0.005 --plot "$work"
{
    sed -n '1{/^<?xml/p}' "$work/latency.svg"
    echo '<!-- SPDX-License-Identifier: MIT -->'
    echo '<!-- Drawn by docs/pictures/draw.sh: change that, not this. -->'
    sed '1{/^<?xml/d}' "$work/latency.svg"
} >"$here/latency-sim.svg"

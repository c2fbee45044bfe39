#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: in_time.sh COMMAND...
#
# As much of a search as BATON_SOAK_SECONDS allow: of one that has not ended by then nothing is known, and said so.
timeout "${BATON_SOAK_SECONDS:-600}" "$@"
status=$?
[ "$status" = 124 ] || exit "$status"
echo "it has not ended in ${BATON_SOAK_SECONDS:-600} s: nothing is known"

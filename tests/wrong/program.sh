#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: program.sh BATON PROGRAM STATUS WORDS
#
# Explores the program in a few seconds: the exit status must be that, and WORDS must be said.
found=$("$1" check "$2" --timeout 100 2>&1)
status=$?
echo "$found"
[ "$status" = "$3" ] && echo "$found" | grep -q "$4"

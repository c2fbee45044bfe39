#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: size.sh FOLDER
#
# Shows that every example has less than 150 lines.
status=0
for file in "$1"/*.c; do
    lines=$(wc -l <"$file")
    [ "$lines" -lt 150 ] || {
        echo "$file has $lines lines"
        status=1
    }
done
exit $status

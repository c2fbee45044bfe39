#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: install.sh BUILD-FOLDER C-COMPILER
#
# Installs into a folder of its own, moves that folder, and shows there that a program finds the
# library through pkg-config and through CMake, shared and static, and runs; that the shared library
# exports what the installed headers declare and no more; and that the rest of the files is there.
set -u
build=$1 cc=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0
not_good() {
    echo "$*"
    status=1
}

cmake --install "$build" --prefix "$work/first" >"$work/log" || {
    cat "$work/log"
    exit 1
}
mv "$work/first" "$work/prefix"
prefix=$work/prefix
pc=$(find "$prefix" -name baton.pc)
lib=$(cd "$(dirname "$pc")/.." && pwd)

for file in "$prefix"/bin/baton "$lib"/libbaton.{a,so,so.0} "$lib"/cmake/baton/baton-config.cmake \
    "$lib"/cmake/baton/baton-config-version.cmake \
    "$prefix"/share/bash-completion/completions/baton; do
    [ -s "$file" ] || not_good "not installed: ${file#"$prefix"/}"
done
for page in "$here"/../../man/*.[0-9]; do
    [ -f "$page" ] || continue
    page=$(basename "$page")
    [ -s "$prefix/share/man/man${page##*.}/$page" ] || not_good "not installed: $page"
done
bash -n "$prefix/share/bash-completion/completions/baton" || status=1
"$prefix/bin/baton" --version | grep -q '^baton [0-9]' || not_good "the installed command does not run"
readelf -d "$lib/libbaton.so" | grep -q 'SONAME.*\[libbaton\.so\.0\]' || not_good "the soname is wrong"

# What the compiler sees declared, against what the linker exports.
for header in "$prefix"/include/baton/*.h; do
    echo "#include <baton/${header##*/}>"
done >"$work/all.c"
"$cc" -std=c11 -I"$prefix/include" -fsyntax-only -aux-info "$work/declared.txt" "$work/all.c" || status=1
sed -n 's,^/\* [^ ]*/include/baton/[^ ]* \*/ .*[ *]\(baton_[a-z0-9_]*\) (.*,\1,p' "$work/declared.txt" |
    sort -u >"$work/declared"
nm -D --defined-only "$lib/libbaton.so" | sed -n 's/.* [TDBR] \([^@]*\).*/\1/p' |
    grep -v '^baton_tsan_' | sort >"$work/exported"
if ! diff "$work/declared" "$work/exported" >"$work/diff"; then
    not_good "declared (<) and exported (>) differ:"
    cat "$work/diff"
fi

cd "$work" || exit 1
export PKG_CONFIG_PATH=$lib/pkgconfig
read -ra flags < <(pkg-config --cflags baton)
read -ra shared < <(pkg-config --libs baton)
read -ra static < <(pkg-config --libs --static baton)
warnings=(-std=c11 -Wall -Wextra -Werror -pedantic)
"$cc" "${warnings[@]}" "${flags[@]}" "$here/consumer/consumer.c" "${shared[@]}" -o pc-shared ||
    not_good "pkg-config, shared: no program"
"$cc" "${warnings[@]}" "${flags[@]}" "$here/consumer/consumer.c" \
    "${static[@]/#-lbaton/-l:libbaton.a}" -o pc-static || not_good "pkg-config, static: no program"
{
    cmake -G Ninja -S "$here/consumer" -B found -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_PREFIX_PATH="$prefix" && cmake --build found
} >log 2>&1 || {
    cat log
    not_good "find_package: no program"
}
export LD_LIBRARY_PATH=$lib
for program in pc-shared pc-static found/consumer-shared found/consumer-static; do
    "./$program" step || not_good "$program on step: exit status $?"
    "./$program" shm "consumer-$$" || not_good "$program on shm: exit status $?"
done
exit $status

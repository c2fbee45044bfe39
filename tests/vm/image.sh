#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: image.sh base KERNEL-TREE OUT | image.sh overlay OUT FILE..
#
# Makes the two halves of the guest's file system, each a compressed cpio archive; the kernel unpacks one
# on top of the other. `base` has the modules and tools, and changes with the kernel only; `overlay` has
# the given files in /t, with the shared libraries that they need. (Both are compressed: the kernel drops
# a plain archive that comes after a compressed one without a word.)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# The program under `to`, and its libraries under the very paths that its loader asks for.
add_program() { # from to
    install -D -m755 "$(readlink -f "$1")" "$root$2"
    { ldd "$1" 2>/dev/null || true; } |
        awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }' |
        while read -r library; do
            [ -e "$root$library" ] || install -D -m755 "$(readlink -f "$library")" "$root$library"
        done
}

base() { # kernel-tree
    local tree=$1 version paths path name tool
    mkdir -p "$root"/{bin,proc,sys,dev,tmp,run,out,t,modules,etc/libibverbs.d,usr/bin}
    install -m755 /bin/busybox "$root/bin/busybox"
    version=$(basename "$tree"/lib/modules/*)
    [ -f "$tree/lib/modules/$version/modules.dep.bin" ] || depmod -b "$tree" "$version"
    # crc32_generic is asked for by name at run time, so nothing depends on it.
    paths=$(for name in virtio_pci 9pnet_virtio 9p crc32_generic ib_uverbs rdma_rxe veth sch_netem; do
        modprobe -d "$tree" -S "$version" --show-depends "$name"
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }')
    while read -r path; do
        name=$(basename "$path")
        case $name in
        *.xz) name=${name%.xz} && xz -dc "$path" >"$root/modules/$name" ;;
        *.zst) name=${name%.zst} && zstd -dcq "$path" >"$root/modules/$name" ;;
        *) cp "$path" "$root/modules/$name" ;;
        esac
        echo "$name"
    done <<<"$paths" >"$root/modules/order"
    for tool in rdma ip tc; do
        add_program "$(PATH=$PATH:/sbin:/usr/sbin type -P "$tool")" "/usr/bin/$tool"
    done
    # Loaded by name at run time: the user-space half of the device, and the unwinder of threads.
    for path in /usr/lib/*/libibverbs/librxe-rdmav*.so; do add_program "$path" "$path"; done
    cp /etc/libibverbs.d/rxe.driver "$root/etc/libibverbs.d/"
    for path in /lib/*-linux-gnu/libgcc_s.so.1; do add_program "$path" "$path"; done
    # Not busybox's own shell, which would take its own `ip` before the one in PATH.
    add_program /bin/dash /bin/sh
    echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
    install -m755 "$here/init" "$root/init"
}

overlay() { # file..
    local file
    mkdir -p "$root/t"
    for file; do
        case $file in
        */plan* | *.sh | *.litmus) install -m755 "$file" "$root/t/" ;;
        *) add_program "$file" "/t/$(basename "$file")" ;;
        esac
    done
}

case $1 in
base) out=$3 && base "$2" ;;
overlay) out=$2 && shift 2 && overlay "$@" ;;
*) exit 2 ;;
esac
(cd "$root" && find . -print0 | LC_ALL=C sort -z | cpio -o0 -H newc -R 0:0 --quiet) |
    gzip -1n >"$out.new"
mv "$out.new" "$out"

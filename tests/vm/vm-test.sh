#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: vm-test.sh BUILD-FOLDER CACHE-FOLDER PLAN
#
# Shows that the fabric verbs works on real libibverbs, without an RDMA NIC: boots a small machine with
# software RDMA devices under emulation and runs the plan there. A plan line is a name, a number of
# seconds and a command; the command's first word is a program of the build folder.
#
# The kernel comes from the distribution through apt, is not installed, and stays in the cache folder.
# Exit status: 0 all of the plan is good, 1 something is not, 77 something is missing here.
set -uo pipefail
[ $# = 3 ] || { sed -n '3p' "$0" && exit 2; }
build=$1 cache=$2 plan=$3
here=$(cd "$(dirname "$0")" && pwd)
export PATH=$PATH:/sbin:/usr/sbin

missing() {
    echo "$*"
    exit 77
}
for tool in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio depmod:kmod xz:xz-utils \
    ip:iproute2 rdma:iproute2; do
    command -v "${tool%:*}" >/dev/null || missing "no ${tool%:*} here; it is in the package ${tool#*:}"
done
ls /usr/lib/*/libibverbs/librxe-rdmav*.so >/dev/null 2>&1 ||
    missing "no software RDMA device for libibverbs here; it is in the package ibverbs-providers"

mkdir -p "$cache" || exit 1
cache=$(cd "$cache" && pwd)
work=$(mktemp -d "$cache/run.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# Downloads the kernel that the distribution has now, once.
kernel() {
    local package
    if [ -z "$(ls "$cache"/kernel/boot/vmlinuz-* 2>/dev/null)" ]; then
        command -v apt-get >/dev/null || missing "no apt-get here to fetch a kernel with"
        package=$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' |
            head -n 1)
        [ -n "$package" ] || missing "apt knows no package linux-image-amd64"
        (cd "$work" && apt-get download -q "$package" 2>"$work/apt") || {
            cat "$work/apt"
            missing "apt-get could not download $package"
        }
        dpkg -x "$work/$package"_*.deb "$work/kernel" && rm -rf "$cache/kernel" &&
            mv "$work/kernel" "$cache/kernel" || exit 1
    fi
    if [ ! -s "$cache/base.cpio.gz" ] || [ "$here/image.sh" -nt "$cache/base.cpio.gz" ] ||
        [ "$here/init" -nt "$cache/base.cpio.gz" ]; then
        "$here/image.sh" base "$cache/kernel" "$cache/base.cpio.gz" || exit 1
    fi
}
exec 9>"$cache/lock"
flock 9
kernel
flock -u 9

programs=()
while read -r name _ command; do
    case $name in '' | \#*) continue ;; esac
    for word in $command; do
        program=$(find "$build" -type f -name "$word" -perm -u+x 2>/dev/null | head -n 1)
        [ -z "$program" ] || programs+=("$program")
    done
done <"$plan"
soak=${BATON_SOAK_SECONDS:-60}
sed "s/SOAK_LIMIT/$((soak + 900))/; s/SOAK_SECONDS/$soak/; s/SOAK_SEED/$(date +%s)/" "$plan" >"$work/plan"
mapfile -t programs < <(printf '%s\n' "${programs[@]}" | sed '/^$/d' | sort -u)
"$here/image.sh" overlay "$work/overlay.cpio.gz" "$work/plan" "$here/guest.sh" "$here/litmus.sh" \
    "$here"/../litmus/*.litmus "${programs[@]}" || exit 1
cat "$cache/base.cpio.gz" "$work/overlay.cpio.gz" >"$work/initrd"
mkdir "$work/out"
kernels=("$cache"/kernel/boot/vmlinuz-*)

# Emulated, so that it runs anywhere; the same machine everywhere, so that it runs the same. With the instructions of
# erms the kernel copies by bytes, which the emulator may leave in the middle of a word for long.
timeout -k 5 "${BATON_VM_SECONDS:-$((soak + 1640))}" qemu-system-x86_64 -M q35 -accel tcg,thread=multi \
    -cpu max,-erms -smp 2 -m 1024 -nodefaults -no-user-config -display none -no-reboot \
    -serial "file:$work/console" \
    -device isa-debug-exit,iobase=0xf4,iosize=0x04 \
    -fsdev "local,id=out,path=$work/out,security_model=none" \
    -device virtio-9p-pci,fsdev=out,mount_tag=out \
    -kernel "${kernels[0]}" -initrd "$work/initrd" \
    -append "console=ttyS0 quiet loglevel=4 panic=-1 nokaslr mitigations=off random.trust_cpu=on" \
    </dev/null &
machine=$!
trap 'kill "$machine" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
wait "$machine"
status=$?

[ -z "${BATON_VM_LOGS:-}" ] || { mkdir -p "$BATON_VM_LOGS" && cp "$work/console" "$work"/out/* "$BATON_VM_LOGS"; }

# A panic ends qemu with 0, and a guest may print anything: each of these must say that all is well.
said=$(sed -n 's/.*@@RC=\([0-9]*\)@@.*/\1/p' "$work/console" | tail -n 1)
good=1
while read -r name _ command; do
    case $name in '' | \#*) continue ;; esac
    result=$(sed -n "s/^.*@@ $name \([0-9]*\) from.*/\1/p" "$work/console" | tail -n 1)
    grep -o "@@ $name .*" "$work/console" | tail -n 1
    [ ! -f "$work/out/$name.log" ] || tail -n 1 "$work/out/$name.log"
    [ "$result" = 0 ] && continue
    good=0
    echo "not good: $name: ${result:-no result}"
    [ ! -f "$work/out/$name.log" ] || sed 's/^/    /' "$work/out/$name.log" | tail -n 60
done <"$plan"
if [ "$good" = 0 ] || [ "$said" != 0 ] || [ "$status" != 1 ]; then
    echo "not good: the guest says ${said:-nothing}, qemu ends with $status; its console:"
    tail -n 40 "$work/console"
    exit 1
fi
echo "all of the plan is good"

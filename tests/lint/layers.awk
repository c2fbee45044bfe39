# SPDX-License-Identifier: MIT
# Reads the output of code.awk (with strings kept) and prints every include of a folder that the file's
# own folder must not know. A public header belongs to the folder of its name, else to base.
BEGIN {
    below["base"] = "base"
    below["model"] = "base model"
    below["fabric"] = "base fabric"
    below["sim"] = "base model fabric sim"
    below["lock"] = "base fabric lock"
    below["mem"] = "base fabric lock mem"
    below["txn"] = "base fabric lock mem txn"
    below["tree"] = "base fabric lock mem txn tree"
    below["bench"] = "base model fabric sim lock mem txn tree bench"
    below["check"] = "base model fabric sim lock mem check"
    below["tool"] = "base model fabric sim lock mem txn tree bench check tool"
    owner["litmus"] = "model"
    owner["check"] = "sim"
}
{
    split($0, part, ":")
    line = substr($0, length(part[1]) + length(part[2]) + 3)
    if (!match(line, /^[ \t]*#[ \t]*include[ \t]*["<][^">]*[">]/))
        next
    sub(/^[^"<]*["<]/, "", line)
    sub(/[">].*/, "", line)
    sub(/^(\.\.\/)+(src\/)?/, "", line)
    split(part[1], path, "/")
    folder = path[1] == "src" ? path[2] : path[1]
    n = split(line, piece, "/")
    if (n < 2 || folder ~ /\./) # a file of src/ itself stands above all folders
        next
    target = piece[1]
    if (target == "baton") {
        target = piece[2]
        sub(/\.h$/, "", target)
        if (target in owner)
            target = owner[target]
        else if (!(target in below))
            target = "base"
    }
    if (!(target in below))
        next
    if (!(folder in below))
        print part[1] ":" part[2] ": folder " folder " has no place in tests/lint/layers.awk"
    else if (index(" " below[folder] " ", " " target " ") == 0)
        print part[1] ":" part[2] ": " folder " must not use " target
}

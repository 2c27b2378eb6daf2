#!/usr/bin/env bash
# Installed programs find their libraries after a move of the prefix: moved.sh PREFIX SCRATCH
set -euo pipefail
prefix=$1 work=$2
rm -rf "$work" && mkdir -p "$work"
cp -a "$prefix" "$work/elsewhere"
for program in "$work"/elsewhere/bin/*; do
  env -u LD_LIBRARY_PATH "$program" --help >"$work/help" || { echo "$program --help fails"; exit 1; }
  [ -s "$work/help" ] || { echo "$program --help prints nothing"; exit 1; }
  env -u LD_LIBRARY_PATH ldd "$program" | grep -E 'libpoas[^ ]* =>' | grep -vF "$work/elsewhere/" && { echo "$program takes libpoas from another place"; exit 1; }
done
echo "all programs run from a moved prefix"

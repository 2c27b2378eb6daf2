#!/usr/bin/env bash
# The consumer project by find_package(poas): by_cmake.sh PREFIX SCRATCH
set -euo pipefail
prefix=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$work"
env -u PKG_CONFIG_PATH cmake -S "$here/project" -B "$work" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
cmake --build "$work"
# No library path is set: what find_package gives must be enough to run, too.
for program in insert planned; do env -u LD_LIBRARY_PATH STARPU_SCHED=poas STARPU_SCHED_LIB="$prefix/lib/libpoas.so" "$work/$program"; done

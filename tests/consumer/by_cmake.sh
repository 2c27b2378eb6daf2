#!/usr/bin/env bash
# A project by find_package(poas), built and run: by_cmake.sh PREFIX SCRATCH PROJECT PROGRAM...
set -euo pipefail
prefix=$1 work=$2 project=$3
shift 3
rm -rf "$work"
env -u PKG_CONFIG_PATH cmake -S "$project" -B "$work" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
cmake --build "$work"
# No library path is set: what find_package gives must be enough to run, too.
for program in "$@"; do env -u LD_LIBRARY_PATH STARPU_SCHED=poas STARPU_SCHED_LIB="$prefix/lib/libpoas.so" "$work/$program"; done

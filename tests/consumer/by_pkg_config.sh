#!/usr/bin/env bash
# The consumer's files by pkg-config and the compiler alone: by_pkg_config.sh PREFIX SCRATCH
set -euo pipefail
prefix=$1 work=$2
project=$(cd "$(dirname "$0")" && pwd)/project
rm -rf "$work" && mkdir -p "$work"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
flags() { pkg-config --define-variable=prefix="$prefix" "$@"; }
# shellcheck disable=SC2046
"$CC" -Wall -Wextra -Werror "$project/insert.c" -o "$work/insert" $(flags --cflags --libs poas_codelets)
# shellcheck disable=SC2046
"$CXX" -std=c++20 -Wall -Wextra -Werror "$project/planned.cpp" -o "$work/planned" $(flags --cflags --libs poas)
for program in insert planned; do env -u LD_LIBRARY_PATH STARPU_SCHED=poas STARPU_SCHED_LIB="$prefix/lib/libpoas.so" "$work/$program"; done

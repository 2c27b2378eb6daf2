#!/usr/bin/env bash
# A bundle runs elsewhere with an empty environment: bundle.sh TOOL BUILD SCRATCH
set -euo pipefail
tool=$1 build=$2 work=$3
rm -rf "$work" && mkdir -p "$work"
"$tool" --build "$build" --output "$work/here"
mv "$work/here" "$work/there"
# shellcheck disable=SC2016
run() { env -i HOME="$work" STARPU_SILENT=1 bash -c 'source "$0/env.sh" && "$@"' "$work/there" "$@"; }
run poas --help | head -n 5
run poas machine
run gemm --size 256 --check
# Nothing but the C and C++ runtime and CUDA may come from outside.
# shellcheck disable=SC2016
outside=$(run bash -c 'ldd "$0"/bin/* "$0"/lib/*.so*' "$work/there" | awk '$2 == "=>" && $3 ~ /^\//' | grep -vF "$work/there/" |
  grep -vE '^\s*(libc|libm|libpthread|libdl|librt|libresolv|libutil|libstdc\+\+|libgcc_s|libcu|libnv)[^ ]* ' | sort -u) || true
[ -z "$outside" ] || { echo "taken from this machine: $outside"; exit 1; }
echo "the bundle stands alone"

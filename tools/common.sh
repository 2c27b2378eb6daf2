# Shared by the scripts of this folder: messages, steps with a log, the configured build folder.
# The sourcing script sets `program` (its name) and `root` (the checkout).
# shellcheck shell=bash disable=SC2154

say() { printf '[%s] %s\n' "$program" "$*"; }
die() { printf '[%s] error: %s\n' "$program" "$*" >&2; exit 1; }

# A step runs in the background, out of reach of the keyboard: an interrupted script ends it.
step_pid=
end_step() {
  [ -z "$step_pid" ] || kill -- "-$step_pid" 2>/dev/null || true
  exit 130
}
trap end_step INT TERM

# How far the build that writes this log is: ninja counts, StarPU's make names each file.
progress() {
  local count
  if grep -qs '^\[[0-9]*/' "$1"; then
    grep -o '^\[[0-9]*/[0-9]*\]' "$1" | tail -n 1
  else
    count=$(grep -cs '^  CC' "$1" || true)
    [ "${count:-0}" = 0 ] || echo "$count files compiled"
  fi
}

# step WHAT LOG COMMAND...: runs it with its output in LOG and a progress line every 20 seconds.
step() {
  local what=$1 log=$2 began=$SECONDS n=0
  shift 2
  say "$what"
  set -m  # a process group of its own, which can be ended as a whole
  "$@" >"$log" 2>&1 </dev/null &
  step_pid=$!
  set +m
  while kill -0 $step_pid 2>/dev/null; do
    sleep 0.2
    n=$((n + 1))
    [ $((n % 100)) = 0 ] && say "$what: $((SECONDS - began)) s $(progress "$log")"
  done
  if ! wait $step_pid; then
    grep -E -A 4 '^FAILED:|error:|Error' "$log" | head -n 60 >&2 || true
    tail -n 20 "$log" >&2
    die "$what failed after $((SECONDS - began)) s, the whole output is in $log"
  fi
  step_pid=
  say "$what: done in $((SECONDS - began)) s"
}

# OpenBLAS 0.3.21, Debian 12's, hangs on processors with AMX, which it does not know.
choose_openblas_core() {
  if [ -z "${OPENBLAS_CORETYPE:-}" ] && grep -qsw amx_tile /proc/cpuinfo; then export OPENBLAS_CORETYPE=SkylakeX; fi
}

# What a configured build folder depends on besides the sources.
foundations() {
  local cache=${POAS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/poas}
  echo "$root"
  readlink "$cache/starpu-real" "$cache/starpu-simgrid" || true
  command -v nvcc || true
}

# configure BUILD OPTION...: from scratch where the checkout was moved or StarPU has changed.
configure() {
  local build=$1 fresh=()
  shift
  mkdir -p "$build"
  if [ -f "$build/CMakeCache.txt" ] && [ "$(cat "$build/foundations" 2>/dev/null)" != "$(foundations)" ]; then fresh=(--fresh); fi
  step "configure" "$build/configure.log" cmake "${fresh[@]}" -S "$root" -B "$build" -G Ninja \
    ${CUDA_HOME:+-DCUDAToolkit_ROOT="$CUDA_HOME"} "$@"
  foundations >"$build/foundations"
}

#!/bin/bash
# Throughput and peak memory of `hone quantize` against `cp` of the same bytes, in one run.
#
#   tests/bench/quantize_throughput.sh BUILD_FOLDER [GIGABYTES] [WORK_FOLDER]
#
# BUILD_FOLDER holds cli/hone and tests/bench/bench_write_checkpoint (preset dev, or any build with
# -DHONE_BENCH=ON). The source is read from the page cache; every run ends with its bytes synced.
set -euo pipefail

build=${1:?usage: $0 BUILD_FOLDER [GIGABYTES] [WORK_FOLDER]}
gigabytes=${2:-2}
work=${3:-$(mktemp -d)}
hone=${HONE:-$build/cli/hone}
writer=${WRITER:-$build/tests/bench/bench_write_checkpoint}
source=$work/source
mkdir -p "$work"
[ -d "$source" ] || "$writer" "$source" "$gigabytes"
bytes=$(du -sb "$source" | cut -f1)
cat "$source"/*.safetensors > /dev/null

# measure NAME COMMAND...: seconds, CPU seconds, MB/s of source bytes, largest resident set. On a busy
# machine the CPU seconds are the figure to compare.
ticks=$(getconf CLK_TCK)
measure() {
  local name=$1 start end peak=0 anonymous=0 cpu=0 now
  shift
  sync
  start=$(date +%s.%N)
  "$@" > "$work/log" 2>&1 &
  local pid=$!
  while now=$(awk '/VmHWM/ {print $2}' "/proc/$pid/status" 2>/dev/null) && [ -n "$now" ]; do
    peak=$now
    now=$(awk '/RssAnon/ {print $2}' "/proc/$pid/status" 2>/dev/null) || true
    [ "${now:-0}" -gt "$anonymous" ] && anonymous=$now
    now=$(awk '{print $14 + $15}' "/proc/$pid/stat" 2>/dev/null) || true
    [ "${now:-0}" -gt "$cpu" ] && cpu=$now
    sleep 0.02
  done
  wait "$pid" || { cat "$work/log"; exit 1; }
  sync
  end=$(date +%s.%N)
  awk -v n="$name" -v s="$start" -v e="$end" -v b="$bytes" -v p="$peak" -v a="$anonymous" -v c="$cpu" -v k="$ticks" 'BEGIN {
    t = e - s
    printf "%-16s %6.2f s %6.0f MB/s  %5.2f CPU s  peak RSS %4.0f MB (anonymous %3.0f MB)\n",
           n, t, b / t / 1e6, c / k, p / 1e3, a / 1e3
  }'
}

awk -v b="$bytes" 'BEGIN { printf "source: %.2f GB of BF16\n", b / 1e9 }'
for round in 1 2; do
  rm -rf "$work/copy"
  measure "cp" cp -r "$source" "$work/copy"
  rm -rf "$work/copy"
  for scheme in fp8-block nvfp4a16; do
    rm -rf "$work/out"
    measure "hone $scheme" "$hone" quantize "$source" -o "$work/out" --scheme "$scheme" --quiet
    rm -rf "$work/out"
  done
done

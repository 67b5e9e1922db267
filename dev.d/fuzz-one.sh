#!/usr/bin/env bash
# fuzz-one.sh NAME FOLDER SECONDS: runs one fuzzer on its corpus and on the findings of earlier runs; one line if clean.
set -euo pipefail
name=$1 folder=$2 seconds=$3
work=$folder/../found/$name
mkdir -p "$work/corpus"
if [ "$name" = http2_garbage ]; then
  seed=${PP_FUZZ_SEED:-$((RANDOM * 32768 + RANDOM))}
  # The quarantine of freed memory would grow to 256 MiB and hide the daemon's own size, which is checked here.
  if PTRACE_PROFD_BIN=$folder/../ptrace-profd PP_DAEMON_PROBE=$folder/../tests/daemon_probe \
    ASAN_OPTIONS=quarantine_size_mb=16:${ASAN_OPTIONS:-} \
    python3 tests/fuzz/http2_garbage.py --seconds "$seconds" --seed "$seed" --most-mib 768 >"$work/log" 2>&1; then
    echo "    $(tail -n 1 "$work/log")"
    exit 0
  fi
  tail -n 60 "$work/log"
  echo "    $name: FAILED with seed $seed (PP_FUZZ_SEED=$seed ./dev fuzz $seconds $name); its words are in $work/log"
  exit 1
fi
seeds=()
[ -d "tests/fuzz/corpus/$name" ] && seeds=("tests/fuzz/corpus/$name")
if "$folder/$name" -max_total_time="$seconds" -rss_limit_mb=1024 -timeout=10 -print_final_stats=1 \
  -artifact_prefix="$work/" "$work/corpus" ${seeds[@]+"${seeds[@]}"} >"$work/log" 2>&1; then
  echo "    $name: clean, $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log") runs"
else
  tail -n 40 "$work/log"
  echo "    $name: FAILED; the input is in $work"
  exit 1
fi

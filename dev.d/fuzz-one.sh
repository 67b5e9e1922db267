#!/usr/bin/env bash
# fuzz-one.sh NAME FOLDER SECONDS: runs one fuzzer on its corpus and on what earlier runs found; one line when clean.
set -euo pipefail
name=$1 folder=$2 seconds=$3
work=$folder/../found/$name
mkdir -p "$work/corpus"
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

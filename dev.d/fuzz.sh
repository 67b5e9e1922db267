# shellcheck shell=bash
# ./dev fuzz [seconds] [names…]: runs every fuzzer with AddressSanitizer for that time (default 60), PP_JOBS at once.
# The last one, http2_garbage, is not a libFuzzer but a script against the whole daemon of the same build; PP_FUZZ_SEED
# is its seed.

verb_fuzz() {
  local seconds=${1:-60} dir status=0 fuzzers targets=() name
  [ $# -gt 0 ] && shift
  # shellcheck source=dev.d/setup.sh
  . dev.d/setup.sh
  # shellcheck source=dev.d/build.sh
  . dev.d/build.sh
  install_packages dev.d/packages/{build,fuzz}.txt
  configure fuzz
  dir=$(binary_dir fuzz)/fuzz
  mapfile -t fuzzers < <(ninja -C "$(build_dir fuzz)" -t targets all | sed -n 's/^\(fuzz_[a-z0-9_]*\): phony$/\1/p' | sort)
  [ ${#fuzzers[@]} -gt 0 ] || die "there is no fuzzer in this tree (tests/fuzz/fuzz_*.cc)"
  fuzzers+=(http2_garbage)
  [ $# -gt 0 ] && fuzzers=("$@")
  for name in "${fuzzers[@]}"; do
    if [ "$name" = http2_garbage ]; then targets+=(ptrace-profd daemon_probe); else targets+=("$name"); fi
  done
  build fuzz "${targets[@]}"
  say "Fuzzing for $seconds s each, $PP_JOBS at a time: ${fuzzers[*]}"
  # Earlier findings are kept in build/; a crash leaves its input beside them.
  printf '%s\n' "${fuzzers[@]}" | xargs -P "$PP_JOBS" -I NAME bash dev.d/fuzz-one.sh NAME "$dir" "$seconds" || status=$?
  [ "$status" = 0 ] || die "a fuzzer found something (above)"
  say "All fuzzers ran clean for $seconds s"
}

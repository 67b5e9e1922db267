# shellcheck shell=bash
# ./dev fuzz [seconds] [names…]: every fuzzer with AddressSanitizer for that long (default 60), PP_JOBS at a time.

verb_fuzz() {
  local seconds=${1:-60} dir status=0 fuzzers
  [ $# -gt 0 ] && shift
  # shellcheck source=dev.d/setup.sh
  . dev.d/setup.sh
  # shellcheck source=dev.d/build.sh
  . dev.d/build.sh
  install_packages dev.d/packages/{build,fuzz}.txt
  configure fuzz
  dir=$(binary_dir fuzz)/fuzz
  mapfile -t fuzzers < <(ninja -C "$(build_dir fuzz)" -t targets all | sed -n 's/^\(fuzz_[a-z0-9_]*\): phony$/\1/p' | sort)
  [ $# -gt 0 ] && fuzzers=("$@")
  [ ${#fuzzers[@]} -gt 0 ] || die "there is no fuzzer in this tree (tests/fuzz/fuzz_*.cc)"
  build fuzz "${fuzzers[@]}"
  say "Fuzzing for $seconds s each, $PP_JOBS at a time: ${fuzzers[*]}"
  # What was found earlier is kept in build/, and a crash leaves its input beside it.
  printf '%s\n' "${fuzzers[@]}" | xargs -P "$PP_JOBS" -I NAME bash dev.d/fuzz-one.sh NAME "$dir" "$seconds" || status=$?
  [ "$status" = 0 ] || die "a fuzzer found something (above)"
  say "All fuzzers ran clean for $seconds s"
}

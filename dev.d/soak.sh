# shellcheck shell=bash
# ./dev soak: the safety tests at full length (kill matrices × 200 and × 500 for each way into a target, a minute of a hostile target, …).

verb_soak() {
  local dir
  # shellcheck source=dev.d/setup.sh
  . dev.d/setup.sh
  # shellcheck source=dev.d/build.sh
  . dev.d/build.sh
  setup_test
  build "${PP_PRESET:-release}"
  dir=$(build_dir "${PP_PRESET:-release}")
  say "Soaking: the tests labelled soak, at full length"
  PTRACE_PROF_SOAK=1 ctest --test-dir "$dir" --output-on-failure --no-tests=error --timeout 3600 -L soak "$@" </dev/null
}

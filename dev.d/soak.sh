# shellcheck shell=bash
# ./dev soak: the safety tests at full length (kill matrices × 200, and × 500 for each way into a target, a minute of a
# hostile target, …).
# ./dev soak truth [--fresh] [--peers]: are samples true? Continues where it stopped; the table is build/truth/table.md.

verb_soak() {
  local dir
  # shellcheck source=dev.d/setup.sh
  . dev.d/setup.sh
  # shellcheck source=dev.d/build.sh
  . dev.d/build.sh
  setup_test
  build "${PP_PRESET:-release}"
  dir=$(build_dir "${PP_PRESET:-release}")
  if [ "${1:-}" = truth ]; then
    shift
    say "Truth: every program on every version, at full length"
    PTRACE_PROF_SOAK=1 PTRACE_PROF_BIN=${PTRACE_PROF_BIN:-$PP_ROOT/build/bin/ptrace-prof} python3 tests/truth/truth.py "$@"
    return
  fi
  say "Soaking: the tests labelled soak, at full length"
  PTRACE_PROF_SOAK=1 ctest --test-dir "$dir" --output-on-failure --no-tests=error --timeout 3600 -L soak -E "^soak\.truth$" "$@" </dev/null
}

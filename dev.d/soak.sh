# shellcheck shell=bash
# ./dev soak: the safety tests at full length (kill matrices × 200, and × 500 for each way into a target, a minute of a
# hostile target, …).
# ./dev soak torch [VERSION… consumers]: PyTorch as PyPI has it (dev.d/packages/torch-wheels.txt), one version after the
# other. Each takes some gigabytes of disk, which are freed again. And the readers of its JSON (torch-consumers.txt).
# ./dev soak truth [--fresh] [--peers]: are samples true? Continues where it stopped; the table is build/truth/table.md.

# Debian's PyTorch, in what reads torch.profiler's JSON.
soak_torch_consumers() {
  local how packages minor folder=$PP_CACHE/torch/consumers failed=0
  say "Readers of torch.profiler's JSON"
  rm -rf "$folder"
  mkdir -p "$folder"
  /usr/bin/python3 -m venv "$folder"
  while read -r how packages; do
    case $how in '#'* | '') continue ;; esac
    # shellcheck disable=SC2046,SC2086 # several words
    "$folder/bin/pip" install --quiet --no-cache-dir $([ "$how" = alone ] && echo --no-deps) $packages || failed=1
  done <dev.d/packages/torch-consumers.txt
  for minor in 3.11 3.13 3.14; do
    "$folder/bin/python3" tests/integration/torch_consumers_test.py --python "$minor" </dev/null || failed=1
  done
  rm -rf "$folder"
  return $failed
}

soak_torch() {
  local version others folder test failed=0
  if [ $# -eq 0 ] || [[ " $* " == *" consumers "* ]]; then
    soak_torch_consumers || failed=1
  fi
  while read -r version others; do
    case $version in '#'* | '') continue ;; esac
    [ $# -eq 0 ] || [[ " $* " == *" $version "* ]] || continue
    folder=$PP_CACHE/torch/$version
    say "PyTorch $version"
    if [ ! -e "$folder/ready" ]; then
      rm -rf "$folder"
      mkdir -p "$folder"
      /usr/bin/python3 -m venv "$folder"
      # shellcheck disable=SC2086 # several words
      "$folder/bin/pip" install --quiet --no-cache-dir "torch==$version" $others || { failed=1; continue; }
      touch "$folder/ready"
    fi
    for test in torch_operators torch_jobs torch_memory torch_steps torch_timeline torch_execution_trace; do
      PTRACE_PROF_SOAK=1 PP_TORCH_PYTHON=$folder/bin/python3 python3 "tests/integration/${test}_test.py" \
        --python "$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')" </dev/null || failed=1
    done
    rm -rf "$folder"
  done <dev.d/packages/torch-wheels.txt
  return $failed
}

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
  if [ "${1:-}" = torch ]; then
    shift
    soak_torch "$@"
    return
  fi
  say "Soaking: the tests labelled soak, at full length"
  PTRACE_PROF_SOAK=1 ctest --test-dir "$dir" --output-on-failure --no-tests=error --timeout 3600 -L soak -E "^soak\.truth$" "$@" </dev/null
}

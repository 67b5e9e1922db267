# shellcheck shell=bash
# ./dev lint [--fix]: format, shell scripts, layers, sizes, words, clang-tidy. Runs all checks; fails if one of them
# fails.

# Works even if the clone belongs to a user other than root.
tracked() { git -c safe.directory="$PP_ROOT" ls-files -- "$@"; }

# Our C++ files. C files are left out, because they include CPython's headers, whose order matters.
cxx_files() { tracked '*.cc' '*.h' | grep -v -e third_party/ -e '\.pb\.'; }

check_format() {
  if [ "${1:-}" = --fix ]; then
    cxx_files | xargs clang-format-14 -i
  else
    local found
    found=$(cxx_files | xargs clang-format-14 --dry-run -Werror 2>&1) && return
    # Without an "error:", clang-format itself failed, and its output matters.
    { grep 'error:' <<<"$found" | cut -d : -f 1 | sort | uniq -c; } || echo "$found"
    note "not as clang-format writes it (lines, file above): ./dev lint --fix"
    return 1
  fi
}

check_shell() {
  if ! command -v shellcheck >/dev/null; then
    note "shellcheck is not installed: not run"
    return
  fi
  shellcheck -x dev dev.d/*.sh packaging/*.sh .ci/run
}

# A build folder in which each file has a compile command of its own (PP_UNITY=OFF), and the generated headers.
configure_by_file() {
  local dir=$1
  cmake --preset release -B "$dir" -DPP_BINARY_DIR="$dir/bin" -DPP_UNITY=OFF >"$dir.log" 2>&1 ||
    { tail -n 30 "$dir.log" >&2; die "cmake could not configure (above)"; }
  ninja -C "$dir" -t targets all | sed -n 's/: CUSTOM_COMMAND$//p' | grep -E '\.(h|inc)$' |
    xargs ninja -C "$dir" -j "$PP_JOBS" >"$dir.log" 2>&1 || { tail -n 30 "$dir.log" >&2; die "the headers were not generated (above)"; }
}

# clang-tidy on the files that the release build compiles.
check_tidy() {
  tracked '*.cc' | grep -v -e third_party/ -e ^cmake/ | xargs -P "$PP_JOBS" -n 1 bash dev.d/tidy-one.sh "$1"
}

# Files that depend on the processor must also compile for aarch64.
check_aarch64() {
  {
    git ls-files '*_aarch64.cc'
    git grep -l -e __x86_64__ -e __aarch64__ -e sys/user.h -e PTRACE_ -- 'attach/*.cc' 'symbolizer/*.cc' 'daemon/*.cc' 'rpc/*.cc'
  } | xargs -P "$PP_JOBS" -n 1 bash dev.d/aarch64-one.sh "$1"
}

# Types and style of the Python client, with the stubs that its build generates.
check_python_client() {
  local dir=$1/python_client_lint bin=$PP_CACHE/venv-client/bin
  python3 tests/integration/python_client_wheel_test.py "$dir" >/dev/null || return 1
  "$bin/mypy" --cache-dir "$dir/mypy" --config-file client/python/pyproject.toml "$dir/package/ptrace_prof" || return 1
  "$bin/ruff" check --quiet --cache-dir "$dir/ruff" client/python
}

verb_lint() {
  local failed=() dir by_file step started
  # shellcheck source=dev.d/setup.sh
  . dev.d/setup.sh
  # shellcheck source=dev.d/build.sh
  . dev.d/build.sh
  install_packages dev.d/packages/{build,lint}.txt
  python_client_tools
  dir=$(build_dir release)
  build release
  by_file=$PP_ROOT/build/by_file
  configure_by_file "$by_file"
  for step in "check_format ${1:-}" check_shell "python3 tests/lint/check_layers.py" "python3 tests/lint/check_sizes.py" \
    "python3 tests/lint/check_reasons.py" "python3 tests/lint/check_versions.py" "python3 tests/lint/check_words.py" \
    "python3 tests/lint/test_lint.py" "check_python_client $dir" "check_aarch64 $by_file" \
    "check_tidy $by_file"; do
    started=$(date +%s)
    say "lint: ${step/#check_/}"
    # shellcheck disable=SC2086 # splitting is intended
    $step || failed+=("${step/#check_/}")
    note "$(seconds_since "$started") s"
  done
  [ ${#failed[@]} -eq 0 ] || die "lint found faults in: ${failed[*]}"
  say "lint: clean"
}

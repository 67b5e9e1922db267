# shellcheck shell=bash
# ./dev test: sets up, builds, runs CTest, and ends with the tested interpreters and one line of counts.

# The CPythons that the tests ran on, and those of the matrix that are not available here.
print_interpreters() {
  local minor list missing=()
  list=$(mktemp)
  # Entering a root file system needs root.
  if [ "$(id -u)" = 0 ]; then cat "$PP_CACHE/interpreters.txt"; else grep -v $'\troot\t' "$PP_CACHE/interpreters.txt"; fi >"$list"
  echo "Interpreters tested:"
  sed 's/^/  CPython /' "$list" | tr '\t' ' '
  for minor in $(cpython_minors); do
    grep -q "^${minor/./\\.}\\." "$list" || missing+=("CPython $minor")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    echo "Interpreters unavailable on this machine: none of the matrix"
  else
    printf 'Interpreters unavailable on this machine, so not tested:\n'
    printf '  %s\n' "${missing[@]}"
    [ "$(id -u)" = 0 ] || echo "  (those that have a root file system in $PP_CACHE/roots are tested as root only)"
  fi
  grep -q '^[0-9.]*t	' "$list" || echo "  free-threaded CPython (\`./dev setup free-threaded\` builds some)"
  rm -f "$list"
}

# "N passed, N failed, N skipped" from CTest's JUnit file.
print_counts() {
  /usr/bin/python3 - "$1" <<'PYTHON'
import sys, xml.etree.ElementTree as tree
suite = tree.parse(sys.argv[1]).getroot()
tests, failed, skipped, disabled = (int(suite.get(key, 0)) for key in ("tests", "failures", "skipped", "disabled"))
skipped += disabled
print(f"{tests - failed - skipped} passed, {failed} failed, {skipped} skipped")
PYTHON
}

# The parts that tests left out, with the reasons: the lines of tests/support/runner.py.
print_left_out() {
  sed -n 's/^not tested: //p' "$1" | sort | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)$/  \2 (\1 x)/'
}

# The last output of each failed test, so that the end of the log says why.
print_why() {
  /usr/bin/python3 - "$1" <<'PYTHON'
import sys, xml.etree.ElementTree as tree
for test in tree.parse(sys.argv[1]).getroot().iter("testcase"):
    if test.get("status") == "fail":
        print(f"\nwhat {test.get('name')} printed last:")
        print("\n".join("  " + line[:400] for line in (test.findtext("system-out") or "").strip().splitlines()[-40:]))
PYTHON
}

verb_test() {
  local dir status=0 log junit tests_log
  # shellcheck source=dev.d/setup.sh
  . dev.d/setup.sh
  # shellcheck source=dev.d/build.sh
  . dev.d/build.sh
  setup_test
  build "${PP_PRESET:-release}"
  dir=$(build_dir "${PP_PRESET:-release}")
  log=$dir/ctest.log junit=$dir/ctest.xml tests_log=$dir/Testing/Temporary/LastTest.log
  rm -f "$junit"
  say "Testing ($PP_JOBS at a time)"
  # A failed test is tried once more. ctest names it; a test that then passes is unreliable, which is a fault to fix.
  ctest --test-dir "$dir" --parallel "$PP_JOBS" --output-on-failure --no-tests=error --output-junit "$junit" \
    --repeat until-pass:2 "$@" \
    </dev/null 2>&1 | tee "$log" || status=$?
  [ -s "$junit" ] || die "ctest ran no test"
  print_interpreters
  if [ -n "$(print_left_out "$tests_log")" ]; then
    echo "Left out of tests that ran:"
    print_left_out "$tests_log"
  fi
  echo
  sed -n '/% tests passed/,$p' "$log"
  print_why "$junit"
  print_counts "$junit"
  return "$status"
}

# shellcheck shell=bash
# ./dev setup: installs the requirements of a purpose. If all is installed, takes a second and no network.

# Installs the missing Debian packages of the given lists.
install_packages() {
  local list missing=() package started
  for list in "$@"; do
    [ -f "$list" ] || continue
    while read -r package; do
      if [[ " ${missing[*]} " != *" $package "* ]] &&
        ! dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed; then
        missing+=("$package")
      fi
    done < <(list_words "$list")
  done
  [ ${#missing[@]} -eq 0 ] && return
  [ -n "${PP_OFFLINE:-}" ] && die "PP_OFFLINE is set, but these packages are missing: ${missing[*]}"
  command -v apt-get >/dev/null || die "these Debian packages are missing and there is no apt-get: ${missing[*]}"
  say "Installing Debian packages: ${missing[*]}"
  started=$(date +%s)
  # Not silently: an unreachable mirror must be visible.
  as_root apt-get -q update >"$PP_CACHE/apt-update.log" 2>&1 ||
    { tail -n 20 "$PP_CACHE/apt-update.log" >&2; die "apt-get update failed (above): check the network and /etc/apt"; }
  # A CI machine is discarded afterwards, so it need not sync every file to disk.
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
    ${CI:+-o Dpkg::Options::=--force-unsafe-io} install "${missing[@]}" \
    >"$PP_CACHE/apt-install.log" 2>&1 ||
    { tail -n 20 "$PP_CACHE/apt-install.log" >&2; die "apt-get install failed (above; all of it: $PP_CACHE/apt-install.log)"; }
  note "installed in $(seconds_since "$started") s"
}

# Installs the tools that build and check the Python client, in a virtual environment of its own: PP_CACHE/venv-client.
python_client_tools() {
  local path=$PATH
  python_environment client client/python/tests/requirements.txt
  PATH=$path  # its protoc and packages are only for the client
}

# Installs the requirements of the Python client, one folder per minor version of CPython (pip finds wheels for versions
# that it does not run on), for tests/integration/python_client_test.py.
python_client_packages() {
  local minor list stamp started job jobs=()
  list=$(python3 -c 'import re; print("\n".join(re.findall(r"^  \"(.*)\",$",
    open("client/python/pyproject.toml").read().split("dependencies = [")[1].split("]")[0], re.M)))')
  stamp=$(sha256sum <<<"$list" | cut -d ' ' -f 1)
  started=$(date +%s)
  for minor in $(cpython_versions | awk '$3 == "yes" {print $1}'); do
    [ "$(cat "$PP_CACHE/client-$minor/stamp" 2>/dev/null)" = "$stamp" ] && continue
    [ -n "${PP_OFFLINE:-}" ] && die "PP_OFFLINE is set, but $PP_CACHE/client-$minor is missing or out of date"
    rm -rf "$PP_CACHE/client-$minor"
    {
      xargs -d '\n' "$PP_CACHE/venv-client/bin/pip" -q --disable-pip-version-check install --no-compile \
        --target "$PP_CACHE/client-$minor" --python-version "$minor" --only-binary :all: <<<"$list" \
        >"$PP_CACHE/client-$minor.log" 2>&1 &&
        echo "$stamp" >"$PP_CACHE/client-$minor/stamp"
    } &
    jobs+=($!)
  done
  [ ${#jobs[@]} -eq 0 ] && return
  say "Fetching what the Python client needs, for ${#jobs[@]} versions of CPython"
  for job in "${jobs[@]}"; do
    wait "$job" || { tail -n 5 "$PP_CACHE"/client-*.log >&2; die "pip could not fetch it (above)"; }
  done
  note "fetched in $(seconds_since "$started") s"
}

# Installs the peers that run inside a target (bench/parts/trace_events.py), one folder per minor version of CPython.
# Some versions cannot have them: the benchmark names those that were left out.
bench_peers() {
  local minor stamp=viztracer folder
  for minor in $(cpython_minors); do
    folder=$PP_CACHE/bench-$minor
    [ "$(cat "$folder/asked" 2>/dev/null)" = "$stamp" ] && continue
    [ -n "${PP_OFFLINE:-}" ] && { note "PP_OFFLINE is set: no $stamp for CPython $minor"; continue; }
    rm -rf "$folder"
    mkdir -p "$folder"
    if "$PP_VENV/bin/pip" -q --disable-pip-version-check install --no-compile --target "$folder" \
      --python-version "$minor" --only-binary :all: "$stamp" >"$folder.log" 2>&1; then
      echo "$stamp" >"$folder/stamp"
      note "$stamp for CPython $minor"
    else
      note "no $stamp for CPython $minor: $(grep -m 1 ERROR "$folder.log" || echo "see $folder.log")"
    fi
    echo "$stamp" >"$folder/asked"
  done
}

# Installs the real libcupti versions that tests/integration/cuda_double_oracle_test.py compares our doubles with:
# library and headers. Without one, the test says so.
real_cupti() {
  local version wheel folder
  while read -r version wheel; do
    folder=$PP_CACHE/cupti/$version
    [ "$(cat "$folder/stamp" 2>/dev/null)" = "$wheel" ] && continue
    [ -n "${PP_OFFLINE:-}" ] && { note "PP_OFFLINE is set: no $wheel"; continue; }
    rm -rf "$folder"
    mkdir -p "$folder/wheel"
    if "$PP_VENV/bin/pip" -q --disable-pip-version-check download --no-deps --only-binary :all: -d "$folder/wheel" "$wheel" \
      >"$folder/log" 2>&1 && python3 -m zipfile -e "$folder"/wheel/*.whl "$folder/wheel"; then
      cp "$folder"/wheel/nvidia/*/lib/libcupti.so.* "$folder"
      cp -r "$folder"/wheel/nvidia/*/include "$folder" 2>/dev/null || true  # the oldest wheel has none
      echo "$wheel" >"$folder/stamp"
    else
      note "no $wheel: $(grep -m 1 ERROR "$folder/log" || echo "see $folder/log")"
    fi
    rm -rf "$folder/wheel"
  done < <(sed '/^#/d' tests/doubles/cuda/real_libraries.txt)
}

# Installs pyperformance's benchmarks as independent programs for tests/truth:
# PP_CACHE/pyperformance/bm_NAME/run_benchmark.py. Without them, the test says so.
truth_programs() {
  local wheel=pyperformance==1.13.0 folder=$PP_CACHE/pyperformance
  [ "$(cat "$folder/stamp" 2>/dev/null)" = "$wheel" ] && return
  [ -n "${PP_OFFLINE:-}" ] && { note "PP_OFFLINE is set: no $wheel"; return; }
  rm -rf "$folder" "$folder.part"
  mkdir -p "$folder.part"
  if "$PP_VENV/bin/pip" -q --disable-pip-version-check download --no-deps --only-binary :all: -d "$folder.part" "$wheel" \
    >"$folder.log" 2>&1 && python3 -m zipfile -e "$folder.part"/*.whl "$folder.part"; then
    mv "$folder.part/pyperformance/data-files/benchmarks" "$folder"
    echo "$wheel" >"$folder/stamp"
    note "$wheel"
  else
    note "no $wheel: $(grep -m 1 ERROR "$folder.log" || echo "see $folder.log")"
  fi
  rm -rf "$folder.part"
}

# Installs greenlet for each version, PP_CACHE/greenlet/MINOR, for tests/integration/trace_greenlets_test.py. Without
# it, the test says so.
greenlets() {
  local minor folder
  for minor in $(cpython_minors); do
    folder=$PP_CACHE/greenlet/$minor
    [ -d "$folder/greenlet" ] && continue
    [ -n "${PP_OFFLINE:-}" ] && { note "PP_OFFLINE is set: no greenlet for CPython $minor"; continue; }
    rm -rf "$folder" "$folder.part"
    mkdir -p "$PP_CACHE/greenlet"
    if "$PP_VENV/bin/pip" -q --disable-pip-version-check install --no-deps --no-compile --target "$folder.part" \
      --python-version "$minor" --only-binary :all: greenlet >"$folder.log" 2>&1; then
      mv "$folder.part" "$folder"
      note "greenlet for CPython $minor"
    else
      note "no greenlet for CPython $minor: $(grep -m 1 ERROR "$folder.log" || echo "see $folder.log")"
    fi
  done
}

# Creates a virtual environment in the cache with packages that Debian lacks. Sets PP_VENV. $1: its name; then the
# lists.
python_environment() {
  local name=$1 lists=() list stamp started
  shift
  for list in "$@"; do [ -f "$list" ] && lists+=("$list"); done
  PP_VENV=$PP_CACHE/venv-$name
  stamp=$(cat /dev/null ${lists[@]+"${lists[@]}"} | sha256sum | cut -d ' ' -f 1)
  if [ "$(cat "$PP_VENV/stamp" 2>/dev/null)" != "$stamp" ]; then
    [ -n "${PP_OFFLINE:-}" ] && die "PP_OFFLINE is set, but the virtual environment $PP_VENV is missing or out of date"
    say "Making the virtual environment $PP_VENV"
    started=$(date +%s)
    rm -rf "$PP_VENV"
    /usr/bin/python3 -m venv --system-site-packages "$PP_VENV"
    for list in ${lists[@]+"${lists[@]}"}; do
      "$PP_VENV/bin/pip" -q --disable-pip-version-check install -r "$list" ||
        die "pip could not install the packages of $list (above)"
    done
    echo "$stamp" >"$PP_VENV/stamp"
    note "made in $(seconds_since "$started") s"
  fi
  export PP_VENV PATH="$PP_VENV/bin:$PATH"
}

setup_build() { install_packages dev.d/packages/build.txt; }
setup_demo() { install_packages dev.d/packages/demo.txt; }
setup_lint() { install_packages dev.d/packages/lint.txt; }
setup_fuzz() { install_packages dev.d/packages/fuzz.txt; }

setup_free-threaded() {
  install_packages dev.d/packages/free-threaded.txt
  bash dev.d/free-threaded.sh
  find_interpreters
}

find_interpreters() {
  say "Finding interpreters"
  bash dev.d/roots.sh
}

setup_test() {
  install_packages dev.d/packages/{build,demo,test}.txt tests/debian-packages.txt
  python_client_tools
  python_client_packages
  python_environment test tests/requirements.txt
  real_cupti
  truth_programs
  greenlets
  find_interpreters
}

setup_bench() {
  install_packages dev.d/packages/bench.txt bench/debian-packages.txt
  python_environment bench bench/requirements.txt
  bench_peers
  find_interpreters
}

verb_setup() {
  local what
  [ $# -gt 0 ] || set -- all
  for what in "$@"; do
    case $what in
      build | test | demo | lint | fuzz | bench | free-threaded) "setup_$what" ;;
      # A single apt call for all packages.
      all)
        install_packages dev.d/packages/{build,demo,test,lint}.txt tests/debian-packages.txt
        setup_test
        ;;
      *) die "setup knows build, test, demo, lint, fuzz, bench, free-threaded and all, not '$what'" ;;
    esac
  done
}

#!/usr/bin/env bash
# free-threaded.sh [MINOR ...]: builds free-threaded CPythons (--disable-gil) into
# $PTRACE_PROF_CACHE/free-threaded/3.XXt, from Debian's sources, because Debian has no package of them. A build takes
# some minutes; an existing one is kept. The tests use them if they are there (tests/support/interpreters.py); CI has
# none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=dev.d/base.sh
. dev.d/base.sh

POOL=${PP_DEBIAN_MIRROR:-http://deb.debian.org/debian}/pool/main/p

build_one() {
  local minor=$1 version=$2 place=$PP_CACHE/free-threaded/${1}t work started
  [ -x "$place/bin/python${minor}t" ] && return
  [ -n "${PP_OFFLINE:-}" ] && { note "PP_OFFLINE is set: no free-threaded CPython $minor"; return; }
  started=$(date +%s)
  work=$(mktemp -d)
  say "Building CPython $version without a GIL (its log: $place.log)"
  mkdir -p "${place%/*}"
  if {
    curl -sSf "$POOL/python$minor/python${minor}_$version.orig.tar.xz" | tar -xJ -C "$work" --strip-components 1 &&
      (cd "$work" && ./configure -q --disable-gil --prefix="$place" && make -s -j "$PP_JOBS" && make -s install)
  } >"$place.log" 2>&1; then
    note "built in $(seconds_since "$started") s"
  else
    rm -rf "$place"
    note "it could not be built: $(tail -n 1 "$place.log")"
  fi
  rm -rf "$work"
}

while read -r minor version _; do
  [ "$version" = - ] && continue
  if [ $# -eq 0 ] || [[ " $* " == *" $minor "* ]]; then build_one "$minor" "$version"; fi
done < <(cpython_versions)

#!/usr/bin/env bash
# Unpacks the interpreters of other Debian suites into root file systems of their own, $PTRACE_PROF_CACHE/roots/SUITE,
# and writes the list of all CPythons of this machine to $PTRACE_PROF_CACHE/interpreters.txt.
#
# A root has unpacked packages only (no maintainer script runs). That is enough to chroot and start python, which is all
# that the tests need, and takes some seconds per suite. The mirror and the keys are those of this machine's apt
# sources.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=dev.d/base.sh
. dev.d/base.sh

ROOTS=$PP_CACHE/roots
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# The mirror that this machine's apt uses for Debian's main archive.
mirror() {
  # shellcheck disable=SC2016 # apt's own variables
  apt-get indextargets --format '$(LABEL)|$(COMPONENT)|$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    sed -n 's/^Debian|main|//p' | head -n 1
}

# apt with a state of its own for one suite; the machine's package state is neither read nor changed.
suite_apt() {
  local suite=$1 state=$PP_CACHE/apt/$1 tool=$2
  shift 2
  "$tool" -qq -o Dir::Etc="$state/etc" -o Dir::State="$state/state" -o Dir::State::status="$state/state/status" \
    -o Dir::Cache="$state/cache" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
    -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Check-Valid-Until=false \
    -o APT::Install-Recommends=false "$@"
}

prepare_suite() {
  local suite=$1 state=$PP_CACHE/apt/$1
  [ -e "$state/ready" ] && return
  rm -rf "$state"
  mkdir -p "$state"/{state/lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d,etc/trusted.gpg.d}
  : >"$state/state/status"
  echo "deb [signed-by=$KEYRING] $MIRROR $suite main" >"$state/etc/sources.list"
  if ! suite_apt "$suite" apt-get update; then
    note "$suite: its package lists cannot be had from this machine's mirror"
    return 1
  fi
  touch "$state/ready"
}

has_package() { [ -n "$(suite_apt "$1" apt-cache madison "$2" 2>/dev/null)" ]; }

# Unpacks packages and all their dependencies into the suite's root.
unpack() {
  local suite=$1 root=$ROOTS/$1 part=$ROOTS/$1.part dir deb
  shift
  # Tests that ran as root in that folder may have left files.
  as_root rm -rf "$part"
  mkdir -p "$part"
  # /bin, /lib … are links into /usr in every suite since bullseye.
  for dir in bin sbin lib lib64; do
    mkdir -p "$part/usr/$dir"
    ln -s "usr/$dir" "$part/$dir"
  done
  suite_apt "$suite" apt-get install -y --download-only --reinstall "$@" >"$PP_CACHE/apt/$suite/install.log" 2>&1 ||
    { tail -n 5 "$PP_CACHE/apt/$suite/install.log" >&2; return 1; }
  for deb in "$PP_CACHE/apt/$suite/cache/archives"/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" |
      tar -x -C "$part" --keep-directory-symlink --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' \
        --exclude='./usr/share/locale/*'
  done
  rm -f "$PP_CACHE/apt/$suite/cache/archives"/*.deb
  mkdir -p "$part"/{proc,sys,dev/shm,tmp,root,etc}
  # The maintainer scripts would have set these alternatives.
  mkdir -p "$part/etc/ld.so.conf.d"
  printf '/usr/lib/%s/blas\n/usr/lib/%s/lapack\n' "$MULTIARCH" "$MULTIARCH" >"$part/etc/ld.so.conf.d/alternatives.conf"
  [ -e "$part/etc/ld.so.conf" ] || echo 'include /etc/ld.so.conf.d/*.conf' >"$part/etc/ld.so.conf"
  as_root /sbin/ldconfig -r "$part" 2>/dev/null || note "$suite: ldconfig failed, PyTorch may miss its libraries in there"
  chmod 1777 "$part/tmp"
  [ -e "$part/etc/passwd" ] || printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$part/etc/passwd"
  [ -e "$part/etc/hosts" ] || echo '127.0.0.1 localhost' >"$part/etc/hosts"
  # If device nodes cannot be created, an empty file serves as the mount point of the real device.
  mknod -m 666 "$part/dev/null" c 1 3 2>/dev/null || : >"$part/dev/null"
  mknod -m 666 "$part/dev/urandom" c 1 9 2>/dev/null || : >"$part/dev/urandom"
  printf '%s\n' "$*" >"$part/.packages"
  as_root rm -rf "$root"
  mv "$part" "$root"
}

# Chooses the suites and packages: from the list of versions, and the table of further packages of a root. Sets
# wanted[suite].
choose_packages() {
  local version suites suite package
  while read -r version _ _ suites; do
    [ "$suites" = pyenv ] && continue
    for suite in $suites; do
      # An unpacked root is kept without contacting the mirror.
      if grep -qsw "python$version" "$ROOTS/$suite/.packages" ||
        { prepare_suite "$suite" && has_package "$suite" "python$version"; }; then
        # Also the headers and the shared library: tests check the layouts against them.
        wanted[$suite]+=" python$version libpython$version-dev"
        break
      fi
    done
  done < <(cpython_versions)
  while read -r suite package; do
    [ -n "${wanted[$suite]:-}" ] && wanted[$suite]+=" $package"
  done < <(sed -e 's/#.*//' -e '/^ *$/d' dev.d/packages/root-extras.txt)
  return 0
}

build_roots() {
  local suite started
  declare -A wanted=()
  choose_packages
  for suite in "${!wanted[@]}"; do
    # shellcheck disable=SC2086 # splitting is intended
    set -- ${wanted[$suite]}
    if [ "$(cat "$ROOTS/$suite/.packages" 2>/dev/null)" = "$*" ]; then
      continue
    fi
    started=$(date +%s)
    if ! prepare_suite "$suite" || ! unpack "$suite" "$@"; then
      note "$suite: not unpacked"
      continue
    fi
    note "$suite: $* unpacked in $(seconds_since "$started") s ($(du -sh "$ROOTS/$suite" 2>/dev/null | cut -f 1))"
  done
}

PROBE='import sys, sysconfig
level = {"final": "", "candidate": "rc"}.get(sys.version_info[3])
v = ".".join(map(str, sys.version_info[:3])) + (f"{level}{sys.version_info[4]}" if level else "")
v += "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else "d" if hasattr(sys, "gettotalrefcount") else ""
ours = sys.implementation.name == "cpython" and level is not None and "%d.%d" % sys.version_info[:2] in sys.argv
print(v if ours else "")'

mapfile -t MINORS < <(cpython_minors)

# Prints one line for an interpreter that starts: version (3.14.0, 3.14.0t free-threaded, 3.14.0d debug), kind, root or
# "-", path inside that root.
probe() {
  local kind=$1 root=$2 path=$3 answer
  if [ "$root" = - ]; then
    answer=$("$path" -I -B -c "$PROBE" "${MINORS[@]}" 2>/dev/null) || return 0
  else
    answer=$(as_root chroot "$root" "$path" -I -B -c "$PROBE" "${MINORS[@]}" 2>/dev/null) || return 0
  fi
  if [ -n "$answer" ]; then
    printf '%s\t%s\t%s\t%s\n' "$answer" "$kind" "$root" "$path"
  fi
}

list_interpreters() {
  local path root
  for path in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3; do
    [ -x "$path" ] && probe pyenv - "$path"
  done
  for path in /usr/bin/python3.? /usr/bin/python3.?? /usr/local/bin/python3.? /usr/local/bin/python3.??; do
    [ -x "$path" ] && probe system - "$path"
  done
  for path in "$PP_CACHE"/free-threaded/*/bin/python3.??t; do
    [ -x "$path" ] && probe built - "$path"
  done
  for root in "$ROOTS"/*/; do
    root=${root%/}
    for path in "$root"/usr/bin/python3.? "$root"/usr/bin/python3.??; do
      [ -x "$path" ] && probe root "$root" "${path#"$root"}"
    done
  done
  return 0
}

MIRROR=$(mirror)
if [ -z "$MIRROR" ] && [ -z "${PP_OFFLINE:-}" ]; then
  # Without package lists (as in a container image), apt knows its mirrors only after an update.
  as_root apt-get -q update >"$PP_CACHE/apt-update.log" 2>&1 || true
  MIRROR=$(mirror)
fi
MULTIARCH=$(uname -m)-linux-gnu
mkdir -p "$ROOTS"
if [ -z "$MIRROR" ]; then
  note "no Debian main archive among this machine's apt sources: no root file systems"
elif [ -n "${PP_OFFLINE:-}" ]; then
  note "PP_OFFLINE is set: no root file system is unpacked"
else
  build_roots
fi
list_interpreters | sort -V >"$PP_CACHE/interpreters.txt.tmp"
mv "$PP_CACHE/interpreters.txt.tmp" "$PP_CACHE/interpreters.txt"

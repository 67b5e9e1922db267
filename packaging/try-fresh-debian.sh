#!/usr/bin/env bash
# try-fresh-debian.sh [verb …]: does what the README tells a new user to do, in a new, minimal Debian 12 root file
# system: a clean clone, then each verb of ./dev (default: demo, test). Needs root and the package mmdebstrap.
#
# PP_FRESH_FOLDER (default /var/tmp/ptrace-prof-fresh) is made anew, and removed in the end unless PP_FRESH_KEEP=1.
# PP_FRESH_USER=1 runs as an ordinary user with sudo instead of as root. PP_FRESH_CCACHE=FOLDER gives the new system a copy of
# this one's compiled objects, where what is tried is not the building.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=dev.d/base.sh
. dev.d/base.sh

root=${PP_FRESH_FOLDER:-/var/tmp/ptrace-prof-fresh}
[ $# -gt 0 ] || set -- demo test
[ "$(id -u)" = 0 ] || die "a root file system with its own packages needs root"
command -v mmdebstrap >/dev/null || die "mmdebstrap is missing: apt-get install mmdebstrap"

sources=$(mktemp)
trap 'rm -f "$sources"; [ -n "${PP_FRESH_KEEP:-}" ] || rm -rf --one-file-system "$root"' EXIT
# This machine's own mirrors of Debian, so that the new system has no others.
# shellcheck disable=SC2016 # apt's own variables
apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(LABEL)' 'Created-By: Packages' |
  sed -n 's/^\([^ ]*\) \(bookworm[^ ]*\) Debian.*$/deb \1 \2 main/p' | sort -u >"$sources"
grep -q bookworm "$sources" || die "this machine's apt knows no Debian 12 mirror"

say "Making a minimal Debian 12 in $root"
rm -rf --one-file-system "$root"
mmdebstrap --quiet --variant=minbase --skip=check/qemu ${PP_FRESH_USER:+--include=sudo} bookworm "$root" - <"$sources"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
# The way out to the registries is this machine's too: whom it trusts, and how its pip is set up.
# (ca-certificates, once something needs it, makes its file anew from what lies under /usr/local.)
mkdir -p "$root/etc/ssl/certs" "$root/usr/local/share/ca-certificates"
for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt /usr/local/share/ca-certificates/*.crt; do
  if [ -e "$file" ]; then cp "$file" "$root$file"; fi
done
git clone -q --no-local "$PWD" "$root/root/ptrace-prof"

as=root home=/root
if [ -n "${PP_FRESH_USER:-}" ]; then
  as=someone home=/home/someone
  chroot "$root" useradd -m -s /bin/bash someone
  echo 'someone ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/someone"
  mv "$root/root/ptrace-prof" "$root$home/"
  chroot "$root" chown -R someone: "$home/ptrace-prof"
fi

if [ -n "${PP_FRESH_CCACHE:-}" ]; then
  mkdir -p "$root$home/.cache"
  cp -r "$PP_FRESH_CCACHE" "$root$home/.cache/ccache"
  chroot "$root" chown -R "$as": "$home/.cache"
fi

# What a machine has and a folder has not: a root of its own (not only chroot: a mount namespace, whose root can be made
# private again, and user namespaces, which no chroot may make), /proc, /dev, /sys, and a PID namespace so that nothing
# outlives the try.
# shellcheck disable=SC2016 # expanded by the inner shell
unshare --mount --pid --fork --kill-child bash -ec '
  root=$1 as=$2 home=$3; shift 3
  mount --bind "$root" "$root"
  cd "$root"
  mount -t proc proc proc
  mount --rbind /dev dev
  mount -t tmpfs tmpfs dev/shm
  mount --rbind /sys sys
  mkdir before
  pivot_root . before
  cd /
  umount --lazy before
  rmdir before
  for verb; do
    started=$(date +%s)
    echo "==> as $as in a fresh Debian 12: ./dev $verb"
    su - "$as" -c "cd $home/ptrace-prof && ./dev $verb </dev/null"
    echo "==> ./dev $verb took $(($(date +%s) - started)) s"
  done' try "$root" "$as" "$home" "$@"

#!/usr/bin/env bash
# enter-root.sh [--pid] ROOT COMMAND…: runs a command inside a root file system, in a mount namespace of its own with
# /proc and /dev mounted; with --pid in a PID namespace too, as in a container. Needs root. The process started
# replaces this script, except with --pid, where it is its only child (PID 1 in there).
set -euo pipefail
pid=
if [ "${1:-}" = --pid ]; then
  pid="--pid --fork --kill-child"
  shift
fi
root=$1
shift
# shellcheck disable=SC2016,SC2086 # expanded by the inner shell; words wanted
exec unshare --mount $pid sh -ec '
  root=$1; shift
  mount -t proc proc "$root/proc"
  mkdir -p "$root/dev/shm"; mount -t tmpfs tmpfs "$root/dev/shm"
  for node in null urandom; do mount --bind "/dev/$node" "$root/dev/$node"; done
  exec chroot "$root" "$@"' enter-root "$root" "$@"

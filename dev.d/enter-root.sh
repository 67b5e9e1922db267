#!/usr/bin/env bash
# enter-root.sh [--pid] ROOT COMMAND…: runs a command inside a root file system, in a mount namespace of its own with
# /proc and /dev mounted; with --pid also in a PID namespace, as in a container. Needs root. The command replaces this
# script, except with --pid, where it is the script's only child (PID 1 in the namespace).
set -euo pipefail
pid=
if [ "${1:-}" = --pid ]; then
  pid="--pid --fork --kill-child"
  shift
fi
root=$1
shift
# shellcheck disable=SC2016,SC2086 # expanded by the inner shell; splitting is intended
exec unshare --mount $pid sh -ec '
  root=$1; shift
  mount -t proc proc "$root/proc"
  mkdir -p "$root/dev/shm"; mount -t tmpfs tmpfs "$root/dev/shm"
  for node in null urandom; do mount --bind "/dev/$node" "$root/dev/$node"; done
  exec chroot "$root" "$@"' enter-root "$root" "$@"

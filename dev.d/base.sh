# shellcheck shell=bash
# Shared by the commands of ./dev: messages, becoming root, the cache, lists of packages. Sourced, never run.

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
note() { printf '    %s\n' "$*" >&2; }
die() {
  printf './dev: stopped: %s\n' "$*" >&2
  exit 1
}

# Where downloads, interpreters and the virtual environment live, outside the checkout so that clones share them.
if [ -n "${PTRACE_PROF_CACHE:-}" ]; then
  PP_CACHE=$PTRACE_PROF_CACHE
elif [ "$(id -u)" = 0 ]; then
  PP_CACHE=/var/cache/ptrace-prof
else
  PP_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/ptrace-prof
fi
export PP_CACHE PTRACE_PROF_CACHE=$PP_CACHE
PP_JOBS=${PP_JOBS:-$(nproc)}
mkdir -p "$PP_CACHE"

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "'$*' needs root and there is no sudo: run it as root, or install sudo"
  fi
}

# The words of a list file: one or more per line; '#' starts a comment.
list_words() { sed -e 's/#.*//' "$@" | tr -s '[:space:]' '\n' | sed '/^$/d' | sort -u; }

# The supported versions of CPython, one per line: version, free-threaded source or "-", yes or no for the Python
# client, and the source of an interpreter.
cpython_versions() { sed '/^[0-9]/!d' symbolizer/cpython/versions.txt; }
cpython_minors() { cpython_versions | cut -d ' ' -f 1; }

seconds_since() { echo $(($(date +%s) - $1)); }

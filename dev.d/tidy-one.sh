#!/usr/bin/env bash
# tidy-one.sh BUILD_FOLDER FILE: runs clang-tidy on one file. Silent if the file is clean, or if the build does not
# compile it.
#
# A clean file is checked again only if it, a header that it includes (system ones too), the checks or its flags change:
# the cache holds an empty file named after the hash of all these.
set -euo pipefail
folder=$1 file=$2
command=$(/usr/bin/python3 - "$folder/compile_commands.json" "$PWD/$file" <<'PYTHON'
import json, sys
print(next((entry["command"] for entry in json.load(open(sys.argv[1])) if entry["file"] == sys.argv[2]), ""))
PYTHON
)
[ -n "$command" ] || exit 0
# The preprocessed text covers every header.
words=${command#*ccache }
key=$({
  cat .clang-tidy
  echo "${words//$PWD/}"  # independent of the place of the checkout
  cd "$folder" && eval "${words% -o *} -E -P -o - $OLDPWD/$file"
} | sha256sum | cut -d ' ' -f 1)
stamp=$PTRACE_PROF_CACHE/tidy/$key
[ -e "$stamp" ] && exit 0
mkdir -p "${stamp%/*}"
if found=$(nice clang-tidy-14 --quiet -p "$folder" "$file" 2>&1); then
  : >"$stamp"
else
  printf '%s\n' "$found" | grep -v -e 'warnings\? \(generated\|treated\)' -e '^Suppressed' || true
  exit 1
fi

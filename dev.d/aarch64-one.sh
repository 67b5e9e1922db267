#!/usr/bin/env bash
# aarch64-one.sh BUILD_FOLDER FILE: checks that the file compiles for aarch64, with the flags that the build has for it.
# Silent if it does, or if the build does not compile the file (nor its twin for this machine). Uses this machine's
# headers of libraries, which are the same there.
set -euo pipefail
folder=$1 file=$2
command=$(/usr/bin/python3 - "$folder/compile_commands.json" "$PWD/${file/_aarch64/_x86_64}" <<'PYTHON'
import json, re, sys
command = next((entry["command"] for entry in json.load(open(sys.argv[1])) if entry["file"] == sys.argv[2]), "")
print(" ".join(re.findall(r"(?:-isystem |-I|-D)\S+", command)))
PYTHON
)
[ -n "$command" ] || exit 0
# shellcheck disable=SC2086 # splitting is intended
cd "$folder" && clang++-14 --target=aarch64-linux-gnu -std=c++20 -fsyntax-only -w ${command//\\/} -idirafter /usr/include \
  -idirafter "/usr/include/$(gcc -print-multiarch)" "$OLDPWD/$file"

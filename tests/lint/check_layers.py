#!/usr/bin/env python3
"""Which folder may include which: the table of ARCHITECTURE.md against the tree.

The table is the one whose header row begins with `| folder | may include |`. A folder may always include itself. An
entry of the second column is a folder (`attach/base`, or just `base` where that is the only folder of that name), `–`
for none, or a system header like `<stdint.h>` (then no other one is allowed). Composition roots, the files that connect
the layers, may include all of them: the paragraph that begins with `Composition roots:` names them.
"""
import pathlib
import re
import sys

import sources

# Headers that are slow to compile, and the only folders that may include them.
HEAVY = {
    re.compile(r'^[<"]google/protobuf/|\.pb\.h[">]$'): (
        "rpc", "rpc/connection", "rpc/messages", "daemon/trace", "daemon/trace/read", "daemon/trace/write", "daemon/server/service",
        "client/remote"),
    re.compile(r'^[<"](grpcpp?|grpc)/|\.grpc\.pb\.h[">]$'): ("rpc", "rpc/connection", "daemon/server/service", "client/remote"),
}


def parse_table(text):
    """{folder: (set of folders or None when only system headers are allowed, set of system headers)}"""
    rows, inside = {}, False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and cells[:2] == ["folder", "may include"]:
            inside = True
        elif inside and not line.startswith("|"):
            inside = False
        elif inside and not set(cells[0]) <= set("-: "):
            rows[cells[0].strip("`")] = cells[1]
    by_short_name = {}
    for folder in rows:
        by_short_name.setdefault(folder.rsplit("/", 1)[-1], []).append(folder)
    table = {}
    for folder, allowed in rows.items():
        headers = set(re.findall(r"`?(<[a-z0-9_/.]+>)`?", allowed))
        words = re.sub(r"`?<[a-z0-9_/.]+>`?", "", allowed)
        folders = set()
        for word in (piece.strip(" `") for piece in words.split(",")):
            if word in ("", "–", "-"):
                continue
            matches = [word] if word in rows else by_short_name.get(word, [])
            if len(matches) != 1:
                raise SystemExit(f"ARCHITECTURE.md: the row of {folder} names '{word}', which is no folder of the table")
            folders.add(matches[0])
        table[folder] = (folders, headers)
    return table


def composition_roots(text):
    paragraph = re.search(r"^Composition roots:(.*?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"`([^`]+)`", paragraph.group(1))) if paragraph else set()


def folder_of(path, table):
    """The row that a path belongs to: the longest folder that contains it."""
    parts = path.split("/")[:-1]
    for length in range(len(parts), 0, -1):
        if "/".join(parts[:length]) in table:
            return "/".join(parts[:length])
    return None


def check_include(path, folder, include, table):
    """(the sentence about a forbidden include or None, the other folder that it reaches or None)"""
    allowed, headers = table[folder]
    name = include.strip('<>"')
    target = folder_of(name, table)
    for pattern, homes in HEAVY.items():
        if pattern.search(include) and folder not in homes:
            return f"{path}: includes {include}, which only {', '.join(homes)} may (compile times)", None
    if target and target != folder:
        if target not in allowed:
            may = ", ".join(sorted(allowed)) or "nothing of ours"
            return f"{path}: includes {name}, but {folder} may include {may}", target
        return None, target
    if not target and headers and include not in headers:
        return f"{path}: includes {include}, but {folder} may include only {', '.join(sorted(headers))}", None
    return None, None


def violations(root):
    """(sentences, {folder: folders that it includes})"""
    root = pathlib.Path(root)
    text = (root / "ARCHITECTURE.md").read_text()
    table, above = parse_table(text), composition_roots(text)
    if not table:
        return ["ARCHITECTURE.md has no layer table (a header row '| folder | may include | …')"], {}
    found, edges = [], {}
    for path in sources.files(root, sources.LAYER_ROOTS, (".h", ".cc", ".c")):
        if path in above:
            continue
        folder = folder_of(path, table)
        if folder is None:
            found.append(f"{path}: its folder is not in the layer table of ARCHITECTURE.md")
            continue
        for include in sources.includes((root / path).read_text(errors="replace")):
            sentence, target = check_include(path, folder, include, table)
            if sentence:
                found.append(sentence)
            if target:
                edges.setdefault(folder, set()).add(target)
    return found, edges


def cycles(edges):
    """Folders that include each other, directly or through others: a list of lists (strongly connected components)."""
    reach = {}
    for start in edges:
        seen, queue = set(), list(edges[start])
        while queue:
            folder = queue.pop()
            if folder not in seen:
                seen.add(folder)
                queue.extend(edges.get(folder, ()))
        reach[start] = seen
    groups = {frozenset(other for other in reach if other in reach[one] and one in reach[other]) for one in reach
              if one in reach[one]}
    return sorted(sorted(group) for group in groups)


def main(root):
    found, edges = violations(root)
    rings = cycles(edges)
    found += [f"these folders include each other: {' ↔ '.join(ring)}" for ring in rings]
    for line in found:
        print(line)
    print(f"layers: {len(found)} violations, {len(rings)} include cycles between folders, "
          f"{sum(map(len, edges.values()))} edges")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]))

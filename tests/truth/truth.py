"""Are samples true? Compares ptrace-prof with a reference that shares no code with it, and with programs that count
their own time.

For every function with one per cent of the time or more, self and inclusive share must agree within one percentage
point and three standard errors; at most half a per cent of the samples may be cut. Whole runs (./dev soak truth) keep
each cell's result in build/truth and continue where they stopped; --fresh begins anew. The table is
build/truth/table.md.
"""
import argparse
import json
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import cells  # noqa: E402
from compare import CUT  # noqa: E402
from measure import Skipped, measure  # noqa: E402
from support import soak  # noqa: E402

FOLDER = pathlib.Path(os.environ.get("PP_TRUTH_FOLDER", HERE.parents[1] / "build/truth"))


def is_reference(row):
    """Whether the reference counts. The program's own count is nearer to the truth; if the reference fails against it,
    it does not count."""
    return not row["own clock, reference"]["fails"]


def verdicts(row):
    """What does not hold, in words."""
    found = [each["text"] for each in row["fails"]] if is_reference(row) else []
    if row["cut"] > CUT:
        found.append(f"{100 * row['cut']:.2f} % of the samples are cut")
    return found + [f"own clock: {each['text']}" for each in row["own clock, ptrace-prof"]["fails"]]


def _verdict(row):
    failing = verdicts(row)
    words = "**fails**: " + "; ".join(failing[:4]) if failing else "holds"
    if not is_reference(row):
        words += "; the reference is off: " + row["own clock, reference"]["fails"][0]["text"]
    return words.replace("|", "\\|")


def _largest(differences):
    if not differences:
        return "–"
    worst = max(differences, key=lambda each: abs(each["value"]))
    return f"{100 * worst['value']:+.2f} ± {100 * worst['error']:.2f}"


def line(row):
    value, freedom, over, probability = row["chi"]
    return "| " + " | ".join((
        row["cell"], f"{row['samples']:,}", f"{row['reference']:,}", _largest(row["worst"]), f"{value:.0f}/{freedom} (÷ {over:.1f})",
        f"{probability:.2f}", f"{100 * row['cut']:.2f}", _largest(row["own clock, ptrace-prof"]["worst"]),
        _largest(row["own clock, reference"]["worst"]),
        _verdict(row))) + " |"


HEAD = ("| program, CPython | samples | of the reference | largest difference, points | χ²/df (÷ spread of rounds) | p | cut % "
        "| against its own clock | the reference against it | verdict |\n" + "|---" * 10 + "|")


def summary(rows):
    """By program, over all versions: the largest difference, the largest cut share, and the versions on which it does
    not hold."""
    programs = {}
    for row in rows:
        program, minor, rate = re.fullmatch(r"(.*), (3\.\d+t?)(, .*)?", row["cell"]).groups()
        programs.setdefault(program + (rate or ""), []).append((minor, row))
    text = ["| program | CPython | largest difference, points ± standard error | cut %, at most | verdict |", "|---" * 5 + "|"]
    for program, measured in programs.items():
        differences = [(minor, each) for minor, row in measured for each in row["worst"]]
        minor, worst = max(differences, key=lambda pair: abs(pair[1]["value"]), default=("", None))
        failing = [minor for minor, row in measured if verdicts(row)]
        text.append("| " + " | ".join((
            program, ", ".join(minor for minor, _ in measured), f"{_largest([worst])} ({minor})" if worst else "–",
            f"{100 * max(row['cut'] for _, row in measured):.2f}", "**fails** on " + ", ".join(failing) if failing else "holds")) + " |")
    return text


def write_table(rows, skipped, path):
    text = [*summary(rows), "", HEAD, *(line(row) for row in rows)]
    if skipped:
        text += ["", "Not measured here:", *(f"- {name}: {why}" for name, why in skipped)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(text) + "\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--only", help="cells whose names have this in them, several by ;")
    parser.add_argument("--peers", action="store_true", help="other profilers against the reference, instead")
    parser.add_argument("--rounds", type=int, default=10 if soak.FULL else 6)
    parser.add_argument("--seconds", type=float, default=None if soak.FULL else 1.0, help="of a slot")
    parser.add_argument("--options", default="", help="of ptrace-prof: --blocking")
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER / "cells" if soak.FULL else None, help="where results are kept")
    parser.add_argument("--table", type=pathlib.Path, default=FOLDER / "table.md" if soak.FULL else None)
    return parser.parse_args()


def result(cell, parsed):
    """(row or None, why it was skipped)"""
    place = parsed.folder / cell.file_name if parsed.folder else None
    if place and place.exists() and not parsed.fresh:
        return json.loads(place.read_text()), ""
    try:
        row = measure(cell, parsed.rounds, parsed.seconds, parsed.options.split())
    except Skipped as error:
        return None, str(error)
    if place:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(row, indent=1))
    return row, ""


def main():
    parsed = arguments()
    if parsed.peers:
        import peers
        peers.run(parsed.rounds, parsed.only, FOLDER / "peers.md")
        return
    chosen = cells.whole() if soak.FULL or parsed.only else cells.piece()
    if parsed.only:
        chosen = [cell for cell in chosen if any(word in cell.name for word in parsed.only.split(";"))]
    rows, skipped = [], []
    print(HEAD, flush=True)
    for cell in chosen:
        row, why = result(cell, parsed)
        if row:
            rows.append(row)
            print(line(row), flush=True)
        else:
            skipped.append((cell.name, why))
            print(f"not tested: {cell.name}: {why}", flush=True)
        if parsed.table:
            write_table(rows, skipped, parsed.table)
    failing = [row["cell"] for row in rows if verdicts(row)]
    print(f"{len(rows)} measured, {len(failing)} fail: {', '.join(failing) or 'none'}")
    sys.exit(77 if not rows else 1 if failing else 0)


if __name__ == "__main__":
    main()

"""Records of what an interpreter really does are replayed and compared with the true frames, event by event.

The recorder is Python's own (sys.monitoring, sys.setprofile) and finds the true frames by walking them
(tests/targets/call_recorder.py). call_replay_dump (tests/programs) replays what it wrote.
"""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case  # noqa: E402
from support.target_process import DEADLINE, TARGETS  # noqa: E402

DUMP = os.environ["PP_CALL_REPLAY_DUMP"]


def recorded(interpreter):
    """What the recorder printed. The script is passed on standard input, so that no interpreter needs access to our
    files."""
    text = "".join((TARGETS / name).read_text(encoding="utf-8") for name in ("stub_corpus.py", "call_recorder.py"))
    command = [interpreter.path, "-I", "-"]
    if interpreter.in_root:
        command = ["chroot", interpreter.root, *command]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=DEADLINE, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def replayed(run, names):
    """(lines as lists, counts)"""
    lines = [f"name {address} {name}" for address, name in names.items()]
    lines += [f"frame {code} {frame}" for code, frame in run["snapshot"]]
    lines += [f"record {tag} {value}" for tag, value in run["records"]]
    done = subprocess.run([DUMP], input="\n".join(lines), capture_output=True, text=True, timeout=DEADLINE, check=True)
    *events, counts = [line.split() for line in done.stdout.splitlines()]
    return events, dict(zip(counts[1::2], map(int, counts[2::2])))


def in_order_of_appearance(events):
    """Numbers generators in the order in which they are first seen. Their own numbers have no other meaning."""
    seen = {"0": "0"}
    plain = []
    for event in events:
        words = [str(word) for word in event]
        if words[0] == "begin":
            words[4] = seen.setdefault(words[4], str(len(seen)))
        plain.append(" ".join(words))
    return plain


class CallReplay(case.Case):
    def test_calls_are_those_that_were(self):
        for interpreter in self.interpreters:
            with self.subTest(str(interpreter)):
                self.check(interpreter)

    def check(self, interpreter):
        corpus = recorded(interpreter)
        compared = 0
        for run in corpus["runs"]:
            events, counts = replayed(run, corpus["names"])
            found, expected = in_order_of_appearance(events), in_order_of_appearance(run["expected"])
            self.assertEqual(found, expected, run["name"])
            self.assertEqual(counts, dict(unmatched=0, implied=0, reconciled=0, strange=0), run["name"])
            compared += len(expected)
        self.assertGreater(len(corpus["runs"]), 25)
        print(f"CPython {interpreter}: {compared} events of {len(corpus['runs'])} runs agree with the frames")


if __name__ == "__main__":
    case.main()

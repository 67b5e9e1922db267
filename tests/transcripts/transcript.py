"""A transcript: the events that the recorder wrote (recorder.h), one dictionary for each line, in the order of their
numbers.

Stored as SCENARIO.jsonl.gz, with a first line that describes it: {"about": {"scenario", "version", "real", …}}.
"""
import gzip
import json
import pathlib
import time

DATA = pathlib.Path(__file__).resolve().parent / "data"
SUFFIX = ".jsonl.gz"
DEADLINE = 120.0  # seconds; nothing here measures time


def parse(text):
    """The events of a file that is being written, without an unfinished last line."""
    events = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return sorted(events, key=lambda event: event["line"])


class Growing:
    """The transcript of a job that runs."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def events(self):
        return parse(self.path.read_text()) if self.path.exists() else []

    def wait_for(self, what, found):
        """Waits until `found(events)` is true. The awaited event happens by itself, however long it takes."""
        deadline = time.monotonic() + DEADLINE
        while not found(self.events()):
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: never seen in {self.path}")
            time.sleep(0.01)


def write(path, about, events):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"about": about}), *map(json.dumps, events)]
    with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write("".join(line + "\n" for line in lines).encode())


def read(path):
    """(about, events)"""
    first, *lines = gzip.decompress(pathlib.Path(path).read_bytes()).decode().splitlines()
    return json.loads(first)["about"], [json.loads(line) for line in lines]


def stored(folder=DATA):
    """[(version, scenario, path)] of the stored transcripts of real libraries."""
    return [(path.parent.name, path.name[:-len(SUFFIX)], path) for path in sorted(pathlib.Path(folder).glob(f"*/*{SUFFIX}"))]

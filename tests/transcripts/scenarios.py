"""The scenarios of the transcripts. gpu_driver brings the GPU shim into tests/targets/cuda_scene.py. The shim records
and leaves, while the job does what the scenario requests. The scenarios are the same with a real libcupti and with its
double.

Nothing depends on how long something takes: a scenario waits in the transcript for what must happen before its next
step.
"""
import contextlib
import json
import os
import pathlib
import subprocess

from support.target_process import DEADLINE, TargetProcess

from . import transcript

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRIVE = os.environ.get("PP_GPU_DRIVER", str(ROOT / "build/bin/tests/gpu_driver")), "--timeout-ms", "60000"  # a GPU takes its time
FLUSH = "cuptiActivityFlushAll"
PATIENCE = 60  # seconds, for what takes less than ten


class Recording:
    """The shim in the job, from the start of its recording until it has left."""

    def __init__(self, play, options):
        self.play = play
        self.process = subprocess.Popen([*DRIVE, "--wait", "--slots", "16", *options, str(play.job.pid)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        play.drivers.append(self.process)
        self.first = json.loads(self.process.stdout.readline())

    def flush(self):
        """Waits for a whole flush of all that was done so far, and for the shim's questions after it."""
        since = self.play.last_line()

        def flushed(events):
            later = [event for event in events if event["line"] > since and event["thread"].startswith("control")]
            begins = [event["line"] for event in later if event["event"] == "enter" and event["call"] == FLUSH]
            return any(event["event"] == "leave" and event["call"] == "cuptiGetTimestamp" and event["line"] > begins[0]
                       for event in later if begins)

        self.play.growing.wait_for("a flush", flushed)

    def leave(self):
        self.process.communicate("", timeout=DEADLINE)

    def leaves_by_itself(self):
        """Waits until the shim leaves by itself. If it does not, it is asked to leave."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=PATIENCE)
        self.leave()


class Play:
    def __init__(self, job, path):
        self.job, self.growing, self.drivers = job, transcript.Growing(path), []

    def end(self):
        """Ends all drivers, also after an error."""
        for driver in self.drivers:
            driver.kill()
            driver.wait()
            driver.stdin.close()
            driver.stdout.close()

    def say(self, word):
        self.job.tell(word)
        self.job.expect("did")

    def last_line(self):
        return max((event["line"] for event in self.growing.events()), default=0)

    def record(self, *options):
        recording = Recording(self, options)
        if "recording" not in recording.first:
            raise AssertionError(f"the shim does not record: {recording.first}")
        return recording

    def refused(self):
        done = subprocess.run([*DRIVE, str(self.job.pid)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=DEADLINE)
        if done.returncode == 0:
            raise AssertionError(f"the shim was not refused: {done.stdout}")


def attach(play):
    """Attaches to a job that does nothing, and leaves again."""
    recording = play.record("--keep")
    recording.flush()
    recording.leave()


def run(play):
    """Two threads work, and each launch is reported as it begins."""
    recording = play.record("--keep", "--launch-rate", "all")
    for _ in range(2):
        play.say("work")
        recording.flush()
    recording.leave()


def detach(play):
    """Leaves while a kernel runs, whose record is held back until the last flush. Then attaches again, with CUPTI still
    up."""
    recording = play.record("--keep")
    play.say("hold")
    recording.flush()
    recording.leave()
    play.say("release")
    recording = play.record("--keep")
    play.say("work")
    recording.flush()
    recording.leave()


def finalize(play):
    """CUPTI is taken down at the exit of a call, after graphs were replayed; and this once more."""
    for _ in range(2):
        recording = play.record()
        play.say("work")
        recording.flush()
        recording.leave()
        play.say("work")


def conflict(play):
    """A tool is there first; then it comes second; then it takes the buffers, as it may."""
    play.say("other")
    play.refused()
    play.say("leave")
    recording = play.record("--keep")
    play.say("other")
    play.say("work")
    recording.flush()
    play.say("take")
    play.say("work")
    recording.leaves_by_itself()
    play.say("give")


ALL = {body.__name__: body for body in (attach, run, detach, finalize, conflict)}
FINALIZES = 24  # from this version on `finalize` has an effect


def of_version(version):
    return [name for name in ALL if name != "finalize" or int(version) >= FINALIZES]


def record(name, version, interpreter, environment, path):
    """The events of scenario `name`; `environment`: which libraries the job has."""
    pathlib.Path(path).unlink(missing_ok=True)
    with TargetProcess("cuda_scene.py", interpreter, [version], env={**environment, "PP_CUPTI_TRANSCRIPT": str(path)}) as job:
        play = Play(job, path)
        try:
            ALL[name](play)
        finally:
            play.end()
        if job.finish():
            raise AssertionError(f"{name}: the job ended badly: {job.stderr()}")
    return transcript.parse(pathlib.Path(path).read_text())

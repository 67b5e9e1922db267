#!/usr/bin/env python3
"""The benefits and costs of recording a real PyTorch job on a real GPU: times to the first kernel, hiccups, step times
before, during and after, kernels against torch.profiler's own count, stacks, graphs, captures, PyTorch's profiler
before, beside and after, kills.

    python3 tests/gpu/on_torch.py OUT [--programs FOLDER] [--only WORD ...] [--rounds N] [--attaches N]

Needs a PyTorch that sees a GPU, and root or permission to trace; nothing from the network. OUT/torch.txt has all
output. Each part runs even if another failed; exit status 1 if one did.
"""
import argparse
import bisect
import collections
import json
import os
import pathlib
import re
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOB = ROOT / "tests/targets/torch_cuda_job.py"
EAGER, BOUND, GRAPHS = ("--way", "eager"), ("--way", "eager", "--width", "512", "--batch", "256"), ("--way", "graphs")
DETAILS = {"coarse": ("--gpu-detail", "coarse"), "default": (), "full": ("--gpu-detail", "full"),
           "default + trace": ("--mode", "trace"), "no GPU": None}


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


class Job:
    def __init__(self, folder, *options, user=None, teardown=False):
        self.file = folder / f"steps-{time.monotonic_ns()}"
        self.file.touch()
        self.file.chmod(0o666)
        self.process = subprocess.Popen([sys.executable, str(JOB), str(self.file), *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, user=user,
                                        env={**os.environ, **({"TEARDOWN_CUPTI": "1"} if teardown else {})})
        said = self.process.stdout.readline()
        if not said.startswith("ready"):
            raise RuntimeError(f"the job did not start: {said}{self.process.stderr.read()[-2000:]}")
        self.pid = self.process.pid

    def say(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def ask(self, *words):
        self.say(*words)
        return self.process.stdout.readline().strip()

    def steps(self):
        bytes_ = self.file.read_bytes()
        return list(struct.iter_unpack("=QQ", bytes_[:len(bytes_) // 16 * 16]))

    def durations(self, begin, end):
        """The durations in ms of the steps within."""
        return [(last - first) / 1e6 for first, last in self.steps() if begin <= first and last <= end]

    def stop(self):
        count = self.ask("stop")
        status = self.process.wait(60)
        if status:
            raise RuntimeError(f"the job ended with {status}: {self.process.stderr.read()[-2000:]}")
        return int(count)

    def looks(self):
        """Numbers of threads, open files, mappings."""
        proc = pathlib.Path("/proc", str(self.pid))
        return (len(list((proc / "task").iterdir())), len(list((proc / "fd").iterdir())),
                len((proc / "maps").read_text().splitlines()))


class Trace:
    def __init__(self, dump, path):
        lines = [json.loads(line) for line in subprocess.run([dump, path], check=True, capture_output=True,
                                                             text=True).stdout.splitlines()]
        self.operations = [line for line in lines if "kind" in line]
        self.kernels = [line for line in self.operations if line["kind"] == "kernel"]
        self.notices = [line["notice"] for line in lines if "notice" in line]
        self.totals = lines[-1]

    def summary(self):
        totals = self.totals
        told = {what: totals[what] for what in ("state", "reason", "cupti", "calls", "launches", "kernels", "dropped", "invalid",
                                                "unseen", "without_launch", "captured", "replays_unseen", "graphs_before",
                                                "clock_violations", "clock_steps", "declined", "unknown", "stacks_refused",
                                                "stacks_lost", "unlinked", "ambiguous", "early_ns", "uncovered_ns", "skipped")
                if totals[what] not in (0, "", [0, 0, 0])}
        sources = collections.Counter(one["source"] for one in self.kernels)
        stacked = sum(bool(one["stack"]) for one in self.kernels)
        return f"{told}; stacks {dict(sources)}, {100 * stacked / max(1, len(self.kernels)):.3f} % with one"


class Pairs:
    """Ratios of one job's steps to another's, slot by slot."""

    def __init__(self, ratios):
        self.mean = statistics.mean(ratios)
        self.error = statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else float("nan")

    def against(self, first):
        ratio = self.mean / first.mean
        return f"x{ratio:.4f} +- {ratio * ((self.error / self.mean) ** 2 + (first.error / first.mean) ** 2) ** 0.5:.4f}"


class Measurement:
    def __init__(self, options):
        self.options = options
        self.program, self.dump = str(options.programs / "ptrace-prof"), str(options.programs / "tests/gpu_trace_dump")
        self.file = open(options.out / "torch.txt", "w", encoding="utf-8")
        self.failed, self.jobs = [], []
        signal.signal(signal.SIGALRM, self.too_long)

    @staticmethod
    def too_long(*_):
        raise TimeoutError("this part took too long")

    def say(self, *words):
        print(*words, flush=True)
        print(*words, file=self.file, flush=True)

    def job(self, *options, **more):
        self.jobs.append(Job(self.options.out, *options, **more))
        return self.jobs[-1]

    def start(self, job, *options, duration="1.5s", gpu=True, prefix=()):
        self.trace = self.options.out / "one.pftrace"
        return subprocess.Popen([*prefix, self.program, "record", "--pid", str(job.pid), *(["--gpu"] if gpu else []),
                                 "--duration", duration, "-o", str(self.trace), *options],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def record(self, job, *options, **more):
        """(begin, end of the command, its output)"""
        begin = time.monotonic_ns()
        running = self.start(job, *options, **more)
        said = running.communicate(timeout=90)[0]
        if running.returncode:
            raise RuntimeError(f"record ended with {running.returncode}: {said}")
        return begin, time.monotonic_ns(), said

    def read(self):
        return Trace(self.dump, str(self.trace))

    # The parts.

    def what_is_there(self):
        job = self.job(*EAGER)
        mapped = sorted({line.split()[-1] for line in pathlib.Path(f"/proc/{job.pid}/maps").read_text().splitlines()
                         if re.search(r"libcupti|libcuda\.|libcudart|libtorch_cpu|libnvperf", line)})
        self.say("mapped after import torch:", *mapped)
        self.say(subprocess.run([self.program, "doctor", "--pid", str(job.pid)], capture_output=True, text=True).stdout)
        _, _, said = self.record(job)
        self.say(said)
        self.say(subprocess.run([self.program, "export", str(self.trace), "--report", "kernels"], capture_output=True,
                                text=True).stdout[:3000])
        self.trace.rename(self.options.out / "eager.pftrace")
        self.trace = self.options.out / "eager.pftrace"
        trace = self.read()
        self.say("trace:", trace.summary())
        self.say("notices:", *trace.notices)
        job.stop()

    def kernels_against_torch(self):
        for way, options in (("eager", EAGER), ("GPU-bound", BOUND), ("graphs", GRAPHS)):
            for mode in ((), ("--mode", "trace")):
                job = self.job(*options)
                self.record(job, *mode)
                trace = self.read()
                steps, true = job.steps(), job.ask("kernels")  # torch.profiler counts a step after we have left
                job.stop()
                self.say(f"{way} {' '.join(mode)}: torch.profiler counts {true} kernels a step; ours, steps by kernels: "
                         f"{dict(self.kernels_of_steps(trace, steps))}")
                self.say("   ", trace.summary())
                for notice in trace.notices:
                    self.say("    notice:", notice)
                leaves = collections.Counter(one["stack"][-1] if one["stack"] else "(none)" for one in trace.kernels)
                self.say("    launched by:", dict(leaves.most_common(12)))

    @staticmethod
    def kernels_of_steps(trace, steps):
        """{number of kernels: number of steps with so many}, of the steps that are well within the recording."""
        launched = sorted(one["launched"] for one in trace.kernels if one["launched"])
        counts = collections.Counter()
        for begin, end in steps:
            if launched and launched[0] + 3e8 < begin and end < launched[-1] - 1e8:
                counts[bisect.bisect_right(launched, end) - bisect.bisect_left(launched, begin)] += 1
        return counts

    def first_kernel(self):
        job = self.job(*EAGER)
        waits, hiccups, after = [], [], []
        memory, looks = int(job.ask("memory")), job.looks()
        for _ in range(self.options.attaches):
            quiet = time.monotonic_ns()
            time.sleep(0.1)
            begin, end, _ = self.record(job, duration="300ms")
            trace = self.read()
            starts = [one["start"] for one in trace.kernels]
            if not starts:
                self.say("  no kernel came:", trace.summary(), *trace.notices)
                continue
            waits.append((min(starts) - begin) / 1e6)
            hiccups.append(max(job.durations(begin - 5_000_000, end + 50_000_000), default=0))
            after.append(statistics.median(job.durations(quiet, begin)))
        self.say(f"{len(waits)} attaches: first kernel p50 {statistics.median(waits):.0f} ms, p99 {percentile(waits, .99):.0f}, "
                 f"first {waits[0]:.0f}; longest step in each: p50 {statistics.median(hiccups):.1f} ms, most {max(hiccups):.1f}; "
                 f"steps between: {after[0]:.3f} ms first, {after[-1]:.3f} last")
        self.say(f"  memory {memory / 2**20:.0f} -> {int(job.ask('memory')) / 2**20:.0f} MiB, threads, files, mappings {looks} -> {job.looks()}")
        job.stop()

    def overhead(self):
        """Step times, compared with those of a second job that is not recorded. The jobs run in turns, one at a time,
        so what the machine does meanwhile affects both."""
        for way, options in (("eager", EAGER), ("graphs", GRAPHS), ("GPU-bound", BOUND)):
            job, other = self.job(*options), self.job(*options)
            for one in (job, other):
                os.kill(one.pid, signal.SIGSTOP)
            at_first = self.pairs(job, other)
            self.say(f"{way}, before: {at_first.mean:.4f} +- {at_first.error:.4f} of the job beside it; device "
                     f"{self.memory_in(job)} MiB")
            for detail, more in DETAILS.items():
                launches = []
                during = Pairs([self.recorded_pair(job, other, more, launches) for _ in range(self.options.rounds)])
                self.say(f"{way}, {detail}: {during.against(at_first)}; {statistics.mean(launches):,.0f} launches/s")
                self.say(f"{way}, after {detail}: {self.pairs(job, other).against(at_first)}")
            self.say(f"  device {self.memory_in(job)} MiB")
            for one in (job, other):
                os.kill(one.pid, signal.SIGCONT)
                one.stop()

    @staticmethod
    def memory_in(job):
        os.kill(job.pid, signal.SIGCONT)
        used = int(job.ask("memory")) >> 20
        os.kill(job.pid, signal.SIGSTOP)
        return used

    @staticmethod
    def turn(job, seconds=0.4):
        """The durations in ms of its steps while it runs alone."""
        os.kill(job.pid, signal.SIGCONT)
        time.sleep(0.05)
        begin = time.monotonic_ns()
        time.sleep(seconds)
        end = time.monotonic_ns()
        os.kill(job.pid, signal.SIGSTOP)
        return statistics.mean(job.durations(begin, end))

    def pairs(self, job, other):
        return Pairs([self.turn(job) / self.turn(other) if number % 2 else 1 / (self.turn(other) / self.turn(job))
                      for number in range(6 * self.options.rounds)])

    def recorded_pair(self, job, other, more, launches):
        first = self.turn(other)
        os.kill(job.pid, signal.SIGCONT)
        begin, end, _ = self.record(job, *(more or ()), gpu=more is not None, duration="1200ms")
        os.kill(job.pid, signal.SIGSTOP)
        begin, end = begin + 300_000_000, end - 300_000_000
        if more is not None:
            launched = [one["launched"] for one in self.read().kernels if one["launched"]]
            begin, end = min(launched) + 200_000_000, max(launched) - 100_000_000
            launches.append(len(launched) / (max(launched) - min(launched)) * 1e9)
        else:
            launches.append(0)
        return statistics.mean(job.durations(begin, end)) / statistics.mean((first, self.turn(other)))

    def taken_down(self):
        """Whether a job survives that CUPTI is taken down (cuptiFinalize), and that it stays."""
        for way, options in (("graphs", GRAPHS), ("eager", EAGER)):
            for how in ((), ("--keep",)):
                job, number = self.job(*options), 0
                for number in range(self.options.attaches):
                    done = subprocess.run([self.options.programs / "tests/gpu_driver", *how, "--kernels", "5000", str(job.pid)],
                                          capture_output=True, text=True, timeout=30)
                    time.sleep(0.2)
                    if done.returncode or job.process.poll() is not None or self.stands(job):
                        break
                self.say(f"{way} {' '.join(how) or 'taken down'}: {number + 1} of {self.options.attaches} attaches; the last said "
                         f"{done.stdout[-300:]}; {self.fate(job)}")

    @staticmethod
    def stands(job):
        count = len(job.steps())
        time.sleep(0.3)
        return len(job.steps()) == count

    def fate(self, job):
        try:
            return f"the job goes on ({job.stop()} steps)"
        except (RuntimeError, subprocess.TimeoutExpired, ValueError, BrokenPipeError) as error:
            job.process.kill()
            return f"the job does not: {str(error)[-700:]} {job.process.stderr.read()[-700:]}"

    def attaches_with_graphs(self):
        job = self.job(*GRAPHS)
        memory, looks, kernels = int(job.ask("memory")), job.looks(), []
        for number in range(self.options.attaches):
            self.record(job, duration="200ms", *(("--mode", "trace") if number % 2 else ()))
            trace = self.read()
            kernels.append(len(trace.kernels))
            if number in (0, 1, self.options.attaches - 1):
                self.say(f"  attach {number}:", trace.summary(), *trace.notices)
            if self.stands(job):
                break
        self.say(f"{len(kernels)} attaches with graphs: kernels {min(kernels)} to {max(kernels)}")
        if not self.stands(job):
            self.say(f"  memory {memory / 2**20:.0f} -> {int(job.ask('memory')) / 2**20:.0f} MiB, threads, files, mappings {looks} -> {job.looks()}")
        self.say("  ", self.fate(job))

    def beside_torch_profiler(self):
        job = self.job(*EAGER, "--profiled-first")
        self.record(job)
        trace = self.read()
        self.say("after torch.profiler was used:", trace.summary(), *trace.notices)
        own = self.options.out / "torch_profile.json"
        job.say("profile", 100, own)
        time.sleep(1)
        _, _, said = self.record(job)
        trace = self.read()
        self.say("while torch.profiler runs:", trace.summary(), *trace.notices)
        self.say("  ", said.strip()[-600:])
        self.say("  job:", job.process.stdout.readline().strip(), self.kernels_in(own), "kernels in torch.profiler's file of 100 steps")
        self.record(job)
        self.say("after it:", self.read().summary(), *self.read().notices)
        job.stop()
        job = self.job(*EAGER, "--profiled-first", teardown=True)
        self.record(job)
        self.say("after torch.profiler with TEARDOWN_CUPTI=1:", self.read().summary(), *self.read().notices)
        job.stop()
        job = self.job(*EAGER)
        running = self.start(job, duration="4s")
        time.sleep(2)
        job.say("profile", 40, own)
        said = job.process.stdout.readline().strip()
        running.communicate(timeout=90)
        trace = self.read()
        self.say("torch.profiler begins while we record:", trace.summary(), *trace.notices)
        self.say("  job:", said, self.kernels_in(own), "kernels in torch.profiler's file of 40 steps")
        self.record(job)
        self.say("and afterwards:", self.read().summary(), *self.read().notices)
        job.stop()

    def kernels_in(self, file):
        with open(file, encoding="utf-8") as opened:
            found = sum(event.get("cat") == "kernel" for event in json.load(opened)["traceEvents"])
        os.unlink(file)
        return found

    def capturing(self):
        job = self.job("--way", "capturing")
        for number in range(max(3, self.options.attaches // 3)):
            self.record(job, duration="300ms")
            trace = self.read()
            if number in (0, 1):
                self.say(f"  attach {number}:", trace.summary(), *trace.notices)
            if job.process.poll() is not None:
                raise RuntimeError(f"the job ended after attach {number}: {job.process.stderr.read()[-3000:]}")
        self.say(f"{number + 1} attaches while streams are captured: the job goes on, {job.stop()} steps")

    def kills(self):
        job = self.job(*EAGER)
        running = self.start(job, duration="20s")
        time.sleep(2)
        job.process.kill()
        said = running.communicate(timeout=60)[0]
        self.say("job killed:", running.returncode, said.strip()[-900:])
        self.say("  ", self.read().summary())
        for number in range(5):
            job = self.job(*EAGER) if number == 0 else job
            running = self.start(job, duration="20s")
            time.sleep(0.3 + 0.3 * number)
            children = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
            for pid in (running.pid, *map(int, children)):
                os.kill(pid, signal.SIGKILL)
            running.communicate()
            time.sleep(1.5)
        begin = time.monotonic_ns()
        time.sleep(0.5)
        self.say("us killed five times: steps of", statistics.median(job.durations(begin, time.monotonic_ns())), "ms", job.looks())
        self.record(job)
        self.say("  and recorded again:", self.read().summary(), *self.read().notices)
        job.stop()

    def without_rights(self):
        with tempfile.TemporaryDirectory() as folder:
            kept, self.options.out = self.options.out, pathlib.Path(folder)
            try:
                self.options.out.chmod(0o777)
                job = self.job(*EAGER, user="nobody")
                self.record(job, prefix=("setpriv", "--reuid", "nobody", "--clear-groups"))
                trace = self.read()
            finally:
                self.options.out = kept
        self.say("as nobody:", trace.summary(), *trace.notices)
        job.stop()

    def demo(self):
        training = subprocess.Popen([sys.executable, str(ROOT / "tests/demo/train_transformer.py"), "--device", "cuda", "--seconds",
                                     "60"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        while not (line := training.stdout.readline()).startswith("ready"):
            if not line:
                raise RuntimeError("the demo did not start")
        self.trace = self.options.out / "demo.pftrace"
        for mode in ((), ("--mode", "trace")):
            said = subprocess.run([self.program, "record", "--pid", str(training.pid), "--gpu", *mode, "--duration", "2s", "-o",
                                   str(self.trace)], capture_output=True, text=True)
            self.say("demo", *mode, said.returncode, said.stderr[-2500:], said.stdout[-2500:])
            self.say("   ", self.read().summary(), *self.read().notices)
        subprocess.run([self.program, "export", str(self.trace), "-o", str(self.options.out / "demo.html")], check=True)
        training.send_signal(signal.SIGTERM)
        training.wait(30)

    def run(self):
        parts = [self.what_is_there, self.kernels_against_torch, self.first_kernel, self.overhead, self.attaches_with_graphs, self.taken_down,
                 self.beside_torch_profiler, self.capturing, self.kills, self.without_rights, self.demo]
        for part in parts:
            if self.options.only and part.__name__ not in self.options.only:
                continue
            self.say(f"== {part.__name__}")
            begin = time.monotonic()
            signal.alarm(self.options.longest)
            try:
                part()
            except Exception as error:  # the others are tried too
                self.failed.append(part.__name__)
                self.say(f"FAILED: {part.__name__}: {error!r}", traceback.format_exc())
            signal.alarm(0)
            for job in self.jobs:
                job.process.kill()
            self.jobs.clear()
            self.say(f"   ({time.monotonic() - begin:.0f} s)")
        self.say("Failed:", ", ".join(self.failed) or "nothing")
        return bool(self.failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/static/bin")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--attaches", type=int, default=20)
    parser.add_argument("--longest", type=int, default=90, help="seconds for one part")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    options.out, options.programs = options.out.resolve(), options.programs.resolve()
    sys.exit(Measurement(options).run())


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The tests that need a machine with a GPU, in one command: the tests of the GPU shim with the real libraries of CUDA,
and transcripts of the real libcupti (tests/transcripts), to be committed.

    python3 tests/gpu/on_a_gpu.py OUT [--programs FOLDER] [--cudart FILE] [--cupti FILE] [--doubles VERSION] [--quick]
        [--part transcripts|tests]

Needs Python 3.10 or later, the driver, libcudart and libcupti (of NVIDIA's packages in this Python, or of a toolkit;
12.8 or later for kernels as text), and root or permission to trace; nothing from the network. It also needs
this repository's folder tests and its programs, best those of `./dev build static ptrace-prof gpu_driver inject_driver
gpu_trace_dump cupti_recorder cuda_double`. They need nothing of this machine, except that the last two need glibc 2.34
or later. Exit status 1: a test failed, or a scenario did not come to its end.

OUT/report.txt has all output. OUT/transcripts/VERSION goes to tests/transcripts/data. --doubles: uses the doubles
instead of the real libraries, to try this command without a GPU; its transcripts are marked so, and must not be
committed. --quick: one scenario and one test, to see whether it works at all.
"""
import argparse
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(pathlib.Path(__file__).resolve().parent)]
import libraries  # noqa: E402

DRIVER_SAYS = pathlib.Path("/proc/driver/nvidia/version")
PROGRAMS = {"PTRACE_PROF_BIN": "ptrace-prof", "PP_GPU_DRIVER": "tests/gpu_driver", "PP_INJECT_DRIVER": "tests/inject_driver",
            "PP_GPU_TRACE_DUMP": "tests/gpu_trace_dump", "PP_CUPTI_RECORDER": "tests/cupti_recorder.so",
            "PP_CUDA_DOUBLES": "tests/cuda"}
TESTS = (("gpu_shim_test.py", "--any", "Records", "Buffers", "Refusals", "Captures", "Troubles"),
         ("gpu_anywhere_test.py", "--any"))
QUICK = ("run",), (("gpu_shim_test.py", "--any", "Records.test_kernels_and_what_belongs_to_them"),)
LONGEST = 400  # seconds for one file of tests


class Report:
    def __init__(self, path):
        self.file, self.failed = open(path, "w", encoding="utf-8"), []

    def say(self, *words):
        print(*words, flush=True)
        print(*words, file=self.file, flush=True)

    def fail(self, what, why="above"):
        self.failed.append(what)
        self.say(f"FAILED: {what}: {why}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path)
    parser.add_argument("--cudart", type=pathlib.Path)
    parser.add_argument("--cupti", type=pathlib.Path)
    parser.add_argument("--doubles", metavar="VERSION")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", choices=("transcripts", "tests"))
    options = parser.parse_args()
    static = ROOT / "build/static/bin"
    options.programs = (options.programs or (static if (static / "ptrace-prof").exists() else ROOT / "build/bin")).resolve()
    for variable, program in PROGRAMS.items():
        os.environ.setdefault(variable, str(options.programs / program))
    for variable in set(PROGRAMS) - {"PP_CUDA_DOUBLES"}:
        if not pathlib.Path(os.environ[variable]).exists():
            sys.exit(f"{os.environ[variable]} is not there: build it, and bring it here")
    of_double = pathlib.Path(os.environ["PP_CUDA_DOUBLES"], options.doubles or "", "site-packages/nvidia")
    for name in ("cudart", "cupti"):
        found = getattr(options, name) or (next(of_double.glob(f"*/lib/lib{name}.so.*")) if options.doubles else
                                           libraries.find(f"lib{name}"))
        if not found:
            sys.exit(f"no lib{name} was found: name it by --{name}")
        setattr(options, name, found.resolve())
    return options


def driver():
    return DRIVER_SAYS.read_text().splitlines()[0] if DRIVER_SAYS.exists() else None


def about(options, version, scenario):
    """The description of a transcript."""
    return {"scenario": scenario, "version": version, "real": options.doubles is None,
            "cupti": options.cupti.name, "cudart": options.cudart.name, "python": platform.python_version(),
            "driver": driver(), "gpu": libraries.gpus()}


def record(options, version, report):
    """Records all scenarios, and compares each with the double of that version, if there is one here."""
    from support.interpreters import Interpreter
    from transcripts import comparing, recording, scenarios, transcript
    this = Interpreter(platform.python_version(), "system", "", sys.executable)
    folder = options.out / "transcripts" / version
    for name in QUICK[0] if options.quick else scenarios.of_version(version):
        path = options.out / f"{name}-unfinished.jsonl"
        try:
            events = recording.on_libraries(name, version, this, options.cupti, options.cudart, path)
        except Exception as error:  # the others are tried too, and the unfinished transcript is kept
            report.fail(f"scenario {name}", error)
            continue
        path.unlink()
        transcript.write(folder / (name + transcript.SUFFIX), about(options, version, name), events)
        report.say(f"scenario {name}: recorded, {len(events)} lines")
        if not recording.double_of(version):
            report.say(f"  there is no double of {version} here to compare it with")
            continue
        try:
            difference = comparing.first_difference(events, recording.on_double(name, version, this))
        except Exception as error:  # the recording is what counts: the comparison can be made elsewhere
            report.fail(f"comparison of {name} with the double of {version}", repr(error))
            continue
        report.say(f"  the double of {version} does the same" if difference is None else
                   f"  the double of {version} does not do the same; first in {difference}")


def run_one(report, environment, *command):
    """Runs a command; returns its exit status. Output is shown as it comes, so an interrupted run has what there is."""
    tests = subprocess.Popen([sys.executable, *map(str, command)], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env=environment)
    too_long = threading.Timer(LONGEST, tests.kill)
    too_long.start()
    for line in tests.stdout:
        report.say(line.rstrip())
    too_long.cancel()
    return tests.wait()


def run_tests(options, report):
    with tempfile.TemporaryDirectory() as cache:
        pathlib.Path(cache, "interpreters.txt").write_text(
            f"{platform.python_version()}\tsystem\t-\t{sys.executable}\n")
        environment = {**os.environ, "PTRACE_PROF_CACHE": cache, "PP_CUDA_RUNTIME": str(options.cudart),
                       "PP_CUPTI_LIBRARY": str(options.cupti), "PYTHONDONTWRITEBYTECODE": "1"}
        for name, *arguments in QUICK[1] if options.quick else TESTS:
            report.say(f"== {name} with the {'doubles' if options.doubles else 'real libraries'}")
            if run_one(report, environment, ROOT / "tests/integration" / name, *arguments):
                report.fail(name)


def main():
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(options.out / "transcripts", ignore_errors=True)
    report = Report(options.out / "report.txt")
    version = libraries.version_of(options.cupti, options.cudart)
    report.say(f"CUPTI {version} ({options.cupti}), {options.cudart}, Python {platform.python_version()}, "
               f"{driver() or 'no driver of NVIDIA'}, {', '.join(libraries.gpus()) or 'no GPU'}")
    if options.part != "tests":
        record(options, version, report)
    if options.part != "transcripts":
        run_tests(options, report)
    conclude(options, version, report)


def conclude(options, version, report):
    if options.doubles:
        report.say("These were doubles: nothing of this is to be committed.")
    elif (options.out / "transcripts").exists():
        report.say(f"To be committed: {options.out}/transcripts/{version} as tests/transcripts/data/{version}. Then "
                   "`./dev test -R transcripts` holds the double to it; what it finds is mended in tests/doubles/cuda.")
    report.say(f"Failed: {', '.join(report.failed) or 'nothing'}")
    sys.exit(1 if report.failed else 0)


if __name__ == "__main__":
    main()

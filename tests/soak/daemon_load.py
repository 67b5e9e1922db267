"""A crowd of clients on one ptrace-profd: their results, their costs, and the daemon's memory, in one table.

Listing, watching and following while many captures go on; readers that stop and readers that are slow; as root, the
crowd once more in two halves that are two users', each with processes of their own. Nothing may be lost without being
counted, and memory is bounded. Times are always shown, but judged only at full length, where the machine has no other
work.
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import access_cases, interpreters, soak  # noqa: E402
from support.daemon import Daemon, Place, state_of  # noqa: E402
from support.target_process import DEADLINE, TARGETS as TARGETS_FOLDER, TargetProcess, harm  # noqa: E402

CROWD = os.environ.get("PP_DAEMON_CROWD", "")
SYSTEM = interpreters.Interpreter("the system's", "system", "", access_cases.PYTHON)
TARGETS = 4  # that the captures of the crowd share
UNARY_P50_US = 200
RSS_MIB = 128  # of the daemon, with the whole crowd
READER_MIB = 16  # that one more stopped or slow reader may cost
FAIR = 2  # the most that one client gets, as a multiple of another of its kind
ROOM_MIB = soak.limit_mib() - 64  # AddressSanitizer holds back freed memory


# A process that does nothing but call: its trace grows by megabytes a second.
CALLING = "def step(n): return n + 1\nprint('ready', flush=True)\nn = 0\nwhile True: n = step(n)"
# A process whose dump is about as large as an answer may be.
DEEP = """
import threading
NAME = "f" * 250
up = threading.Barrier(61)
space = {"up": up}
exec(f"def {NAME}(n):\\n  if n: return {NAME}(n - 1)\\n  up.wait()\\n  up.wait()", space)
for _ in range(60):
    threading.Thread(target=space[NAME], args=(900,), daemon=True).start()
up.wait()
print("ready", flush=True)
threading.Event().wait()
"""


class Running:
    def __init__(self, interpreter, code):
        self.process = subprocess.Popen([interpreter.path, "-I", "-S", "-c", code], stdout=subprocess.PIPE)
        self.pid = self.process.pid

    def __enter__(self):
        assert self.process.stdout.readline() == b"ready\n"
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def status_mib(pid, field):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return 0.0


def clear_peak(pid):
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")


def run(daemon, *words):
    done = subprocess.run([CROWD, daemon.place.address, *map(str, words)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=10 * DEADLINE)
    if done.returncode != 0:
        raise RuntimeError(f"daemon_crowd {words[0]} ended with {done.returncode}: {done.stderr[-300:]}")
    return json.loads(done.stdout)


def unary(daemon, calls, table):
    times = run(daemon, "unary", calls)
    table.add("unary on an idle daemon", f"p50 {times['p50']:.0f} us, p99 {times['p99']:.0f} us", f"p50 <= {UNARY_P50_US} us")
    is_quiet = os.getloadavg()[0] < len(os.sched_getaffinity(0))
    if soak.FULL and is_quiet and times["p50"] > UNARY_P50_US:
        table.fail(f"unary p50 is {times['p50']} us")


def users(parsed, table):
    """Half of the crowd is alice's and half bob's. Their results are judged as if all were clients of one user."""
    names = {"alice": access_cases.ALICE, "bob": access_cases.BOB}
    with contextlib.closing(Place()) as place, contextlib.ExitStack() as stack:
        folder = shutil.copytree(TARGETS_FOLDER, place.folder / "targets")
        daemon = stack.enter_context(contextlib.closing(Daemon(place, "--multi-user", "--socket", place.socket, "--spool", place.spool)))
        crowds = {}
        with open(CROWD, "rb") as program:  # they may not enter the folders that contain it
            for name, uid in names.items():
                prefix = access_cases.as_user(uid)
                targets = [stack.enter_context(TargetProcess("busyloop.py", SYSTEM, name=str(folder / "busyloop.py"), prefix=prefix))
                           for _ in range(TARGETS // 2)]
                words = [place.address, "crowd", parsed.clients // 2, parsed.captures // 2, parsed.seconds, *(one.pid for one in targets)]
                crowds[name] = subprocess.Popen([*prefix, f"/proc/self/fd/{program.fileno()}", *map(str, words)], text=True,
                                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, pass_fds=(program.fileno(),), cwd="/")
        found = {name: json.loads(one.communicate(timeout=10 * DEADLINE)[0]) for name, one in crowds.items()}
        for name, one in found.items():
            table.add(f"two users: {name}", f"{one['good']} of {one['clients']} clients got all, {one['succeeded']} of {one['captures']} captures",
                      "all")
            if one["succeeded"] != parsed.captures // 2 or one["good"] != one["clients"] or one["differing"] or not one["samples"]:
                table.fail(f"not everybody got everything: {name}, {one}")
        for what, field in (("samples of a capture", "samples_each"), ("answers to who lists", "lists_each")):
            fewest, most = (pick(one[field][place] for one in found.values()) for place, pick in enumerate((min, max)))
            table.add(f"  fair: {what}", f"{fewest} to {most}", f"1 to {FAIR}")
            if soak.FULL and most > FAIR * fewest:
                table.fail(f"two users, {what}: {fewest} to {most}")
        if daemon.end() != 0:
            table.fail(f"the daemon for all users did not end well: {daemon.words()[-500:]}")


def crowd(daemon, pids, parsed, table):
    before = status_mib(daemon.pid, "VmRSS")
    clear_peak(daemon.pid)
    found = run(daemon, "crowd", parsed.clients, parsed.captures, parsed.seconds, *pids)
    peak = status_mib(daemon.pid, "VmHWM")
    what = f"{found['clients']} clients, {found['captures']} captures"
    table.add(what, f"{found['good']} clients got all, {found['succeeded']} captures succeeded", "all")
    table.add("  samples lost without a word", f"{found['differing']} followers differ", "0")
    table.add("  samples", f"{found['samples']} taken, {found['not_taken']} counted as not taken, of {found['asked']} rounds", "")
    for what, (fewest, most) in (("samples of a capture", found["samples_each"]), ("answers to who lists", found["lists_each"])):
        table.add(f"  fair: {what}", f"{fewest} to {most}", f"1 to {FAIR}")
        if soak.FULL and most > FAIR * fewest:
            table.fail(f"{what}: {fewest} to {most}")
    table.add("  CPU time of collectors", f"{found['collector_cpu']:.2f} s", "")
    table.add("  daemon's memory", f"{before:.1f} MiB before, {peak:.1f} MiB at the most", f"<= {RSS_MIB} MiB")
    if found["captures"] != parsed.captures or found["succeeded"] != parsed.captures or found["good"] != found["clients"]:
        table.fail(f"not everybody got everything: {found}")
    if found["differing"] or not found["samples"]:
        table.fail(f"samples that were counted did not arrive: {found}")
    if not found["lists_each"][0]:
        table.fail(f"a client got no list at all: {found}")
    if peak > RSS_MIB + ROOM_MIB:
        table.fail(f"the daemon took {peak:.1f} MiB")


def big_trace(daemon, pid, seconds):
    """The name of a trace that is too large for the buffers on the way to a client, and its size in MiB."""
    name = daemon.probe("create", f"trace:{pid}", seconds).end()[-1].split()[1]
    last = daemon.probe("watch", name).end()[-1]
    assert state_of(last) == "STATE_SUCCEEDED", last
    return name, int(last.split()[3]) / (1 << 20)


def readers(daemon, kind, what, count, title, table):
    """One reader runs first, because it brings in the memory that all of them share."""
    def linger(clients, seconds=0.0):
        with subprocess.Popen([CROWD, daemon.place.address, kind, what, str(clients)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            heard = process.stdout.readline()
            peak = status_mib(daemon.pid, "VmRSS")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
            peak = max(peak, status_mib(daemon.pid, "VmRSS"))
            process.stdin.close()
            process.wait(DEADLINE)
        if heard != "ready\n":
            table.fail(f"{title}: no reader came up")
        return peak

    linger(1)
    before = status_mib(daemon.pid, "VmRSS")
    each = (linger(count, 3.0 if soak.FULL else 0.2) - before) / count
    table.add(title, f"{each:.2f} MiB each, of {count}", f"<= {READER_MIB} MiB")
    if each > READER_MIB + ROOM_MIB / count:
        table.fail(f"{title}: {each:.1f} MiB each")


def main():
    parsed = soak.arguments(__doc__, clients=(200, 24), captures=(32, 8), seconds=(10, 1), calls=(5000, 200),
                            readers=(16, 4), traced=(6.0, 0.5))
    if not os.access(CROWD, os.X_OK):
        sys.exit(f"PP_DAEMON_CROWD={CROWD} is not there: build it first")
    table = soak.Table("what", "found", "promised")
    interpreter = next((one for one in soak.chosen(parsed, ("3.12",)) if not one.in_root and one.numbers[:2] >= (3, 12)), None)
    if interpreter is None:
        sys.exit(77)  # for a version whose traces of calls grow fast
    with contextlib.closing(Place()) as place, contextlib.closing(Daemon(place)) as daemon, contextlib.ExitStack() as stack:
        unary(daemon, parsed.calls, table)
        targets = [stack.enter_context(TargetProcess("busyloop.py", interpreter)) for _ in range(TARGETS)]
        crowd(daemon, [target.pid for target in targets], parsed, table)
        calling = stack.enter_context(Running(interpreter, CALLING))
        name, size = big_trace(daemon, calling.pid, parsed.traced)
        readers(daemon, "stopped", name, parsed.readers, f"readers that stop, of a trace of {size:.0f} MiB", table)
        readers(daemon, "slow", name, parsed.readers, "slow readers of it", table)
        readers(daemon, "stopped", f"live:{targets[1].pid}", parsed.readers, "live views that stop", table)
        deep = stack.enter_context(Running(interpreter, DEEP))
        readers(daemon, "stopped", f"dump:{deep.pid}", parsed.readers, "clients that do not read a dump of 15 MB", table)
        for target in targets:
            if harm(target.pid):
                table.fail(f"a target is harmed: {harm(target.pid)}")
        if daemon.end() != 0:
            table.fail(f"the daemon did not end well: {daemon.words()[-500:]}")
    if os.getuid() == 0:
        users(parsed, table)
    print(f"load of the machine (1 minute): {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} CPUs")
    table.end()


main()

"""Kills ptrace-profd, its launcher, a collector or the client with SIGKILL, in every state of a capture, at random
moments.

First with captures that take samples, with live views and with readers of a trace; then with captures that trace calls.
As root both again, with a daemon for all users, and with a client and a target of another user. After each kill: no
process of ours is left over, no capture is stuck, what was recorded can be read, the target is unharmed, and the next
capture works. In the end the target exits as if never profiled.
"""
import contextlib
import functools
import os
import pathlib
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import access_cases, interpreters, soak  # noqa: E402
from support.daemon import Place  # noqa: E402
from support.daemon_kills import Kills, combinations  # noqa: E402
from support.target_process import TARGETS, TargetProcess  # noqa: E402


SYSTEM = interpreters.Interpreter("the system's", "system", "", access_cases.PYTHON)


@contextlib.contextmanager
def target_of(place, interpreter, is_others):
    """(the target, the command in front of a client that may profile it)"""
    if not is_others:
        with TargetProcess("heartbeat.py", interpreter) as target:
            yield target, ()
        return
    prefix = access_cases.as_user(access_cases.ALICE)
    folder = shutil.copytree(TARGETS, place.folder / "targets")  # others may not enter our folder
    with TargetProcess("heartbeat.py", interpreter, name=str(folder / "heartbeat.py"), prefix=prefix) as target:
        yield target, prefix


def kill(interpreter, traced, is_others, parsed, count, table):
    every = combinations(traced)
    done = {combination: [0, 0] for combination in every}
    mode = ("trace" if traced else "sample") + (" of another user" if is_others else "")
    with contextlib.closing(Place()) as place, target_of(place, interpreter, is_others) as (target, prefix), \
            contextlib.closing(Kills(place, target, prefix=prefix, traced=traced, multi_user=is_others)) as kills:
        for number in range(count):
            victim, state = every[number % len(every)]
            moment = parsed.random.expovariate(1 / 0.05 if state == "running" else 1 / 0.005)
            wrong = kills.once(victim, state, functools.partial(time.sleep, moment))
            done[victim, state][0] += 1
            done[victim, state][1] += bool(wrong)
            for what in wrong:
                table.fail(f"{mode}, {interpreter}, {victim}, {state}, kill {number} after {moment:.4f} s: {what}")
        if kills.daemon.end() != 0:
            table.fail(f"the daemon did not end well: {kills.daemon.words()}")
        if target.finish() != 0 or target.stdout() != "ended well with 3 threads\n" or target.stderr():
            table.fail(f"{mode}, {interpreter}: ended as it should not: {target.stdout()}{target.stderr()}")
    for (victim, state), (kills, failures) in done.items():
        table.add(mode, victim, state, kills, failures)


def main():
    parsed = soak.arguments(__doc__, count=(3800, 19), traced=(2200, 11))
    table = soak.Table("mode", "victim", "state", "kills", "failures")
    for is_others in (False, True) if os.getuid() == 0 else (False,):
        for traced, count in ((False, parsed.count), (True, parsed.traced)):
            interpreter = SYSTEM if is_others else parsed.random.choice(soak.chosen(parsed))
            kill(interpreter, traced, is_others, parsed, count // 2 if is_others and soak.FULL else count, table)
    table.end()


main()

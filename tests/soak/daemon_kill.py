"""Kills ptrace-profd, its launcher, a collector or the client with SIGKILL, in every state of a capture, at random moments.

Of captures that take samples, of live views and of those who read a trace; then of captures that trace calls. After each:
no process of ours is left over, no capture is stuck, what was recorded can be read, the target is unharmed, and the next
capture works. In the end the target exits as if never profiled.
"""
import contextlib
import functools
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import soak  # noqa: E402
from support.daemon import Place  # noqa: E402
from support.daemon_kills import Kills, combinations  # noqa: E402
from support.target_process import TargetProcess  # noqa: E402


def kill(interpreter, traced, parsed, count, table):
    every = combinations(traced)
    done = {combination: [0, 0] for combination in every}
    with contextlib.closing(Place()) as place, TargetProcess("heartbeat.py", interpreter) as target, \
            contextlib.closing(Kills(place, target, traced=traced)) as kills:
        for number in range(count):
            victim, state = every[number % len(every)]
            moment = parsed.random.expovariate(1 / 0.05 if state == "running" else 1 / 0.005)
            wrong = kills.once(victim, state, functools.partial(time.sleep, moment))
            done[victim, state][0] += 1
            done[victim, state][1] += bool(wrong)
            for what in wrong:
                table.fail(f"{interpreter}, {victim}, {state}, kill {number} after {moment:.4f} s: {what}")
        if kills.daemon.end() != 0:
            table.fail(f"the daemon did not end well: {kills.daemon.words()}")
        if target.finish() != 0 or target.stdout() != "ended well with 3 threads\n" or target.stderr():
            table.fail(f"{interpreter}: ended as it should not: {target.stdout()}{target.stderr()}")
    for (victim, state), (kills, failures) in done.items():
        table.add("trace" if traced else "sample", victim, state, kills, failures)


def main():
    parsed = soak.arguments(__doc__, count=(3800, 19), traced=(2200, 11))
    table = soak.Table("mode", "victim", "state", "kills", "failures")
    for traced, count in ((False, parsed.count), (True, parsed.traced)):
        kill(parsed.random.choice(soak.chosen(parsed)), traced, parsed, count, table)
    table.end()


main()

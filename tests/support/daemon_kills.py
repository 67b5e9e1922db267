"""Killing one of the processes around a capture of ptrace-profd's, in one of the capture's states, and looking at what
is left: nothing of ours that should not be, a target that noticed nothing, and a daemon with which the next one works.
"""
import contextlib
import os
import signal
import subprocess

from . import profiler
from .daemon import ENDED, Daemon, gone, state_of, within_deadline
from .target_process import harm
from .trace_cycles import ours_in

VICTIMS = ("daemon", "launcher", "collector", "client")
STATES = ("pending", "running", "draining")
STATES_TRACED = ("running", "draining")  # a trace waits for no process to become one


class Kills:
    """Kills on one target, again and again; the daemon is started anew where it or its launcher was killed.

    `traced`: the captures trace calls instead of taking samples.
    """

    def __init__(self, place, target, prefix=(), traced=False):
        self.place, self.target, self.prefix, self.traced = place, target, prefix, traced
        self.pid = f"trace:{target.pid}" if traced else target.pid
        self.trace = place.folder / "out.pftrace"
        self.daemon = Daemon(place, prefix=prefix)

    def close(self):
        self.daemon.close()

    def once(self, victim, state, pause=lambda: None):
        """`pause` is called just before the kill. Returns what went wrong: a list of sentences."""
        self.trace.unlink(missing_ok=True)
        bystander = subprocess.Popen(["sleep", "1000"]) if state == "pending" else None
        client = self._begin(f"wait:{bystander.pid}" if bystander else self.pid)
        try:
            wrong = self._kill(client, victim, state, pause)
            wrong += self._look(victim, state)
            return wrong
        finally:
            client.close()
            if bystander:
                bystander.kill()
                bystander.wait()

    def _begin(self, pid):
        return self.daemon.probe("record", pid, 1000, self.trace, prefix=self.prefix)

    def _kill(self, client, victim, state, pause):
        # The first thing that is told; on a busy machine it may be further already.
        expected = "STATE_" if state == "pending" else "STATE_RUNNING"
        line = client.hear(expected)
        if not line:
            return [f"the capture did not come to be {expected}: {client.lines[-3:]}"]
        if not within_deadline(self.daemon.collectors):
            return ["no collector came up"]
        processes, collectors = self.daemon.processes(), self.daemon.collectors()
        cancel = self.daemon.probe("cancel", line.split()[1], prefix=self.prefix) if state == "draining" else None
        pause()
        pids = {"daemon": [self.daemon.pid], "launcher": [self.daemon.launcher], "collector": collectors,
                "client": [client.process.pid]}[victim]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # draining, it may have ended
                os.kill(pid, signal.SIGKILL)
        if cancel:
            cancel.end()
        wrong = self._end_of_client(client, victim, state)
        if victim == "daemon":
            self.daemon.process.wait()
        doomed = processes if victim == "daemon" else collectors
        if not within_deadline(lambda: all(map(gone, doomed))):
            wrong.append(f"still there: {[pid for pid in doomed if not gone(pid)]}")
        return wrong

    def _end_of_client(self, client, victim, state):
        if victim == "launcher" and state != "draining":  # the capture goes on without it
            self.daemon.probe("cancel", client.lines[0].split()[1], prefix=self.prefix).end()
        if victim == "client":
            return []
        last = client.end()[-1]
        if victim == "daemon":
            ends = last.startswith("error UNAVAILABLE") or (state == "draining" and state_of(last) in ENDED)
        else:
            ends = state_of(last) in ENDED or last.startswith("error ")
        return [] if ends else [f"the client's last word is: {last}"]

    def _look(self, victim, state):
        wrong = []
        if not within_deadline(lambda: not harm(self.target.pid)):
            wrong += harm(self.target.pid)
        self.target.tell("ping")
        self.target.expect("pong")
        if not within_deadline(lambda: not ours_in(self.target.pid)):
            wrong.append(f"left in the target: {ours_in(self.target.pid)}")
        if self.trace.exists() and self.trace.stat().st_size:
            exported = profiler.run("export", self.trace, "--format", "collapsed", "-o", "-")
            if exported.status != 0:
                wrong.append(f"what was recorded cannot be read: {exported}")
        if victim == "launcher":
            refused = self.daemon.probe("create", self.pid, 1, prefix=self.prefix).end()[-1]
            if not refused.startswith("error UNAVAILABLE") or "restart ptrace-profd" not in refused:
                wrong.append(f"without a launcher, the daemon says: {refused}")
            if self.daemon.end() != 0:
                wrong.append(f"the daemon did not end well: {self.daemon.words()}")
        if victim in ("daemon", "launcher"):
            self.daemon.close()
            self.daemon = Daemon(self.place, prefix=self.prefix)
        return wrong + self._next_one()

    def _next_one(self):
        wrong = []
        going_on = lambda: [line for line in self.daemon.probe("list", prefix=self.prefix).end()  # noqa: E731
                            if state_of(line) not in ENDED]
        if not within_deadline(lambda: not going_on()):
            wrong.append(f"a stuck capture: {going_on()}")
        last = self.daemon.probe("record", self.pid, 0.02, self.place.folder / "next.pftrace",
                                 prefix=self.prefix).end()[-1]
        if state_of(last) != "STATE_SUCCEEDED":
            wrong.append(f"the next capture: {last}")
        return wrong

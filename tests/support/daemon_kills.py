"""Kills one of the processes around a capture of ptrace-profd in one of the capture's states, and looks at what is
left. Nothing of ours may be left behind, the target must run undisturbed, and the daemon's next capture must work.
"""
import contextlib
import os
import signal
import subprocess

from . import profiler
from .daemon import ENDED, Daemon, gone, state_of, within_deadline
from .target_process import harm, status_fields
from .trace_cycles import ours_in

VICTIMS = ("daemon", "launcher", "collector", "client")
STATES = ("pending", "running", "draining", "streaming", "reading")
STATES_TRACED = ("running", "draining", "reading")  # a trace does not wait for a process to become a Python


def combinations(traced=False):
    """[(victim, state)]. streaming: a live view goes on; reading: the capture has succeeded, and its trace is being
    read."""
    return [(victim, state) for victim in VICTIMS for state in (STATES_TRACED if traced else STATES)
            if (victim, state) != ("collector", "reading")]  # the collector has ended by then


class Kills:
    """Repeated kills on one target. The daemon is started anew where it or its launcher was killed.

    `prefix` is put in front of the clients, which then run as that user. It is also put in front of the daemon, unless
    the daemon serves all users (`multi_user`). `traced`: the captures trace calls instead of taking samples.
    """

    def __init__(self, place, target, prefix=(), traced=False, multi_user=False):
        self.place, self.target, self.prefix, self.traced, self.multi_user = place, target, prefix, traced, multi_user
        self.pid = f"trace:{target.pid}" if traced else target.pid
        self.trace = place.folder / "out.pftrace"
        self.daemon = self._start()

    def _start(self):
        if self.multi_user:
            return Daemon(self.place, "--multi-user", "--socket", self.place.socket, "--spool", self.place.spool)
        return Daemon(self.place, prefix=self.prefix)

    def close(self):
        self.daemon.close()

    def once(self, victim, state, pause=lambda: None):
        """`pause` is called just before the kill. Returns what went wrong: a list of sentences."""
        self.trace.unlink(missing_ok=True)
        if state in ("streaming", "reading"):
            return (self._streaming if state == "streaming" else self._reading)(victim, pause)
        bystander = subprocess.Popen([*self.prefix, "sleep", "1000"]) if state == "pending" else None
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

    def _streaming(self, victim, pause):
        client = self._ask("stream", self.pid)
        try:
            if not client.hear("batch") or not within_deadline(self.daemon.collectors):
                return [f"no live samples came: {client.lines[-3:]}"]
            processes, collectors = self.daemon.processes(), self.daemon.collectors()
            pause()
            self._strike(victim, collectors, client)
            wrong = []
            if victim != "client":
                last = client.end()[-1]
                wrong += [] if last.startswith(("error ", "ended ")) else [f"the live view's last word is: {last}"]
            client.close()
            return wrong + self._await_ends(victim, processes, collectors) + self._look(victim, "streaming")
        finally:
            client.close()

    def _reading(self, victim, pause):
        whole = self.place.folder / "whole.pftrace"
        name = self._said("create", self.pid, 0.2).split()[1]
        ended = self._said("watch", name)
        self._said("read", name, whole)
        client = self._ask("sip", name, self.trace)
        try:
            if state_of(ended) != "STATE_SUCCEEDED" or not client.hear("first") or not within_deadline(
                    lambda: status_fields(client.process.pid)["State"][0] == "T"):
                return [f"there is nothing to read: {ended} {client.lines[-3:]}"]
            processes = self.daemon.processes()
            pause()
            self._strike(victim, [], client)
            with contextlib.suppress(ProcessLookupError):
                os.kill(client.process.pid, signal.SIGCONT)
            wrong = []
            if victim != "client":
                last = client.end()[-1]
                is_whole = last == "last" and self.trace.read_bytes() == whole.read_bytes()
                if not is_whole and not (victim == "daemon" and last.startswith("error UNAVAILABLE")):
                    wrong.append(f"reading ended with {last}, {self.trace.stat().st_size} of {whole.stat().st_size} bytes")
            wrong += self._await_ends(victim, processes, []) + self._look(victim, "reading")
            return wrong + self._again(name, whole)
        finally:
            client.close()

    def _again(self, name, whole):
        """Checks that the capture is unchanged, whichever process was killed. Returns what went wrong."""
        again = self.place.folder / "again.pftrace"
        listed = [line for line in self._ask("list").end() if line.startswith(f"capture {name} STATE_SUCCEEDED ")]
        self._said("read", name, again)
        good = listed and again.read_bytes() == whole.read_bytes()
        self._ask("delete", name).end()
        return [] if good else [f"the capture is not what it was: {listed}, {again.stat().st_size} bytes"]

    def _ask(self, *words):
        return self.daemon.probe(*words, prefix=self.prefix)

    def _said(self, *words):
        """The last line of the answer, or an empty one."""
        return (self._ask(*words).end() or [""])[-1]

    def _begin(self, pid):
        return self.daemon.probe("record", pid, 1000, self.trace, prefix=self.prefix)

    def _kill(self, client, victim, state, pause):
        # The first state that is reported. On a busy machine the capture may already be in a later one.
        expected = "STATE_" if state == "pending" else "STATE_RUNNING"
        line = client.hear(expected)
        if not line:
            return [f"the capture did not come to be {expected}: {client.lines[-3:]}"]
        if not within_deadline(self.daemon.collectors):
            return ["no collector came up"]
        processes, collectors = self.daemon.processes(), self.daemon.collectors()
        cancel = self.daemon.probe("cancel", line.split()[1], prefix=self.prefix) if state == "draining" else None
        pause()
        self._strike(victim, collectors, client)
        if cancel:
            cancel.end()
        return self._end_of_client(client, victim, state) + self._await_ends(victim, processes, collectors)

    def _strike(self, victim, collectors, client):
        pids = {"daemon": [self.daemon.pid], "launcher": [self.daemon.launcher], "collector": collectors,
                "client": [client.process.pid]}[victim]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # while it drains, it may have ended by itself
                os.kill(pid, signal.SIGKILL)

    def _await_ends(self, victim, processes, collectors):
        wrong = []
        if victim in ("daemon", "launcher"):  # the daemon ends with its launcher
            status = self.daemon.process.wait()
            wrong += [] if victim == "daemon" or status == 1 else [f"without a launcher it ended with {status}"]
        doomed = processes if victim in ("daemon", "launcher") else collectors
        if not within_deadline(lambda: all(map(gone, doomed))):
            wrong.append(f"still there: {[pid for pid in doomed if not gone(pid)]}")
        return wrong

    def _end_of_client(self, client, victim, state):
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
        if victim in ("daemon", "launcher"):
            self.daemon.close()
            self.daemon = self._start()
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

"""A node run by a real systemd, in namespaces of this machine. It has only our units, its own /etc, /run, /tmp,
/var/lib, /var/log and /var/tmp, and the processes that systemd and the test start there. Needs root.
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

from .daemon import gone, within_deadline
from .target_process import DEADLINE

SYSTEMD = "/lib/systemd/systemd"
_PREPARE = """set -e
mount --make-rprivate /
mount -t tmpfs pp-node /run
mkdir /run/units /run/upper /run/work
cp -r {units}/. /run/units
mount -t overlay -o lowerdir=/etc,upperdir=/run/upper,workdir=/run/work pp-node /etc
mount -t tmpfs pp-node /var/lib
mount -t tmpfs pp-node /var/log
for place in /tmp /var/tmp; do  # what is there is seen, what is made there by PrivateTmp= goes with the node
  mkdir -p /run/upper-of$place /run/work-of$place
  mount -t overlay -o lowerdir=$place,upperdir=/run/upper-of$place,workdir=/run/work-of$place pp-node $place
done
export container=ptrace-prof SYSTEMD_UNIT_PATH=/run/units
exec {systemd} --system --unit=pp-node.target --show-status=no --log-target=console
"""
_TARGET = "[Unit]\nDescription=nothing but what is asked for\nDefaultDependencies=no\n"
_TARGETS = ("pp-node", "sysinit", "basic", "sockets", "shutdown", "umount", "network")  # kept as empty as possible


def possible():
    """None, or why there can be no such node here."""
    if os.getuid() != 0:
        return "only root can have a node of its own"
    for program in (SYSTEMD, "systemctl", "systemd-sysusers", "systemd-tmpfiles", "unshare", "nsenter"):
        if shutil.which(program) is None:
            return f"{program} is missing"
    tried = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c",
                            "mount -t tmpfs x /run && mkdir /run/u /run/w && "
                            "mount -t overlay -o lowerdir=/etc,upperdir=/run/u,workdir=/run/w x /etc"],
                           capture_output=True, text=True, timeout=DEADLINE)
    return None if tried.returncode == 0 else f"no namespaces or no overlay: {tried.stderr.strip()}"


def _control_groups():
    """Our folders in which systemd makes folders for its services."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for root in {"": ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"), "name=systemd": ("/sys/fs/cgroup/systemd",)}.get(
                controllers, ()):
            folder = pathlib.Path(root + path)
            if (folder / "cgroup.procs").exists():
                yield folder


def _folders():
    return {folder / name for folder in _control_groups() for name in ("init.scope", "system.slice")
            if (folder / name).exists()}


class Node:
    """`units`: {name: text}. `programs` are copied to /run/units too, because a service sees no home directory."""

    def __init__(self, units, programs=()):
        self._others = _folders()
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="pp-node-"))
        for name, text in {**units, **{f"{name}.target": _TARGET for name in _TARGETS}}.items():
            (self._folder / name).write_text(text)
        for program in programs:
            shutil.copy(program, self._folder)
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            ["unshare", "--fork", "--kill-child", "--pid", "--mount", "--mount-proc", "--uts", "--ipc", "--cgroup", "sh",
             "-c", _PREPARE.format(units=self._folder, systemd=SYSTEMD)],
            stdin=subprocess.DEVNULL, stdout=self._said, stderr=subprocess.STDOUT)
        self.pid = None
        up = within_deadline(self._is_up)
        assert up, self.words()

    def _is_up(self):
        with contextlib.suppress(OSError):
            children = pathlib.Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
            if children and pathlib.Path(f"/proc/{children[0]}/comm").read_text().strip() == "systemd":
                self.pid = int(children[0])
                return self.run("systemctl", "is-active", "pp-node.target").stdout.strip() == "active"
        return self._process.poll() is not None

    @staticmethod
    def _removed(folder):
        """Whether the folder is gone. It cannot be removed while a process is still in it."""
        with contextlib.suppress(FileNotFoundError):
            try:
                folder.rmdir()
            except OSError:
                return False
        return True

    def words(self):
        return os.pread(self._said.fileno(), 1 << 20, 0).decode(errors="replace")

    @property
    def inside(self):
        """The prefix that makes a command run on the node."""
        return ("nsenter", f"--target={self.pid}", "--pid", "--mount", "--ipc", "--uts", "--")

    def run(self, *words):
        return subprocess.run([*self.inside, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=DEADLINE)

    def must(self, *words):
        done = self.run(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr, self.words()[-3000:])
        return done.stdout

    def close(self):
        self._process.kill()
        self._process.wait(DEADLINE)
        self._said.close()
        if self.pid is not None:
            within_deadline(lambda: gone(self.pid))
        for folder in _folders() - self._others:
            for path in (*folder.glob("*/"), folder):
                within_deadline(lambda: self._removed(path))
        shutil.rmtree(self._folder, ignore_errors=True)

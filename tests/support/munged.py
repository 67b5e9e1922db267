"""A real munged for one test, with its own key and socket, as an ordinary user. Needs root, and Debian's package munge.
"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

from .access_cases import as_user
from .daemon import within_deadline
from .target_process import DEADLINE

PROGRAM = shutil.which("munged", path="/usr/sbin:/usr/bin") or ""
_USER = 54390  # the user that munged runs as


class Munged:
    """Runs from its creation to `close`. Its files are removed with `folder`."""

    def __init__(self, folder, name="munge"):
        self._folder = pathlib.Path(folder) / name
        self._folder.mkdir(mode=0o755)
        key = self._folder / "key"
        key.write_bytes(os.urandom(128))
        os.chmod(key, 0o400)
        for path in (self._folder, key):
            os.chown(path, _USER, _USER)
        self.socket = self._folder / "socket"
        self.process = None
        self.start()

    def start(self):
        files = {"socket": self.socket, **{f"{name}-file": self._folder / name for name in ("key", "pid", "log", "seed")}}
        self._errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([*as_user(_USER), PROGRAM, "--foreground", "--num-threads=2",
                                         *(f"--{name}={path}" for name, path in files.items())], stdin=subprocess.DEVNULL,
                                        stdout=self._errors, stderr=self._errors)
        assert within_deadline(lambda: self._listens() or self.process.poll() is not None) and self._listens(), self.words()

    def _listens(self):
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self.socket)) == 0

    def words(self):
        return os.pread(self._errors.fileno(), 1 << 20, 0).decode()

    def send_signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """Stops it as an administrator does, which removes the socket too."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(DEADLINE)
        self._errors.close()

    def credential(self, uid, payload, *options):
        """A credential made for that user."""
        done = subprocess.run([*as_user(uid), "munge", "--socket", str(self.socket), *options], input=payload, text=True,
                              capture_output=True, timeout=DEADLINE, check=True)
        return done.stdout.strip()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE)
        self._errors.close()

"""The waiver of Yama on a kernel that has it: Debian's user-mode-linux. It boots in seconds and uses this machine's
files.

Skipped where `linux.uml` is not installed (package user-mode-linux) or does not boot (it traces its processes, which
not every container allows). There, integration.authorisation tests the same with an emulation of Yama's rule.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import daemon, runner  # noqa: E402

KERNEL = os.environ.get("PP_UML") or shutil.which("linux.uml")
PATIENCE = 900  # s
BOOT_PATIENCE = 120  # s
INSIDE = """#!/bin/sh
mount -t proc proc /proc && mount -t tmpfs tmpfs {folder}/tmp && chmod 1777 {folder}/tmp && ip link set lo up
export PATH={path} TMPDIR={folder}/tmp PP_OWN_KERNEL=1 PYTHONDONTWRITEBYTECODE=1
export PTRACE_PROF_BIN=/bin/true PTRACE_PROFD_BIN={profd} PP_DAEMON_PROBE={probe}
cd /
echo "kernel $(uname -r), scope $(cat /proc/sys/kernel/yama/ptrace_scope)"
{command} 2>&1
echo "status $?"
echo o > /proc/sysrq-trigger
sleep 10
"""


def boot(command, patience):
    """The output of a kernel of its own that runs this command and ends."""
    with tempfile.TemporaryDirectory(prefix="pp-uml-") as folder:
        os.chmod(folder, 0o755)
        init = pathlib.Path(folder) / "init"
        (init.parent / "tmp").mkdir()
        init.write_text(INSIDE.format(folder=folder, path=os.environ["PATH"], profd=daemon.BINARY, probe=daemon.PROBE,
                                      command=command))
        init.chmod(0o755)
        return subprocess.run([KERNEL, "rootfstype=hostfs", "rootflags=/", "rw", "mem=1536M", f"init={init}", "con=null",
                               "con0=fd:0,fd:1", "quiet"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=patience, env={**os.environ, "TMPDIR": folder}).stdout


@unittest.skipUnless(KERNEL and os.getuid() == 0, "needs root and linux.uml, of Debian's package user-mode-linux")
class RealYama(unittest.TestCase):
    def test_the_daemon_answers_as_the_kernel_with_scope_0(self):
        try:
            said = boot("true", BOOT_PATIENCE)
        except subprocess.TimeoutExpired as late:
            said = str(late)
        if not re.search(r"(?m)^status 0\s*$", said):
            self.skipTest(f"user-mode Linux does not run here: {said[-200:]!r}")
        said = boot(f"{sys.executable} {pathlib.Path(__file__).with_name('authorisation_test.py')} --any YamaWaived YamaObeyed "
                    "AdministratorsOnly", PATIENCE)
        print(*re.findall(r"^(?:kernel|.*pairs).*", said, re.MULTILINE), sep="\n", file=sys.stderr)
        self.assertRegex(said, r"(?m)^status 0\s*$")


if __name__ == "__main__":
    runner.main()

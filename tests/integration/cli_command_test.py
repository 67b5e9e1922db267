"""`record -- COMMAND`: the command must not notice that the shell did not start it itself."""
import os
import pathlib
import pty
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support.profiler import BINARY  # noqa: E402
from support.terminal_run import AS_NOBODY, PYTHON, TerminalCase, await_exit, main, needs_root  # noqa: E402

# Computes until a line on standard input ends it, then exits with the status in that line. Before that it uses enough
# CPU to be in a sample, however late the machine is.
SERVANT = """
import os, sys, threading, time
def compute():
    total = 0
    while True:
        for number in range(1000):
            total += number
threading.Thread(target=compute, daemon=True).start()
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    print("heard", line.strip(), flush=True)
    if line.startswith("exit"):
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
        os._exit(int(line.split()[1]))
"""
SCRIPT = "(<string>"  # a frame of the servant; in so short a time either of its threads may be the sampled one
HANDLER = """
import os, signal, sys
def stop(number, frame):
    print("stopped by", number, flush=True)
    os._exit(5)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, stop)
def compute():
    total = 0
    while True:
        for number in range(1000):
            total += number
print("ready", os.getpid(), flush=True)
compute()
"""


class Commands(TerminalCase):
    def launch(self, *command, prefix=(), **options):
        return self.ptrace_prof("record", "-o", self.folder / "x.collapsed", "--", *command, prefix=prefix,
                                **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options})

    def servant(self, *wrapper, prefix=()):
        """A command that obeys, once its recording has begun."""
        run = self.launch(*wrapper, PYTHON, "-c", SERVANT, prefix=prefix)
        self.addCleanup(run.process.stdin.close)
        self.addCleanup(run.process.stdout.close)
        run.command = int(run.process.stdout.readline().split()[1])
        run.hear("recording")
        return run

    def tell(self, run, line):
        run.process.stdin.write(line.encode() + b"\n")
        run.process.stdin.flush()
        self.assertEqual(run.process.stdout.readline(), f"heard {line}\n".encode())

    def assertRecorded(self, function):
        self.assertIn(function, (self.folder / "x.collapsed").read_text())
        self.assertEqual(self.files(), ["x.collapsed"])

    def test_status_and_streams_pass(self):
        for status in (0, 3):
            run = self.servant()
            self.tell(run, "hello")
            self.tell(run, f"exit {status}")
            self.assertEqual(run.end(), status, run.words())
            self.assertRecorded(SCRIPT)

    @needs_root
    def test_as_an_ordinary_user(self):
        run = self.servant(prefix=AS_NOBODY)
        self.tell(run, "exit 4")
        self.assertEqual(run.end(), 4, run.words())
        self.assertRecorded(SCRIPT)

    def test_wrappers_are_seen_through(self):
        run = self.servant("sh", "-c", '"$@"; exit $?', "sh", "env", "A=b")
        self.tell(run, "exit 6")
        self.assertEqual(run.end(), 6, run.words())
        self.assertRecorded(SCRIPT)

    def test_signal_ends_command_and_us(self):
        run = self.servant()
        os.kill(run.command, signal.SIGKILL)
        self.assertEqual(run.end(), -signal.SIGKILL, run.words())
        self.assertRecorded(SCRIPT)

    def test_inherited_descriptors_keep_their_numbers(self):
        reader, writer = os.pipe()
        script = f"import os; os.write({writer}, b'here'); print(sorted(os.listdir('/proc/self/fd')))"
        direct = subprocess.run([PYTHON, "-c", script], pass_fds=[writer], stdout=subprocess.PIPE, check=True)
        run = self.launch(PYTHON, "-c", script, pass_fds=[writer])
        os.close(writer)
        self.assertEqual(run.process.stdout.read(), direct.stdout)
        run.process.stdout.close()
        run.process.stdin.close()
        self.assertEqual(run.end(), 0, run.words())
        self.assertEqual(os.read(reader, 100), b"herehere")
        os.close(reader)

    def test_commands_that_cannot_be_started(self):
        self.refuse(127, "record", "-o", self.folder / "x.html", "--", "no-such-program", says=["no-such-program"], hints=False)
        self.refuse(126, "record", "-o", self.folder / "x.html", "--", "/etc/passwd", says=["/etc/passwd"], hints=False)
        self.assertEqual(self.files(), [])

    def test_command_without_python(self):
        for program, status in (("true", 0), ("false", 1)):
            run = self.ptrace_prof("record", "-o", self.folder / "x.html", "--", program)
            self.assertEqual(run.end(), status, "a job does not fail because of its profiler")
            self.assertIn("nothing was recorded", run.words())
        self.assertEqual(self.files(), [])

    def test_signals_are_handed_on(self):
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            run = self.launch(PYTHON, "-c", HANDLER)
            run.process.stdin.close()
            run.process.stdout.readline()
            run.hear("recording")
            run.process.send_signal(number)
            self.assertEqual(run.end(), 5, run.words())
            self.assertEqual(run.process.stdout.read(), f"stopped by {number}\n".encode())
            run.process.stdout.close()

    def test_command_outlives_us(self):
        run = self.servant()
        collector = os.pidfd_open(run.collector())
        command = os.pidfd_open(run.command)
        run.process.kill()
        await_exit(collector)
        self.tell(run, "still there")
        self.tell(run, "exit 0")
        await_exit(command)

    def test_command_outlives_the_collector(self):
        run = self.servant()
        os.kill(run.collector(), signal.SIGKILL)
        run.hear("signal 9")
        self.tell(run, "still there")
        self.tell(run, "exit 9")
        self.assertEqual(run.end(), 9)

    def test_short_recording_of_a_long_command(self):
        run = self.ptrace_prof("record", "-d", "300ms", "-o", self.folder / "x.collapsed", "--", PYTHON, "-c", SERVANT,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        run.process.stdout.readline()
        run.hear("wrote")
        self.tell(run, "exit 2")
        run.process.stdin.close()
        run.process.stdout.close()
        self.assertEqual(run.end(), 2)
        self.assertRecorded(SCRIPT)


class Terminals(TerminalCase):
    def test_control_c_reaches_the_command_once(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(BINARY, [BINARY, "record", "-o", str(self.folder / "x.collapsed"), "--", PYTHON, "-c", HANDLER])
        seen = b""
        sent = False
        while True:
            try:
                piece = os.read(terminal, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            seen += piece
            if not sent and b"ready" in seen and b"recording" in seen:
                os.write(terminal, b"\x03")
                sent = True
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(status), 5, seen)
        self.assertEqual(seen.count(b"stopped by 2"), 1, seen)
        # Which function was sampled in that moment is random.
        self.assertRegex((self.folder / "x.collapsed").read_text(), r"(\A|\n).+ \d+\n\Z")


if __name__ == "__main__":
    main()

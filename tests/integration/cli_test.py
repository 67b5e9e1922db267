"""The commands as a user meets them: what they refuse and why, how they end, what they leave behind."""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support.daemon import within_deadline  # noqa: E402
from support.profiler import BINARY, run  # noqa: E402
from support.target_process import DEADLINE, harm  # noqa: E402
from support.terminal_run import AS_NOBODY, PYTHON, TerminalCase, await_exit, main, needs_root  # noqa: E402

NO_SUCH_PID = 4194304  # one more than the largest possible PID


class Refusals(TerminalCase):
    def test_usage(self):
        for arguments in ([], ["nonsense"], ["record"], ["record", "--pid"], ["record", "--pid", "x"], ["record", "4711"],
                          ["record", "--pid", "1", "--", "ls"], ["record", "--"], ["dump"], ["dump", "--pid", "1", "--", "ls"],
                          ["record", "--pid", "1", "--duration", "5 parsecs"], ["record", "--pid", "1", "--rate", "0"],
                          ["record", "--pid", "1", "--idle", "some"], ["record", "--pid", "1", "--max-depth", "0"],
                          ["record", "--pid", "1", "--blocking", "--no-stops"],
                          ["record", "--pid", "1", "--mode", "both"], ["record", "--pid", "1", "--c-calls"],
                          ["record", "--pid", "1", "--mode", "trace", "--rate", "5"],
                          ["record", "--pid", "1", "--mode", "trace", "--buffer", "5"], ["record", "--pid", "1", "-o", "x.docx"],
                          ["export"], ["completion", "tcsh"], ["--frobnicate"]):
            with self.subTest(arguments):
                self.refuse(2, *arguments)

    def test_empty_values(self):
        for arguments in (["record", "--pid", "1", "-o", ""], ["export", "x.pftrace", "-o", ""], ["export", ""],
                          ["record", "--name", ""], ["captures", "fetch", "x", "-o", ""]):
            with self.subTest(arguments):
                self.refuse(2, *arguments, says=["its value is empty"])

    def test_standard_output_that_is_closed_or_full(self):
        for arguments in (["--help"], ["--version"], ["completion", "bash"], ["record", "--help"]):
            for output in (">&-", ">/dev/full"):
                with self.subTest((*arguments, output)):
                    command = f"exec {shlex.quote(str(BINARY))} {' '.join(arguments)} {output}"
                    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
                    self.assertEqual(done.returncode, 7, done.stderr)
                    self.assertIn("cannot write to standard output", done.stderr)

    def test_nothing_lands_in_a_trace_where_descriptors_are_closed(self):
        target = self.spin()
        trace = self.folder / "x.pftrace"
        command = f"exec {shlex.quote(str(BINARY))} record --pid {target.pid} -d 200ms -o {trace} <&- >&- 2>&-"
        self.assertEqual(subprocess.run(["sh", "-c", command], timeout=DEADLINE).returncode, 0)
        self.assertIn("spin", run("export", trace, "-f", "text", "-o", "-").output)
        command = f"exec {shlex.quote(str(BINARY))} record --pid {target.pid} -d 1000s -o - >&-"
        done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("cannot write to standard output", done.stderr)

    @needs_root
    def test_links_of_others_are_not_followed(self):
        target, precious, link = self.spin(), self.folder / "precious", self.folder / "x.html"
        precious.write_text("precious")
        link.symlink_to(precious)
        os.chown(link, 54321, 54321, follow_symlinks=False)
        self.refuse(7, "record", "--pid", target.pid, "-d", "200ms", "-o", link, says=["a symbolic link of another user"])
        self.assertEqual(precious.read_text(), "precious")
        os.chown(link, 0, 0, follow_symlinks=False)
        self.assertEqual(run("record", "--pid", target.pid, "-d", "200ms", "-o", link).status, 0)
        self.assertNotEqual(precious.read_bytes()[:8], b"precious")
        self.assertTrue(link.is_symlink())

    def test_what_later_versions_have(self):
        for flags in (["--native"],):
            for command in ("record", "dump"):
                with self.subTest((command, *flags)):
                    self.refuse(2, command, "--pid", os.getpid(), *flags, says=[flags[0] + " is not supported here"])

    def test_no_such_process(self):
        for command in ("record", "dump"):
            self.refuse(3, command, "--pid", NO_SUCH_PID - 1, says=[NO_SUCH_PID - 1])

    def test_no_such_thread(self):
        target, other = self.spin(), self.spin()
        for tids in ("1", f"{target.pid},1", str(other.pid)):
            wrong = tids.rsplit(",", 1)[-1]
            words = self.refuse(3, "record", "--pid", target.pid, "--threads", tids, "-d", "200ms", "-o",
                                self.folder / "x.html", says=[f"process {target.pid} has no thread {wrong}"])
            self.assertNotIn("recording", words)
            self.refuse(3, "top", "--pid", target.pid, "--threads", tids, "--count", 1, says=[wrong])
        self.refuse(2, "record", "--threads", "1", "-o", self.folder / "x.html", "--", "true", says=["--threads"])
        self.assertEqual(self.files(), [])
        done = run("record", "--pid", target.pid, "--threads", target.pid, "-d", "200ms", "-f", "text", "-o", "-")
        self.assertIn("spin", done.output)

    def test_thread_of_a_child(self):
        parent = subprocess.Popen([PYTHON, "-c", "import os\nchild = os.fork()\nif child: os.write(1, b'%d\\n' % child)\n"
                                   "while True: sum(range(1000))"], stdout=subprocess.PIPE)
        self.addCleanup(self._end, parent)
        child = int(parent.stdout.readline())
        self.addCleanup(os.kill, child, signal.SIGKILL)
        asked = ("record", "--pid", parent.pid, "--threads", child, "-d", "500ms", "-f", "text", "-o")
        done = run(*asked, "-")
        self.assertEqual(done.status, 0, done)
        self.assertIn("<module>", done.output)
        self.refuse(3, *asked, self.folder / "x.txt", "--no-subprocesses", says=[child])
        self.assertEqual(self.files(), [])

    def test_no_such_folder(self):
        nowhere, file = self.folder / "no" / "x.html", self.folder / "file"
        file.write_text("")
        trace = self.folder / "x.pftrace"
        target = self.spin()
        self.assertEqual(run("record", "--pid", target.pid, "-d", "200ms", "-q", "-o", trace).status, 0)
        for verb in (["record", "--pid", target.pid], ["record", "--name", "nothing is called so", "--wait"], ["export", trace],
                     ["record"]):
            command = ["--", "touch", self.folder / "ran"] if len(verb) == 1 else []
            words = self.refuse(7, *verb, "-o", nowhere, *command, says=[f"folder {nowhere.parent} does not exist: cannot write {nowhere}"])
            self.assertNotIn("tmp.", words.replace(str(self.folder), ""))
            self.refuse(7, *verb, "-o", file / "x.html", *command, says=[f"{file}"])
        self.assertEqual(self.files(), ["file", "x.pftrace"])

    def test_not_python(self):
        target = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(self._end, target)
        self.refuse(5, "record", "--pid", target.pid, "-o", self.folder / "x.html", says=[target.pid, "sleep"], hints=False)
        self.assertEqual(self.files(), [])

    def test_launcher_of_a_python(self):
        target = subprocess.Popen(["sh", "-c", f"'{PYTHON}' -c 'import os; os.write(1, b\"ready\\n\"); os.read(0, 1)'; true"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self._end, target)
        self.assertEqual(target.stdout.readline(), b"ready\n")
        with open(f"/proc/{target.pid}/task/{target.pid}/children") as file:
            child = file.read().strip()
        self.refuse(5, "dump", "--pid", target.pid, says=[f"--pid {child}"])
        target.stdin.close()
        target.wait()

    def test_zombie(self):
        target = subprocess.Popen(["true"])
        os.waitid(os.P_PID, target.pid, os.WEXITED | os.WNOWAIT)
        self.refuse(5, "dump", "--pid", target.pid, says=[target.pid, "zombie", os.getpid()])
        target.wait()

    def test_a_thread(self):
        seen, release = threading.Event(), threading.Event()
        tids = []

        def wait():
            tids.append(threading.get_native_id())
            seen.set()
            release.wait()

        thread = threading.Thread(target=wait)
        thread.start()
        seen.wait()
        self.refuse(2, "dump", "--pid", tids[0], says=[f"--pid {os.getpid()}"])
        release.set()
        thread.join()

    @needs_root
    def test_somebody_elses(self):
        target = self.spin()
        words = self.refuse(4, "record", "--pid", target.pid, "-o", self.folder / "x.html", prefix=AS_NOBODY, says=["root"])
        self.assertIn("sudo", words)
        self.assertEqual(self.files(), [])

    def test_output_that_cannot_be(self):
        self.refuse(7, "record", "--pid", os.getpid(), "-o", "/nowhere/x.html", says=["/nowhere/x.html"])

    def test_traces_that_are_none(self):
        self.refuse(8, "export", "/nowhere/x.pftrace", "-o", self.folder / "x.svg")
        self.refuse(8, "export", __file__, "-o", self.folder / "x.svg")
        self.assertEqual(self.files(), [])


class Answers(TerminalCase):
    def test_help(self):
        for arguments in (["--help"], ["record", "--help"], ["dump", "--help"], ["export", "--help"], ["completion", "-h"]):
            done = run(*arguments)
            self.assertEqual(done.status, 0)
            self.assertIn("ptrace-prof", done.output)
        self.assertRegex(run("--version").output, r"^ptrace-prof \d+\.\d+\.\d+\n$")

    def test_dump_of_ourselves_in_words_and_json(self):
        done = run("dump", "--pid", os.getpid())
        self.assertEqual(done.status, 0, done)
        self.assertIn("cli_test.py", done.output)
        self.assertIn(f"Process {os.getpid()}", done.output)
        document = json.loads(run("dump", "--pid", os.getpid(), "--json").output)
        self.assertEqual(document["schema"], "ptrace-prof.dump/1")
        self.assertEqual(document["processes"][0]["threads"][0]["tid"], os.getpid())

    def test_ourselves_are_no_target(self):
        for verb in ("record", "dump", "doctor", "top"):
            done = subprocess.run(["sh", "-c", f'exec "{BINARY}" {verb} --pid $$'], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn("this is the process id of ptrace-prof itself", done.stderr)

    def test_export_from_a_pipe_to_a_pipe(self):
        target = self.spin()
        trace = self.folder / "x.pftrace"
        self.assertEqual(run("record", "--pid", target.pid, "-d", "300ms", "-q", "-o", trace).status, 0)
        done = subprocess.run([BINARY, "export", "-", "--format", "collapsed", "-o", "-"], input=trace.read_bytes(),
                              capture_output=True, check=True)
        self.assertIn(b"spin", done.stdout)


class Endings(TerminalCase):
    def recording(self, *options, **run_options):
        target = self.spin()
        trace = self.folder / "x.collapsed"
        process = self.ptrace_prof("record", "--pid", target.pid, "-o", trace, *options, **run_options)
        process.hear("recording process")
        return target, process

    def test_duration(self):
        _, process = self.recording("-d", "500ms")
        self.assertEqual(process.end(), 0, process.words())
        for word in ("samples in", "truncated", "brief stop", "late", "lost", "overhead", "wrote"):
            self.assertIn(word, process.words())
        self.assertEqual(self.files(), ["x.collapsed"])

    def test_interrupt_ends_it_well(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
            target, process = self.recording()
            process.process.send_signal(number)
            self.assertEqual(process.end(), 0, process.words())
            self.assertEqual(self.files(), ["x.collapsed"])
            self.assertEqual(harm(target.pid), [])

    def test_second_interrupt_aborts_and_keeps_the_trace(self):
        target, process = self.recording()
        os.kill(process.collector(), signal.SIGSTOP)  # so that it cannot end in an orderly way
        process.process.send_signal(signal.SIGINT)
        while "ignored" not in process.said:
            with open(f"/proc/{process.pid}/status") as status:  # wait until the first signal was taken
                pending = [line for line in status if line.startswith(("SigPnd", "ShdPnd"))]
            if all(int(line.split()[1], 16) == 0 for line in pending):
                break
        process.process.send_signal(signal.SIGINT)
        self.assertEqual(process.end(), 130, process.words())
        self.assertIn("x.collapsed.pftrace.tmp", process.words())
        self.assertEqual(self.files(), ["x.collapsed.pftrace.tmp"])
        done = run("export", self.folder / "x.collapsed.pftrace.tmp", "--format", "collapsed")
        self.assertEqual(done.status, 0, done)
        self.assertEqual(harm(target.pid), [])

    def test_target_ends(self):
        target, process = self.recording()
        target.kill()
        target.wait()
        self.assertIn(process.end(), (0, 6), process.words())  # 6: it ended before the first sample
        self.assertIn(f"process {target.pid} ended", process.words())

    def test_collector_is_killed(self):
        target, process = self.recording()
        os.kill(process.collector(), signal.SIGKILL)
        self.assertEqual(process.end(), 1, process.words())
        self.assertIn("signal 9", process.words())
        self.assertEqual(harm(target.pid), [])

    def test_command_is_killed(self):
        target, process = self.recording()
        collector = os.pidfd_open(process.collector())
        process.process.kill()
        await_exit(collector)
        self.assertEqual(harm(target.pid), [])

    def to_stdout(self, *options, **run_options):
        target = self.spin()
        process = self.ptrace_prof("record", "--pid", target.pid, "-o", "-", "--format", "collapsed", "--host", "none",
                                   *options, env={**os.environ, "TMPDIR": str(self.folder)}, **run_options)
        process.hear("recording process")
        return target, process

    def spools(self, pid):
        """Sizes of the files in our folder that a process has open."""
        found = []
        for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if os.readlink(link).startswith(str(self.folder)):
                    found.append(link.stat().st_size)
        return found

    def test_killed_while_it_writes_to_standard_output(self):
        target, process = self.to_stdout()
        collector = os.pidfd_open(process.collector())
        self.assertTrue(within_deadline(lambda: len(self.spools(process.pid)) == 2 and min(self.spools(process.pid)) > 0),
                        "the trace of the service, and ours")
        self.assertEqual(self.files(), [])
        process.process.kill()
        process.process.wait()
        await_exit(collector)
        self.assertEqual(self.files(), [])
        self.assertEqual(harm(target.pid), [])

    def test_an_output_that_nobody_reads(self):
        read, write = os.pipe()
        target, process = self.to_stdout("-d", "300ms", stdout=write)
        os.close(write)
        os.close(read)
        self.assertEqual(process.end(), -signal.SIGPIPE, process.words())  # as any filter ends
        self.assertEqual(self.files(), [])
        self.assertEqual(harm(target.pid), [])

    def test_an_output_that_is_full(self):
        with open("/dev/full", "wb") as full:
            _, process = self.to_stdout("-d", "300ms", stdout=full)
        self.assertEqual(process.end(), 7, process.words())
        [name] = self.files()
        self.assertIn(str(self.folder / name), process.words())
        done = run("export", self.folder / name, "--format", "collapsed")
        self.assertEqual(done.status, 0, done)

    def test_aborted_while_somebody_reads_slowly(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        os.write(write, b"x" * 4096)  # fills the pipe to the last byte
        _, process = self.to_stdout("-d", "300ms", stdout=write)
        os.close(write)
        process.hear("samples in")
        call = pathlib.Path(f"/proc/{process.pid}/syscall")
        self.assertTrue(within_deadline(lambda: re.match("1 0x(?!2 )", call.read_text())), "write(2), and not to stderr")
        process.process.send_signal(signal.SIGINT)
        self.assertEqual(process.end(), 130, process.words())
        [name] = self.files()
        self.assertIn(str(self.folder / name), process.words())
        self.assertEqual(run("export", self.folder / name, "--format", "collapsed").status, 0)

    def test_disk_is_full(self):
        _, process = self.recording("--rate", "5khz", "--max-overhead", "off", "--duration", "60s",
                                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384)))
        self.assertEqual(process.end(), 7, process.words())
        self.assertIn("File too large", process.words())
        self.assertIn("spin", (self.folder / "x.collapsed").read_text())
        self.assertEqual(self.files(), ["x.collapsed"])


if __name__ == "__main__":
    main()

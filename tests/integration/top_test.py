"""`top` as a user sees it on a terminal, watching real processes, and as text in a pipe."""
import os
import re
import signal
import subprocess
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import interpreters  # noqa: E402
from support.children import children_of  # noqa: E402
from support.profiler import run  # noqa: E402
from support.pty_run import CTRL_Z, ENTER, ESCAPE, PAGE_DOWN, PtyRun  # noqa: E402
from support.target_process import DEADLINE, harm  # noqa: E402
from support.terminal_run import PYTHON, TerminalCase, main  # noqa: E402

# Computes in hot (most of the time), rare and evil (enough to be on every screen), in `later` once it gets a line. A
# child computes in child_work.
TARGET = """\
import os, sys, threading
def hot():
    total = 0
    for number in range(30000):
        total += number
def rare():
    for number in range(12000):
        pass
def later():
    for number in range(30000):
        pass
def evil():
    for number in range(12000):
        pass
names = {"co_name": "e\\x1b]0;evil\\x07vil"}
if sys.version_info >= (3, 11):
    names["co_qualname"] = names["co_name"]
evil.__code__ = evil.__code__.replace(**names)
def work():
    while True:
        evil()
        rare()
        chosen()
def child_work(parent):
    while os.getppid() == parent:
        rare()
def obey():
    global chosen
    for line in sys.stdin:
        chosen = later
        os.write(1, b"switched\\n")
chosen = hot
parent = os.getpid()
if os.fork() == 0:
    child_work(parent)
    os._exit(0)
threading.Thread(target=obey, daemon=True, name="obeyer").start()
os.write(1, b"ready\\n")
work()
"""
ROW = re.compile(r"\s*([\d.]+)\s+([\d.]+)\s+([\d,]+)\s+([\d,]+)  (\S+) \(")


class Top(TerminalCase):
    def watch(self, *options, python=PYTHON, **how):
        """(the run, the target), once the target is on the screen."""
        target = self.target(python)
        top = self.open("--pid", target.pid, *options, **how)
        top.await_text("hot (")
        return top, target

    def target(self, python=PYTHON):
        script = self.folder / "target.py"
        script.write_text(TARGET)
        target = subprocess.Popen([python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self._end, target)
        self.assertEqual(target.stdout.readline(), b"ready\n")
        return target

    def open(self, *options, **how):
        top = PtyRun("top", "--interval", "100ms", *options, **how)
        self.addCleanup(top.close)
        return top

    def rows(self, top):
        """(self, total, name) of the rows on the screen."""
        found = [ROW.match(line) for line in top.terminal.lines()]
        return [(float(row[1]), float(row[2]), row[5]) for row in found if row]

    def assertLeft(self, top, status=0):
        self.assertEqual(top.end(), status, top.terminal.text())
        self.assertTrue(top.terminal.plain, (top.terminal.alternate, top.terminal.modes))
        self.assertEqual(top.modes(), top.modes_before)


class Screen(Top):
    def test_functions(self):
        top, target = self.watch("--no-subprocesses")
        top.await_text("hot (", "rare (", "work (", "target.py:2)", "CPython 3.", f"process {target.pid}",
                       "q Quit", "? Help", "/ Filter", "samples in", "truncated", "lost 0", "SELF %")
        self.assertTrue(top.terminal.alternate)
        top.await_screen(lambda _: self.rows(top) and self.rows(top)[0][2] == "hot", "hot is the most")
        top.press("q")
        self.assertLeft(top)
        self.assertEqual(harm(target.pid), [])

    def test_views(self):
        top, target = self.watch()
        top.press("2")
        top.await_text("LINE (", "target.py:5)", "| total += number")
        top.press("3")
        top.await_text("THREAD", "MainThread", f"{target.pid}", "running")
        top.press("4")
        top.await_text("PROCESS", f"of {target.pid}")
        top.press("\t")
        top.await_text("FUNCTION (FILE:LINE)")
        top.press("?")
        top.await_text("pause the screen")
        top.press("x")
        top.await_text("FUNCTION (FILE:LINE)")

    def await_sorted(self, top, column, words, reverse=False):
        """The headline is drawn before the rows. So a screen may be read half-drawn, but must become right."""
        top.await_text(words)

        def is_sorted(_):
            values = [row[column] for row in self.rows(top)]
            return values and values == sorted(values, reverse=reverse)

        top.await_screen(is_sorted, words)

    def test_sorting(self):
        top, _ = self.watch()
        top.press("n")
        self.await_sorted(top, 2, "sorted by name")
        top.press("n")
        self.await_sorted(top, 2, "sorted by name (reversed)", reverse=True)
        top.press("t")
        self.await_sorted(top, 1, "sorted by total", reverse=True)
        top.press("s")
        self.await_sorted(top, 0, "sorted by self", reverse=True)

    def test_filter(self):
        top, _ = self.watch()
        top.press("/RaR")
        top.await_text("filter: RaR_", "rare (")
        top.await_screen(lambda _: {row[2] for row in self.rows(top)} == {"rare"}, "only rare")
        top.press("\x7fx")
        top.await_text("filter: Rax_", "nothing matches")
        top.press(ESCAPE)
        top.await_screen(lambda terminal: "filter:" not in terminal.text() and "hot (" in terminal.text(), "no filter")
        top.press("/hot" + ENTER)
        top.await_text("filter: hot", "q Quit")
        top.press(ESCAPE)
        top.await_text("rare (")

    def test_pause(self):
        top, target = self.watch()
        top.press("p")
        top.await_text("[PAUSED]")
        totals = top.terminal.lines()[1]
        target.stdin.write(b"switch\n")
        target.stdin.flush()
        self.assertEqual(target.stdout.readline(), b"switched\n")
        self.assertIn("later (", run("top", "--pid", target.pid, "--count", 2, "--interval", "300ms").output)
        top.press("\x0c")  # Ctrl-L
        top.press("t")
        top.await_text("sorted by total", "[PAUSED]")
        self.assertNotIn("later (", top.terminal.text())
        self.assertEqual(top.terminal.lines()[1], totals)
        top.press("p")
        top.await_text("later (")
        self.assertNotIn("[PAUSED]", top.terminal.text())
        top.press("wc")
        top.await_text("since the start")
        top.await_no("hot (")

    def test_threads_and_processes_are_opened(self):
        top, target = self.watch()
        top.press("4")
        top.await_text(f"of {target.pid}")
        child, = children_of(target.pid)
        top.press(f"/{child}" + ENTER)
        top.await_text("processes: 1", f"filter: {child}", "q Quit")
        top.press(ENTER)
        text = top.await_text("functions of process", "child_work (")
        self.assertNotIn("hot (", text)
        top.press(ESCAPE)
        top.await_text("PROCESS", "processes: 2")
        top.press("3" + ENTER)
        top.await_text("functions of thread")

    def test_source(self):
        top, _ = self.watch("--no-subprocesses")
        top.press("/hot" + ENTER)  # hot is usually the first anyway, but not at every moment
        top.await_screen(lambda _: [row[2] for row in self.rows(top)] == ["hot"], "hot alone")
        top.press(ENTER)
        top.await_text("def hot():", "total += number", "target.py", "Esc Back")
        counted = re.compile(r"\d\.\d +\d+\.\d +5  .*total \+= number")
        top.await_screen(lambda terminal: counted.search(terminal.text()), "line 5 with its shares")
        top.press(PAGE_DOWN + PAGE_DOWN)
        top.await_text("os.write(1, b\"ready")
        top.press("nN")
        top.press(ESCAPE)
        top.await_text("FUNCTION (FILE:LINE)")

    def test_no_source(self):
        target = self.spin()
        top = self.open("--pid", target.pid)
        top.await_text("spin (<string>")
        top.press(ENTER)
        top.await_text("no source of <string>: it did not come from a file")

    def test_source_that_is_no_file(self):
        top, _ = self.watch()
        (self.folder / "target.py").unlink()
        os.mkfifo(self.folder / "target.py")
        top.press("2")
        top.await_text("(no source)")
        top.press("1" + ENTER)
        top.await_text("it is not a regular file")

    def test_resizing(self):
        top, _ = self.watch()
        for rows, columns in ((12, 40), (3, 9), (2, 2), (1, 1), (60, 200), (24, 80)):
            top.resize(rows, columns)
        top.await_text("hot (", "q Quit")
        top.press("2")
        top.await_text("LINE (")
        top.press("q")
        self.assertLeft(top)

    def test_names_are_harmless(self):
        top, _ = self.watch()
        top.await_text(r"e\x1b]0;evil\x07vil (")
        self.assertNotIn("\x1b]0;evil", top.terminal.raw)

    def test_colours(self):
        top, _ = self.watch()
        self.assertRegex(top.terminal.raw, "\x1b\\[[\\d;]*3[1-6]m")
        plain = self.open("--pid", self.target().pid, env={"NO_COLOR": "1"})
        plain.await_text("hot (")
        self.assertNotRegex(plain.terminal.raw, "\x1b\\[[\\d;]*3[1-6]m")


class Ends(Top):
    def test_signals(self):
        for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, "\x03", "q"):
            with self.subTest(ending):
                top, target = self.watch()
                if isinstance(ending, str):
                    top.press(ending)
                else:
                    top.process.send_signal(ending)
                self.assertLeft(top)
                self.assertEqual(harm(target.pid), [])

    def test_terminal_goes_away(self):
        top, target = self.watch()
        top.hang_up()
        self.assertEqual(top.process.wait(DEADLINE), 0)
        self.assertEqual(harm(target.pid), [])

    def test_target_ends(self):
        top, target = self.watch()
        top.press("w")  # the last screen alone may be of a moment without a sample
        top.await_text("since the start")
        target.kill()
        target.wait()
        top.await_text("this is the last update", str(target.pid), "hot (")
        top.press("3")
        top.await_text("MainThread")
        top.press("q")
        self.assertLeft(top)
        self.assertIn("ended", top.terminal.text())

    def test_collector_dies(self):
        top, target = self.watch()
        top.press("w")
        top.await_text("since the start")
        os.kill(children_of(top.process.pid)[0], signal.SIGKILL)
        top.await_text("the collector was ended by signal 9", "this is the last update", "hot (")
        top.press("q")
        self.assertLeft(top, 1)
        self.assertEqual(harm(target.pid), [])

    def test_refusals(self):
        self.refuse(2, "top")
        self.refuse(2, "top", "--pid", "x")
        self.refuse(2, "top", "--pid", 1, "--by", "colour", says=["functions, lines, threads, processes"])
        self.refuse(2, "top", "--pid", 1, "--sort", "length")
        self.refuse(2, "top", "--pid", 1, "--interval", "0")
        self.refuse(2, "top", "--pid", 1, "--", "ls")
        self.refuse(3, "top", "--pid", 4194303)
        top = self.open("--pid", 4194303)
        self.assertLeft(top, 3)
        self.assertNotIn("\x1b", top.terminal.raw, "no screen is opened for an error")


class Suspended(Top):
    def assertGivenBack(self, top):
        top.await_text("[stopped]")
        self.assertNotIn("hot (", top.terminal.text())
        self.assertTrue(top.terminal.plain, (top.terminal.alternate, top.terminal.modes))
        self.assertEqual(top.modes(), top.modes_before)

    def go_on(self, top):
        top.press("\n")
        top.await_no("[stopped]")
        top.await_text("hot (", "q Quit")
        self.assertTrue(top.terminal.alternate)

    def test_ctrl_z_and_back(self):
        top, target = self.watch(shell=True)
        for _ in range(3):
            top.press(CTRL_Z)
            self.assertGivenBack(top)
            self.go_on(top)
            self.assertNotEqual(top.modes(), top.modes_before)
        top.press("3")
        top.await_text("THREAD", "MainThread")
        top.press("q")
        self.assertLeft(top)
        self.assertEqual(harm(target.pid), [])

    def test_the_size_changes_meanwhile(self):
        top, _ = self.watch(shell=True)
        top.press(CTRL_Z)
        self.assertGivenBack(top)
        top.resize(18, 70, is_told=False)  # the kernel notifies the shell, which is in the foreground
        top.press("\n")
        top.await_screen(lambda terminal: "q Quit" in terminal.lines()[17], "the keys in the last of fewer lines")
        top.press("q")
        self.assertLeft(top)

    def test_stopped_without_being_asked(self):
        top, _ = self.watch(shell=True)
        os.kill(children_of(top.process.pid)[0], signal.SIGSTOP)
        top.await_text("[stopped]")  # somewhere on our screen
        self.go_on(top)
        top.press("q")
        self.assertLeft(top)

    def test_nobody_is_there_to_go_back_to(self):
        top, _ = self.watch()
        top.press(CTRL_Z)
        top.press("3")
        top.await_text("THREAD", "MainThread")
        top.press("q")
        self.assertLeft(top)


class Text(Top):
    def test_blocks(self):
        target = self.target()
        finished = run("top", "--pid", target.pid, "--count", 3, "--interval", "300ms")
        self.assertEqual(finished.status, 0, finished)
        self.assertEqual(finished.errors, "")
        self.assertEqual(finished.output.count("SELF %"), 3)
        self.assertEqual(finished.output.count(f"process {target.pid}: "), 3)
        self.assertIn("hot (", finished.output)
        self.assertIn(r"e\x1b]0;evil\x07vil (", finished.output)
        self.assertNotIn("\x1b", finished.output)

    def test_what_is_shown_can_be_chosen(self):
        target = self.target()
        finished = run("top", "--pid", target.pid, "-n", 1, "-i", "300ms", "--by", "lines", "--sort", "total", "--filter", "rare",
                       "--limit", 1)
        names = [row[5] for row in map(ROW.match, finished.output.splitlines()) if row]
        self.assertEqual(names, ["rare"])
        finished = run("top", "--pid", target.pid, "-n", 1, "-i", "300ms", "--by", "processes", "--no-subprocesses")
        self.assertNotIn(f"of {target.pid}", finished.output)

    def test_every_python(self):
        for interpreter in interpreters.discover():
            if interpreter.in_root:
                continue
            with self.subTest(str(interpreter)):
                target = self.target(interpreter.path)
                finished = run("top", "--pid", target.pid, "--count", 1, "--interval", "500ms")
                self.assertRegex(finished.output, r"hot \(.*target.py:2\)", str(finished))

    def test_end_of_the_target_is_success(self):
        target = self.target()
        top = self.ptrace_prof("top", "--pid", target.pid, "--interval", "100ms", stdout=subprocess.PIPE)
        self.addCleanup(top.process.stdout.close)
        while b"hot (" not in top.process.stdout.readline():
            pass
        target.kill()
        target.wait()
        self.assertEqual(top.end(), 0, top.words())
        self.assertIn(f"{target.pid}", top.words())

    def test_nobody_reads(self):
        target = self.target()
        top = self.ptrace_prof("top", "--pid", target.pid, "--interval", "100ms", stdout=subprocess.PIPE)
        top.process.stdout.readline()
        top.process.stdout.close()
        self.assertEqual(top.end(), 0, top.words())
        self.assertEqual(top.words(), "")

    def test_full_disk(self):
        target = self.target()
        with open("/dev/full", "w") as full:
            top = self.ptrace_prof("top", "--pid", target.pid, "--interval", "100ms", stdout=full)
            self.assertEqual(top.end(), 7, top.words())

    def test_terminals_that_cannot(self):
        for terminal in ("dumb", "no-such-terminal", ""):
            with self.subTest(terminal):
                top = self.open("--pid", self.target().pid, env={"TERM": terminal})
                top.await_text("plain text instead", "hot (")
                top.press("\x03")
                self.assertLeft(top)

    def test_text_on_a_terminal(self):
        top = self.open("--pid", self.target().pid, "--text", "--count", 2, "--limit", 3)
        self.assertLeft(top)
        self.assertNotIn("\x1b", top.terminal.raw)


if __name__ == "__main__":
    main()

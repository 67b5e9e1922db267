"""A trace in a notebook cell: the flame graph is drawn inside its frame, in headless Chromium, and only there.

Usage: python_client_notebook_test.py FOLDER (of python_client_wheel_test.py)
"""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import interpreters, runner  # noqa: E402
from support.browser import Browser, Page, find_chromium, served  # noqa: E402
from support.profiler import BINARY, Recording  # noqa: E402
from support.target_process import TargetProcess  # noqa: E402

SITE = interpreters.CACHE / f"client-{sys.version_info[0]}.{sys.version_info[1]}"
FRAMES = "[...document.querySelectorAll('#main .frame')].map(frame => frame.getAttribute('name'))"


def recorded():
    """The bytes of a trace."""
    with TargetProcess("busyloop.py", interpreters.discover()[0]) as target:
        recording = Recording(target.pid, "--duration", "500ms")
        try:
            finished = recording.wait()
            assert finished.status == 0, finished
            return recording.trace.read_bytes()
        finally:
            recording.remove()


def frame_of(browser):
    """The cell's frame as a page. As it is sandboxed, DevTools has it as a target of its own."""
    while True:
        for target in browser.command("Target.getTargets", filter=[{}])["targetInfos"]:
            if target["type"] == "iframe":
                answer = browser.command("Target.attachToTarget", targetId=target["targetId"], flatten=True)
                return Page(browser, answer["sessionId"])
        browser.pump(0.05)


def check(trace):
    cell = trace._repr_html_()
    assert cell.startswith("<iframe srcdoc="), cell[:200]
    page = f"<!DOCTYPE html><meta charset=utf-8><link rel=icon href=data:,><h1>cell</h1>{cell}"
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "index.html").write_text(page, encoding="utf-8")
        with served({"/": folder}) as base, Browser() as browser:
            page = browser.open(base + "/index.html")
            frame = frame_of(browser)
            frame.wait_for("document.documentElement && document.documentElement.dataset.ready === 'yes'")
            names = frame.evaluate(FRAMES)
            assert "busy_loop" in names, names
            outside = frame.evaluate("(() => { try { return parent.document.title } catch (e) { return e.name } })()")
            assert outside == "SecurityError", outside
            assert page.complaints == [], page.complaints
    print(f"drawn: {len(names)} frames of the flame graph in a cell of {len(cell)} bytes")


def main(folder):
    if not find_chromium() or not SITE.exists():
        print(f"{'Chromium' if not find_chromium() else SITE} is not there: not tested")
        return runner.SKIPPED
    sys.path[:0] = [str(folder / "package"), str(SITE)]
    import ptrace_prof

    os.environ["PTRACE_PROF_BIN"] = BINARY
    trace = ptrace_prof.Trace(recorded())
    check(trace)
    os.environ["PTRACE_PROF_BIN"] = "/nowhere"
    table = trace._repr_html_()
    assert "<td style='text-align:left'>busy_loop</td>" in table and "/nowhere" in table, table
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))

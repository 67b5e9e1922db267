#!/usr/bin/env python3
"""Makes docs/img/report.png, README's picture: docs/img/make_report.py [PTRACE_PROF]

Records tests/demo/train_transformer.py (which needs PyTorch) for ten seconds, opens the report in headless Chromium, and
takes its picture once the flame graph stands still and is whole: no bar's children together are wider than the bar, and the
root's fill it as far as samples go. Look at what comes out before you commit it.
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.browser import Browser, served  # noqa: E402

PICTURE = ROOT / "docs/img/report.png"
SECONDS = 10

# Left edge, width and top of each bar, by row; as drawn now, not as meant.
BARS = """[...document.querySelectorAll('.d3-flame-graph .frame rect')].map(r => {
  const b = r.getBoundingClientRect();
  return [b.left, b.width, b.top];
})"""


def record(ptrace_prof, folder):
    page = folder / "report.html"
    training = subprocess.Popen([sys.executable, "tests/demo/train_transformer.py", "--seconds", "120"], cwd=ROOT,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        for line in training.stdout:
            if line.startswith("ready "):
                break
        else:
            sys.exit("the training script did not start: is PyTorch installed for this Python?")
        subprocess.run([ptrace_prof, "record", "--pid", line.split()[1], "--duration", f"{SECONDS}s", "-o", page], check=True)
    finally:
        training.terminate()
        training.wait()
    return page


def is_whole(bars):
    """Does the widest bar hold a row of bars that fills it, as it does when nothing moves any more?"""
    left, width, top = max(bars, key=lambda bar: bar[1])
    rows = {}
    for bar in bars:
        rows.setdefault(round(bar[2]), []).append(bar)
    beside = min((row for row in rows if row != round(top)), key=lambda row: abs(row - top), default=None)
    if beside is None:
        return False
    covered = sum(bar[1] for bar in rows[beside])
    within = all(left - 1 <= bar[0] and bar[0] + bar[1] <= left + width + 1 for bar in bars)
    return within and 0.98 * width <= covered <= width + 1


def stands_still(page):
    """The bars, once two looks with frames drawn between them see the same."""
    before = None
    for _ in range(200):
        page.evaluate("new Promise(done => setTimeout(() => requestAnimationFrame(() => done(true)), 100))")
        now = page.evaluate(BARS)
        if now and now == before:
            return now
        before = now
    sys.exit("the flame graph never stood still")


def main():
    ptrace_prof = sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/bin/ptrace-prof"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        report = record(ptrace_prof, folder)
        with served({"/": folder}) as base, Browser() as browser:
            page = browser.open(f"{base}/{report.name}")
            page.command("Emulation.setDeviceMetricsOverride", width=1280, height=850, deviceScaleFactor=1, mobile=False)
            page.wait_for("document.querySelectorAll('.d3-flame-graph .frame rect').length > 20")
            bars = stands_still(page)
            if not is_whole(bars):
                sys.exit("the flame graph is not whole: its root is not as wide as its children together")
            if page.complaints:
                sys.exit(f"the page complains: {page.complaints}")
            page.screenshot(PICTURE)
    print(f"{PICTURE}: {len(bars)} bars. Look at it.")


if __name__ == "__main__":
    main()

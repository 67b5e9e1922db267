"""Headless Chromium for tests, driven by the DevTools protocol over a pipe: no driver, no port, no dependency.

with served({"/": folder}) as base, Browser() as browser:
    page = browser.open(base + "/index.html")
    value = page.evaluate("document.title")
"""

import base64
import contextlib
import functools
import http.server
import json
import os
import select
import shutil
import subprocess
import tempfile
import threading
import time

FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--disable-extensions", "--no-default-browser-check", "--mute-audio", "--window-size=1400,900",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--remote-debugging-pipe",
]


def find_chromium():
    """The path of Chromium, or None."""
    return os.environ.get("PP_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


PATIENCE = 180.0  # seconds; generous: a machine may be busy, and nothing here measures time


class BrowserError(Exception):
    pass


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    types = {".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm", ".css": "text/css",
             ".json": "application/json", ".png": "image/png", ".svg": "image/svg+xml"}

    def __init__(self, roots, *args):
        self.roots = roots
        super().__init__(*args)

    def do_GET(self):  # noqa: N802 (the base class's name)
        path = self.path.split("?")[0].split("#")[0]
        body, kind = None, "application/octet-stream"
        for prefix, root in sorted(self.roots.items(), key=lambda item: -len(item[0])):
            if not path.startswith(prefix):
                continue
            if isinstance(root, bytes):
                body, kind = root, self.types.get(os.path.splitext(path)[1] or ".html", kind)
                break
            file = os.path.realpath(os.path.join(root, path[len(prefix):].lstrip("/") or "index.html"))
            if file.startswith(os.path.realpath(root) + os.sep) and os.path.isfile(file):
                with open(file, "rb") as stream:
                    body = stream.read()
                kind = self.types.get(os.path.splitext(file)[1], kind)
                break
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        if body:
            self.wfile.write(body)

    def log_message(self, *_args):
        pass


@contextlib.contextmanager
def served(roots):
    """Serves {URL prefix: folder or bytes} on 127.0.0.1; yields the base URL."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Handler, roots))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Page:
    """One tab."""

    def __init__(self, browser, session):
        self._browser = browser
        self._session = session
        self.complaints = []  # uncaught exceptions and console errors, as text

    def command(self, method, timeout=PATIENCE, **params):
        return self._browser.command(method, session=self._session, timeout=timeout, **params)

    def evaluate(self, expression, timeout=PATIENCE):
        """The value of a JavaScript expression; promises are awaited."""
        answer = self.command("Runtime.evaluate", timeout=timeout, expression=expression, awaitPromise=True,
                              returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def wait_for(self, expression, timeout=PATIENCE):
        """Polls until the expression is true; gives its value."""
        deadline = time.monotonic() + timeout
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            if time.monotonic() > deadline:
                raise BrowserError(f"never became true: {expression}; complaints: {self.complaints}")
            self._browser.pump(0.05)

    def screenshot(self, path):
        with open(path, "wb") as stream:
            stream.write(base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"]))


class Browser:
    """A Chromium with a fresh profile. The end of the block ends all its processes and removes the profile."""

    def __init__(self):
        self._next_id = 0
        self._answers = {}
        self._pages = {}
        self._buffer = b""

    def __enter__(self):
        self._profile = tempfile.mkdtemp(prefix="pp-chromium-")
        to_browser_read, self._to = os.pipe()
        self._from, from_browser_write = os.pipe()
        # The protocol's descriptors are 3 and 4; bash puts them there (sh knows no numbers above 9).
        command = ["bash", "-c", f'exec "$0" "$@" 3<&{to_browser_read} 4>&{from_browser_write}', find_chromium(), *FLAGS,
                   f"--user-data-dir={self._profile}", "about:blank"]
        self._log = open(os.path.join(self._profile, "stderr.txt"), "wb")
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
                                         pass_fds=[to_browser_read, from_browser_write], start_new_session=True)
        os.close(to_browser_read)
        os.close(from_browser_write)
        return self

    def __exit__(self, *_exception):
        with contextlib.suppress(BrowserError, OSError):
            self.command("Browser.close", timeout=10)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._log.close()
        for _ in range(50):  # its last processes may still write to the profile while they die
            shutil.rmtree(self._profile, ignore_errors=True)
            if not os.path.exists(self._profile):
                break
            time.sleep(0.1)

    def open(self, url, timeout=PATIENCE):
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log"):
            page.command(domain + ".enable")
        page.command("Page.navigate", url=url)
        page.wait_for("document.readyState == 'complete' && location.href != 'about:blank'", timeout)
        return page

    def command(self, method, session=None, timeout=PATIENCE, **params):
        self._next_id += 1
        message = {"id": self._next_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data):]
        deadline = time.monotonic() + timeout
        while message["id"] not in self._answers:
            if time.monotonic() > deadline:
                raise BrowserError(f"{method}: no answer in {timeout} s")
            self.pump(1)
        answer = self._answers.pop(message["id"])
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def pump(self, seconds):
        """Waits at most `seconds` for messages of the browser, and handles those that came."""
        if not select.select([self._from], [], [], seconds)[0]:
            return
        data = os.read(self._from, 1 << 20)
        if not data:
            with open(self._log.name, "rb") as log:
                raise BrowserError("Chromium ended: " + log.read()[-2000:].decode(errors="replace"))
        *messages, self._buffer = (self._buffer + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self._note(message)

    def _note(self, event):
        page = self._pages.get(event.get("sessionId"))
        params = event.get("params", {})
        if page is None:
            return
        if event["method"] == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            page.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif event["method"] == "Runtime.consoleAPICalled" and params["type"] == "error":
            page.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif event["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
            page.complaints.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))

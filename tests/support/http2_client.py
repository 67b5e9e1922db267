"""An HTTP/2 client that sends exactly what the test passes to it. It observes no limits by itself."""
import socket
import time

from support.http2_garbage import CONTINUATION, GOAWAY, HEADERS, PREFACE, SETTINGS, frame, literal
from support.target_process import DEADLINE

END_STREAM, END_HEADERS = 1, 4
ACK = 1
LARGEST_FRAME = 16384


def call(method, *more):
    """The headers of a call, as a block."""
    block = literal(b":method", b"POST") + literal(b":scheme", b"http") + literal(b":path", method)
    block += literal(b":authority", b"x") + literal(b"te", b"trailers") + literal(b"content-type", b"application/grpc")
    return block + b"".join(literal(name, value) for name, value in more)


class Client:
    def __init__(self, path, hello=PREFACE + frame(SETTINGS), confirms=True):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))  # waits where many clients connect at once
        self._socket.settimeout(DEADLINE)
        self._received = b""
        self.has_ended = False
        self.say(hello)
        if confirms and hello.startswith(PREFACE):
            self.hear(SETTINGS)
            self.say(frame(SETTINGS, ACK))

    def say(self, said):
        """Sends all of it, or as much as the other end accepts before it closes the connection."""
        try:
            self._socket.sendall(said)
        except OSError:
            self.has_ended = True

    def begin(self, stream, block, flags=0):
        """Sends headers of any size."""
        first, rest = block[:LARGEST_FRAME], block[LARGEST_FRAME:]
        said = frame(HEADERS, flags | (0 if rest else END_HEADERS), stream, first)
        while rest:
            part, rest = rest[:LARGEST_FRAME], rest[LARGEST_FRAME:]
            said += frame(CONTINUATION, 0 if rest else END_HEADERS, stream, part)
        self.say(said)

    def frames(self, until=None):
        """Received frames as (kind, flags, stream, payload), until `until` is true for one or the connection ends."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            while len(self._received) >= 9 + int.from_bytes(self._received[:3], "big"):
                size = int.from_bytes(self._received[:3], "big")
                head, payload = self._received[:9], self._received[9:9 + size]
                self._received = self._received[9 + size:]
                one = head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7fffffff, payload
                yield one
                if until is not None and until(one):
                    return
            try:
                got = self._socket.recv(1 << 16)
            except ConnectionResetError:
                got = b""
            if not got:
                self.has_ended = True
                return
            self._received += got
        raise AssertionError(f"nothing of that kind within {DEADLINE} s")

    def hear(self, kind):
        return next(one for one in self.frames(lambda one: one[0] == kind) if one[0] == kind)

    def hear_the_end(self):
        """Waits until the connection is closed; returns the GOAWAY frames received until then."""
        heard = list(self.frames(lambda one: False))
        return [one for one in heard if one[0] == GOAWAY]

    def close(self):
        self._socket.close()

"""Bytes that are almost HTTP/2, and bytes that are not: what a hostile client would send, from a seeded generator."""
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
METHODS = (b"/ptraceprof.v1.CaptureService/ListCaptures", b"/ptraceprof.v1.NodeService/GetDaemonStatus",
           b"/grpc.health.v1.Health/Check", b"/" + b"x" * 300, b"")


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    length = len(payload) if length is None else length
    return struct.pack(">I", length & 0xffffff)[1:] + bytes([kind & 255, flags & 255]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A header that is not indexed. Its lengths are encoded as HPACK does: in seven bits, and more where needed."""
    def text(data):
        size, prefix = len(data), b""
        if size < 127:
            return bytes([size]) + data
        prefix, size = b"\x7f", size - 127
        while size >= 128:
            prefix, size = prefix + bytes([size % 128 + 128]), size // 128
        return prefix + bytes([size]) + data
    return b"\x00" + text(name) + text(value)


def headers(random):
    block = literal(b":method", b"POST") + literal(b":scheme", b"http") + literal(b":path", random.choice(METHODS))
    block += literal(b":authority", b"x") + literal(b"te", b"trailers") + literal(b"content-type", b"application/grpc")
    for _ in range(random.choice((0, 0, 1, 200))):
        block += literal(b"x-%d" % random.randrange(10), random.randbytes(random.choice((0, 1, 100, 4000))))
    return block


def one_frame(random):
    stream = random.choice((0, 1, 1, 3, 5, 2, 0x7fffffff, 0xffffffff))
    kind = random.choice((*range(10), 10, 255))
    payload = {
        DATA: lambda: bytes([random.choice((0, 1, 7))]) + struct.pack(">I", random.choice((0, 5, 1 << 20, 0xffffffff))) + random.randbytes(random.randrange(64)),
        HEADERS: lambda: headers(random),
        SETTINGS: lambda: b"".join(struct.pack(">HI", random.randrange(8), random.choice((0, 1, 16384, 0x7fffffff, 0xffffffff)))
                                   for _ in range(random.choice((0, 1, 3, 500)))),
        PING: lambda: random.randbytes(random.choice((8, 8, 7, 0))),
        WINDOW: lambda: struct.pack(">I", random.choice((0, 1, 0x7fffffff, 0xffffffff))),
        RST: lambda: struct.pack(">I", random.randrange(14)),
        CONTINUATION: lambda: headers(random),
    }.get(kind, lambda: random.randbytes(random.choice((0, 4, 5, 8, 300))))()
    length = random.choice((None, None, None, None, 0, len(payload) + 1, 16385, 0xffffff))
    return frame(kind, random.choice((0, 1, 4, 5, 8, 0x20, 255)), stream, payload, length)


def flood(random):
    """One frame, many times."""
    kind = random.choice(("ping", "settings", "reset", "empty", "continuation"))
    if kind == "reset":
        block = literal(b":method", b"POST") + literal(b":path", METHODS[0])
        return b"".join(frame(HEADERS, 4, 2 * n + 1, block) + frame(RST, 0, 2 * n + 1, b"\0\0\0\x08") for n in range(1000))
    if kind == "continuation":
        return frame(HEADERS, 0, 1, headers(random)) + frame(CONTINUATION, 0, 1, b"\x82" * 1000) * 1000
    return {"ping": frame(PING, 0, 0, b"12345678"), "settings": frame(SETTINGS), "empty": frame(DATA, 0, 1)}[kind] * 3000


def mutated(random, data):
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 3, 20))):
        if data:
            data[random.randrange(len(data))] = random.randrange(256)
    return bytes(data)


def session(random):
    """All bytes that one client sends."""
    kind = random.randrange(10)
    if kind == 0:
        return random.randbytes(random.choice((1, 23, 24, 4096, 100_000)))
    if kind == 1:
        return random.choice((b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", PREFACE[:random.randrange(24)], mutated(random, PREFACE), b""))
    said = PREFACE + frame(SETTINGS)
    if kind == 2:
        return said + flood(random)
    for _ in range(random.choice((1, 3, 20))):
        said += one_frame(random)
    return mutated(random, said) if kind == 3 else said

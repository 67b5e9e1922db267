"""The most that one client can take of ptrace-profd by HTTP/2 alone (calls, metadata, memory, pings) while others are
served."""
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.daemon import Daemon, Place, within_deadline  # noqa: E402
from support.http2_client import Client, call  # noqa: E402
from support.http2_garbage import DATA, GOAWAY, HEADERS, PING, PREFACE, RST, SETTINGS, frame  # noqa: E402
from support.target_process import status_fields  # noqa: E402

DUMP = b"/ptraceprof.v1.CaptureService/DumpStacks"
DEEP = """
import threading
NAME = "f" * 250
THREADS = 60
up = threading.Barrier(THREADS + 1)
space = {"up": up}
exec(f"def {NAME}(n):\\n  if n: return {NAME}(n - 1)\\n  up.wait()\\n  up.wait()", space)
for _ in range(THREADS):
    threading.Thread(target=space[NAME], args=(900,), daemon=True).start()
up.wait()
print("ready", flush=True)
threading.Event().wait()
"""  # 14 MB of frames
INITIAL_WINDOW = 4
CALLS, BRIEF = 64, 16  # calls at once, and how many of these may be dumps: docs/daemon.md
LIST = b"/ptraceprof.v1.CaptureService/ListCaptures"
HEALTH = b"/grpc.health.v1.Health/Watch"  # a call that does not end
MAX_CONCURRENT_STREAMS, MAX_HEADER_LIST_SIZE, ENHANCE_YOUR_CALM = 3, 6, 11
EMPTY_MESSAGE = b"\0\0\0\0\0"
MOST_MIB = 600  # of the daemon, in all of these tests: docs/security.md


class Limits(case.Case):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)
        self.daemon = Daemon(self.place)
        self.addCleanup(self.daemon.close)

    def client(self, **options):
        client = Client(self.place.socket, **options)
        self.addCleanup(client.close)
        return client

    def settings(self):
        payload = self.client(confirms=False).hear(SETTINGS)[3]
        return dict(struct.unpack_from(">HI", payload, at) for at in range(0, len(payload), 6))

    def mib(self):
        return int(status_fields(self.daemon.pid)["VmRSS"].split()[0]) / 1024

    def serves_others(self):
        probe = self.daemon.probe("list")
        self.addCleanup(probe.close)
        self.assertEqual(probe.end(), [])

    def test_what_is_said_to_everybody(self):
        first = self.settings()
        self.assertEqual((first[MAX_CONCURRENT_STREAMS], first[MAX_HEADER_LIST_SIZE]), (128, 8192))
        for _ in range(40):
            self.client()
        self.assertEqual(self.settings()[MAX_CONCURRENT_STREAMS], 16, "of those who have many connections")

    def test_metadata_beyond_the_limit_is_refused(self):
        client = self.client()
        client.begin(1, call(LIST, (b"x-a", b"a" * 20_000)))
        client.say(frame(DATA, 1, 1, EMPTY_MESSAGE))
        answer = list(client.frames(lambda one: one[2] == 1 and (one[0] == RST or one[1] & 1)))[-1]
        self.assertTrue(answer[0] == RST or b"grpc-status\x018" in answer[3], answer)  # 8: RESOURCE_EXHAUSTED
        self.serves_others()

    def test_calls_beyond_the_limit_end_the_connection(self):
        for confirmed in (True, False):  # unconfirmed settings: gRPC itself would admit all of them
            with self.subTest(confirmed=confirmed):
                client = self.client(confirms=confirmed)
                for stream in range(1, 20_001, 2):
                    client.begin(stream, call(LIST))
                client.hear_the_end()
                self.serves_others()
                self.assertLess(self.mib(), MOST_MIB)
        self.daemon.hear("began more calls than allowed")

    def flood_with_metadata(self, client, method, first, message=b""):
        """Calls with 10 MB of metadata each, where the limit is 8 KiB. The client has not confirmed that limit."""
        for stream in range(first, first + 90, 2):
            client.begin(stream, call(method, *((b"x-%d" % n, b"a" * 100_000) for n in range(100))))
            client.say(message and frame(DATA, 0, stream, message))

    def test_calls_that_do_not_say_what_they_are_end_the_connection(self):
        client = self.client(confirms=False)
        for stream in range(1, 101, 2):  # calls that were served and have ended do not count
            client.begin(stream, call(HEALTH))
            client.say(frame(DATA, 1, stream, EMPTY_MESSAGE) + frame(RST, 0, stream, b"\0\0\0\x08"))
        self.flood_with_metadata(client, LIST, 101)
        client.hear_the_end()
        self.daemon.hear("sent incomplete requests")
        self.serves_others()

    def test_calls_that_are_served_have_no_more_metadata_than_they_may(self):
        client = self.client(confirms=False)
        self.flood_with_metadata(client, HEALTH, 1, EMPTY_MESSAGE)
        self.assertTrue(within_deadline(lambda: self.mib() < MOST_MIB / 2), self.mib())
        self.serves_others()

    def test_messages_that_never_end_are_given_up(self):
        clients = [self.client() for _ in range(6)]
        for client in clients:
            for stream in range(1, 200, 2):
                client.begin(stream, call(LIST))
                client.say(frame(DATA, 0, stream, b"\0" + struct.pack(">I", 4_000_000)))
        for client in clients:
            for _ in range(60):
                for stream in range(1, 200, 2):
                    client.say(frame(DATA, 0, stream, b"x" * 16_000))
        self.serves_others()
        self.assertLess(self.mib(), MOST_MIB)

    def test_dumps_whose_answers_nobody_reads(self):
        target = subprocess.Popen([sys.executable, "-I", "-S", "-c", DEEP], stdout=subprocess.PIPE)
        self.addCleanup(target.communicate)
        self.addCleanup(target.kill)
        self.assertEqual(target.stdout.readline(), b"ready\n")
        client = self.client(hello=PREFACE + frame(SETTINGS, payload=struct.pack(">HI", INITIAL_WINDOW, 0)))  # 0 bytes
        pid = bytes([target.pid & 127 | 128, target.pid >> 7 & 127 | 128, target.pid >> 14 & 127])
        request = b"\x0a" + bytes([len(pid) + 1]) + b"\x08" + pid
        for stream in range(1, 2 * CALLS, 2):
            client.begin(stream, call(DUMP))
            client.say(frame(DATA, 1, stream, b"\0" + struct.pack(">I", len(request)) + request))
        refused = set()
        for kind, flags, stream, payload in client.frames(lambda one: len(refused) >= CALLS - BRIEF):
            if kind == HEADERS and flags & 1:
                self.assertTrue(b"which is the limit" in payload or b"there is no room" in payload, payload)
                refused.add(stream)
            if len(refused) == CALLS - BRIEF:
                break
        self.assertTrue(within_deadline(lambda: not self.daemon.collectors()))
        self.serves_others()
        self.assertLess(self.mib(), MOST_MIB / 2)
        dump = "dump", "--pid", target.pid, "--host", self.place.address
        self.assertIn("dumps, listings and diagnoses running", profiler.run(*dump).errors)
        client.close()
        self.assertTrue(within_deadline(lambda: profiler.run(*dump).status == 0), profiler.run(*dump).errors)

    def test_a_flood_of_pings_ends_the_connection(self):
        client = self.client()
        client.say(frame(PING, 0, 0, b"12345678") * 100)
        goodbye = [one for one in client.hear_the_end() if int.from_bytes(one[3][4:8], "big") == ENHANCE_YOUR_CALM]
        self.assertTrue(goodbye)
        self.serves_others()

    def test_who_begins_and_says_no_more_keeps_nobody_out(self):
        beginnings = (b"", PREFACE[:10], PREFACE, PREFACE + frame(SETTINGS)[:4],
                      PREFACE + frame(SETTINGS) + frame(HEADERS, 0, 1, call(LIST)[:30]))
        for turn in range(400):
            self.client(hello=beginnings[turn % len(beginnings)], confirms=False)
        self.serves_others()
        self.assertLess(self.mib(), MOST_MIB)
        self.assertTrue(within_deadline(lambda: self.daemon.process.poll() is None))


if __name__ == "__main__":
    case.main()

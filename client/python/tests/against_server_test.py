"""The client against a server: the same body for ptrace-profd and for fake_server.py.

PP_CLIENT_TARGET: the server's address; PP_CLIENT_SERVER: which of the two servers it is; PP_CLIENT_PID: a process that
runs tests/targets/busycalls.py; PP_CLIENT_SLEEP: a process that does not run Python; PP_CLIENT_BAD_NAMES: a process
that runs tests/targets/bad_names.py.
"""
import asyncio
import math
import os
import pathlib
import signal
import tempfile
import threading
import unittest
import uuid

import ptrace_prof
from ptrace_prof import State
from ptrace_prof import options as requests
from ptrace_prof._proto import capture_pb2, extension_pb2, perfetto_pb2

TARGET, SERVER = os.environ["PP_CLIENT_TARGET"], os.environ["PP_CLIENT_SERVER"]
PID, SLEEP, BAD_NAMES = (int(os.environ[f"PP_CLIENT_{name}"]) for name in ("PID", "SLEEP", "BAD_NAMES"))
NO_SUCH_PID = 4194303
BUSY = "busy"  # part of the name of the function that the target runs
DURATION = 0.3
LONGER = 1.5  # long enough to take samples on a busy machine


def start_time(pid):
    """Returns the start time of a process in clock ticks since boot."""
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def asked_of(trace):
    """Returns the CaptureSpec of the collector, from the header of its trace."""
    packet = perfetto_pb2.Trace.FromString(trace.data).packet[0]
    task = packet.Extensions[extension_pb2.ptrace_prof].header.task
    at = 0
    while task[at] != 0x12:  # CaptureTask.spec; only the verb precedes it, and is absent as it is 0
        at += 1
    size, at, shift = 0, at + 1, 0
    while True:
        size |= (task[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not task[at - 1] & 0x80:
            return capture_pb2.CaptureSpec.FromString(task[at:at + size])


def functions(trace):
    return {row.function for row in trace.table(limit=None)}


class Base(unittest.TestCase):
    def setUp(self):
        self.client = ptrace_prof.Client(TARGET)
        self.addCleanup(self.client.close)

    def create(self, **options):
        capture = self.client.create_capture(PID, **options)
        self.addCleanup(self.forget, capture.name)
        return capture

    def forget(self, name):
        try:
            self.client.delete_capture(name, force=True)
        except ptrace_prof.CaptureNotFound:
            pass


@unittest.skipUnless(SERVER == "ptrace-profd", "the fake makes no names of its own")
class NamesThatAreNoText(Base):
    def test_stacks(self):
        stacks = self.client.stacks(BAD_NAMES, locals=True)
        names = [frame.function for stack in stacks for frame in stack.frames]
        self.assertEqual(sum("bad" in name for name in names), 2, names)
        str(stacks).encode()  # all names must be encodable text

    def test_processes(self):
        [process] = [one for one in self.client.processes() if one.pid == BAD_NAMES]
        repr(process).encode()

    def test_recording(self):
        trace = self.client.record(BAD_NAMES, duration=LONGER)
        self.assertTrue(any("bad" in name for name in functions(trace)), functions(trace))
        repr(trace.table()).encode()

    def test_live(self):
        with self.client.samples(BAD_NAMES, interval=0.1) as batches:
            for batch in batches:
                repr(batch).encode()
                if any("bad" in row.function for row in batch.table()):
                    break


class Recording(Base):
    def test_record(self):
        heard = []
        trace = self.client.record(pid=PID, duration=LONGER, on_progress=heard.append)
        self.assertGreater(trace.samples, 0)
        self.assertTrue(any(BUSY in name for name in functions(trace)), functions(trace))
        self.assertIs(trace.capture.state, State.SUCCEEDED)
        self.assertEqual(trace.capture.pid, PID)
        self.assertIs(heard[-1].state, State.SUCCEEDED)
        self.assertEqual(len(trace.data), trace.capture.trace_bytes)
        self.assertGreater(trace.capture.end_time, trace.capture.create_time)
        shares = [row.self_share for row in trace.table(limit=None)]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertAlmostEqual(sum(shares), 1, delta=0.01)

    def test_options_reach_the_capture(self):
        trace = self.client.record(PID, duration=LONGER, rate_hz=50, max_overhead=0.5, idle="all", max_depth=100)
        self.assertGreater(trace.samples, 0)
        self.assertLess(trace.samples, 60 * LONGER * len(self.client.stacks(PID)))

    @unittest.skipUnless(SERVER == "ptrace-profd", "the fake has no collector")
    def test_each_option_reaches_the_collector(self):
        kinds, seen = requests.option_pb2.Option, set()
        values = {kinds.SWITCH: True, kinds.SIZE: 8 << 20, kinds.TIME: 0.02, kinds.SHARE: 0.07, kinds.GLOBS: ["a.*"],
                  kinds.IDS: [PID], kinds.SCHEDULE: {"active": 3}, kinds.PAIRS: {"run": "a=b"}}
        for row in requests._ROWS:
            calls = row.option.modes == kinds.CALLS
            value = values.get(row.option.kind, 7)
            if row.option.kind == kinds.CHOICE:
                value = "trace" if row.keyword == "mode" else list(requests._choices(row.field))[-1]
            elif row.is_opposite:
                value = False
            elif row.keyword == "start_time_ticks":
                value = start_time(PID)
            elif calls and row.option.kind == kinds.SHARE:
                value = math.inf  # a limit is refused before 3.12
            asked = {"duration": 0.02, "mode": "trace" if calls or row.keyword == "force" else "sample",
                     row.keyword: value}
            with self.subTest(asked):
                trace = self.client.record(PID, **asked)
                self.addCleanup(self.forget, trace.capture.name)
                there, expected = asked_of(trace), requests.capture_spec(PID, asked)
                for name in row.way:
                    there, expected = getattr(there, name), getattr(expected, name)
                field = row.option.unlimited if value == math.inf else row.field.name
                self.assertEqual(getattr(there, "nonblocking" if field == "no_stops" else field),
                                 getattr(expected, field))
                seen.add(row.keyword)
        self.assertEqual(seen, set(ptrace_prof.CaptureOptions.__annotations__))

    def test_calls(self):
        trace = self.client.record(PID, duration=DURATION, mode="trace", buffer_bytes=1 << 28)
        self.assertIs(trace.capture.state, State.SUCCEEDED)
        self.assertEqual(trace.samples, 0)
        self.assertEqual(trace.capture.totals.call_events_lost, 0)
        self.assertIn(BUSY.encode(), trace.data)
        self.check_calls(trace)
        with self.assertRaises(ptrace_prof.InvalidRequest):
            self.client.record(PID, duration=DURATION, c_calls=True)
        with self.assertRaises(ptrace_prof.InvalidRequest):
            self.client.record(PID, duration=DURATION, mode="trace", buffer_bytes=7)
        all_of_them = len(trace.data)
        trace = self.client.record(PID, duration=DURATION, mode="trace", filter=["nosuch", "n?"], exclude=["x"])
        self.assertIs(trace.capture.state, State.SUCCEEDED)
        self.assertLess(len(trace.data), all_of_them)
        for options in ({"exclude": ["[a"]}, {"filter": "f"}, {"filter": [""]}, {"max_overhead": 2}):
            with self.subTest(options), self.assertRaises(ptrace_prof.InvalidRequest):
                self.client.record(PID, duration=DURATION, mode="trace", **options)

    def check_calls(self, trace):
        """Checks that the rows equal those of the exported table."""
        rows = trace.table(limit=None)
        self.assertTrue(any(BUSY in row.function for row in rows), rows)
        self.assertAlmostEqual(sum(row.self_share for row in rows), 1)
        with tempfile.TemporaryDirectory() as folder:
            try:
                text = trace.export(f"{folder}/table.txt", "text").read_text()
            except ptrace_prof.ProgramNotFound:  # the test may run in a root file system without the program
                return
        table = text.split("\nAll threads\n")[1].split("\n\n")[0].splitlines()
        unit = 1e6 if "µs" in table[0] else 1e3
        self.assertEqual(len(table) - 1, min(len(rows), 41 if len(rows) > 40 else 40), text)
        for row, line in zip(rows[:10], table[1:]):
            calls, self_share, own, total_share, total = line.split()[:5]
            self.assertIn(row.function, line)
            self.assertEqual(row.calls, int(calls.replace(",", "")), line)
            for number, shown in ((100 * row.self_share, self_share), (100 * row.total_share, total_share),
                                  (unit * row.self_time, own), (unit * row.total_time, total)):
                self.assertAlmostEqual(number, float(shown), delta=0.01 + 1e-6 * number)

    @unittest.skipUnless(SERVER == "ptrace-profd", "the fake traces no calls")
    def test_steps_that_never_come(self):
        trace = self.client.record(PID, duration=DURATION, mode="trace", steps=2, on_full="stop")
        self.assertIs(trace.capture.state, State.SUCCEEDED)
        self.assertIn("no torch.optim.Optimizer step", " ".join(trace.capture.notices))
        self.assertEqual(trace.capture.totals.steps, 0)
        for options in ({"steps": 1 << 40}, {"schedule": {"active": 0}}, {"schedule": {"active": 1, "pause": 2}},
                        {"schedule": {"active": 1}, "steps": 1}, {"on_full": "block"}):
            with self.subTest(options), self.assertRaises(ptrace_prof.InvalidRequest):
                self.client.record(PID, duration=DURATION, mode="trace", **options)
        throttled = self.client.record(PID, duration=DURATION, mode="trace", on_full="throttle")
        self.assertIs(throttled.capture.state, State.SUCCEEDED)
        self.assertEqual(throttled.capture.totals.holds == 0, throttled.capture.totals.held_time == 0.0)
        with self.assertRaises(ptrace_prof.InvalidRequest):
            self.client.record(PID, duration=DURATION, steps=1)

    def test_interrupt_returns_the_trace(self):
        def once(capture):
            if capture.state is State.RUNNING and not sent:
                sent.append(capture)
                signal.raise_signal(signal.SIGINT)

        sent = []
        trace = self.client.record(PID, on_progress=once)
        self.assertTrue(sent)
        self.assertIs(trace.capture.state, State.CANCELLED)

    def test_refusals(self):
        with self.assertRaises(ptrace_prof.ProcessNotFound) as caught:
            self.client.record(NO_SUCH_PID, duration=1)
        self.assertEqual((caught.exception.code, caught.exception.reason), ("NOT_FOUND", "PROCESS_NOT_FOUND"))
        self.assertIn(str(NO_SUCH_PID), caught.exception.message)
        with self.assertRaises(ptrace_prof.NotPython):
            self.client.record(SLEEP, duration=1)
        for options in ({"duration": -1}, {"rate_hz": 1e9}, {"rate_hz": -1}, {"max_overhead": 2},
                        {"blocking": True, "stops": False}, {"idle": "some"}, {"mode": "both"}, {"max_depth": -1},
                        {"duration": float("inf")}, {"threads": ["a"]}):
            with self.subTest(options), self.assertRaises(ptrace_prof.InvalidRequest):
                self.client.record(PID, **{"duration": 1, **options})
        with self.assertRaises(ptrace_prof.InvalidRequest):
            self.client.record(-1)
        with self.assertRaisesRegex(TypeError, "frequency"):
            self.client.record(PID, frequency=1)
        with self.assertRaises(ptrace_prof.ProcessNotFound):
            self.client.record(PID, duration=1, start_time_ticks=1)

    def test_file_and_export(self):
        trace = self.client.record(PID, duration=LONGER)
        with tempfile.TemporaryDirectory() as folder:
            path = trace.save(pathlib.Path(folder, "run.pftrace"))
            self.assertEqual(ptrace_prof.Trace.load(path).table(), trace.table())
            self.assertEqual(os.listdir(folder), ["run.pftrace"])
            if not os.environ.get("PTRACE_PROF_BIN"):
                with self.assertRaises(ptrace_prof.ProgramNotFound):
                    trace.export(pathlib.Path(folder, "run.html"))
                self.assertIn("<table>", trace._repr_html_())
                return
            text = trace.export(pathlib.Path(folder, "run.txt"), format="text").read_text(encoding="utf-8")
            self.assertIn(f"samples: {trace.samples:,}", text)
            self.assertIn(trace.table()[0].function, text)
            self.assertIn("srcdoc=", trace._repr_html_())


class Looking(Base):
    def test_stacks(self):
        threads = self.client.stacks(PID)
        main = [thread for thread in threads if thread.is_main]
        self.assertEqual([thread.tid for thread in main], [PID])
        self.assertTrue(main[0].frames[-1].file.endswith(".py"))
        self.assertIn("<module>", str(main[0]))
        with self.assertRaises(ptrace_prof.ProcessNotFound):
            self.client.stacks(NO_SUCH_PID)
        with self.assertRaises(ptrace_prof.NotPython):
            self.client.stacks(SLEEP)

    def test_processes(self):
        found = [one for one in self.client.processes() if one.pid == PID]
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].profilable)
        self.assertEqual(found[0].uid, os.geteuid())
        self.assertTrue(any("busycalls" in word for word in found[0].command), found)
        paged = self.client.processes(page_size=1, name="busycalls")
        self.assertIn(PID, [one.pid for one in paged])
        self.assertTrue(all(isinstance(check, ptrace_prof.Check) for check in paged.limits))
        self.assertEqual([one.pid for one in self.client.processes(uid=4294967294)], [])
        trace = self.client.record(PID, duration=0.1, start_time_ticks=found[0].start_time_ticks)
        self.assertIs(trace.capture.state, State.SUCCEEDED)

    def test_node(self):
        node = self.client.node()
        self.assertTrue(node.name.startswith("nodes/"))
        self.assertEqual(node.architecture, os.uname().machine)
        self.assertGreater(node.monotonic, 0)
        node = self.client.node(SLEEP)
        self.assertTrue(node.checks)
        self.assertTrue(all(check.verdict in ("OK", "LIMITED", "MISSING") for check in node.checks), node.checks)

    def test_samples(self):
        with self.client.samples(PID, interval=0.1) as batches:
            batch = next(one for one in batches if one.samples)
            self.assertIn(PID, [thread.pid for thread in batch.threads])
            self.assertTrue(batch.table(limit=3))
            self.assertGreaterEqual(batch.end, batch.begin)
            main = next(thread for thread in batch.threads if thread.tid == PID)
            for frames, count in main.stacks:
                self.assertGreater(count, 0)
                self.assertIn(frames[-1].function, ("<module>", "[truncated]"), "whole, the innermost first")
                self.assertNotEqual(frames[0].function, "<module>")
        self.assertEqual(list(batches), [])
        with self.assertRaises(ptrace_prof.ProcessNotFound):
            list(self.client.samples(NO_SUCH_PID))
        with self.assertRaises(ptrace_prof.InvalidRequest):
            list(self.client.samples(PID, interval=0.001))
        batches = list(self.client.samples(PID, interval=0.05, duration=DURATION))
        self.assertGreater(sum(batch.samples for batch in batches), 0)
        self.assertLessEqual(sum(batch.samples for batch in batches), batches[-1].totals.samples)


class Captures(Base):
    def test_life(self):
        capture = self.create(duration=DURATION, keep=True)
        self.assertEqual(self.client.get_capture(capture.name).name, capture.name)
        self.assertIn(capture.name, [one.name for one in self.client.list_captures(page_size=1)])
        with self.client.watch_capture(capture.name) as changes:
            last = list(changes)[-1]
        self.assertIs(last.state, State.SUCCEEDED)
        progress = []
        trace = self.client.read_trace(capture.name, on_progress=progress.append)
        self.assertEqual(progress[-1], len(trace.data))
        self.assertEqual(len(trace.data), last.trace_bytes)
        self.assertEqual(self.client.read_trace(capture.name, resume=trace).data, trace.data)
        with self.assertRaises(ptrace_prof.BadOffset):
            self.client.read_trace(capture.name, resume=ptrace_prof.Trace(trace.data + b"x"))
        self.client.delete_capture(capture.name)
        with self.assertRaises(ptrace_prof.CaptureNotFound):
            self.client.get_capture(capture.name)
        with self.assertRaises(ptrace_prof.CaptureNotFound):
            self.client.read_trace(capture.name)

    def test_cancel_and_delete(self):
        capture = self.create(keep=True)
        with self.assertRaises(ptrace_prof.CaptureNotEnded):
            self.client.delete_capture(capture.name)
        self.client.cancel_capture(capture.name)
        self.assertIs(list(self.client.watch_capture(capture.name))[-1].state, State.CANCELLED)
        self.client.cancel_capture(capture.name)

    def test_retry_and_ids(self):
        own = f"mine-{uuid.uuid4()}"
        first = self.create(capture_id=own, request_id=own, duration=60)
        again = self.client.create_capture(PID, capture_id=own, request_id=own, duration=60)
        self.assertEqual(first.name, again.name)
        self.assertTrue(first.name.endswith(f"/{own}"))
        with self.assertRaises(ptrace_prof.CaptureExists):
            self.client.create_capture(PID, capture_id=own, duration=60)

    def test_validate_only(self):
        before = {one.name for one in self.client.list_captures()}
        self.client.create_capture(PID, validate_only=True)
        self.client.create_capture(PID, validate_only=True, mode="trace", steps=2)
        with self.assertRaises(ptrace_prof.ProcessNotFound):
            self.client.create_capture(NO_SUCH_PID, validate_only=True)
        self.assertLessEqual({one.name for one in self.client.list_captures()}, before)


class Asynchronous(unittest.TestCase):
    def run_with_client(self, body):
        async def run():
            async with ptrace_prof.AsyncClient(TARGET) as client:
                return await body(client)
        return asyncio.run(run())

    def test_record_and_look_at_once(self):
        async def body(client):
            return await asyncio.gather(client.record(PID, duration=DURATION), client.stacks(PID), client.processes(),
                                        client.node())
        trace, threads, processes, node = self.run_with_client(body)
        self.assertTrue(any(BUSY in name for name in functions(trace)))
        self.assertIn(PID, [thread.tid for thread in threads])
        self.assertIn(PID, [process.pid for process in processes])
        self.assertTrue(node.kernel)

    def test_samples(self):
        async def body(client):
            async with client.samples(PID, interval=0.1) as batches:
                async for batch in batches:
                    if batch.samples:
                        return batch
        self.assertTrue(self.run_with_client(body).table())

    def test_captures(self):
        async def body(client):
            capture = await client.create_capture(PID, duration=DURATION, keep=True)
            states = [change.state async for change in client.watch_capture(capture.name)]
            trace = await client.read_trace(capture.name)
            names = [one.name for one in await client.list_captures()]
            await client.cancel_capture(capture.name)
            await client.delete_capture(capture.name)
            return capture, states, trace, names
        capture, states, trace, names = self.run_with_client(body)
        self.assertIs(states[-1], State.SUCCEEDED)
        self.assertIs(trace.capture.state, State.SUCCEEDED)
        self.assertIn(capture.name, names)

    def test_errors(self):
        async def body(client):
            with self.assertRaises(ptrace_prof.ProcessNotFound):
                await client.record(NO_SUCH_PID, duration=1)
            with self.assertRaises(ptrace_prof.CaptureNotFound):
                await client.get_capture("nodes/x/captures/none")
            with self.assertRaises(ptrace_prof.ProcessNotFound):
                async for _ in client.samples(NO_SUCH_PID):
                    pass
        self.run_with_client(body)

    def test_cancelling_the_task_ends_the_capture(self):
        async def body(client):
            heard = asyncio.Event()
            names = []

            def progress(capture):
                names.append(capture.name)
                heard.set()
            task = asyncio.ensure_future(client.record(PID, on_progress=progress))
            begun = asyncio.ensure_future(heard.wait())
            await asyncio.wait([task, begun], return_when=asyncio.FIRST_COMPLETED)
            begun.cancel()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            while True:  # bounded by the timeout of the test
                try:
                    if (await client.get_capture(names[0])).state.ended:
                        return
                except ptrace_prof.CaptureNotFound:
                    return
                await asyncio.sleep(0.02)
        self.run_with_client(lambda client: asyncio.wait_for(body(client), 60))


class Threads(Base):
    def test_one_client_in_many_threads(self):
        found = []

        def look():
            found.append(len(self.client.stacks(PID)))
        threads = [threading.Thread(target=look) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 8)


if __name__ == "__main__":
    print(f"server: {SERVER}", flush=True)
    unittest.main()

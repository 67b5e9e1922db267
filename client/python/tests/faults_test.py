"""The client against a scripted server in this process, which sends damaged, missing and contradictory bytes."""
import asyncio
import concurrent.futures
import os
import sys
import tempfile
import unittest
from unittest import mock

import google_crc32c
import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

import ptrace_prof
from ptrace_prof import State, _convert, errors
from ptrace_prof._proto import capture_pb2, capture_service_pb2_grpc
from ptrace_prof._proto import capture_service_pb2 as messages

NAME = "nodes/n/captures/c"
PACKET = b"\x0a\x02\x50\x01"  # one TracePacket: trusted_packet_sequence_id 1


def chunk(offset, data=PACKET, crc=None, last=False):
    right = google_crc32c.value(data)
    return messages.TraceChunk(offset=offset, data=data, crc32c=right if crc is None else crc, last=last)


def capture(state, **fields):
    return capture_pb2.Capture(name=NAME, state=state, **fields)


def status(code, reason="", retry=0, domain="ptraceprof"):
    metadata = {"remedy": "do it", "thing": "process 7"}
    details = [error_details_pb2.ErrorInfo(reason=reason, domain=domain, metadata=metadata)]
    if retry:
        details.append(error_details_pb2.RetryInfo())
        details[-1].retry_delay.seconds = retry
    made = status_pb2.Status(code=code, message="a sentence")
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        made.details.append(packed)
    return made


class Scripted(capture_service_pb2_grpc.CaptureServiceServicer):
    """Sends `script`: messages, and errors as (code, google.rpc.Status or None)."""

    def __init__(self):
        self.script, self.requests = [], []

    def _play(self, request, context):
        self.requests.append(request)
        while self.script:
            step = self.script.pop(0)
            if step is None:
                return
            if isinstance(step, tuple):
                code, details = step
                if details is not None:
                    context.set_trailing_metadata((("grpc-status-details-bin", details),))
                context.abort(code, "a sentence")
            yield step

    Record = ReadTrace = WatchCapture = StreamSamples = _play

    def GetCapture(self, request, context):
        return capture(capture_pb2.STATE_SUCCEEDED)

    def DumpStacks(self, request, context):
        return next(self._play(request, context))


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.target = f"unix:{folder.name}/socket"
        self.service = Scripted()
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        capture_service_pb2_grpc.add_CaptureServiceServicer_to_server(self.service, server)
        server.add_insecure_port(self.target)
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())
        self.client = ptrace_prof.Client(self.target)
        self.addCleanup(self.client.close)

    def record(self, *events):
        self.service.script[:] = [
            messages.RecordEvent(chunk=one) if isinstance(one, messages.TraceChunk) else
            messages.RecordEvent(capture=one) if isinstance(one, capture_pb2.Capture) else one for one in events]
        return self.client.record(1)

    def lost(self, *events):
        with self.assertRaises(ptrace_prof.DataLoss) as caught:
            self.record(*events)
        return caught.exception


RUNNING = capture(capture_pb2.STATE_RUNNING)


class Record(Case):
    def test_whole(self):
        trace = self.record(RUNNING, chunk(0), chunk(4, last=True), capture(capture_pb2.STATE_SUCCEEDED, trace_bytes=8))
        self.assertEqual(trace.data, 2 * PACKET)

    def test_damaged_chunk(self):
        error = self.lost(RUNNING, chunk(0), chunk(4, crc=1), capture(capture_pb2.STATE_SUCCEEDED, trace_bytes=8))
        self.assertEqual(error.trace.data, PACKET)
        self.assertIn("damaged", str(error))

    def test_gap(self):
        self.assertIn("gap", str(self.lost(RUNNING, chunk(0), chunk(8))))

    def test_end_without_a_last_state(self):
        self.assertEqual(self.lost(RUNNING, chunk(0)).trace.data, PACKET)
        self.assertIsNone(self.lost().trace)

    def test_bytes_that_never_came(self):
        self.assertIn("8 bytes", str(self.lost(RUNNING, chunk(0), capture(capture_pb2.STATE_SUCCEEDED, trace_bytes=8))))

    def test_failed_capture_keeps_what_it_got(self):
        with self.assertRaises(ptrace_prof.CollectorFailed) as caught:
            self.record(RUNNING, chunk(0), capture(capture_pb2.STATE_FAILED, error=status(13, "COLLECTOR_FAILED")))
        self.assertEqual(caught.exception.trace.data, PACKET)
        self.assertIs(caught.exception.capture.state, State.FAILED)

    def test_broken_connection_keeps_what_came(self):
        with self.assertRaises(ptrace_prof.Unavailable) as caught:
            self.record(RUNNING, chunk(0), (grpc.StatusCode.UNAVAILABLE, None))
        self.assertEqual(caught.exception.trace.data, PACKET)

    def test_the_same_asynchronously(self):
        async def body():
            async with ptrace_prof.AsyncClient(self.target) as client:
                await client.record(1)
        self.service.script[:] = [messages.RecordEvent(capture=RUNNING), messages.RecordEvent(chunk=chunk(0)),
                                  messages.RecordEvent(chunk=chunk(4, crc=1))]
        with self.assertRaises(ptrace_prof.DataLoss) as caught:
            asyncio.run(body())
        self.assertEqual(caught.exception.trace.data, PACKET)


class ReadTrace(Case):
    def test_taken_up_where_the_connection_broke(self):
        self.service.script[:] = [chunk(0), (grpc.StatusCode.UNAVAILABLE, None), chunk(4), chunk(8, last=True)]
        self.assertEqual(self.client.read_trace(NAME).data, 3 * PACKET)
        self.assertEqual([request.offset for request in self.service.requests], [0, 4])

    def test_gives_up_with_what_it_has(self):
        self.service.script[:] = [chunk(0), *[(grpc.StatusCode.UNAVAILABLE, None)] * 20]
        with mock.patch("time.sleep"), self.assertRaises(ptrace_prof.Unavailable) as caught:
            self.client.read_trace(NAME)
        self.assertEqual(caught.exception.trace.data, PACKET)
        self.service.script[:] = [chunk(4, last=True)]
        self.assertEqual(self.client.read_trace(NAME, resume=caught.exception.trace).data, 2 * PACKET)

    def test_end_before_the_last_byte(self):
        self.service.script[:] = [chunk(0)]
        with self.assertRaises(ptrace_prof.DataLoss) as caught:
            self.client.read_trace(NAME)
        self.assertEqual(caught.exception.trace.data, PACKET)
        self.service.script[:] = [chunk(0)]
        self.assertEqual(self.client.read_trace(NAME, follow=False).data, PACKET)


class Samples(Case):
    def test_batch_that_points_nowhere(self):
        whole = messages.SampleBatch(frames=[messages.SampledFrame(function="f", file="f.py", line=3)],
                                     stacks=[messages.SampledStack(frame=0)],
                                     threads=[messages.SampledThread(pid=1, tid=2, stacks=[1, 1, 0],
                                                                     counts=[3, 4, 2])])
        self.service.script[:] = [whole, messages.SampleBatch(threads=[messages.SampledThread(stacks=[1], counts=[1])])]
        batches = self.client.samples(1)
        batch = next(batches)
        self.assertEqual(batch.samples, 9)
        self.assertEqual([len(frames) for frames, _ in batch.threads[0].stacks], [1, 1, 0])
        self.assertEqual([(row.function, row.line, row.self_samples) for row in batch.table(by="line")][0],
                         ("f", 3, 7))
        with self.assertRaises(ptrace_prof.DataLoss):
            next(batches)
        for broken in (
                messages.SampleBatch(stacks=[messages.SampledStack(frame=0)]),
                messages.SampleBatch(frames=whole.frames, stacks=[messages.SampledStack(frame=0, parent=1)]),
                messages.SampleBatch(frames=whole.frames, stacks=[messages.SampledStack(frame=0, parent=2**32 - 1)])):
            with self.subTest(broken=str(broken)), self.assertRaises(ptrace_prof.DataLoss):
                _convert.BatchAssembler()(broken)

    def test_a_batch_in_parts(self):
        def part(more, name, parent, stacks, **fields):
            return messages.SampleBatch(
                frames=[messages.SampledFrame(function=name, file="f.py", line=3)], more=more,
                stacks=[messages.SampledStack(frame=fields.pop("frame", 0), parent=parent)],
                threads=[messages.SampledThread(pid=1, tid=2, name="t", stacks=stacks, counts=[3] * len(stacks))],
                **fields)

        self.service.script[:] = [part(True, "outer", 0, [1]), part(False, "inner", 1, [2], frame=1, thinned=5),
                                  part(False, "other", 0, [1])]
        batches = self.client.samples(1)
        batch = next(batches)
        self.assertEqual((batch.samples, batch.thinned, len(batch.threads)), (6, 5, 1))
        self.assertEqual([[frame.function for frame in frames] for frames, _ in batch.threads[0].stacks],
                         [["outer"], ["inner", "outer"]])
        self.assertEqual({row.function for row in next(batches).table()}, {"other"}, "tables begin anew")


class Errors(Case):
    def fail(self, code, details):
        self.service.script[:] = [(code, details)]
        with self.assertRaises(ptrace_prof.PtraceProfError) as caught:
            self.client.stacks(1)
        return caught.exception

    def test_every_reason_has_its_class(self):
        for reason, cls in errors.BY_REASON.items():
            details = status(7, reason, retry=3).SerializeToString()
            error = self.fail(grpc.StatusCode.PERMISSION_DENIED, details)
            self.assertIs(type(error), cls)
            self.assertEqual((error.reason, error.remedy, error.thing, error.message, error.retry_after),
                             (reason, "do it", "process 7", "a sentence", 3))
            self.assertEqual(str(error), "a sentence\ndo it")

    def test_unknown_reason_goes_by_the_code(self):
        error = self.fail(grpc.StatusCode.PERMISSION_DENIED, status(7, "NEW_ONE").SerializeToString())
        self.assertIs(type(error), ptrace_prof.PermissionDenied)
        self.assertEqual(error.reason, "NEW_ONE")
        self.assertIsInstance(error, PermissionError)

    def test_details_of_another_domain_and_nonsense(self):
        for details in (status(5, "X", domain="other").SerializeToString(), b"\xff\xff", None):
            self.assertIs(type(self.fail(grpc.StatusCode.NOT_FOUND, details)), ptrace_prof.NotFound)

    def test_no_server(self):
        with ptrace_prof.Client("/nowhere/socket") as client, self.assertRaises(ptrace_prof.Unavailable) as caught:
            client.node()
        self.assertIn("/nowhere/socket", str(caught.exception))
        self.assertIn("ptrace-profd", caught.exception.remedy)
        self.assertEqual(caught.exception.reason, "SERVER_UNREACHABLE")

    def test_default_target(self):
        with mock.patch("os.geteuid", lambda: 0):
            self.assertEqual(ptrace_prof.Client().target, "unix:/run/ptrace-prof/ptrace-prof.sock")
        with mock.patch("os.geteuid", lambda: 5), mock.patch.dict(os.environ, XDG_RUNTIME_DIR="/run/user/5"):
            self.assertEqual(ptrace_prof.Client().target, "unix:/run/user/5/ptrace-prof/ptrace-prof.sock")


class Traces(unittest.TestCase):
    def test_no_trace(self):
        for data in (b"hello", b"\x0a\x02\x50\x01", b"\x0a" + b"\xff" * 12):
            with self.subTest(data), self.assertRaises(ptrace_prof.DataLoss):
                ptrace_prof.Trace(data).table()

    def test_empty_and_cut(self):
        self.assertEqual(ptrace_prof.Trace(b"").table(), [])
        with mock.patch.dict(os.environ, PTRACE_PROF_BIN="/nowhere/ptrace-prof"):
            page = ptrace_prof.Trace(b"")._repr_html_()
        self.assertIn("no samples and no calls", page)
        self.assertIn("/nowhere/ptrace-prof", page)
        with self.assertRaises(ValueError):
            ptrace_prof.Trace(b"").table(by="colour")

    def test_save_leaves_nothing_behind_where_it_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/taken")
            with self.assertRaises(OSError):
                ptrace_prof.Trace(b"x").save(f"{folder}/taken")
            self.assertEqual(os.listdir(folder), ["taken"])

    def test_export_without_the_program(self):
        with mock.patch.dict(os.environ, PTRACE_PROF_BIN="/nowhere/ptrace-prof"):
            with self.assertRaises(ptrace_prof.ProgramNotFound) as caught:
                ptrace_prof.Trace(b"").export("/tmp/x.html")
            self.assertIn("/nowhere/ptrace-prof", str(caught.exception))

    def test_export_that_fails(self):
        with mock.patch.dict(os.environ, PTRACE_PROF_BIN=sys.executable), self.assertRaises(ptrace_prof.ExportFailed):
            ptrace_prof.Trace(b"").export("/tmp/x.html")


if __name__ == "__main__":
    unittest.main()

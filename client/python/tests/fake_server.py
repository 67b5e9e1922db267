"""Serves ptraceprof.v1 for tests without ptrace-profd. It is as strict as the comments of the .proto files, and takes
its data from the program `ptrace-prof`. Run as `python fake_server.py SOCKET`; prints "ready". Ends when its standard
input ends.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import google_crc32c
import grpc
from google.protobuf import any_pb2, empty_pb2
from google.rpc import error_details_pb2, status_pb2

from ptrace_prof._proto import capture_pb2, capture_service_pb2_grpc, node_service_pb2, node_service_pb2_grpc
from ptrace_prof._proto import capture_service_pb2 as messages

PROGRAM = os.environ["PTRACE_PROF_BIN"]
ENDED = (capture_pb2.STATE_SUCCEEDED, capture_pb2.STATE_FAILED, capture_pb2.STATE_CANCELLED)
# Exit status of ptrace-prof: (code, reason) of the server's answer.
EXITS = {2: (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST"), 3: (grpc.StatusCode.NOT_FOUND, "PROCESS_NOT_FOUND"),
         4: (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED"),
         5: (grpc.StatusCode.FAILED_PRECONDITION, "NOT_PYTHON")}


def make_status(code, reason, message, remedy=""):
    info = error_details_pb2.ErrorInfo(reason=reason, domain="ptraceprof", metadata={"remedy": remedy})
    packed = any_pb2.Any()
    packed.Pack(info)
    return status_pb2.Status(code=code.value[0], message=message, details=[packed])


def abort(context, code, reason, message, remedy=""):
    status = make_status(code, reason, message, remedy)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(code, message)


def refuse(context, message):
    abort(context, grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST", message)


def program(context, *arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        code, reason = EXITS.get(done.returncode, (grpc.StatusCode.INTERNAL, "COLLECTOR_FAILED"))
        abort(context, code, reason, done.stderr.strip().splitlines()[0], "as ptrace-prof says")
    return done.stdout


def check_spec(context, spec):
    if spec.target.pid <= 0:
        refuse(context, f"target.pid is {spec.target.pid}: it must be positive")
    if spec.duration.seconds < 0 or spec.duration.nanos < 0:
        refuse(context, "duration is negative")
    if not 0 <= spec.sample.rate_hz <= 200_000:
        refuse(context, f"sample.rate_hz is {spec.sample.rate_hz}: it must be at most 200000")
    if spec.sample.HasField("max_overhead") and not 0 < spec.sample.max_overhead <= 1:
        refuse(context, f"sample.max_overhead is {spec.sample.max_overhead}: it must be in (0, 1]")
    if spec.sample.blocking and spec.sample.nonblocking:
        refuse(context, "sample.blocking contradicts sample.nonblocking")
    if not pathlib.Path(f"/proc/{spec.target.pid}").exists():
        abort(context, grpc.StatusCode.NOT_FOUND, "PROCESS_NOT_FOUND", f"there is no process {spec.target.pid}")
    if spec.target.start_time_ticks not in (0, start_ticks(spec.target.pid)):
        abort(context, grpc.StatusCode.NOT_FOUND, "PROCESS_NOT_FOUND", f"{spec.target.pid} is another process")


def start_ticks(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])


def stacks_of(context, *arguments):
    for process in json.loads(program(context, "dump", "--json", *arguments))["processes"]:
        for thread in process["threads"]:
            frames = [messages.StackFrame(function=one["function"], file=one.get("file", ""), line=one.get("line") or 0)
                      for one in thread["frames"]]
            yield messages.ThreadStack(pid=process["pid"], tid=thread["tid"], name=thread["name"], state="running",
                                       is_main=process["pid"] == thread["tid"], frames=frames)


class FakeCapture:
    def __init__(self, context, spec, name, folder):
        check_spec(context, spec)
        program(context, "dump", "--pid", spec.target.pid)
        self.capture = capture_pb2.Capture(name=name, spec=spec, state=capture_pb2.STATE_RUNNING, owner_uid=os.getuid())
        self.capture.create_time.GetCurrentTime()
        self.capture.start_time.GetCurrentTime()
        self.trace, self.data, self.cancelled = folder / (name.rsplit("/", 1)[1] + ".pftrace"), b"", False
        options = ["--idle", ("main", "main", "all", "none")[spec.sample.idle]]
        options += ["--rate", f"{spec.sample.rate_hz:g}"] if spec.sample.rate_hz else []
        seconds = spec.duration.seconds + spec.duration.nanos / 1e9
        options += ["--duration", f"{round(seconds * 1000)}ms"] if seconds else []
        self.process = subprocess.Popen([PROGRAM, "record", "-q", "--pid", str(spec.target.pid), "-o", self.trace,
                                         *options])
        self.changed = threading.Condition()
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self):
        status = self.process.wait()
        with self.changed:
            good = self.trace.exists()
            self.data = self.trace.read_bytes() if good else b""
            self.capture.trace_bytes = len(self.data)
            self.capture.end_time.GetCurrentTime()
            self.capture.end_message = "it is over"
            self.capture.state = (capture_pb2.STATE_CANCELLED if self.cancelled else
                                  capture_pb2.STATE_SUCCEEDED if good else capture_pb2.STATE_FAILED)
            if not good:
                self.capture.error.CopyFrom(make_status(grpc.StatusCode.INTERNAL, "COLLECTOR_FAILED", f"exit {status}"))
            self.changed.notify_all()

    @property
    def ended(self):
        return self.capture.state in ENDED

    def cancel(self):
        with self.changed:
            if not self.ended:
                self.cancelled = True
                self.process.send_signal(2)

    def wait(self, seconds):
        with self.changed:
            self.changed.wait_for(lambda: self.ended, seconds)

    def chunks(self, offset, size):
        """Yields chunks of whole packets, as the .proto file requires."""
        bounds = list(packet_ends(self.data))
        start = offset
        for end, following in zip(bounds, [*bounds[1:], len(self.data) + size + 1]):
            if end > start and (following - start > size or end == len(self.data)):
                data = self.data[start:end]
                yield messages.TraceChunk(offset=start, data=data, crc32c=google_crc32c.value(data),
                                          last=end == len(self.data))
                start = end


def packet_ends(data):
    at = 0
    while at < len(data):
        at, length, shift = at + 1, 0, 0
        while True:
            byte, at = data[at], at + 1
            length, shift = length | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                break
        at += length
        yield at


class Captures(capture_service_pb2_grpc.CaptureServiceServicer):
    def __init__(self, folder):
        self.folder, self.captures, self.by_request, self.made = folder, {}, {}, 0

    def _find(self, context, name):
        if name not in self.captures:
            abort(context, grpc.StatusCode.NOT_FOUND, "CAPTURE_NOT_FOUND", f"there is no capture {name}")
        return self.captures[name]

    def _create(self, context, spec, capture_id, request_id):
        if request_id and request_id in self.by_request:
            return self.by_request[request_id]
        self.made += 1
        name = f"nodes/fake/captures/{capture_id or f'c-{self.made}'}"
        if name in self.captures:
            abort(context, grpc.StatusCode.ALREADY_EXISTS, "CAPTURE_EXISTS", f"{name} exists")
        found = self.captures[name] = FakeCapture(context, spec, name, self.folder)
        if request_id:
            self.by_request[request_id] = found
        return found

    def ListProcesses(self, request, context):
        if not 0 <= request.page_size <= 1000:
            refuse(context, f"page_size is {request.page_size}: it must be at most 1000")
        found = []
        for folder in sorted(pathlib.Path("/proc").glob("[0-9]*"), key=lambda one: int(one.name)):
            try:
                command = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
                name, uid = (folder / "comm").read_text().strip(), folder.stat().st_uid
                ticks = start_ticks(folder.name)
            except (OSError, IndexError):
                continue
            chosen = request.filter
            if "python" in " ".join(command[:1]) and chosen.name in " ".join(command) and (
                    not chosen.HasField("uid") or chosen.uid == uid):
                found.append(messages.PythonProcess(pid=int(folder.name), ns_pid=int(folder.name), uid=uid, name=name,
                                                    command=command, profilable=True, start_time_ticks=ticks))
        after = int(request.page_token or 0)
        found = [one for one in found if one.pid > after]
        page = found[:request.page_size or 100]
        return messages.ListProcessesResponse(processes=page,
                                              next_page_token=str(page[-1].pid) if len(page) < len(found) else "")

    def DumpStacks(self, request, context):
        check_spec(context, capture_pb2.CaptureSpec(target=request.target))
        return messages.DumpStacksResponse(threads=list(stacks_of(context, "--pid", request.target.pid)))

    def CreateCapture(self, request, context):
        if request.validate_only:
            check_spec(context, request.spec)
            return capture_pb2.Capture(spec=request.spec)
        return self._create(context, request.spec, request.capture_id, request.request_id).capture

    def GetCapture(self, request, context):
        return self._find(context, request.name).capture

    def ListCaptures(self, request, context):
        newest = [one.capture for one in reversed(self.captures.values())]
        at, size = int(request.page_token or 0), request.page_size or 100
        more = str(at + size) if at + size < len(newest) else ""
        return messages.ListCapturesResponse(captures=newest[at:at + size], next_page_token=more)

    def WatchCapture(self, request, context):
        found = self._find(context, request.name)
        while True:
            ended = found.ended
            yield messages.CaptureEvent(capture=found.capture)
            if ended:
                return
            found.wait(1)

    def CancelCapture(self, request, context):
        found = self._find(context, request.name)
        found.cancel()
        return found.capture

    def DeleteCapture(self, request, context):
        found = self._find(context, request.name)
        if not found.ended and not request.force:
            abort(context, grpc.StatusCode.FAILED_PRECONDITION, "CAPTURE_NOT_ENDED", f"{request.name} goes on")
        found.cancel()
        del self.captures[request.name]
        return empty_pb2.Empty()

    def ReadTrace(self, request, context):
        found = self._find(context, request.name)
        if request.follow:
            found.wait(3600)
        if request.offset not in (0, *packet_ends(found.data)):
            abort(context, grpc.StatusCode.OUT_OF_RANGE, "BAD_OFFSET", f"no packet begins at byte {request.offset}")
        chunks = list(found.chunks(request.offset, request.max_chunk_bytes or 1 << 20))
        yield from chunks or [messages.TraceChunk(offset=request.offset, last=found.ended)]

    def Record(self, request, context):
        found = self._create(context, request.spec, "", request.request_id)
        if not request.spec.keep:
            context.add_callback(found.cancel)
        try:
            yield messages.RecordEvent(capture=found.capture)
            while not found.ended:
                found.wait(1)
                if not found.ended:
                    yield messages.RecordEvent(capture=found.capture)
            for chunk in found.chunks(0, request.max_chunk_bytes or 1 << 20):
                yield messages.RecordEvent(chunk=chunk)
            yield messages.RecordEvent(capture=found.capture)
        finally:
            if not request.spec.keep:
                found.cancel()
                self.captures.pop(found.capture.name, None)

    def StreamSamples(self, request, context):
        check_spec(context, request.spec)
        interval = request.interval.seconds + request.interval.nanos / 1e9 if request.HasField("interval") else 1
        if interval < 0.05:
            refuse(context, "interval: at least 50 ms")
        end = time.monotonic() + (request.spec.duration.seconds + request.spec.duration.nanos / 1e9 or 3600)
        taken = 0
        while context.is_active() and time.monotonic() < end:
            time.sleep(interval)
            batch = messages.SampleBatch()
            batch.begin.GetCurrentTime()
            batch.end.GetCurrentTime()
            for thread in stacks_of(context, "--pid", request.spec.target.pid):
                stack = 0
                for frame in reversed(thread.frames):
                    batch.stacks.add(frame=len(batch.frames), parent=stack)
                    batch.frames.add(function=frame.function, file=frame.file, line=frame.line)
                    stack = len(batch.stacks)
                batch.threads.add(pid=thread.pid, tid=thread.tid, name=thread.name, stacks=[stack], counts=[1])
            taken += len(batch.threads)
            batch.totals.samples = taken
            yield batch


class Nodes(node_service_pb2_grpc.NodeServiceServicer):
    def GetNode(self, request, context):
        node = node_service_pb2.Node(name="nodes/fake", version="0.1.0", kernel=os.uname().release,
                                     architecture=os.uname().machine, monotonic_ns=time.monotonic_ns())
        node.time.GetCurrentTime()
        node.checks.add(subject="ptrace-profd", verdict=node_service_pb2.Check.VERDICT_LIMITED, cause="this is a fake")
        return node


def main():
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(32))
    with tempfile.TemporaryDirectory() as folder:
        captures = Captures(pathlib.Path(folder))
        capture_service_pb2_grpc.add_CaptureServiceServicer_to_server(captures, server)
        node_service_pb2_grpc.add_NodeServiceServicer_to_server(Nodes(), server)
        server.add_insecure_port(f"unix:{sys.argv[1]}")
        server.start()
        print("ready", flush=True)
        sys.stdin.read()
        for capture in list(captures.captures.values()):
            capture.cancel()
        server.stop(1).wait()


if __name__ == "__main__":
    main()

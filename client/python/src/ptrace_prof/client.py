"""The synchronous client of ptrace-profd."""
from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Optional

import grpc
from typing_extensions import Unpack

from . import _convert, options
from ._endpoint import Server
from ._proto import capture_service_pb2 as messages
from ._proto import capture_service_pb2_grpc, node_service_pb2, node_service_pb2_grpc
from ._receiver import Recorder, TraceAssembler
from ._status import from_rpc_error
from ._streams import Pump, Stream
from ._tls import Tls
from .errors import DataLoss, PtraceProfError, Unavailable
from .model import Capture, Node, ProcessList, SampleBatch, ThreadStack
from .options import CaptureOptions
from .trace import Trace

Progress = Callable[[Capture], object]
RESUMES = 5  # in a row without a byte in between


class Client:
    """Talks to one ptrace-profd. Thread-safe; close it, or use it in a `with` block.

    target: "unix:/path/to.sock", a path, "tls://host:port", or without encryption "host:port". None: the socket where
        the daemon listens by default, /run/ptrace-prof/ptrace-prof.sock for root,
        $XDG_RUNTIME_DIR/ptrace-prof/ptrace-prof.sock for others.
    timeout: seconds that the server may take to answer a call that is no stream; None: for ever.
    tls: for "tls://…": the files of the certificate to show, where they are not in the environment (ptrace_prof.Tls).
    credentials: of gRPC, for TLS in another way.

    Every method raises a PtraceProfError: Unavailable where no server answers, and what the method names.
    """

    def __init__(self, target: Optional[str] = None, *, timeout: Optional[float] = 30.0,
                 credentials: Optional[grpc.ChannelCredentials] = None,
                 tls: Optional[Tls] = None) -> None:
        self._server = Server(target, credentials, tls)
        self.target = self._server.target
        self.timeout = timeout
        self._channel = self._server.open_channel()
        self._captures: Any = capture_service_pb2_grpc.CaptureServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self._node: Any = node_service_pb2_grpc.NodeServiceStub(self._channel)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Ends every call that still goes on; a capture of record() without `keep` ends with it."""
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, method: Any, request: Any) -> Any:
        try:
            return method(request, timeout=self.timeout)
        except grpc.RpcError as error:
            raise from_rpc_error(error, self._server) from None

    # What is there.

    def node(self, pid: int = 0) -> Node:
        """The server's machine and what works there, each with cause and remedy; with `pid`, for that process too."""
        return _convert.node(self._call(self._node.GetNode, node_service_pb2.GetNodeRequest(pid=pid)))

    def processes(self, *, uid: Optional[int] = None, name: str = "", job_id: str = "", rank: Optional[int] = None,
                  container: str = "", profilable: bool = False, page_size: int = 0) -> ProcessList:
        """The Python processes of the node, by ID, all pages of them; `limits` of the list says why it may lack some.

        uid: of this user. name: a part of the command line. job_id, rank: of Slurm and torch.distributed.
        container: a prefix of its ID. profilable: only those that the caller may profile.
        page_size: how many the server sends at a time, at most 1000; 0: 100.
        """
        request = options.processes_request(uid=uid, name=name, job_id=job_id, rank=rank, container=container,
                                            profilable=profilable, page_size=page_size)
        found = ProcessList()
        while True:
            page = self._call(self._captures.ListProcesses, request)
            found += map(_convert.process, page.processes)
            found.limits = _convert.checks(page.limits)
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    def stacks(self, pid: int, *, subprocesses: bool = True, locals: bool = False,  # noqa: A002
               blocking: bool = False, nonblocking: bool = False, stops: bool = True, max_depth: Optional[int] = None,
               start_time_ticks: Optional[int] = None) -> list[ThreadStack]:
        """What every thread of a process, and of its children, is doing now.

        locals: with local variables, as short texts. blocking: stop the process for the moment, so that all stacks
        are of one instant. nonblocking: nothing is stopped, and a stack that moves meanwhile is cut and marked torn
        (stops=False is its former name). max_depth: frames; None: 4096.
        Raises ProcessNotFound, NotPython, PermissionDenied, TargetGone.
        """
        request = options.dump_request(pid, start_time_ticks=start_time_ticks, subprocesses=subprocesses,
                                       locals=locals, blocking=blocking, nonblocking=nonblocking, stops=stops,
                                       max_depth=max_depth)
        return [_convert.thread_stack(one) for one in self._call(self._captures.DumpStacks, request).threads]

    # One call: record, and watch live.

    def record(self, pid: int, *, on_progress: Optional[Progress] = None, request_id: str = "",
               **asked: Unpack[CaptureOptions]) -> Trace:
        """Records a process until `duration` (seconds) is over, it ends, or Ctrl-C, and returns the trace.

        The first Ctrl-C (KeyboardInterrupt) ends the recording and the trace is returned; the second one raises. The
        capture lives as long as this call, unless `keep`. A broken connection ends it: this call does not reconnect.

        on_progress: called with the Capture at every change of its state and once a second.
        asked: see CaptureOptions: duration, mode, rate_hz, max_overhead, max_depth, idle, threads, gil_only,
            subprocesses, blocking, nonblocking, wait_for_python, max_bytes, keep, start_time_ticks.
        Raises ProcessNotFound, NotPython, PermissionDenied, AlreadyTraced, CollectorFailed, DataLoss (damaged on the
        way) and so on; what had been recorded until then is in the error's `trace`.
        """
        request = messages.RecordRequest(spec=options.capture_spec(pid, asked), request_id=request_id)
        recorder = Recorder()
        pump = Pump(self._captures.Record(request))
        try:
            interrupted = False
            while True:
                try:
                    event = pump.get()
                    if event is None:
                        return recorder.finish()
                    news = recorder.take(event)
                    if news is not None and on_progress is not None:
                        on_progress(news)
                except KeyboardInterrupt:
                    if interrupted or recorder.capture is None:
                        raise
                    interrupted = True
                    self.cancel_capture(recorder.capture.name)
        except grpc.RpcError as error:
            raise recorder.spoilt(from_rpc_error(error, self._server)) from None
        finally:
            pump.close()

    def samples(self, pid: int, *, interval: Optional[float] = None,
                **asked: Unpack[CaptureOptions]) -> Stream[SampleBatch]:
        """Samples as they are taken, one batch every `interval` seconds (at least 0.05; None: 1). Nothing is stored.

        Ends when the process does, when `duration` is over, and when the iterator is closed::

            with client.samples(4711) as batches:
                for batch in batches:
                    print(batch.table(limit=10))
        """
        call = self._captures.StreamSamples(options.samples_request(pid, interval, asked))
        return Stream(call, _convert.BatchAssembler(), self._server)

    # Captures that live on the server.

    def create_capture(self, pid: int, *, capture_id: str = "", request_id: str = "", validate_only: bool = False,
                       **asked: Unpack[CaptureOptions]) -> Capture:
        """Starts a capture that goes on without this call; read_trace() gets what it records.

        Without keep=True it is cancelled when nobody has asked after it for a minute (watching and reading count).
        capture_id: a-z, 0-9 and -, at most 63 characters; empty: the server chooses. request_id: a retry with the
        same one returns the capture of the first try. validate_only: only say whether it could be started.
        Raises as record(), and CaptureExists.
        """
        request = options.create_request(pid, asked, capture_id, request_id, validate_only)
        return _convert.capture(self._call(self._captures.CreateCapture, request))

    def get_capture(self, name: str) -> Capture:
        """Raises CaptureNotFound."""
        return _convert.capture(self._call(self._captures.GetCapture, messages.GetCaptureRequest(name=name)))

    def list_captures(self, *, page_size: int = 0) -> list[Capture]:
        """The captures of the caller, newest first, all pages of them."""
        request = messages.ListCapturesRequest(page_size=page_size)
        found: list[Capture] = []
        while True:
            page = self._call(self._captures.ListCaptures, request)
            found += map(_convert.capture, page.captures)
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    def watch_capture(self, name: str) -> Stream[Capture]:
        """The capture at once, at every change of its state and once a second; ends after its last state."""
        call = self._captures.WatchCapture(messages.WatchCaptureRequest(name=name))
        return Stream(call, lambda event: _convert.capture(event.capture), self._server)

    def cancel_capture(self, name: str) -> Capture:
        """Ends a capture; its trace is kept. No error if it has ended already. Raises CaptureNotFound."""
        return _convert.capture(self._call(self._captures.CancelCapture, messages.CancelCaptureRequest(name=name)))

    def delete_capture(self, name: str, *, force: bool = False) -> None:
        """Forgets an ended capture and its trace; with `force` one that goes on, too. Raises CaptureNotEnded."""
        self._call(self._captures.DeleteCapture, messages.DeleteCaptureRequest(name=name, force=force))

    def read_trace(self, name: str, *, follow: bool = True, resume: Optional[Trace] = None,
                   on_progress: Optional[Callable[[int], object]] = None) -> Trace:
        """The trace of a capture; a broken connection is taken up again where it broke.

        follow: wait until the capture has ended; False: what is there now. resume: the trace of an earlier call, or
        of the error that it raised; only what comes after it is read. on_progress: called with the bytes so far.
        Raises CaptureNotFound, BadOffset, Unavailable, DataLoss; the error's `trace` is for `resume`.
        """
        assembler = TraceAssembler(resume.data if resume else b"")
        tries = RESUMES
        while True:
            size = assembler.size
            try:
                for _ in self._chunks(name, assembler, follow):
                    if on_progress is not None:
                        on_progress(assembler.size)
                if follow and not assembler.last:
                    raise DataLoss(f"the server ended the trace of {name} before its last byte")
                return assembler.trace(self.get_capture(name))
            except PtraceProfError as error:
                tries = RESUMES if assembler.size > size else tries - 1
                if not isinstance(error, Unavailable) or tries <= 0:
                    error.trace = assembler.trace()
                    raise
                time.sleep(0.2 * 2 ** (RESUMES - tries))

    def _chunks(self, name: str, assembler: TraceAssembler, follow: bool) -> Iterator[None]:
        request = messages.ReadTraceRequest(name=name, offset=assembler.size, follow=follow)
        with Stream(self._captures.ReadTrace(request), lambda chunk: chunk, self._server) as chunks:
            for chunk in chunks:
                assembler.add(chunk)
                yield

"""The asynchronous client of ptrace-profd; setup.py generates the synchronous one, client.py, from this file."""
from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Optional

import grpc
from typing_extensions import Unpack

from . import _convert, options
from ._async import AsyncConnection, AsyncStream
from ._endpoint import Server
from ._proto import capture_service_pb2 as messages
from ._proto import node_service_pb2
from ._receiver import Recorder, TraceAssembler
from ._tls import Tls
from .errors import DataLoss, PtraceProfError, Unavailable
from .model import Capture, Node, ProcessList, SampleBatch, ThreadStack
from .options import CaptureOptions
from .trace import Trace

Progress = Callable[[Capture], object]
RESUMES = 5  # attempts in a row that bring no byte


class AsyncClient:
    """Talks to one ptrace-profd. Close it, or use it as a context manager.

    target: "unix:/path/to.sock", a path, "tls://host:port", or without encryption "host:port". None: the socket where
        the daemon listens by default, /run/ptrace-prof/ptrace-prof.sock for root,
        $XDG_RUNTIME_DIR/ptrace-prof/ptrace-prof.sock for other users.
    timeout: seconds that the server may take to answer a call that is no stream; None: no limit.
    tls: for "tls://…": the files of the certificate, where the environment does not name them (ptrace_prof.Tls).
    credentials: gRPC credentials, to set up TLS in another way.

    Any thread may call the synchronous client. The asynchronous client belongs to the event loop of its first call; all
    of its methods are awaited except samples() and watch_capture(), which return an asynchronous iterator.

    Every method raises PtraceProfError: Unavailable where no server answers, and the subclasses that the method names.
    """

    def __init__(self, target: Optional[str] = None, *, timeout: Optional[float] = 30.0,
                 credentials: Optional[grpc.ChannelCredentials] = None, tls: Optional[Tls] = None) -> None:
        server = Server(target, credentials, tls)
        self.target = server.target
        self.timeout = timeout
        self._connection = AsyncConnection(server)

    async def close(self) -> None:
        """Ends every call in progress; a capture of record() without `keep` ends with it."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _call(self, method: Any, request: Any) -> Any:
        return await self._connection.call(method, request, self.timeout)

    async def _pages(self, method: Any, request: Any) -> AsyncIterator[Any]:
        while True:
            page = await self._call(method, request)
            yield page
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    # Processes and what they do now.

    async def node(self, pid: int = 0) -> Node:
        """Returns the server's machine and what works there, each check with cause and remedy.

        pid: the checks are about this process, too; 0: about the node alone.
        """
        return _convert.node(await self._call(self._connection.node.GetNode, node_service_pb2.GetNodeRequest(pid=pid)))

    async def processes(
            self, *, uid: Optional[int] = None, name: str = "", job_id: str = "", rank: Optional[int] = None,
            container: str = "", profilable: bool = False, page_size: int = 0) -> ProcessList:
        """Returns the Python processes of the node by ID, all pages; `limits` of the list says why it may lack some.

        uid: only processes of this user. name: a part of the command line. job_id, rank: those of Slurm and
        torch.distributed. container: a prefix of its ID. profilable: only processes that the caller may profile.
        page_size: processes per response, at most 1000; 0: 100.
        """
        request = options.processes_request(uid=uid, name=name, job_id=job_id, rank=rank, container=container,
                                            profilable=profilable, page_size=page_size)
        found = ProcessList()
        async for page in self._pages(self._connection.captures.ListProcesses, request):
            found += map(_convert.process, page.processes)
            found.limits = _convert.checks(page.limits)
        return found

    async def stacks(
            self, pid: int, *, subprocesses: bool = True, locals: bool = False, blocking: bool = False,
            nonblocking: bool = False, stops: bool = True, max_depth: Optional[int] = None,
            start_time_ticks: Optional[int] = None) -> list[ThreadStack]:
        """Returns what every thread of a process, and of its children, does now.

        locals: add the local variables, as short texts. blocking: stop the process briefly, so that all stacks are of
        one instant. nonblocking: stop nothing; a stack that moves meanwhile is cut and marked torn (stops=False is the
        former name). max_depth: frames per stack; None: 4096.
        Raises ProcessNotFound, NotPython, PermissionDenied, TargetGone.
        """
        request = options.dump_request(pid, start_time_ticks=start_time_ticks, subprocesses=subprocesses,
                                       locals=locals, blocking=blocking, nonblocking=nonblocking, stops=stops,
                                       max_depth=max_depth)
        response = await self._call(self._connection.captures.DumpStacks, request)
        return [_convert.thread_stack(one) for one in response.threads]

    # One call that records, or shows samples live.

    async def record(
            self, pid: int, *, on_progress: Optional[Progress] = None, request_id: str = "",
            **asked: Unpack[CaptureOptions]) -> Trace:
        """Records a process until `duration` (seconds) is over, it ends, or the call is interrupted; returns the trace.

        In the synchronous client the first Ctrl-C (KeyboardInterrupt) ends the recording and the trace is returned; the
        second one raises. In the asynchronous client, cancelling the task ends the call, and cancel_capture() makes it
        return the trace. The capture lives as long as this call, unless `keep`. A broken connection ends the call: it
        does not reconnect.

        on_progress: called with the Capture at every change of its state and once a second.
        asked: see CaptureOptions: duration, mode, rate_hz, max_overhead, max_depth, idle, threads, gil_only,
            subprocesses, blocking, nonblocking, wait_for_python, max_bytes, keep, start_time_ticks.
        Raises ProcessNotFound, NotPython, PermissionDenied, AlreadyTraced, CollectorFailed, DataLoss (damaged on the
        way) and others; the error's `trace` holds what was recorded before it.
        """
        request = messages.RecordRequest(spec=options.capture_spec(pid, asked), request_id=request_id)
        recorder = Recorder(on_progress)
        await self._connection.record(request, recorder, self.cancel_capture)
        return recorder.finish()

    def samples(self, pid: int, *, interval: Optional[float] = None,
                **asked: Unpack[CaptureOptions]) -> AsyncStream[SampleBatch]:
        """Returns a stream of samples, one batch every `interval` seconds (at least 0.05; None: 1). Nothing is stored.

        The stream ends when the process ends, when `duration` is over, and when it is closed::

            async with client.samples(4711) as batches:
                async for batch in batches:
                    print(batch.table(limit=10))
        """
        return self._connection.stream(self._connection.captures.StreamSamples,
                                       options.samples_request(pid, interval, asked), _convert.BatchAssembler())

    # Captures that live on the server.

    async def create_capture(
            self, pid: int, *, capture_id: str = "", request_id: str = "", validate_only: bool = False,
            **asked: Unpack[CaptureOptions]) -> Capture:
        """Starts a capture that continues after this call; read_trace() returns what it records.

        Without keep=True the server cancels it when no client has asked for it for a minute (watching and reading
        count). capture_id: a-z, 0-9 and -, at most 63 characters; empty: the server chooses. request_id: a retry with
        the same ID returns the capture of the first try. validate_only: only check whether it could be started.
        Raises the errors of record(), and CaptureExists.
        """
        request = options.create_request(pid, asked, capture_id, request_id, validate_only)
        return _convert.capture(await self._call(self._connection.captures.CreateCapture, request))

    async def get_capture(self, name: str) -> Capture:
        """Returns the capture as it is now. Raises CaptureNotFound."""
        request = messages.GetCaptureRequest(name=name)
        return _convert.capture(await self._call(self._connection.captures.GetCapture, request))

    async def list_captures(self, *, page_size: int = 0) -> list[Capture]:
        """Returns the captures of the caller, newest first, all pages. page_size: captures per response."""
        pages = self._pages(self._connection.captures.ListCaptures, messages.ListCapturesRequest(page_size=page_size))
        return [_convert.capture(one) async for page in pages for one in page.captures]

    def watch_capture(self, name: str) -> AsyncStream[Capture]:
        """Returns a stream of the capture, at every change of its state and once a second, until its last state."""
        return self._connection.stream(self._connection.captures.WatchCapture, messages.WatchCaptureRequest(name=name),
                                       lambda event: _convert.capture(event.capture))

    async def cancel_capture(self, name: str) -> Capture:
        """Ends a capture and keeps its trace. No error if it has ended already. Raises CaptureNotFound."""
        request = messages.CancelCaptureRequest(name=name)
        return _convert.capture(await self._call(self._connection.captures.CancelCapture, request))

    async def delete_capture(self, name: str, *, force: bool = False) -> None:
        """Deletes an ended capture and its trace; with `force` also one that still runs. Raises CaptureNotEnded."""
        request = messages.DeleteCaptureRequest(name=name, force=force)
        await self._call(self._connection.captures.DeleteCapture, request)

    async def read_trace(
            self, name: str, *, follow: bool = True, resume: Optional[Trace] = None,
            on_progress: Optional[Callable[[int], object]] = None) -> Trace:
        """Returns the trace of a capture; reconnects where the connection breaks, and continues at that byte.

        follow: wait until the capture has ended; False: return what is there now. resume: the trace that an earlier
        call returned, or that its error holds; only the rest is read. on_progress: called with the bytes read so far.
        Raises CaptureNotFound, BadOffset, Unavailable, DataLoss; the error's `trace` is for `resume`.
        """
        assembler = TraceAssembler(resume.data if resume else b"")
        tries = RESUMES
        while True:
            size = assembler.size
            try:
                await self._read_chunks(name, assembler, follow, on_progress)
                if follow and not assembler.last:
                    raise DataLoss(f"the server ended the trace of {name} before its last byte")
                return assembler.trace(await self.get_capture(name))
            except PtraceProfError as error:
                tries = RESUMES if assembler.size > size else tries - 1
                if not isinstance(error, Unavailable) or tries <= 0:
                    error.trace = assembler.trace()
                    raise
                await self._connection.sleep(0.2 * 2 ** (RESUMES - tries))

    async def _read_chunks(
            self, name: str, assembler: TraceAssembler, follow: bool,
            on_progress: Optional[Callable[[int], object]]) -> None:
        request = messages.ReadTraceRequest(name=name, offset=assembler.size, follow=follow)
        method = self._connection.captures.ReadTrace
        async with self._connection.stream(method, request, lambda chunk: chunk) as chunks:
            async for chunk in chunks:
                assembler.add(chunk)
                if on_progress is not None:
                    on_progress(assembler.size)

"""The asynchronous client of ptrace-profd: what Client has, to be awaited."""
from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Optional

import grpc
from typing_extensions import Unpack

from . import _convert, options
from ._endpoint import Server
from ._proto import capture_service_pb2 as messages
from ._proto import capture_service_pb2_grpc, node_service_pb2, node_service_pb2_grpc
from ._receiver import Recorder, TraceAssembler
from ._status import from_async_error
from ._streams import AsyncStream
from ._tls import Tls
from .client import RESUMES, Progress
from .errors import DataLoss, PtraceProfError, Unavailable
from .model import Capture, Node, ProcessList, SampleBatch, ThreadStack
from .options import CaptureOptions
from .trace import Trace


class AsyncClient:
    """Talks to one ptrace-profd from one event loop. Arguments, results and errors are those of Client.

    Cancelling the task that awaits record() ends the capture, unless `keep`. The methods that return an AsyncStream
    are not awaited: `async for batch in client.samples(4711)`, inside the running loop.
    """

    def __init__(self, target: Optional[str] = None, *, timeout: Optional[float] = 30.0,
                 credentials: Optional[grpc.ChannelCredentials] = None,
                 tls: Optional[Tls] = None) -> None:
        self._server = Server(target, credentials, tls)
        self.target = self._server.target
        self.timeout = timeout
        self._channel: Any = None
        self._stubs: list[Any] = []

    def _open(self) -> list[Any]:
        """A channel belongs to the loop that runs when it is opened, so the first call opens it."""
        if self._channel is None:
            self._channel = self._server.open_channel(asynchronous=True)
            self._stubs = [capture_service_pb2_grpc.CaptureServiceStub(self._channel),  # type: ignore[no-untyped-call]
                           node_service_pb2_grpc.NodeServiceStub(self._channel)]  # type: ignore[no-untyped-call]
        return self._stubs

    @property
    def _captures(self) -> Any:
        return self._open()[0]

    @property
    def _node(self) -> Any:
        return self._open()[1]

    async def close(self) -> None:
        """Ends every call that still goes on."""
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _call(self, method: Any, request: Any) -> Any:
        try:
            return await method(request, timeout=self.timeout)
        except grpc.RpcError as error:
            raise await from_async_error(error, self._server) from None

    async def node(self, pid: int = 0) -> Node:
        """See Client.node()."""
        return _convert.node(await self._call(self._node.GetNode, node_service_pb2.GetNodeRequest(pid=pid)))

    async def processes(self, *, uid: Optional[int] = None, name: str = "", job_id: str = "",
                        rank: Optional[int] = None, container: str = "", profilable: bool = False,
                        page_size: int = 0) -> ProcessList:
        """See Client.processes()."""
        request = options.processes_request(uid=uid, name=name, job_id=job_id, rank=rank, container=container,
                                            profilable=profilable, page_size=page_size)
        found = ProcessList()
        while True:
            page = await self._call(self._captures.ListProcesses, request)
            found += map(_convert.process, page.processes)
            found.limits = _convert.checks(page.limits)
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    async def stacks(self, pid: int, *, subprocesses: bool = True, locals: bool = False,  # noqa: A002
                     blocking: bool = False, nonblocking: bool = False, stops: bool = True,
                     max_depth: Optional[int] = None, start_time_ticks: Optional[int] = None) -> list[ThreadStack]:
        """See Client.stacks()."""
        request = options.dump_request(pid, start_time_ticks=start_time_ticks, subprocesses=subprocesses,
                                       locals=locals, blocking=blocking, nonblocking=nonblocking, stops=stops,
                                       max_depth=max_depth)
        return [_convert.thread_stack(one) for one in (await self._call(self._captures.DumpStacks, request)).threads]

    async def record(self, pid: int, *, on_progress: Optional[Progress] = None, request_id: str = "",
                     **asked: Unpack[CaptureOptions]) -> Trace:
        """See Client.record(). Ends early when the task is cancelled; cancel_capture() ends it with a trace."""
        request = messages.RecordRequest(spec=options.capture_spec(pid, asked), request_id=request_id)
        recorder = Recorder()
        call = self._captures.Record(request)
        try:
            async for event in call:
                news = recorder.take(event)
                if news is not None and on_progress is not None:
                    on_progress(news)
            return recorder.finish()
        except grpc.RpcError as error:
            raise recorder.spoilt(await from_async_error(error, self._server)) from None
        finally:
            call.cancel()

    def samples(self, pid: int, *, interval: Optional[float] = None,
                **asked: Unpack[CaptureOptions]) -> AsyncStream[SampleBatch]:
        """See Client.samples()."""
        call = self._captures.StreamSamples(options.samples_request(pid, interval, asked))
        return AsyncStream(call, _convert.BatchAssembler(), self._server)

    async def create_capture(self, pid: int, *, capture_id: str = "", request_id: str = "",
                             validate_only: bool = False, **asked: Unpack[CaptureOptions]) -> Capture:
        """See Client.create_capture()."""
        request = options.create_request(pid, asked, capture_id, request_id, validate_only)
        return _convert.capture(await self._call(self._captures.CreateCapture, request))

    async def get_capture(self, name: str) -> Capture:
        """See Client.get_capture()."""
        return _convert.capture(await self._call(self._captures.GetCapture, messages.GetCaptureRequest(name=name)))

    async def list_captures(self, *, page_size: int = 0) -> list[Capture]:
        """See Client.list_captures()."""
        request = messages.ListCapturesRequest(page_size=page_size)
        found: list[Capture] = []
        while True:
            page = await self._call(self._captures.ListCaptures, request)
            found += map(_convert.capture, page.captures)
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    def watch_capture(self, name: str) -> AsyncStream[Capture]:
        """See Client.watch_capture()."""
        call = self._captures.WatchCapture(messages.WatchCaptureRequest(name=name))
        return AsyncStream(call, lambda event: _convert.capture(event.capture), self._server)

    async def cancel_capture(self, name: str) -> Capture:
        """See Client.cancel_capture()."""
        request = messages.CancelCaptureRequest(name=name)
        return _convert.capture(await self._call(self._captures.CancelCapture, request))

    async def delete_capture(self, name: str, *, force: bool = False) -> None:
        """See Client.delete_capture()."""
        await self._call(self._captures.DeleteCapture, messages.DeleteCaptureRequest(name=name, force=force))

    async def read_trace(self, name: str, *, follow: bool = True, resume: Optional[Trace] = None,
                         on_progress: Optional[Callable[[int], object]] = None) -> Trace:
        """See Client.read_trace()."""
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
                await asyncio.sleep(0.2 * 2 ** (RESUMES - tries))

    async def _read_chunks(self, name: str, assembler: TraceAssembler, follow: bool,
                           on_progress: Optional[Callable[[int], object]]) -> None:
        request = messages.ReadTraceRequest(name=name, offset=assembler.size, follow=follow)
        stream: AsyncStream[Any] = AsyncStream(self._captures.ReadTrace(request), lambda chunk: chunk, self._server)
        async with stream as chunks:
            async for chunk in chunks:
                assembler.add(chunk)
                if on_progress is not None:
                    on_progress(assembler.size)

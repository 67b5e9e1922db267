"""How the synchronous client waits: a call blocks its thread, a stream is an iterator. Compare _async.py."""
from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Generic, Optional, TypeVar

import grpc

from ._endpoint import Server
from ._proto import capture_service_pb2_grpc, node_service_pb2_grpc
from ._receiver import Recorder
from ._status import from_rpc_error

T = TypeVar("T")


class Stream(Generic[T]):
    """An iterator over what the server sends. close(), or the end of a `with` block, ends the call.

    convert: makes the value of a message; None: a later message completes the value.
    """

    def __init__(self, call: Any, convert: Callable[[Any], Optional[T]], server: Server) -> None:
        self._call, self._convert, self._server = call, convert, server
        self._closed = False

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self._closed:
            raise StopIteration
        try:
            while True:
                value = self._convert(next(self._call))
                if value is not None:
                    return value
        except grpc.RpcError as error:
            if self._closed:
                raise StopIteration from None
            raise from_rpc_error(error, self._server) from None

    def close(self) -> None:
        """Ends the call; any thread may close the stream, and the iteration then ends."""
        self._closed = True
        self._call.cancel()

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._call.cancel()


class Pump:
    """Reads a call on its own thread, so that Ctrl-C in the caller's thread leaves the stream whole.

    The queue has no bound: the caller keeps the bytes of a trace anyway.
    """

    def __init__(self, call: Any) -> None:
        self._call = call
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="ptrace-prof record", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        end: Any = None
        try:
            for event in self._call:
                self._events.put((event, None))
        except grpc.RpcError as error:
            end = error
        self._events.put((None, end))

    def get(self) -> Any:
        """Returns the next event; None after the last. Raises grpc.RpcError."""
        event, error = self._events.get()
        if error is not None:
            raise error
        return event

    def close(self) -> None:
        self._call.cancel()
        self._thread.join()


class Connection:
    """The channel of one Client and the stubs of its services. Any thread may use it."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._channel = server.open_channel()
        self.captures: Any = capture_service_pb2_grpc.CaptureServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self.node: Any = node_service_pb2_grpc.NodeServiceStub(self._channel)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        self._channel.close()

    def call(self, method: Any, request: Any, timeout: Optional[float]) -> Any:
        """Returns the response. Raises PtraceProfError."""
        try:
            return method(request, timeout=timeout)
        except grpc.RpcError as error:
            raise from_rpc_error(error, self._server) from None

    def stream(self, method: Any, request: Any, convert: Callable[[Any], Optional[T]]) -> Stream[T]:
        return Stream(method(request), convert, self._server)

    def record(self, request: Any, recorder: Recorder, cancel: Callable[[str], object]) -> None:
        """Gives every event of Record to `recorder`. Raises PtraceProfError.

        cancel: the first KeyboardInterrupt calls it with the name of the capture; the second one is raised.
        """
        pump = Pump(self.captures.Record(request))
        interrupted = False
        try:
            while True:
                try:
                    event = pump.get()
                    if event is None:
                        return
                    recorder.take(event)
                except KeyboardInterrupt:
                    if interrupted or recorder.capture is None:
                        raise
                    interrupted = True
                    cancel(recorder.capture.name)
        except grpc.RpcError as error:
            raise recorder.spoilt(from_rpc_error(error, self._server)) from None
        finally:
            pump.close()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

"""How the asynchronous client waits: tasks await calls, a stream is an asynchronous iterator. Compare _sync.py."""
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, Optional, TypeVar

import grpc

from ._endpoint import Server
from ._proto import capture_service_pb2_grpc, node_service_pb2_grpc
from ._receiver import Recorder
from ._status import from_async_error

T = TypeVar("T")


class AsyncStream(Generic[T]):
    """An asynchronous iterator over what the server sends. aclose(), or the end of `async with`, ends the call.

    convert: makes the value of a message; None: a later message completes the value.
    """

    def __init__(self, call: Any, convert: Callable[[Any], Optional[T]], server: Server) -> None:
        self._call, self._convert, self._server = call, convert, server
        self._messages = call.__aiter__()
        self._closed = False

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        if self._closed:
            raise StopAsyncIteration
        try:
            while True:
                value = self._convert(await self._messages.__anext__())
                if value is not None:
                    return value
        except asyncio.CancelledError:
            if self._closed:
                raise StopAsyncIteration from None
            raise
        except grpc.RpcError as error:
            raise await from_async_error(error, self._server) from None

    async def aclose(self) -> None:
        """Ends the call."""
        self._closed = True
        self._call.cancel()

    async def __aenter__(self) -> AsyncStream[T]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class AsyncConnection:
    """The channel of one AsyncClient and the stubs of its services.

    The channel belongs to the event loop in which it is opened: the first call opens it, and the first after close().
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._channel: Any = None
        self._stubs: tuple[Any, Any] = (None, None)

    def _open(self) -> tuple[Any, Any]:
        if self._channel is None:
            self._channel = self._server.open_channel(asynchronous=True)
            self._stubs = (capture_service_pb2_grpc.CaptureServiceStub(self._channel),  # type: ignore[no-untyped-call]
                           node_service_pb2_grpc.NodeServiceStub(self._channel))  # type: ignore[no-untyped-call]
        return self._stubs

    @property
    def captures(self) -> Any:
        return self._open()[0]

    @property
    def node(self) -> Any:
        return self._open()[1]

    async def close(self) -> None:
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    async def call(self, method: Any, request: Any, timeout: Optional[float]) -> Any:
        """Returns the response. Raises PtraceProfError."""
        try:
            return await method(request, timeout=timeout)
        except grpc.RpcError as error:
            raise await from_async_error(error, self._server) from None

    def stream(self, method: Any, request: Any, convert: Callable[[Any], Optional[T]]) -> AsyncStream[T]:
        return AsyncStream(method(request), convert, self._server)

    async def record(self, request: Any, recorder: Recorder, cancel: Callable[[str], object]) -> None:
        """Gives every event of Record to `recorder`. Raises PtraceProfError.

        cancel: not called, as Ctrl-C reaches the event loop; cancelling the task ends the call.
        """
        call = self.captures.Record(request)
        try:
            async for event in call:
                recorder.take(event)
        except grpc.RpcError as error:
            raise recorder.spoilt(await from_async_error(error, self._server)) from None
        finally:
            call.cancel()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

"""Streams of the server as iterators whose end ends the call."""
from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Generic, Optional, TypeVar

import grpc

from ._endpoint import Server
from ._status import from_async_error, from_rpc_error

T = TypeVar("T")


class Stream(Generic[T]):
    """An iterator over what the server sends. close(), or leaving a `with` block, ends the call.

    convert: of one message; None: what it says comes with a later one.
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
        """Ends the call; may be called from another thread, whose iteration then ends."""
        self._closed = True
        self._call.cancel()

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._call.cancel()


class AsyncStream(Generic[T]):
    """An asynchronous iterator over what the server sends. aclose(), or leaving `async with`, ends the call.

    convert: of one message; None: what it says comes with a later one.
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


class Pump:
    """Reads a call on a thread of its own, so that Ctrl-C in the caller's leaves the stream whole.

    What arrives is kept until it is taken: the caller keeps the bytes of a trace anyway.
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
        """The next event; None after the last. Raises grpc.RpcError."""
        event, error = self._events.get()
        if error is not None:
            raise error
        return event

    def close(self) -> None:
        self._call.cancel()
        self._thread.join()

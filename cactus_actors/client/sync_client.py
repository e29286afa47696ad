"""Client and TokenStream: AsyncClient and AsyncTokenStream without `await`, made from them."""

from __future__ import annotations

import functools
import inspect
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from cactus_actors.client.async_client import AsyncClient
from cactus_actors.client.background_loop import BackgroundLoop
from cactus_actors.client.stream import AsyncTokenStream
from cactus_actors.protocol.messages import Delta

P = ParamSpec("P")
A = TypeVar("A", AsyncClient, AsyncTokenStream)
T = TypeVar("T")


class _Blocking(Generic[A]):
    """An object of the asynchronous API, and the loop that runs its coroutines."""

    _wrapped: A
    _loop: BackgroundLoop
    close: Callable[..., None]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _blocking(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[_Blocking[A], P], T]:
    """The coroutine `method` as a blocking one, with its signature and its docstring."""

    @functools.wraps(method)
    def call(self: _Blocking[A], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._loop.run(method(self._wrapped, *args, **kwargs))

    return call


def _streaming(
    method: Callable[Concatenate[AsyncClient, P], AsyncTokenStream],
) -> Callable[Concatenate[_Blocking[AsyncClient], P], TokenStream]:
    """`method` as one that returns a TokenStream of a job that is submitted already."""

    @functools.wraps(method)
    def call(self: _Blocking[AsyncClient], /, *args: P.args, **kwargs: P.kwargs) -> TokenStream:
        stream = method(self._wrapped, *args, **kwargs)
        try:
            return TokenStream(self._loop, self._loop.run(_started(stream)))
        except BaseException:  # an interrupt: the job may be submitted already, and nobody else can cancel it
            self._loop.start(stream.close())
            raise

    signature = inspect.signature(method).replace(return_annotation="TokenStream")
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _with_parameters_of(
    constructor: Callable[Concatenate[AsyncClient, P], None],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Client, P], None]]:
    return functools.wraps(constructor)


class TokenStream(_Blocking[AsyncTokenStream], Iterator[Delta]):
    """The stream of a job: iterate for the deltas, call `result()` for the Result."""

    def __init__(self, loop: BackgroundLoop, stream: AsyncTokenStream) -> None:
        self._loop = loop
        self._wrapped = stream
        self._ready: deque[Delta] = deque()

    @property
    def job_id(self) -> str:
        """The job's id."""
        return self._wrapped.job_id

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Delta:
        if not self._ready:
            self._ready.extend(self._loop.run(self._wrapped.take()))
        if not self._ready:
            raise StopIteration
        return self._ready.popleft()

    result = _blocking(AsyncTokenStream.result)
    close = _blocking(AsyncTokenStream.close)


class Client(_Blocking[AsyncClient]):
    """A blocking client of a service; safe to use from any number of threads.

    `timeout` is the number of seconds to wait for a first reply before Unavailable is raised. After its first
    reply a job is followed through silence, reconnections and restarts of the router; Unavailable is raised
    after `reconnect_timeout` seconds without any message. `timeouts` replaces both.

    `key_file` is the CURVE key file for a service that requires keys. It defaults to the file that
    CACTUS_KEY_FILE names. A key that the service does not accept raises AuthenticationFailed.

    A failed job raises its typed error, with the partial result as `error.result`. A cancelled job is a Result
    with finish_reason "cancelled". Options are the fields of `Options`; an unknown name raises InvalidRequest
    before anything is sent.

    One background thread runs an AsyncClient; `close()`, or the end of a `with`, ends it.
    """

    @_with_parameters_of(AsyncClient.__init__)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._wrapped = AsyncClient(*args, **kwargs)
        self._loop = BackgroundLoop("cactus-client")

    def close(self) -> None:
        """Release sockets and the thread; submitted jobs that were not cancelled keep running."""
        self._loop.close(self._wrapped.close())

    complete = _blocking(AsyncClient.complete)
    batch = _blocking(AsyncClient.batch)
    stream = _streaming(AsyncClient.stream)
    run = _blocking(AsyncClient.run)
    follow = _streaming(AsyncClient.follow)
    submit = _blocking(AsyncClient.submit)
    result = _blocking(AsyncClient.result)
    cancel = _blocking(AsyncClient.cancel)
    status = _blocking(AsyncClient.status)
    scale = _blocking(AsyncClient.scale)
    drain_node = _blocking(AsyncClient.drain_node)
    keep_node = _blocking(AsyncClient.keep_node)
    restart_workers = _blocking(AsyncClient.restart_workers)
    load_adapter = _blocking(AsyncClient.load_adapter)
    unload_adapter = _blocking(AsyncClient.unload_adapter)
    cloud_batch = _blocking(AsyncClient.cloud_batch)


async def _started(stream: AsyncTokenStream) -> AsyncTokenStream:
    return await stream

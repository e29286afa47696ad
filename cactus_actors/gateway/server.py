"""The running gateway: a socket, an event loop, a client of the router and the application."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from pathlib import Path

import uvicorn
import uvloop

from cactus_actors.client import AsyncClient
from cactus_actors.config import GatewaySettings
from cactus_actors.gateway.app import build_app
from cactus_actors.gateway.context import GatewayContext
from cactus_actors.gateway.files.batch_queue import BatchQueue
from cactus_actors.gateway.files.file_store import FileStore
from cactus_actors.gateway.files.quota import FileQuota
from cactus_actors.gateway.files.response_store import ResponseStore
from cactus_actors.gateway.files.stored_responses import StoredResponses
from cactus_actors.gateway.http.api_keys import check_exposure, host_and_port
from cactus_actors.gateway.http.http_protocol import protocol_with
from cactus_actors.gateway.http.http_server import HttpServer
from cactus_actors.gateway.http.timeouts import DEFAULT_TIMEOUTS, GatewayTimeouts
from cactus_actors.gateway.http.tls import certificate_of
from cactus_actors.gateway.memory_trimming import MemoryTrimmer
from cactus_actors.gateway.served_texts import ServedTexts
from cactus_actors.process.resident_memory import resident_bytes, return_large_blocks
from cactus_actors.process.wall_clock import unix_offset
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.text import TextModel

BACKLOG = 2048
SEND_BUFFER_BYTES = 256 * 1024


class GatewayServer:
    """Bound when it is built; `run` serves until `stop`.

    The methods may be called from any thread. Raises ConfigurationInvalid for an address that cannot be
    bound, or that is open to others without a key.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        text_model: TextModel | None = None,
        timeouts: GatewayTimeouts = DEFAULT_TIMEOUTS,
    ) -> None:
        """`text_model` replaces the text side of the only model."""
        is_encrypted = settings.behind_proxy or settings.tls_cert is not None
        check_exposure(settings.listen, settings.key_digests, is_encrypted=is_encrypted)
        if settings.ollama:
            check_exposure(settings.ollama, settings.key_digests, is_encrypted=is_encrypted, option="ollama")
        self._settings = settings
        self._timeouts = timeouts
        self._certificate = certificate_of(settings)
        self._texts = ServedTexts(settings, text_model)
        self._sockets = [_bound(settings.listen, "http", timeouts.peer_s)]
        if settings.ollama:
            try:
                self._sockets.append(_bound(settings.ollama, "ollama", timeouts.peer_s))
            except ConfigurationInvalid:
                self._sockets[0].close()
                raise
        self._loop: asyncio.AbstractEventLoop | None = None
        self._gateway: GatewayContext | None = None
        self._server: HttpServer | None = None
        self._is_stopping = False

    @property
    def context(self) -> GatewayContext | None:
        """The state that request handlers share; None before `run`."""
        return self._gateway

    @property
    def address(self) -> str:
        """The bound address, HOST:PORT with the real port."""
        host, port = self._sockets[0].getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def run(self, jobs_endpoint: str, stream_endpoint: str) -> None:
        """Serve, as a client of the router at these endpoints."""
        return_large_blocks()
        with contextlib.ExitStack() as stack:
            for one in self._sockets:
                stack.enter_context(one)
            runner = stack.enter_context(asyncio.Runner(loop_factory=uvloop.new_event_loop))
            runner.run(self._serve(jobs_endpoint, stream_endpoint))

    def num_open(self) -> int:
        """Number of open requests; waits for the event loop's answer."""
        if self._loop is None or self._gateway is None:
            return 0
        return asyncio.run_coroutine_threadsafe(_count(self._gateway), self._loop).result()

    def drain(self) -> bool:
        """Refuse new requests; open ones continue. Returns True if none is open."""
        if self._gateway is None:
            return False
        self._gateway.is_draining = True
        return self.num_open() == 0

    def stop(self) -> None:
        """Let `run` end: waiting requests get an error, and have `closing_s` to read it.

        Jobs that a client can resume continue; the others are cancelled.
        """
        self._is_stopping = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended already
                self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        assert self._gateway is not None
        assert self._server is not None
        self._gateway.stop()
        self._server.end()

    def _built(self, client: AsyncClient) -> GatewayContext:
        settings = self._settings
        directory = Path(settings.state_dir).expanduser() / "http"
        offset = unix_offset(directory)
        quota = FileQuota(settings.max_files, settings.max_stored_bytes, settings.file_retention_s)
        files = FileStore(directory / "files", quota, lambda: time.monotonic() + offset)
        batches = BatchQueue(
            directory / "batches",
            files,
            client,
            in_flight=settings.batch_in_flight,
            unix_offset=offset,
            window_s=self._timeouts.batch_window_s,
            retry_s=self._timeouts.batch_retry_s,
        )
        store = ResponseStore(directory / "responses.sqlite", settings.max_responses, settings.max_stored_bytes)
        max_age_s = settings.file_retention_s
        responses = StoredResponses(store, client, max_age_s=max_age_s, unix_offset=offset)
        return GatewayContext(settings, client, self._texts, files, batches, responses, self._timeouts)

    async def _serve(self, jobs_endpoint: str, stream_endpoint: str) -> None:
        key_file = self._settings.key_file or ""
        async with AsyncClient(jobs_endpoint, stream_endpoint, key_file=key_file) as client:
            gateway = self._gateway = self._built(client)
            config = uvicorn.Config(
                build_app(gateway),
                http=protocol_with(self._timeouts),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=self._timeouts.keep_alive_s,
                timeout_graceful_shutdown=self._timeouts.closing_s,
            )
            config.load()
            if self._certificate is not None:
                config.ssl = self._certificate.context
                gateway.tasks.start(self._certificate.follow())
            server = self._server = HttpServer(config)
            self._loop = asyncio.get_running_loop()
            if self._is_stopping:
                server.end()
            gateway.tasks.start(gateway.status.watch())
            gateway.tasks.start(MemoryTrimmer(resident_bytes()).run())
            if gateway.history is not None:
                gateway.tasks.start(gateway.history.run())
            gateway.tasks.start(gateway.batches.run())
            gateway.tasks.start(gateway.batches.expire())
            gateway.tasks.start(gateway.responses.run())
            try:
                await server.serve(sockets=self._sockets)
            finally:
                self._loop = None
                # First: a request that loses its client leaves its jobs, one that is cancelled ends them.
                await client.close()
                await gateway.tasks.close()
                await gateway.responses.close()


async def _count(gateway: GatewayContext) -> int:
    return gateway.metrics.num_open


def _bound(listen: str, option: str, peer_timeout_s: int) -> socket.socket:
    host, port = host_and_port(listen, option)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Bounds the kernel's buffer for a client that does not read, and the delay until this is noticed.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        _watch_peers(listener, peer_timeout_s)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationInvalid(f"{option}: cannot listen on {listen}: {reason}", param=option) from None
    listener.setblocking(False)
    return listener


def _watch_peers(listener: socket.socket, timeout_s: int) -> None:
    """Have the kernel drop connections whose other end has vanished; accepted sockets inherit these options."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        for option, value in (
            (socket.TCP_KEEPIDLE, timeout_s // 2),
            (socket.TCP_KEEPINTVL, timeout_s // 6),
            (socket.TCP_KEEPCNT, 3),
            (socket.TCP_USER_TIMEOUT, timeout_s * 1000),
        ):
            listener.setsockopt(socket.IPPROTO_TCP, option, value)

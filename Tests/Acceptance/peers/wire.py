"""One port that serves HTTP/1.1 with keep-alive and WebSocket, with full power over the bytes.

The WebSocket side is the sans-I/O half of the `websockets` package: that lets several frames go out in one write, a socket
be cut or left silent, and bytes be sent that no library would send.
"""

import asyncio
import itertools
import json
import os
import socket
import struct
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from websockets.exceptions import WebSocketException
from websockets.frames import Opcode
from websockets.server import ServerProtocol

MAX_HEAD_BYTES = 64 * 1024


@dataclass
class Request:
    method: str
    path: str
    query: dict
    headers: dict
    head: bytes
    body: bytes = b""

    @property
    def bearer(self):
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else None


@dataclass
class Response:
    status: int
    body: "dict | bytes | Endless" = b""
    headers: dict = field(default_factory=dict)


@dataclass
class Endless:
    """A body that lasts as long as the client reads."""
    chunk: bytes
    pause: float = 0.0


DROP = object()
"""Returned by a handler to reset the connection instead of answering."""


class WebSocket:
    """A socket after its upgrade. `async for text in socket` yields whole text messages."""

    def __init__(self, reader, writer, protocol, request):
        self.reader, self.writer, self.protocol, self.request = reader, writer, protocol, request
        self.silent = False
        self.closed = asyncio.Event()
        self.close_code = None
        self.pongs = 0
        self.on_binary = None  # Called with the bytes of each binary message.
        self._corked = None

    # Sending

    def send(self, *messages):
        """Sends all messages in one write to the socket."""
        if self.silent or self.closed.is_set():
            return
        for message in messages:
            text = message if isinstance(message, str) else json.dumps(message, separators=(",", ":"), ensure_ascii=False)
            try:
                self.protocol.send_text(text.encode())
            except WebSocketException:
                return  # The other side is closing.
        self._flush()

    def send_raw(self, data):
        """Sends raw bytes: broken frames, text that is not UTF-8."""
        if not self.silent and not self.closed.is_set():
            self.writer.write(data)

    def ping(self):
        if not self.silent and not self.closed.is_set():
            try:
                self.protocol.send_ping(b"")
            except WebSocketException:
                return
            self._flush()

    def cork(self):
        self._corked = []

    def uncork(self):
        parts, self._corked = self._corked or [], None
        if parts and not self.closed.is_set():
            self.writer.write(b"".join(parts))

    @property
    def buffered_bytes(self):
        return 0 if self.closed.is_set() else self.writer.transport.get_write_buffer_size()

    def _flush(self):
        for data in self.protocol.data_to_send():
            if self.closed.is_set() or self.silent:
                continue
            if not data:
                if self.writer.can_write_eof():
                    self.writer.write_eof()
            elif self._corked is not None:
                self._corked.append(data)
            else:
                self.writer.write(data)

    # Ending

    def close(self, code=1000, reason=""):
        try:
            self.protocol.send_close(code, reason)
        except WebSocketException:
            return
        self.uncork()
        self._flush()
        asyncio.get_running_loop().call_later(1.0, self.cut)

    def cut(self):
        """Ends the TCP connection with a reset and no closing handshake."""
        reset(self.writer)
        self.closed.set()

    def go_silent(self):
        """Stops sending and handling; TCP stays open."""
        self.silent = True

    # Receiving

    async def __aiter__(self):
        fragments, is_binary = [], False
        while True:
            try:
                data = await self.reader.read(256 * 1024)
            except (ConnectionError, OSError):
                data = b""
            if not data:
                break
            if self.silent:
                continue
            self.protocol.receive_data(data)
            self._flush()
            for event in self.protocol.events_received():
                if event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                    is_binary = event.opcode == Opcode.BINARY or event.opcode == Opcode.CONT and is_binary
                    fragments.append(event.data)
                    if event.fin:
                        data, fragments = b"".join(fragments), []
                        if not is_binary:
                            yield data.decode(errors="replace")
                        elif self.on_binary:
                            self.on_binary(data)
                elif event.opcode == Opcode.PONG:
                    self.pongs += 1
                elif event.opcode == Opcode.CLOSE:
                    self.close_code = self.protocol.close_rcvd.code if self.protocol.close_rcvd else None
            self._flush()
        self.closed.set()


def reset(writer):
    raw = writer.get_extra_info("socket")
    if raw is not None:
        try:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
    writer.transport.abort()


# Ports outside of the system's dynamic range, and never reused within a process: while a peer is down, no other test's peer may listen at
# its port and receive its callers.
_ports = itertools.chain(range(20_000 + os.getpid() % 60 * 200, 32_700), range(20_000, 32_700))
_kept = []


def next_port():
    """A port that no other process of these tests takes before this one ends, whether anybody listens on it or not."""
    for port in _ports:
        keeper = socket.socket()
        try:
            # Bound exclusively first; SO_REUSEADDR then shares the port with the server that gets its number.
            keeper.bind(("127.0.0.1", port))
            keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        except OSError:
            keeper.close()
            continue
        _kept.append(keeper)
        return port
    raise OSError("no port is free from 20000 to 32700")


class Server:
    """`on_request(Request) -> Response | DROP`; `on_upgrade(Request) -> None | Response`; `on_socket(WebSocket)`."""

    def __init__(self, on_request, on_upgrade, on_socket, port=0, tls=None, protocol=lambda: ServerProtocol(max_size=None)):
        self.on_request, self.on_upgrade, self.on_socket = on_request, on_upgrade, on_socket
        self.port = port
        self.tls, self.protocol = tls, protocol
        self.connections_opened = 0
        self._listener = None
        self._writers = set()
        self._tasks = set()

    async def listen(self, path=None):
        """Listens on loopback, or on a Unix socket."""
        if path:
            self._listener = await asyncio.start_unix_server(self._serve, path, limit=1 << 20, backlog=512)
            return
        self.port = self.port or next_port()
        self._listener = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, limit=1 << 20, backlog=512, ssl=self.tls)

    async def stop_listening(self):
        if self._listener:
            self._listener.close()
            self._listener = None

    async def close(self):
        await self.stop_listening()
        self.drop_connections()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def drop_connections(self):
        for writer in list(self._writers):
            reset(writer)

    async def _serve(self, reader, writer):
        self.connections_opened += 1
        self._writers.add(writer)
        self._tasks.add(asyncio.current_task())
        raw = writer.get_extra_info("socket")
        if raw.family != socket.AF_UNIX:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while True:
                request = await self._read_request(reader, writer)
                if request is None or not await self._answer(request, reader, writer):
                    return
        except (ConnectionError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(asyncio.current_task())
            self._writers.discard(writer)
            writer.close()

    async def _read_request(self, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        line, *rest = head.decode("latin-1").split("\r\n")
        method, target, _ = line.split(" ", 2)
        headers = {}
        for entry in filter(None, rest):
            name, _, value = entry.partition(":")
            headers[name.strip().lower()] = value.strip()
        url = urlsplit(target)
        request = Request(method, url.path, dict(parse_qsl(url.query)), headers, head)
        length = int(headers.get("content-length", 0))
        if length:
            if headers.get("expect", "").lower() == "100-continue":
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.body = await reader.readexactly(length)
        return request

    async def _answer(self, request, reader, writer):
        """Answers a request. Returns whether the connection continues."""
        if request.headers.get("upgrade", "").lower() == "websocket":
            refusal = await self.on_upgrade(request)
            if refusal is not None:
                return self._write(writer, refusal)
            await self._upgrade(request, reader, writer)
            return False
        response = await self.on_request(request)
        if response is DROP:
            reset(writer)
            return False
        if isinstance(response.body, Endless):
            await self._write_for_ever(writer, response)
            return False
        alive = self._write(writer, response)
        await writer.drain()
        return alive and response.headers.get("Connection") != "close" and request.headers.get("connection", "").lower() != "close"

    @staticmethod
    def _write(writer, response):
        body = response.body if isinstance(response.body, bytes) else json.dumps(response.body).encode()
        headers = {"Content-Length": len(body), "Content-Type": "application/json"} | response.headers
        lines = [f"HTTP/1.1 {response.status} Status", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return True

    @staticmethod
    async def _write_for_ever(writer, response):
        headers = {"Connection": "close"} | response.headers
        lines = [f"HTTP/1.1 {response.status} Status", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        while not writer.is_closing():
            writer.write(response.body.chunk)
            await writer.drain()
            await asyncio.sleep(response.body.pause)

    async def _upgrade(self, request, reader, writer):
        protocol = self.protocol()
        protocol.receive_data(request.head)
        opening = next(iter(protocol.events_received()), None)
        if opening is None:
            reset(writer)
            return
        protocol.send_response(protocol.accept(opening))
        connection = WebSocket(reader, writer, protocol, request)
        connection._flush()
        try:
            await self.on_socket(connection)
        finally:
            connection.closed.set()

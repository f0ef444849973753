"""Requests written by hand on a bare socket, and the raw responses, to the byte."""

import asyncio
import socket
import struct
from dataclasses import dataclass


@dataclass
class Answer:
    status: int
    headers: list
    body: bytes

    def header(self, name):
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        if len(values) > 1:
            raise AssertionError(f"{name} came {len(values)} times: {values}")
        return values[0] if values else None


class Raw:
    """One connection."""

    def __init__(self, port, seconds=60.0, limit=1 << 26, receive_buffer=None):
        """`receive_buffer` limits the kernel's buffer, for a client that does not read."""
        self.port, self.seconds, self.limit, self.receive_buffer = port, seconds, limit, receive_buffer

    async def __aenter__(self):
        bare = socket.socket()
        if self.receive_buffer:
            bare.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_buffer)
        bare.connect(("127.0.0.1", self.port))
        self.reader, self.writer = await asyncio.open_connection(sock=bare, limit=self.limit)
        return self

    async def __aexit__(self, *_):
        self.writer.transport.abort()

    def write(self, data):
        self.writer.write(data)

    async def send(self, data):
        """Sends data, even if the far side closes in the middle of it."""
        try:
            self.writer.write(data)
            await asyncio.wait_for(self.writer.drain(), self.seconds)
        except ConnectionError:
            pass

    async def answer(self):
        async with asyncio.timeout(self.seconds):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = [tuple(line.split(": ", 1)) for line in head[1:] if line]
            answer = Answer(int(head[0].split(" ")[1]), headers, b"")
            if answer.status != 101:
                answer.body = await self.reader.readexactly(int(answer.header("Content-Length") or 0))
            return answer

    async def end(self):
        """Reads to the end of the connection, and returns all bytes."""
        try:
            return await asyncio.wait_for(self.reader.read(), self.seconds)
        except ConnectionError:
            return b""


def request(method, target, token=None, body=None, headers=()):
    lines = [f"{method} {target} HTTP/1.1"]
    if not any(line.lower().startswith("host:") for line in headers):
        lines.append("Host: 127.0.0.1")
    if token:
        lines.append(f"Authorization: Bearer {token}")
    lines += headers
    if body is not None:
        body = body if isinstance(body, bytes) else body.encode()
        if not any(line.lower().startswith(("content-length:", "transfer-encoding:")) for line in headers):
            lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


async def ask(port, *arguments, **options):
    """One request on a connection of its own."""
    async with Raw(port) as raw:
        await raw.send(request(*arguments, **options))
        return await raw.answer()


# WebSocket frames

def frame(data, opcode=1, fin=True, masked=True, reserved=0, announced=None):
    size = len(data) if announced is None else announced
    head = bytes([(0x80 if fin else 0) | reserved | opcode])
    bit = 0x80 if masked else 0
    head += bytes([bit | size]) if size < 126 else bytes([bit | 126]) + struct.pack(">H", size) if size < 65536 else (
        bytes([bit | 127]) + struct.pack(">Q", size))
    if not masked:
        return head + data
    # A mask of zeros leaves the data unchanged, and is valid.
    return head + bytes(4) + data


async def upgraded(raw, token, target="/v1/bridge/ws"):
    key = "dGhlIHNhbXBsZSBub25jZQ=="
    await raw.send(request("GET", target, token, headers=(
        "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13")))
    return await raw.answer()


async def next_frame(raw):
    """(opcode, payload) of an unfragmented server frame; None at the end."""
    try:
        async with asyncio.timeout(raw.seconds):
            first, second = await raw.reader.readexactly(2)
            size = second & 127
            if size == 126:
                size, = struct.unpack(">H", await raw.reader.readexactly(2))
            elif size == 127:
                size, = struct.unpack(">Q", await raw.reader.readexactly(8))
            return first & 15, await raw.reader.readexactly(size)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def close_code(raw):
    """Reads up to the closing frame, and returns its code, or None without one."""
    while (came := await next_frame(raw)) is not None:
        if came[0] == 8:
            return struct.unpack(">H", came[1][:2])[0] if len(came[1]) >= 2 else 1005
    return None

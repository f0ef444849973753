"""WebSocket servers for tests, on free ports. Standard output gets the ports first, then a line for each event that a test may wait for.
Ends with standard input."""

import asyncio
import base64
import hashlib
import http
import os
import ssl
import subprocess
import sys
import tempfile
import urllib.parse
from socket import SO_SNDBUF, SOL_SOCKET

from websockets.asyncio.server import serve, unix_serve
from websockets.exceptions import ConnectionClosed


def say(*words):
    print(*words, flush=True)


def authority(folder):
    """A private authority and a certificate for 127.0.0.1 signed by it."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    openssl(*new, "-subj", "/CN=Test authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(
        *new, "-subj", "/CN=peer", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE",
        "-CA", "ca.pem", "-CAkey", "ca.key", "-keyout", "peer.key", "-out", "peer.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/peer.pem", f"{folder}/peer.key")
    # If the client offered h2, this server would choose it, and the handshake would fail.
    context.set_alpn_protocols(["h2", "http/1.1"])
    with open(f"{folder}/peer.pem") as file:
        pin = hashlib.sha256(ssl.PEM_cert_to_DER_cert(file.read())).hexdigest()
    return context, f"{folder}/ca.pem", pin


async def echo(socket, _):
    async for message in socket:
        await socket.send(message)


async def fragments(socket, query):
    piece = "ü" * int(query["size"])

    async def pieces():
        for _ in range(int(query["count"])):
            yield piece

    await socket.send(pieces())
    await socket.wait_closed()


async def large(socket, query):
    await socket.send("x" * int(query["size"]))
    await socket.wait_closed()


async def ping(socket, _):
    await (await socket.ping(b"are you there"))
    await socket.send("there you are")
    await socket.wait_closed()


async def close(socket, query):
    await socket.send("last words")
    await socket.close(int(query["code"]), query["reason"])


async def count(socket, _):
    async for message in socket:
        say("length", len(message))


async def abort(socket, _):
    await socket.send("last words")
    socket.transport.abort()


async def stalled(socket, _):
    # Receives nothing: the library stops reading when a few messages wait.
    await socket.wait_closed()


async def headers(socket, query):
    await socket.send(socket.request.headers.get(query["name"], "missing"))
    await socket.wait_closed()


async def flood(socket, query):
    for number in range(int(query["count"])):
        await socket.send(f"{number} {'.' * 300}")
    await socket.wait_closed()


HANDLERS = {
    "/echo": echo, "/fragments": fragments, "/large": large, "/ping": ping, "/close": close, "/count": count,
    "/abort": abort, "/stalled": stalled, "/headers": headers, "/flood": flood,
}


async def handle(socket):
    path, _, query = socket.request.path.partition("?")
    try:
        await HANDLERS[path](socket, dict(urllib.parse.parse_qsl(query, keep_blank_values=True)))
    except ConnectionClosed:
        pass
    await socket.wait_closed()
    say("closed", socket.close_code, socket.close_reason)


def refuse(connection, request):
    if request.path == "/refuse":
        response = connection.respond(http.HTTPStatus.UNAUTHORIZED, '{"error":"bad token"}')
        response.headers["X-Why"] = "token"
        return response
    return None


def accept(key):
    digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    return base64.b64encode(digest).decode()


def frame(opcode, payload=b""):
    return bytes([0x80 | opcode, len(payload)]) + payload


async def raw(reader, writer):
    """A server without a library, for behaviour that no library has."""
    try:
        await answer_raw(reader, writer)
        # Waits until the client leaves.
        while await reader.read(65536):
            pass
    except ConnectionError:
        pass
    writer.close()
    say("gone")


async def answer_raw(reader, writer):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    path = head.split(" ")[1]
    key = next(line[19:] for line in head.split("\r\n") if line.startswith("Sec-WebSocket-Key: "))
    yes = (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept(key)}\r\n\r\n").encode()
    if path == "/silent":
        return
    if path == "/deaf":
        writer.write(yes)
    elif path == "/early":
        writer.write(yes + frame(1, b"one") + frame(1, b"two")[:3])
        writer.write(frame(1, b"two")[3:])
    elif path == "/trickle":
        for byte in b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + yes + frame(1, b"one"):
            writer.write(bytes([byte]))
            await writer.drain()
    elif path == "/wrong-accept":
        writer.write(yes.replace(accept(key).encode(), accept("x").encode()))
    elif path == "/not-http":
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    elif path == "/chunked":
        writer.write(b"HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
    elif path == "/endless":
        writer.write(b"HTTP/1.1 503 No\r\n\r\nno end")
    elif path == "/hang-up":
        writer.write_eof()
    elif path == "/end":
        writer.write(yes + frame(1, b"one"))
        writer.write_eof()
    elif path == "/masked":
        writer.write(yes + b"\x81\x81\x00\x00\x00\x00a")
    elif path == "/bad-text":
        writer.write(yes + frame(1, b"\xff"))
    elif path == "/huge":
        # The system buffers all of it at once, so that it arrives even if this process stalls.
        writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_SNDBUF, 1 << 20)
        writer.write(yes + b"\x82\x7f" + (1 << 62).to_bytes(8, "big") + b"x" * 100_000)
    else:
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    await writer.drain()
    if path in ("/masked", "/bad-text", "/huge"):
        tail = b""
        while piece := await reader.read(65536):
            tail += piece
        # A masked closing frame: two bytes of header, four of mask.
        code = bytes(tail[6 + i] ^ tail[2 + i] for i in range(2))
        say("code", int.from_bytes(code, "big"))


async def main():
    loop = asyncio.get_running_loop()
    loop.add_reader(0, lambda: os.read(0, 4096) or os._exit(0))
    options = {"process_request": refuse, "compression": None, "max_size": None, "ping_interval": None}
    with tempfile.TemporaryDirectory() as folder:
        context, certificate, pin = authority(folder)
        plain = await serve(handle, "127.0.0.1", 0, **options)
        secure = await serve(handle, "127.0.0.1", 0, ssl=context, **options)
        local = await unix_serve(handle, f"{folder}/local.socket", **options)
        bare = await asyncio.start_server(raw, "127.0.0.1", 0)
        ports = [server.sockets[0].getsockname()[1] for server in (plain, secure, bare)]
        say("ready", *ports, certificate, pin, f"{folder}/local.socket")
        await asyncio.Future()
        local.close()


if __name__ == "__main__":
    asyncio.run(main())

"""File servers, correct and hostile, for the tests of Attachments.

Prints `ready HTTP_PORT HTTPS_PORT AUTHORITY_FILE`, then a line per request: `request PATH HEADERS`. Ends with its standard input. Each path
of `Files` is one behaviour; both servers have all of them.
"""

import os
import socket
import ssl
import sys
import tempfile
import threading
import time
import zlib

from https_server import certificates

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
_saying = threading.Lock()


def say(*words):
    with _saying:
        print(*words, flush=True)


def head(status, *headers):
    return "\r\n".join([f"HTTP/1.1 {status} Words", *headers, "", ""]).encode()


class Files:
    """Responses by path; `ports` are those of both servers."""

    def __init__(self, ports):
        self.ports = ports

    def whole(self, send, body=PNG, kind="image/png", *headers):
        send(head(200, f"Content-Type: {kind}", f"Content-Length: {len(body)}", "Connection: close", *headers) + body)

    def redirect(self, send, to, status=302):
        send(head(status, f"Location: {to}", "Content-Length: 5", "Connection: close") + b"there")

    def serve(self, path, send):
        http, https = self.ports
        match path.split("/")[1:]:
            case ["png"]: self.whole(send)
            case ["text"]: self.whole(send, b"hello", "text/plain; charset=utf-8")
            case ["html-as-png"]: self.whole(send, b"<html>expired</html>", "text/html")
            case ["html-as-text"]: self.whole(send, b"\n<!DOCTYPE HTML><p>expired", "text/plain")
            case ["pdf"]: self.whole(send, b"\n%PDF-1.7\n...", "application/octet-stream")
            case ["empty"]: self.whole(send, b"")
            case ["size", count]: self.whole(send, b"x" * int(count), "application/x-big")
            case ["status", status]: send(head(int(status), "Content-Length: 2", "Connection: close") + b"no")
            case ["refuses-for-ever"]:
                send(head(302, f"Location: http://127.0.0.1:{http}/png"))
                while True:
                    send(b"x" * 65536)
            case ["chunked"]:
                send(head(200, "Content-Type: image/png", "Transfer-Encoding: chunked", "Connection: close"))
                send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(PNG), PNG))
            case ["without-length"]: send(head(200, "Content-Type: image/png", "Connection: close") + PNG)
            case ["says-less"]: send(head(200, "Content-Length: 16", "Connection: close") + PNG)
            case ["says-more"]: send(head(200, "Content-Length: 99999", "Connection: close") + PNG)
            case ["says-much"]: send(head(200, "Content-Length: 99999999999", "Connection: close") + PNG)
            case ["says-nonsense"]: send(head(200, "Content-Length: -7", "Connection: close") + PNG)
            case ["never-ends"]:
                send(head(200, "Content-Type: application/x", "Connection: close"))
                while True:
                    send(b"x" * 65536)
            case ["headers-never-end"]:
                send(b"HTTP/1.1 200 OK\r\n")
                while True:
                    send(b"X-Long: " + b"x" * 8000 + b"\r\n")
            case ["drips"]:
                send(head(200, "Content-Length: 1000", "Connection: close"))
                while True:
                    send(b"x")
                    time.sleep(0.05)
            case ["silent"]: time.sleep(600)
            case ["bomb"]:
                packed = zlib.compressobj(9, zlib.DEFLATED, 31)
                body = b"".join(packed.compress(bytes(1 << 20)) for _ in range(64)) + packed.flush()
                self.whole(send, body, "image/png", "Content-Encoding: gzip")
            case ["bomb-then-identity"]:
                packed = zlib.compressobj(9, zlib.DEFLATED, 31)
                body = packed.compress(PNG) + packed.flush()
                self.whole(send, body, "image/png", "Content-Encoding: gzip", "Content-Encoding: identity")
            case ["transfer-gzip"]:
                packed = zlib.compressobj(9, zlib.DEFLATED, 31)
                body = packed.compress(PNG) + packed.flush()
                send(head(200, "Content-Type: image/png", "Transfer-Encoding: gzip, chunked", "Connection: close"))
                send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
            case ["trailers"]:
                send(head(200, "Content-Type: text/plain", "Transfer-Encoding: chunked", "Trailer: Content-Type",
                          "Connection: close"))
                send(b"5\r\nhello\r\n0\r\nContent-Type: image/png\r\nContent-Encoding: gzip\r\n\r\n")
            case ["to", *rest]: self.redirect(send, "/".join(rest).replace("HTTPS", str(https)).replace("HTTP", str(http)))
            case ["loop"]: self.redirect(send, "/loop")
            case ["hops", "0"]: self.whole(send)
            case ["hops", count]: self.redirect(send, f"/hops/{int(count) - 1}")
            case ["relative"]: self.redirect(send, "png", 307)
            case ["no-place"]: send(head(302, "Content-Length: 0", "Connection: close"))
            case ["gate"]:
                send(head(200, f"Content-Length: {len(PNG)}", "Content-Type: image/png", "Connection: close") + PNG[:100])
                time.sleep(600)
            case _: send(head(404, "Content-Length: 0", "Connection: close"))


def handle(connection, files):
    try:
        with connection:
            request = b""
            while b"\r\n\r\n" not in request:
                if not (more := connection.recv(65536)):
                    return
                request += more
            line, *headers = request.split(b"\r\n\r\n")[0].decode().split("\r\n")
            path = line.split(" ")[1]
            say("request", path, "|".join(headers))
            files.serve(path, connection.sendall)
            try:
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass
    except OSError:
        pass


def listen(files, wrap):
    server = socket.create_server(("127.0.0.1", 0), backlog=64)

    def one(connection):
        try:
            handle(wrap(connection), files)
        except OSError:
            connection.close()

    def accept():
        while True:
            connection, _ = server.accept()
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return server.getsockname()[1]


def main():
    with tempfile.TemporaryDirectory() as folder:
        certificates(folder, "DNS:localhost,DNS:files.example,DNS:both.example,DNS:mixed.example,IP:127.0.0.1")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(folder, "leaf.pem"), os.path.join(folder, "leaf.key"))
        ports = []
        files = Files(ports)
        ports.append(listen(files, lambda connection: connection))
        ports.append(listen(files, lambda connection: context.wrap_socket(connection, server_side=True)))
        say("ready", *ports, os.path.join(folder, "ca.pem"))
        sys.stdin.read()


main()

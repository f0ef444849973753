"""An HTTPS server with a certificate of an authority of its own, for the tests of Transport.

Prints `ready PORT AUTHORITY_FILE LEAF_SHA256`, answers every POST with the protocol and the received body, which it also prints, and ends
with its standard input.
"""

import hashlib
import http.server
import os
import ssl
import subprocess
import sys
import tempfile
import threading


def certificates(folder, names="DNS:localhost,IP:127.0.0.1"):
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "rsa:2048", "-nodes", "-days", "2"]
    openssl("req", "-x509", *key, "-subj", "/CN=Test authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", *key[:3], "-subj", "/CN=localhost", "-keyout", "leaf.key", "-out", "leaf.csr")
    with open(os.path.join(folder, "names"), "w") as file:
        file.write(f"subjectAltName={names}\n")
    openssl(
        "x509", "-req", "-in", "leaf.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
        "-extfile", "names", "-out", "leaf.pem",
    )


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        print("request", body.decode(), flush=True)
        answer = f"{self.request_version} {body.decode()}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def main():
    with tempfile.TemporaryDirectory() as folder:
        certificates(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(folder, "leaf.pem"), os.path.join(folder, "leaf.key"))
        context.set_alpn_protocols(["http/1.1"])
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with open(os.path.join(folder, "leaf.pem")) as file:
            pin = hashlib.sha256(ssl.PEM_cert_to_DER_cert(file.read())).hexdigest()
        print("ready", server.server_address[1], os.path.join(folder, "ca.pem"), pin, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()

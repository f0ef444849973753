"""A server on this machine that answers for public addresses: a small library loaded into the bridge redirects its connections there."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from peers.oppi_tls import Certificates
from peers.wire import DROP, Server

SOURCE = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int connect(int file, const struct sockaddr *address, socklen_t length) {
    const char *port = getenv("REROUTED_PORT");
    struct sockaddr_in to;
    if (port && address->sa_family == AF_INET && length >= sizeof to) {
        memcpy(&to, address, sizeof to);
        if (ntohl(to.sin_addr.s_addr) >> 24 != 127) {
            to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            to.sin_port = htons(atoi(port));
            return (int)syscall(SYS_connect, file, &to, sizeof to);
        }
    }
    return (int)syscall(SYS_connect, file, address, length);
}
"""


class Rerouted:
    """Every non-loopback IPv4 address leads here, to a certificate whose authority the system does not know."""

    url = "https://1.2.3.4"

    async def __aenter__(self):
        if shutil.which("cc") is None:
            raise unittest.SkipTest("there is no C compiler")
        self.directory = Path(tempfile.mkdtemp(prefix="bridge-rerouted-"))
        source, self.library = self.directory / "reroute.c", self.directory / "reroute.so"
        source.write_text(SOURCE)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(self.library), str(source)], check=True)
        self.requests = []
        self._server = Server(self._request, self._request, None, tls=Certificates(self.directory / "tls").context)
        await self._server.listen()
        return self

    async def __aexit__(self, *_):
        await self._server.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    async def _request(self, request):
        self.requests.append(request)
        return DROP

    @property
    def environment(self):
        return {"LD_PRELOAD": str(self.library), "REROUTED_PORT": str(self._server.port)}

    def is_loaded(self, process):
        return str(self.library) in Path(f"/proc/{process}/maps").read_text()

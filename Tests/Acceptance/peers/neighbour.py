"""Another user's program on a port or a Unix socket of this machine: it records everything it receives, and may forward it."""

import asyncio
import shutil
import tempfile
from pathlib import Path

PROGRAM = """
import asyncio, ctypes, socket, sys
host, port, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]

async def carry(reader, writer, is_noted):
    while piece := await reader.read(65536):
        if is_noted:
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        if writer:
            writer.write(piece)
            await writer.drain()
    if writer:
        writer.close()

async def taken(reader, writer):
    try:
        if target == "0":
            return await carry(reader, None, True)
        there, back = await (asyncio.open_unix_connection(target) if target.startswith("/")
                             else asyncio.open_connection("127.0.0.1", int(target)))
        await asyncio.gather(carry(reader, back, True), carry(there, writer, False))
    except OSError:
        writer.close()

async def main():
    if host.startswith("/"):
        server = await asyncio.start_unix_server(taken, host)
        print(0, flush=True)
    else:
        listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()
        if target.startswith("/") and ctypes.CDLL(None).unshare(0x10000000 | 0x40000000):
            sys.exit("no namespaces of its own")
        server = await asyncio.start_server(taken, sock=listener)
        print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


class Neighbour:
    """Listens as `user`; `host` may be the path of a Unix socket. `target` is the local port that everything is forwarded to."""

    def __init__(self, user, host="127.0.0.1", port=0, target=0, is_apart=False):
        """With `is_apart` it listens here and lives in a network namespace of its own, as the forwarder of a rootless container does."""
        self.user, self.host, self.port, self.target, self.is_apart = user, host, port, target, is_apart
        self.heard = bytearray()
        self.way = None

    async def _pass_on(self, reader, writer):
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        async def carry(reader, writer):
            while piece := await reader.read(65536):
                writer.write(piece)
            writer.close()
        await asyncio.gather(carry(reader, back), carry(there, writer), return_exceptions=True)

    async def __aenter__(self):
        target = str(self.target)
        if self.is_apart:
            # A socket that leads out of that namespace.
            self.way = Path(tempfile.mkdtemp(prefix="bridge-way-"))
            self.way.chmod(0o755)
            target = str(self.way / "way")
            self._server = await asyncio.start_unix_server(self._pass_on, target)
            (self.way / "way").chmod(0o666)
        # The tests' own Python may be unreachable for other users.
        python = shutil.which("python3", path="/usr/bin:/bin")
        self.process = await asyncio.create_subprocess_exec(
            "setpriv", f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}", "--clear-groups", "--pdeathsig=KILL",
            python, "-c", PROGRAM, self.host, str(self.port), target, stdout=asyncio.subprocess.PIPE,
            stdin=asyncio.subprocess.DEVNULL, cwd="/", env={"PATH": "/usr/bin:/bin"})
        self.port = int(await self.process.stdout.readline())
        self._reader = asyncio.create_task(self._read())
        return self

    async def _read(self):
        while piece := await self.process.stdout.read(65536):
            self.heard += piece

    async def __aexit__(self, *error):
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await self._reader
        if self.way:
            self._server.close()
            shutil.rmtree(self.way)

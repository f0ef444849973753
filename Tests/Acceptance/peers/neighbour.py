"""Another user's program on a port or a Unix socket of this machine: it notes all that it is sent, and may pass it on."""

import asyncio
import shutil

PROGRAM = """
import asyncio, sys
host, port, target = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

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
        if not target:
            return await carry(reader, None, True)
        there, back = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(carry(reader, back, True), carry(there, writer, False))
    except OSError:
        writer.close()

async def main():
    if host.startswith("/"):
        server = await asyncio.start_unix_server(taken, host)
        print(0, flush=True)
    else:
        server = await asyncio.start_server(taken, host, port)
        print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


class Neighbour:
    """Listens as `user`, where `host` is a path on that; `target`: the port of this machine that everything is passed on to."""

    def __init__(self, user, host="127.0.0.1", port=0, target=0):
        self.user, self.host, self.port, self.target = user, host, port, target
        self.heard = bytearray()

    async def __aenter__(self):
        # The tests' own Python may lie where no other user may go.
        python = shutil.which("python3", path="/usr/bin:/bin")
        self.process = await asyncio.create_subprocess_exec(
            "setpriv", f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}", "--clear-groups", "--pdeathsig=KILL",
            python, "-c", PROGRAM, self.host, str(self.port), str(self.target), stdout=asyncio.subprocess.PIPE,
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

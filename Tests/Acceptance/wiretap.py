"""Forwards a bridge's connections to a server, and keeps every byte, both ways."""

import asyncio


class Wiretap:
    def __init__(self, port):
        self.port = port
        self.bytes = bytearray()
        self._tasks = set()

    async def __aenter__(self):
        self.server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *error):
        self.server.close()
        for task in list(self._tasks):
            task.cancel()

    async def _connected(self, reader, writer):
        try:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return writer.close()
        for source, sink in ((reader, to_writer), (to_reader, writer)):
            task = asyncio.create_task(self._carry(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(self, source, sink):
        try:
            while part := await source.read(1 << 16):
                self.bytes += part
                sink.write(part)
                await sink.drain()
        except OSError:
            pass
        finally:
            sink.close()

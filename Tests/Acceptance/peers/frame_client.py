"""The common part of bare clients of scripted servers: all received frames in order, and waiting for one of them."""

import asyncio
import json

from websockets.exceptions import ConnectionClosed


class FrameClient:
    def __init__(self):
        self.frames = []
        self._came = asyncio.Condition()

    async def begin_reading(self, socket):
        self.socket = socket
        self._reader = asyncio.create_task(self._read())

    async def __aexit__(self, *_):
        self._reader.cancel()
        await self.socket.close()

    async def _read(self):
        try:
            async for text in self.socket:
                async with self._came:
                    self.frames.append(json.loads(text))
                    self._came.notify_all()
        except ConnectionClosed:
            pass  # `closed` has the code.
        finally:
            async with self._came:
                self._came.notify_all()

    async def closed(self):
        await asyncio.wait_for(self.socket.wait_closed(), 30)
        return self.socket.close_code

    async def until(self, wanted, since=0, seconds=30):
        """The first wanted frame from `since` on."""
        def first():
            return next((frame for frame in self.frames[since:] if wanted(frame)), None)
        try:
            async with asyncio.timeout(seconds):
                async with self._came:
                    await self._came.wait_for(first)
        except TimeoutError:
            raise AssertionError(f"after {seconds} s not among {[self.shown(frame) for frame in self.frames[since:]][-30:]}") from None
        return first()

    def shown(self, frame):
        """A frame in words, for a failure."""
        return frame.get("type")

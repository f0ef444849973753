"""The peers' clock. A scale makes it run faster than the world, like the bridge's under `--time-scale`."""

import asyncio
import time


class Clock:
    def __init__(self, scale=1.0):
        self.scale = scale
        self.rebase()

    def rebase(self):
        """Restarts scaled wall time now, as a bridge that starts now does."""
        self._wall, self._from = time.time(), time.monotonic()

    def now(self):
        """Monotonic seconds, never rebased."""
        return time.monotonic() * self.scale

    def wall(self):
        return self._wall + (time.monotonic() - self._from) * self.scale

    def milliseconds(self):
        return int(self.wall() * 1000)

    async def sleep(self, seconds):
        await asyncio.sleep(seconds / self.scale)

    async def within(self, future, seconds):
        """The future's result, or None after this time."""
        done, _ = await asyncio.wait({future}, timeout=seconds / self.scale)
        return future.result() if done else None

    def later(self, seconds, action):
        return asyncio.get_running_loop().call_later(seconds / self.scale, action)

"""200 sessions at once, on the real buckets, by the wall clock."""

import asyncio
import contextlib
import os
import unittest
from pathlib import Path

from harness import Stage, until
from peers.steps import Say
from scheduling import Scenarios, scenario

SESSIONS, TOKENS = 200, 80


def heap_megabytes(pid):
    """The process's anonymous memory: the file pages of a debug build are not the bridge's memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no RssAnon")


class LoadTests(Scenarios):
    async def all_at_once(self, restart):
        async with Stage("E3", recording=False) as stage:
            stage.gateway.lane = asyncio.Semaphore(SESSIONS)
            steps = lambda number: Say([f"{number}.{token} " for token in range(TOKENS)], every=0.1)
            asked = [(number, stage.ask(f"session {number}.", steps(number))) for number in range(SESSIONS)]
            memory = asyncio.create_task(self.most_memory(stage))
            if restart:
                await until(lambda: sum(stage.phone.bubble(turn.interaction) is not None for _, turn in asked) >= 60, 60,
                            "sixty bubbles")
                memory.cancel()
                stage.bridge.kill9()
                await stage.bridge.exit()
                await stage.bridge.start()
                memory = asyncio.create_task(self.most_memory(stage))
            await stage.ended(*(turn for _, turn in asked), seconds=120)
            for number, turn in asked:
                stage.expect(turn, "".join(f"{number}.{token} " for token in range(TOKENS)).strip())
            begun = stage.relay.calls[0].at
            self.assertEqual([(call.method, f"{call.at - begun:.3f} s") for call in stage.relay.natural_429s()], [])
            stage.check(*(turn for _, turn in asked))
            memory.cancel()
            self.assertLess(self.peak, 60, "MB")
            if "release" in str(os.environ.get("SOPHON_BRIDGE", "")):
                self.assertLess(stage.bridge.peak_megabytes(), 60, "MB")

    async def most_memory(self, stage):
        self.peak = 0
        while True:
            # A killed process has no figures until the next one starts.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                self.peak = max(self.peak, heap_megabytes(stage.bridge.pid))
            await asyncio.sleep(0.25)

    @scenario(140, weight=5)
    async def test_200_sessions_at_10_tokens_a_second_all_end_without_a_429(self):
        await self.all_at_once(restart=False)

    @scenario(140, weight=5)
    async def test_200_sessions_with_a_kill_in_the_middle_all_end_without_a_429(self):
        await self.all_at_once(restart=True)


if __name__ == "__main__":
    unittest.main()

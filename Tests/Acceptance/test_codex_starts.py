"""Several first starts of Codex with one home: connections of one bridge, and `doctor` beside it."""

import asyncio
import json
import unittest

from codex_double import COMMAND, CodexDouble
from commands import once
from harness import until
from scheduling import Scenarios, scenario
from test_two_connections import Two


class TwoCodexes(Two):
    """Two relays, and one bridge with a scripted Codex for each; both share one home."""

    async def __aenter__(self):
        self._start = False
        await super().__aenter__()
        self.codex = CodexDouble(self.directory / "codex")
        (self.directory / "project").mkdir()
        self.bridge.environment = self.environment()
        return self

    async def __aexit__(self, *error):
        await super().__aexit__(*error)
        self.codex.end()

    def environment(self):
        return super().environment() | {
            "CODEX_DOUBLE": str(self.directory / "codex"), "CODEX_HOME": str(self.directory / "codex-home"),
            "SOPHON_WORKSPACE": str(self.directory / "project")}

    def configure(self, change=None, **top):
        def both(configuration):
            for connection in configuration["connections"]:
                connection["agent"] = {"kind": "codex", "command": COMMAND}
        super().configure(both, **top)


class CodexStartTests(Scenarios):
    async def answered(self, two, *asked):
        for side, turn in asked:
            await side.ended(turn, seconds=60)
            side.expect(turn, "Understood.")
        self.assertEqual(two.codex.log("clashes"), [])

    @scenario(120)
    async def test_two_connections_start_one_after_the_other(self):
        async with TwoCodexes() as two:
            two.codex.habits(first_start_takes=1)
            await two.start()
            await self.answered(two, *((side, side.ask(f"hello {name}")) for side, name in zip(two.sides, "ab")))
            self.assertEqual(len(two.codex.servers()), 2)

    @scenario(120)
    async def test_doctor_waits_for_a_start_and_a_start_for_doctor(self):
        async with TwoCodexes() as two:
            two.codex.habits(first_start_takes=2)
            starting = asyncio.ensure_future(two.start())
            await until(lambda: two.codex.servers(), 30, "the first start")
            doctor = await once("doctor", "--json", directory=two.directory, environment=two.environment())
            await starting
            found = [json.loads(line) for line in doctor.out.splitlines()]
            self.assertFalse([line for line in found if "does not start" in str(line)], found)
            self.assertTrue([line for line in found if "Codex reads its configuration" in str(line)], found)
            await self.answered(two, *((side, side.ask(f"hello {name}")) for side, name in zip(two.sides, "ab")))


if __name__ == "__main__":
    unittest.main()

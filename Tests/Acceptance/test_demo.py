"""`demo` without a browser: who may reach the agent behind it, and that a show comes to its end."""

import tempfile
import unittest
from contextlib import asynccontextmanager
from pathlib import Path

from peers.gateway import Gateway
from scheduling import Scenarios, scenario
from simulator import Simulator


@asynccontextmanager
async def agent_demo(directory, gateway, *options, **environment):
    demo = Simulator(directory, "--agent", "openclaw", *options, command="demo", environment={
        "OPENCLAW_URL": gateway.url, "OPENCLAW_TOKEN": gateway.token, "TMPDIR": str(directory), "NO_COLOR": "1",
        "OPENCLAW_STATE_DIR": str(Path(directory, "openclaw"))} | environment)
    await demo.start()
    try:
        yield demo
    finally:
        await demo.close()


class DemoWithAnAgentTests(Scenarios):
    @scenario(60)
    async def test_only_who_was_told_the_tokens_reaches_the_agent(self):
        with tempfile.TemporaryDirectory(prefix="demo-") as directory:
            prescribed = await Simulator(directory).start()
            await prescribed.close()
            seen = []
            async with Gateway("E3") as gateway:
                for _ in range(2):
                    async with agent_demo(directory, gateway) as demo:
                        await demo.connected()
                        self.assertRegex(demo.token, r"^inst_[0-9A-Za-z]{16}:s_test_[0-9A-Za-z]{32}$")
                        self.assertRegex(demo.user_token, r"^usr_test_[0-9A-Za-z]{26}$")
                        seen += [demo.token, demo.user_token]
                        demo.user_token = prescribed.user_token
                        with self.assertRaisesRegex(AssertionError, ": 401 "):
                            await demo.write("delete everything")
            self.assertEqual(len(set(seen + [prescribed.token, prescribed.user_token])), 6, seen)


if __name__ == "__main__":
    unittest.main()

"""Proxies named by the environment: none gets plain HTTP, which would show it tokens."""

import asyncio
import contextlib
import unittest

from harness import Stage
from oppi_stage import OppiStage
from peers.oppi_steps import Say as OppiSay
from peers.steps import Say
from peers.wire import next_port
from scheduling import Scenarios, scenario


@contextlib.asynccontextmanager
async def proxy():
    """The variables that name the proxy, and its received requests."""
    asked = []

    async def hear(reader, writer):
        asked.append(await reader.readline())
        writer.close()
    async with await asyncio.start_server(hear, "127.0.0.1", next_port()) as server:
        address = "http://127.0.0.1:%d" % server.sockets[0].getsockname()[1]
        names = ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        yield {name: address for name in names} | {"no_proxy": "", "NO_PROXY": ""}, asked


class ProxyTests(Scenarios):
    @scenario(60)
    async def test_openclaw_and_the_relay_in_plain_text_are_reached_without_one(self):
        async with proxy() as (environment, asked), Stage("E3", environment=environment) as stage:
            turn = stage.ask("Hello?", Say(["Hello."]))
            await stage.ended(turn)
            stage.check(turn)
            self.assertEqual(asked, [])

    @scenario(60)
    async def test_oppi_and_its_rest_are_reached_without_one(self):
        async with proxy() as (environment, asked), OppiStage(environment=environment) as stage:
            turn = stage.ask("Hello?", OppiSay(["Hello."]))
            await stage.ended(turn)
            stage.check(turn)
            self.assertEqual(asked, [])


if __name__ == "__main__":
    unittest.main()

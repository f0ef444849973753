"""Several connections with agents of several kinds in one process."""

import os
import signal
import unittest
from pathlib import Path

from harness import Bridge, Stage, until
from peers import oppi_steps
from peers.oppi_server import OppiServer
from peers.steps import Say, Tool
from pi_home import COMMAND, PiHome, said, words
from scheduling import Scenarios, scenario


class Several:
    """A relay and the agent's far side for each connection, with one bridge between them."""

    def __init__(self, *agents, plans=None, **top):
        self.kinds, self._plans, self._top = agents, plans or {}, top
        self.sides = [Stage("E3", start=False) for _ in agents]

    async def __aenter__(self):
        for side in self.sides:
            await side.__aenter__()
        self.directory = self.sides[0].directory
        connections = []
        for number, (kind, side) in enumerate(zip(self.kinds, self.sides)):
            if kind == "pi":
                side.pi = PiHome(side.directory / "pi", self._plans)
                agent = {"kind": "pi", "command": COMMAND, "directory": str(side.pi.workspace), "env": side.pi.environment}
            elif kind == "oppi":
                side.oppi = await OppiServer(side.directory / "oppi").__aenter__()
                agent = {"kind": "oppi", "url": side.oppi.url, "token": side.oppi.token}
            else:
                agent = {"kind": kind, "url": side.gateway.url, "token": side.gateway.token}
            connections.append({"name": f"side-{number}", "agent": agent,
                                "relay": {"base_url": side.relay.url, "token": side.relay.token}})
        self.sides[0].configure({"connections": connections} | self._top)
        self.bridge = Bridge(self.directory, {
            "SOPHON_CONFIG_DIR": str(self.directory / "config"), "SOPHON_STATE_DIR": str(self.directory / "state"), "NO_COLOR": "1"})
        for side in self.sides:
            side.bridge = self.bridge
        try:
            await self.start()
        except BaseException as error:
            error.add_note(self.bridge.story())
            await self.__aexit__(None, None, None)
            raise
        return self

    async def start(self):
        mark = len(self.bridge.events)
        await self.bridge.start(ready_seconds=0)
        await until(lambda: self.bridge.names(mark).count("ready") == len(self.sides), 30, "all connections are ready")

    async def __aexit__(self, kind, error, trace):
        if error is not None:
            error.add_note(self.bridge.story())
        await self.bridge.close()
        for side in self.sides:
            if hasattr(side, "oppi"):
                await side.oppi.__aexit__(None, None, None)
            await side.__aexit__(None, None, None)


class SeveralAgentsTests(Scenarios):
    @scenario(90)
    async def test_three_agents_and_four_connections_answer_at_once_and_lose_nothing_of_each_other(self):
        plans = {"work": [said(*words("a")), {"tool": {}}, {"hold": "go"}, said(*words("b"))]}
        async with Several("openclaw", "pi", "pi", "oppi", plans=plans) as several:
            gateway, one, two, oppi = several.sides
            oppi.oppi.plan("work", oppi_steps.Say(["I look."]), oppi_steps.Tool(), oppi_steps.Say(["It is full."]))
            asked = [gateway.ask("work", Say(words("g")), Tool(), Say(["Done."])), one.ask("work"), two.ask("work"),
                     oppi.ask("work")]
            await one.streaming(asked[1])
            await two.streaming(asked[2])
            await gateway.ended(asked[0])
            gateway.check(asked[0])
            await oppi.ended(asked[3])
            oppi.expect(asked[3], "I look.\n\nIt is full.")
            oppi.check(asked[3])
            # The end of one child does not affect the others.
            os.kill(one.pi.child(), signal.SIGKILL)
            await one.ended(asked[1])
            one.expect_said(asked[1], "pi", "process")
            two.pi.open_gate("go")
            await two.ended(asked[2])
            two.expect(asked[2], "".join(words("a")) + "\n\n" + "".join(words("b")))
            for side in (one, two):
                side.pi.check_prompts(side.phone, asked[1] if side is one else asked[2])
                self.assertEqual(len(side.pi.log("starts")), 1)
            # After a crash of the bridge each agent continues.
            several.bridge.kill9()
            await several.bridge.exit()
            await several.start()
            again = [gateway.ask("more", Say(["More."])), one.ask("hello", session=asked[1].session),
                     two.ask("hello", session=asked[2].session), oppi.ask("hello", session=asked[3].session)]
            for side, turn, text in zip(several.sides, again, ("More.", "Hello.", "Hello.", "You said: hello")):
                await side.ended(turn)
                side.expect(turn, text)

    @scenario(90)
    async def test_over_the_limit_of_agents_a_message_waits_and_says_so_and_an_idle_child_gives_its_place_up(self):
        plans = {"long": [said("Begun."), {"hold": "go"}, said("Ended.")]}
        async with Several("pi", "pi", plans=plans, limits={"agents": 1}) as several:
            one, two = several.sides
            long = one.ask("long")
            await one.streaming(long)
            hello = two.ask("hello")
            await until(lambda: two.phone.tasks_of(hello.interaction), 30, "a card says that it waits")
            card = next(call.body for call in two.relay.calls if call.method == "createTask")
            self.assertEqual(card["status_label"], "Waiting for a place: 1 agent is running")
            self.assertEqual(two.pi.log("starts"), [])
            one.pi.open_gate("go")
            await one.ended(long)
            one.expect(long, "Begun.\n\nEnded.")
            # The idle child ends, and the waiting message is answered.
            await two.ended(hello)
            two.expect(hello, "Hello.")
            two.check(hello)
            first = one.pi.child()
            await until(lambda: not Path(f"/proc/{first}").exists(), 30, "the first child is gone")
            # The first chat continues in another process, for which the second one makes room.
            again = one.ask("hello", session=long.session)
            await one.ended(again)
            one.expect(again, "Hello.")
            self.assertIn("--session", one.pi.log("starts")[-1]["arguments"])

    @scenario(90)
    async def test_where_chats_that_wait_for_an_answer_hold_all_places_the_message_that_waits_names_them(self):
        plans = {"clean": [{"gate": {"command": "rm -r labels"}}]}
        async with Several("pi", "pi", plans=plans, limits={"agents": 1}) as several:
            one, two = several.sides
            held = one.ask("clean")
            approval = await one.approval(held)
            hello = two.ask("hello")
            await until(lambda: two.phone.tasks_of(hello.interaction), 30, "a card says that it waits")
            label = next(call.body for call in two.relay.calls if call.method == "createTask")["status_label"]
            self.assertRegex(label, r"^All places for agents are held by chats that wait for an answer: "
                             rf"{held.session} \(since [0-9:]+ UTC\)\. Answer there, or write /bridge asks\.$")
            one.relay.decide(approval, "approve")
            await one.ended(held)
            one.expect(held, "Done.")
            await two.ended(hello)
            two.expect(hello, "Hello.")


if __name__ == "__main__":
    unittest.main()

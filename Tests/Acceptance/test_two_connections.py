"""Two connections in one process: a failure of one leaves the other unaffected."""

import json
import os
import signal
import unittest

from commands import lines_of, once
from harness import Bridge, Stage, until
from peers.rules import base62
from peers.steps import Hold, Say
from scheduling import Scenarios, scenario
from stories import words

NAMES = ("one", "two")


class Two:
    """Two relays and two gateways with one bridge between them."""

    def __init__(self, era="E3", start=True, tokens=None, **top):
        self.sides = [Stage(era, start=False) for _ in NAMES]
        self._start, self._tokens, self._top = start, tokens, top

    async def __aenter__(self):
        for side in self.sides:
            await side.__aenter__()
        self.directory, self.state = self.sides[0].directory, self.sides[0].state
        self.tokens = self._tokens or [side.relay.token for side in self.sides]
        self.configure()
        self.bridge = Bridge(self.directory, self.environment())
        for side in self.sides:
            side.bridge = self.bridge
        if self._start:
            try:
                await self.start()
            except BaseException as error:
                error.add_note(self.bridge.story())
                await self.__aexit__(None, None, None)
                raise
        return self

    async def __aexit__(self, kind, error, trace):
        if error is not None:
            error.add_note(self.bridge.story())
        await self.bridge.close()
        for side in self.sides:
            await side.__aexit__(None, None, None)

    def environment(self):
        return {"SOPHON_CONFIG_DIR": str(self.directory / "config"), "SOPHON_STATE_DIR": str(self.state), "NO_COLOR": "1"}

    async def start(self, connections=2):
        mark = len(self.bridge.events)
        await self.bridge.start(ready_seconds=0)
        await until(lambda: self.bridge.names(mark).count("ready") == connections, 30, f"{connections} connections are ready")

    def configure(self, change=None, **top):
        connections = []
        for name, side, token in zip(NAMES, self.sides, self.tokens):
            relay = {"base_url": side.relay.url} | ({"token": token} if token else {})
            connections.append({"name": name, "relay": relay,
                                "agent": {"url": side.gateway.url, "token": side.gateway.token}})
        configuration = {"connections": connections} | self._top | top
        if change:
            change(configuration)
        self.sides[0].configure(configuration)

    async def reload(self, taken=True):
        mark = len(self.bridge.events)
        os.kill(self.bridge.pid, signal.SIGHUP)
        return await self.bridge.event("reloaded" if taken else "error", 15, mark)

    def link(self, index, which="relay"):
        connection = json.loads((self.state / "status.json").read_text())["connections"][index]
        return connection["relay"] if which == "relay" else connection["agent"]["link"]

    async def connected(self, index, mark, seconds=15):
        await until(lambda: any(event.get("event") == "sophon_connected" and event["connection"] == NAMES[index]
                                for event in self.bridge.events[mark:]), seconds, f"{NAMES[index]} is connected again")

    async def say(self, *arguments):
        return await once(*arguments, directory=self.directory, environment=self.environment())


def another_token(token):
    """Another token of the same installation."""
    return token.split(":")[0] + ":s_test_" + base62("")


class TwoConnectionsTests(Scenarios):
    @scenario(60)
    async def test_one_without_a_token_is_told_and_the_other_runs_until_it_gets_one(self):
        async with Two(start=False) as two:
            late, two.tokens[1] = two.tokens[1], None
            two.configure()
            await two.start(connections=1)
            error = await two.bridge.event("error")
            self.assertEqual((error["code"], error["connection"]), (23, "two"))
            self.assertIn("sophon-bridge pair", error["remedy"])
            self.assertIn("connection two has no token", "".join(two.bridge.stderr))
            await until(lambda: two.link(1)["state"] == "stopped", 15, "the status")
            self.assertIn("sophon-bridge pair", two.link(1)["remedy"])
            self.assertNotIn("remedy", two.link(0))
            status = await two.say("status", "--healthy")
            self.assertEqual(status.code, 23)
            turn = two.sides[0].ask("hello", Say(["Hello."]))
            await two.sides[0].ended(turn)
            two.sides[0].check(turn)
            self.assertEqual(two.sides[1].relay.sockets_made, 0)
            self.assertEqual(two.sides[1].relay.calls, [])
            two.tokens[1] = late
            two.configure()
            await two.reload()
            await until(lambda: two.bridge.names().count("ready") == 2, 15, "the other one is ready")
            turn = two.sides[1].ask("you too", Say(["Me too."]))
            await two.sides[1].ended(turn)
            two.sides[1].check(turn)
            self.assertEqual((await two.say("status", "--healthy")).code, 0)

    @scenario(90)
    async def test_two_revocations_are_each_mended_by_a_new_token(self):
        async with Two() as two:
            for index in (0, 1):
                mine, other = two.sides[index], two.sides[1 - index]
                turn = mine.ask(f"mine {index}", Say(words(f"mine{index}", 30), 0.05), Hold(f"mended-{index}"), Say(["End."]))
                beside = other.ask(f"beside {index}", Say(words(f"beside{index}", 60), 0.05))
                await mine.streaming(turn)
                mark, sockets = len(two.bridge.events), other.relay.sockets_made
                mine.relay.revoke()
                error = await two.bridge.event("error", 15, mark)
                self.assertEqual((error["code"], error["connection"]), (23, NAMES[index]))
                await until(lambda: two.link(index)["state"] == "stopped", 15, "the status")
                self.assertIn("pair", two.link(index)["remedy"])
                # The agent's text waits meanwhile, and the other side notices nothing.
                await other.ended(beside)
                other.check(beside)
                self.assertEqual(other.relay.sockets_made, sockets)
                mine.gateway.release(f"mended-{index}")
                calls = len(mine.relay.calls)
                mine.relay.token = two.tokens[index] = another_token(two.tokens[index])
                mine.relay.refusal = None
                two.configure()
                await two.reload()
                await two.connected(index, mark)
                await mine.ended(turn)
                mine.expect(turn, "".join(words(f"mine{index}", 30)) + "End.")
                self.assertTrue(all(call.status == 200 for call in mine.relay.calls[calls:]), mine.relay.calls[calls:])
                # The earlier refusals were intended, so the rest is judged separately.
                del mine.relay.calls[:]
                after = mine.ask(f"after {index}", Say(["After."]))
                await mine.ended(after)
                mine.expect(after, "After.")
                self.assertEqual(two.link(index)["state"], "up")
            self.assertIsNone(two.bridge.process.returncode)
            said = "".join(two.bridge.stderr) + str(two.bridge.events)
            self.assertNotIn("s_test_", said)
            # The process ends only after both connections are refused.
            two.sides[0].relay.revoke()
            await until(lambda: two.link(0)["state"] == "stopped", 15, "the status")
            self.assertIsNone(two.bridge.process.returncode)
            two.sides[1].relay.revoke()
            self.assertEqual(await two.bridge.exit(), 23)

    @scenario(60)
    async def test_a_reload_with_any_fault_changes_nothing_and_names_the_key(self):
        async with Two() as two:
            old = list(two.tokens)
            sockets = [side.relay.sockets_made for side in two.sides]

            def address(configuration):
                configuration["connections"][1]["mirror"] = "all"

            def level(configuration):
                configuration["log"] = {"level": "loud"}

            def third(configuration):
                configuration["connections"].append(configuration["connections"][0] | {"name": "three", "relay": {}})

            def renamed(configuration):
                configuration["connections"][0]["name"] = "uno"

            def twice(configuration):
                configuration["connections"][1]["relay"]["token"] = configuration["connections"][0]["relay"]["token"]

            def missing(configuration):
                del configuration["connections"][1]["relay"]["token"]

            faults = [(address, "connections[1].mirror"), (level, "log.level"), (third, "connections"),
                      (renamed, "connections[0].name"), (twice, "connections[1].relay.token"),
                      (missing, "connections[1].relay.token")]
            # Each fault comes with a new token, which must not be applied.
            two.tokens[0] = another_token(old[0])
            for change, key in faults:
                two.configure(change)
                mark = len(two.bridge.stderr)
                await two.reload(taken=False)
                await until(lambda: key in "".join(two.bridge.stderr[mark:]), 10, f"{key} is named")
            turns = [side.ask("still", Say(["Still."])) for side in two.sides]
            for side, turn in zip(two.sides, turns):
                await side.ended(turn)
                side.check(turn)
            self.assertEqual([side.relay.sockets_made for side in two.sides], sockets)
            self.assertNotIn("s_test_", "".join(two.bridge.stderr) + str(two.bridge.events))
            # Without a fault the token is applied, and the socket reconnects.
            two.sides[0].relay.token = two.tokens[0]
            two.configure(log={"level": "debug", "format": "json"}, limits={"relay_call": "5s", "relay_connections": 16})
            mark = len(two.bridge.events)
            await two.reload()
            await two.connected(0, mark)
            self.assertEqual([side.relay.sockets_made for side in two.sides], [sockets[0] + 1, sockets[1]])
            self.assertTrue(json.loads(two.bridge.stderr[-1]))
            turn = two.sides[0].ask("moved", Say(["Moved."]))
            await two.sides[0].ended(turn)
            two.sides[0].check(turn)

    @scenario(60)
    async def test_with_a_token_of_another_installation_what_is_open_ends_with_the_old_one_first(self):
        async with Two() as two:
            side, other = two.sides
            turn = side.ask("open", Say(words("open")), Hold("never"))
            beside = other.ask("beside", Say(words("beside", 60), 0.05))
            await side.streaming(turn, letters=20)
            old, new = two.tokens[0], base62("inst_") + ":s_test_" + base62("") + base62("")
            side.relay.also.add(new)
            two.tokens[0] = new
            two.configure()
            mark, calls = len(two.bridge.events), len(side.relay.calls)
            await two.reload()
            await side.ended(turn)
            side.expect_begins(turn, "open-0")
            await two.connected(0, mark)
            ends = [call for call in side.relay.calls[calls:] if call.method == "sendMessageEnd"]
            self.assertEqual([(call.bearer, call.status) for call in ends], [(old, 200)])
            self.assertEqual((await side.run_of("open")).state, "aborted")
            after = side.ask("after", Say(["After."]))
            await side.ended(after)
            side.expect(after, "After.")
            self.assertEqual(side.relay.calls[-1].bearer, new)
            await other.ended(beside)
            other.check(beside)

    @scenario(60)
    async def test_what_a_dead_old_token_cannot_end_closes_as_dead_letters(self):
        async with Two() as two:
            side = two.sides[0]
            turn = side.ask("open", Say(words("open")), Hold("never"))
            await side.streaming(turn, letters=20)
            old, new = two.tokens[0], base62("inst_") + ":s_test_" + base62("") + base62("")
            side.relay.token = two.tokens[0] = new
            side.relay.cut()
            mark = len(two.bridge.events)
            await two.bridge.event("error", 15, mark)
            two.configure()
            await two.reload()
            await two.connected(0, mark)
            letters = [line for line in lines_of((await two.say("journal", "inspect", "--json")).out)
                       if line["event"] == "dead_letter"]
            self.assertTrue(letters)
            self.assertEqual({letter["turn"] for letter in letters}, {turn.interaction})
            self.assertTrue(all("401" in letter["last_result"] for letter in letters), letters)
            work = json.loads((two.state / "status.json").read_text())["connections"][0]["work"]
            self.assertEqual(work["open_turns"], 0)
            self.assertGreater(work["dead_letters"], 0)
            self.assertTrue(all(call.bearer == new for call in side.relay.calls if call.status == 200 and call.at > 0
                                and side.relay.calls.index(call) > len(side.relay.calls) - 2))
            after = side.ask("after", Say(["After."]))
            await side.ended(after)
            side.expect(after, "After.")

    @scenario(60)
    async def test_both_go_on_after_a_kill(self):
        async with Two("E4") as two:
            turns = [side.ask("long", Say(words("long", 40), 0.02), Hold("killed"), Say(["End."])) for side in two.sides]
            for side, turn in zip(two.sides, turns):
                await side.streaming(turn)
            two.bridge.kill9()
            await two.bridge.exit()
            for side in two.sides:
                side.gateway.release("killed")
            await two.start()
            for side, turn in zip(two.sides, turns):
                await side.ended(turn)
                side.expect(turn, "".join(words("long", 40)) + "End.")
                side.check(turn)

    @scenario(60)
    async def test_a_removed_connection_with_open_turns_is_told_and_can_be_forgotten(self):
        async with Two() as two:
            turn = two.sides[1].ask("open", Say(words("open")), Hold("never"))
            await two.sides[1].streaming(turn)
            two.bridge.terminate()
            self.assertEqual(await two.bridge.exit(), 0)
            clean = ("journal", "clean", "--connection", "two")
            # Refused while the connection is configured: its turns would continue.
            self.assertEqual((await two.say(*clean)).code, 2)
            two.configure(lambda configuration: configuration["connections"].pop())
            await two.start(connections=1)
            left = await two.bridge.event("connection_left")
            self.assertEqual((left["connection"], left["open_turns"]), ("two", 1))
            self.assertIn("journal clean --connection two", left["remedy"])
            self.assertIn("journal clean --connection two", "".join(two.bridge.stderr))
            self.assertEqual((await two.say(*clean)).code, 24)
            two.bridge.terminate()
            self.assertEqual(await two.bridge.exit(), 0)
            cleaned = await two.say(*clean, "--json")
            self.assertEqual((cleaned.code, lines_of(cleaned.out)[-1]["turns_forgotten"]), (0, 1), cleaned)
            self.assertEqual((await two.say("journal", "verify")).code, 0)
            self.assertEqual((await two.say(*clean)).code, 2)
            mark = len(two.bridge.events)
            await two.start(connections=1)
            self.assertNotIn("connection_left", two.bridge.names(mark))


if __name__ == "__main__":
    unittest.main()

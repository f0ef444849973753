"""Two bridges with one token at one relay and one agent: one of them answers each message, and both report the other.
`two_bridges_at_length.py` plays more of it."""

import asyncio
import json
import os
import shutil
import time
import unittest

from commands import lines_of, once
from harness import until
from peers import oppi_steps
from pair_stage import AGENTS, TOLD, Pair, conversation, texts
from scheduling import Scenarios, scenario

class TwoBridgesTests(Scenarios):
    async def converse(self, agent, is_sealed, count=9, kills=0):
        async with Pair(agent, texts(count), is_sealed) as pair:
            killed = await conversation(pair, kills=kills, every=0.2 if kills else 0)
            self.assertEqual(pair.problems(killed), [])
            if not kills:
                # The bridge that comes second reports it for each message.
                await until(lambda: len(pair.seen()) == count, 20, "each message was seen to be another's by one of the two")

    @scenario(60)
    async def test_each_message_is_prompted_and_ended_once(self):
        for agent in AGENTS:
            await self.converse(agent, False)

    @scenario(60)
    async def test_each_sealed_message_is_prompted_and_ended_once(self):
        for agent in AGENTS:
            await self.converse(agent, True)

    @scenario(60)
    async def test_a_kill_of_either_prompts_no_message_twice(self):
        for agent, is_sealed in (("oppi", False), ("pi", True)):
            await self.converse(agent, is_sealed, count=12, kills=2)

    @scenario(60)
    async def test_both_say_that_there_are_two(self):
        async with Pair("pi", texts(4)) as pair:
            for text in pair.texts:
                pair.ask(text)
            await pair.ended()
            await until(lambda: len(pair.seen()) == 4, 20, "four sightings")
            first, second = pair.bridges
            for bridge in pair.bridges:
                mine = [event for event in bridge.events if event["event"] == "another_bridge"]
                if not mine:
                    continue
                self.assertEqual([event["messages"] for event in mine], list(range(1, len(mine) + 1)))
                self.assertEqual("".join(bridge.stderr).count(TOLD), 1)
                count = f"{len(mine)} message{'s' * (len(mine) > 1)}"
                status_file = os.path.join(bridge.environment["SOPHON_STATE_DIR"], "status.json")
                await until(lambda: "another_bridge" in open(status_file).read(), 20, "the status says it")
                status = await once("status", directory=bridge.directory, environment=bridge.environment)
                self.assertRegex(status.out, rf"another bridge answers with this token, last at \d\d:\d\d[^,]*, {count}; what to do:")
                doctor = await once("doctor", "--json", directory=bridge.directory, environment=bridge.environment)
                found = [line for line in lines_of(doctor.out) if line.get("check") == "another_bridge"]
                self.assertEqual([line["outcome"] for line in found], ["warning"], doctor)
                self.assertTrue(found[0]["remedy"])

    @scenario(60)
    async def test_a_relay_that_compares_nothing_loses_nothing(self):
        async with Pair("pi", texts(3)) as pair:
            pair.relay.rules.compares = False
            for text in pair.texts:
                pair.ask(text)
            await pair.ended()
            self.assertEqual(pair.seen(), [])
            for text in pair.texts:
                self.assertIn(pair.prompts().count(text), (1, 2))

    @scenario(60)
    async def test_lost_replies_and_repeated_forwards_are_no_other_bridge(self):
        for is_sealed in (False, True):
            async with Pair("pi", texts(4), is_sealed) as pair:
                pair.relay.planned["sendMessage"] = ["applied-but-lost", "applied-but-lost", "forwarded-twice", "forwarded-twice",
                                                     "applied-but-lost"]
                for text in pair.texts:
                    pair.ask(text)
                await pair.ended()
                self.assertEqual(pair.problems(), [])

    @scenario(60)
    async def test_an_open_that_was_stored_and_never_left_is_the_others(self):
        for is_sealed in (False, True):
            async with Pair("pi", texts(1), is_sealed, begins=False) as pair:
                first, second = pair.bridges
                pair.relay.acks = False
                await first.start()
                if is_sealed:
                    await second.start()
                    await until(lambda: len(pair.hand.bridges) == 2, 20, "both are registered")
                    second.kill9()
                    await second.exit()
                    pair.relay.updates.clear()
                pair.relay.planned["sendMessage"] = ["reset"] * 50
                turn = pair.ask(pair.texts[0])
                await until(lambda: any(call.fault == "reset" for call in pair.relay.calls), 20, "the first try")
                first.kill9()
                await first.exit()
                pair.relay.planned.clear()
                await second.start()
                await pair.ended()
                await first.start()
                await first.event("another_bridge")
                self.assertEqual(pair.problems(), [])

    @scenario(60)
    async def test_a_state_directory_that_was_wiped_answers_again(self):
        async with Pair("pi", texts(1), begins=False) as pair:
            first = pair.bridges[0]
            pair.relay.acks = False
            pair.relay.hooks.append(lambda what, fields: what == "applied" and fields["method"] == "sendMessage" and first.kill9())
            await first.start()
            turn = pair.ask(pair.texts[0])
            await first.exit()
            pair.relay.hooks.clear()
            shutil.rmtree(first.environment["SOPHON_STATE_DIR"])
            await first.start()
            # The earlier bubble lost its owner; the answer has a bubble of its own.
            await until(lambda: any(bubble.final == pair.answer(pair.texts[0]) for bubble in pair.phone.bubbles.values()), 20, "the answer")
            self.assertEqual(pair.seen(), [])

    @scenario(60)
    async def test_a_copied_state_directory_has_a_mark_of_its_own(self):
        async with Pair("pi", texts(4), begins=False) as pair:
            first, second = pair.bridges
            await first.start()
            pair.ask(pair.texts[0])
            await pair.ended()
            first.terminate()
            await first.exit()
            shutil.copytree(first.environment["SOPHON_STATE_DIR"], second.environment["SOPHON_STATE_DIR"])
            await pair.start()
            for text in pair.texts[1:]:
                pair.ask(text)
            await pair.ended()
            await until(lambda: len(pair.seen()) == 3, 20, "the other was seen")
            self.assertEqual(pair.problems(), [])

    @scenario(90)
    async def test_a_copy_that_is_late_leaves_the_others_run_alone(self):
        async with Pair("oppi", texts(1), begins=False) as pair:
            first, second = pair.bridges
            await first.start()
            pair.ask(pair.texts[0])
            await pair.ended()
            first.terminate()
            await first.exit()
            # The copy knows the chat's session, and gives the prompt the same name as the original.
            shutil.copytree(first.environment["SOPHON_STATE_DIR"], second.environment["SOPHON_STATE_DIR"])
            await pair.start()
            text = "a long message"
            answer = pair.answer(text)
            pair.stage.oppi.plan(text, oppi_steps.Say([answer[at:at + 5] for at in range(0, len(answer), 5)], every=1.2))
            opened = []

            async def late(call, request, serve=pair.relay._serve):
                if call.method == "sendMessage" and turn.interaction in request.body.decode():
                    opened.append(call)
                    if len(opened) > 1:
                        await asyncio.sleep(3.5)
                return await serve(call, request)

            pair.relay._serve = late
            turn = pair.ask(text)
            await until(pair.seen, 20, "the late one has heard that the message is the other's")
            self.assertFalse(pair.phone.is_ended(turn.interaction))
            await pair.ended()
            self.assertEqual(pair.problems(), [])

    @scenario(60)
    async def test_the_prompt_waits_for_the_relay_and_not_for_long(self):
        async with Pair("pi", texts(2)) as pair:
            pair.relay.hold["sendMessage"] = asyncio.Event()
            begun = time.monotonic()
            pair.ask(pair.texts[0])
            await asyncio.sleep(1)
            self.assertEqual(pair.prompts(), [])
            await until(pair.prompts, 10, "a prompt, though the relay says nothing")
            self.assertGreater(time.monotonic() - begun, 1.9)
            pair.relay.hold.pop("sendMessage").set()
            await pair.ended()

    @scenario(120)
    async def test_an_older_socket_that_is_replaced_waits_and_says_so(self):
        async with Pair("pi", texts(3), begins=False) as pair:
            pair.relay.replaces = True
            first, second = pair.bridges
            await first.start()
            await second.start()
            lost = await first.event("relay_lost")
            self.assertIn("took its place", lost["reason"])
            for text in pair.texts:
                pair.ask(text)
            await pair.ended()
            self.assertEqual(pair.problems(), [])
            self.assertEqual([first.names().count("sophon_connected"), second.names().count("sophon_connected")], [1, 1])
            link = json.loads(open(os.path.join(first.environment["SOPHON_STATE_DIR"], "status.json")).read())["connections"][0]["relay"]
            self.assertEqual(link["state"], "waiting")
            self.assertGreater(link["retry_at"], time.time() * 1000 + 10_000)
            self.assertIn("stop the other one", link["remedy"])


if __name__ == "__main__":
    unittest.main()

"""Final refusals of the relay, and responses that only look like them: pages of a server in between."""

import asyncio
import json
import unittest

from commands import once
from harness import until
from peers.steps import Approval, Hold, Say, Tool
from scheduling import Scenarios, scenario
from simulated import SimulatedStage
from stories import journey, with_approval, words

PAGES = (("proxy_html", 403), ("proxy_html", 404), ("proxy_html", 502), ("proxy_html", 401), ("proxy_html", 410),
         ("proxy_empty", 200), ("proxy_empty", 404), ("proxy_json", 200), ("proxy_json", 401), ("proxy_json", 403))
METHODS = ("sendMessage", "sendMessageDelta", "sendMessageEnd", "createTask", "finishTask", "requestApproval")
BETWEEN = "something between here and the relay answers"


class RefusalStage(SimulatedStage):
    async def refuse(self, kind, method, count=1, **parameters):
        await self.simulator.call("POST", "/v1/simulator/faults",
                                  {"kind": kind, "method": method, "count": count} | parameters)

    async def refuse_upgrade(self, kind, count=1, **parameters):
        await self.simulator.call("POST", "/v1/simulator/socket/faults", {"kind": kind, "count": count} | parameters)
        await self.simulator.call("POST", "/v1/simulator/socket/drop", {})

    async def status(self):
        outcome = await once("status", "--json", directory=self.directory, environment=self.bridge.environment)
        return json.loads(outcome.out), outcome.out

    async def messages(self, turn, seconds=30):
        """The agent's messages in the chat, once the turn is closed."""
        def is_closed():
            return [event for event in self.bridge.events
                    if event.get("event") == "turn_ended" and event["turn"] == turn["interaction_id"]]
        await until(is_closed, seconds, f"the turn {turn['interaction_id']} is closed")
        return [message for message in await self.simulator.messages(turn["session_id"]) if message["role"] == "agent"]

    def check_alive(self, test):
        test.assertIsNone(self.bridge.process.returncode, "the bridge runs")


class PageTests(Scenarios):
    async def bear_pages(self, pages):
        async with RefusalStage() as stage:
            decider = asyncio.create_task(stage.decide())
            for number, (kind, status) in enumerate(pages):
                for method in METHODS:
                    await stage.refuse(kind, method, 2, status=status)
                steps, final = with_approval(f"page {number}.", "E3")
                turn = await stage.ask(f"page {number}.", Tool(output="61%"), *steps)
                await stage.ended(turn)
                texts = [bubble["text"] for bubble in await stage.answers(turn)]
                self.assertEqual(len(texts), 1, (kind, status))
                self.assertTrue(texts[0].endswith(final), f"{kind} {status}: {texts[0]!r} is not {final!r}")
            decider.cancel()
            self.assertEqual(len(stage.gateway.commands), len(pages), "no approval was denied")
            self.assertEqual(await stage.simulator.breaches(), [])
            left = await stage.simulator.call("GET", "/v1/simulator/faults")
            self.assertEqual(left["faults"], [], "every fault has struck")
            stage.check_alive(self)

    @scenario(120)
    async def test_pages_of_html_on_each_method_lose_nothing(self):
        await self.bear_pages([page for page in PAGES if page[0] == "proxy_html"])

    @scenario(120)
    async def test_empty_bodies_and_other_json_on_each_method_lose_nothing(self):
        await self.bear_pages([page for page in PAGES if page[0] != "proxy_html"])

    @scenario(120)
    async def test_every_shape_of_json_on_the_end_loses_nothing(self):
        async with RefusalStage() as stage:
            turn = await stage.ask("shapes", Say(words("shapes")), Hold("said"))
            await stage.refuse("proxy_json", "sendMessageEnd", 8, status=403)
            stage.gateway.release("said")
            await stage.ended(turn)
            self.assertEqual([bubble["text"] for bubble in await stage.answers(turn)], ["".join(words("shapes")).strip()])

    @scenario(120)
    async def test_a_page_reaches_the_status_and_leaves_it_by_itself(self):
        async with RefusalStage() as stage:
            await stage.refuse("proxy_html", "sendMessage", 1_000, status=404)
            turn = await stage.ask("status", Say(words("status")))

            async def is_told(wanted):
                for _ in range(300):
                    status, text = await stage.status()
                    if (BETWEEN in text) == wanted:
                        return text
                    await asyncio.sleep(0.2)
                self.fail(f"the status says\n{text}")
            self.assertIn("404", await is_told(True))
            await stage.simulator.call("DELETE", "/v1/simulator/faults")
            await stage.ended(turn, seconds=90)
            await is_told(False)
            self.assertEqual([bubble["text"] for bubble in await stage.answers(turn)], ["".join(words("status")).strip()])

    @scenario(120)
    async def test_pages_on_the_upgrade_end_nothing(self):
        async with RefusalStage() as stage:
            for kind, status in (("upgrade_html", 403), ("upgrade_json", 401)):
                mark = len(stage.bridge.events)
                await stage.refuse_upgrade(kind, 1, status=status)
                lost = await stage.bridge.event("relay_lost", 30, mark)
                await stage.bridge.event("sophon_connected", 60, mark)
                stage.check_alive(self)
            self.assertIn(BETWEEN, "".join(stage.bridge.stderr))
            turn = await stage.ask("after", Say(words("after")))
            await stage.ended(turn)

    @scenario(60)
    async def test_the_relay_s_own_403_on_the_upgrade_is_final(self):
        async with RefusalStage() as stage:
            await stage.refuse_upgrade("refused", 1, status=403, error="permission_denied")
            self.assertEqual(await stage.bridge.exit(), 23)


class FinalRefusalTests(Scenarios):
    async def counted(self, stage, wanted):
        """Waits for these numbers in the status, which is written every few seconds."""
        for _ in range(200):
            work = (await stage.status())[0]["status"]["connections"][0]["work"]
            if {name: work[name] for name in wanted} == wanted:
                return
            await asyncio.sleep(0.3)
        self.fail(f"the status counts {work} and not {wanted}")

    async def unopened(self, kind, **parameters):
        async with RefusalStage() as stage:
            await stage.refuse(kind, "sendMessage", 1, **parameters)
            steps, final = with_approval("unopened", "E3")
            turn = await stage.ask("unopened", *steps)
            decider = asyncio.create_task(stage.decide())
            messages = await stage.messages(turn)
            decider.cancel()
            self.assertEqual([(message["text"], message.get("interaction_id")) for message in messages], [(final, None)])
            self.assertEqual(len(stage.gateway.commands), 1, "the approval was asked and given")
            stage.check_alive(self)
            await self.counted(stage, {"open_turns": 0, "dead_letters": 0})

    @scenario(60)
    async def test_a_refused_open_brings_the_answer_as_a_message(self):
        await self.unopened("permission_denied")

    @scenario(60)
    async def test_an_open_refused_with_an_unknown_code_brings_the_answer_as_a_message(self):
        await self.unopened("unheard_of", status=410, code="new_rule")

    @scenario(60)
    async def test_an_open_refused_with_an_unknown_401_brings_the_answer_as_a_message(self):
        await self.unopened("unheard_of", status=401, code="new_rule")

    @scenario(60)
    async def test_a_refused_end_brings_the_whole_text_as_a_message(self):
        async with RefusalStage() as stage:
            await stage.refuse("permission_denied", "sendMessageEnd")
            steps, final = journey("refused end.", "E3")
            turn = await stage.ask("refused end.", *steps)
            messages = await stage.messages(turn)
            self.assertEqual([message.get("interaction_id") for message in messages], [turn["interaction_id"], None])
            self.assertTrue(messages[0]["final"])
            self.assertNotEqual(messages[0]["text"], final)
            self.assertEqual(messages[1]["text"], final)
            self.assertEqual(await stage.simulator.breaches(), [])

    @scenario(60)
    async def test_an_end_that_is_refused_for_good_does_not_keep_its_message_back(self):
        async with RefusalStage() as stage:
            await stage.refuse("unheard_of", "sendMessageEnd", 10, status=404)
            steps, final = journey("no end.", "E3")
            turn = await stage.ask("no end.", *steps)
            messages = await stage.messages(turn)
            self.assertEqual([message["text"] for message in messages if not message.get("interaction_id")], [final])
            await self.counted(stage, {"open_turns": 0, "dead_letters": 1})

    async def shortened(self, kind, **parameters):
        async with RefusalStage() as stage:
            await stage.refuse(kind, "sendMessageEnd", 1, **parameters)
            text = "".join(f"word-{number} " for number in range(4_000)).strip()
            turn = await stage.ask("long", Say([text[at:at + 2_000] for at in range(0, len(text), 2_000)]))
            messages = await stage.messages(turn)
            self.assertEqual("".join(message["text"] for message in messages), text)
            self.assertEqual(messages[0]["interaction_id"], turn["interaction_id"])
            self.assertTrue(messages[0]["final"])
            self.assertGreater(len(messages), 1)

    @scenario(60)
    async def test_an_end_that_is_too_long_is_shortened_and_the_rest_follows(self):
        await self.shortened("payload_too_large")

    @scenario(60)
    async def test_an_end_whose_text_does_not_fit_is_shortened_and_the_rest_follows(self):
        await self.shortened("invalid_request", path="text")

    @scenario(60)
    async def test_a_refused_task_takes_only_its_own_calls_with_it(self):
        async with RefusalStage() as stage:
            await stage.refuse("invalid_request", "createTask")
            turn = await stage.ask("two tools", Tool(output="first"), Say(words("between")), Tool(output="second"),
                                   Say(words("end")))
            await stage.ended(turn)
            messages = await stage.messages(turn)
            self.assertEqual(len(messages), 1)
            self.assertTrue(messages[0]["text"].endswith("".join(words("end")).strip()))
            self.assertEqual([task["status"] for task in messages[0].get("tasks", [])], ["completed"])
            self.assertEqual(await stage.simulator.breaches(), [])

    @scenario(60)
    async def test_a_refused_approval_is_asked_once_more_with_less(self):
        async with RefusalStage() as stage:
            await stage.refuse("invalid_request", "requestApproval", 1, path="host")
            steps, final = with_approval("asked twice", "E3")
            turn = await stage.ask("asked twice", *steps)
            decider = asyncio.create_task(stage.decide())
            await stage.ended(turn)
            decider.cancel()
            self.assertEqual([bubble["text"] for bubble in await stage.answers(turn)], [final])
            self.assertEqual(len(stage.gateway.commands), 1)
            self.assertEqual(await stage.simulator.breaches(), [])

    @scenario(60)
    async def test_an_approval_that_cannot_be_shown_is_told_in_the_bubble_and_denied(self):
        async with RefusalStage() as stage:
            await stage.refuse("unheard_of", "requestApproval", 10, status=422)
            turn = await stage.ask("denied", Approval("rm -r /srv/old", detached=False), Say(words("after")))
            await stage.ended(turn)
            text = (await stage.answers(turn))[0]["text"]
            self.assertIn("rm -r /srv/old", text, "what was asked is told")
            self.assertEqual(stage.gateway.commands, [], "nothing ran")
            left = (await stage.simulator.call("GET", "/v1/simulator/faults"))["faults"]
            self.assertEqual([fault["left"] for fault in left], [7],
                             "it was asked as it is, without its end, and with the least")
            stage.check_alive(self)


if __name__ == "__main__":
    unittest.main()

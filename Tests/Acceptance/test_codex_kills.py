"""`kill -9` of the bridge and of Codex at seeded moments of turns. Codex outlives the bridge: its turns run to their end."""

import asyncio
import os
import random
import unittest

from codex_stage import CodexStage
from harness import until
from peers.codex_steps import Command, Hold, Say, answer
from pi_home import words
from scheduling import Scenarios, scenario

SEED = int(os.environ.get("KILL_SEED", "7"))
MOMENTS = ("message", "start", "text", "command", "card", "end")
KILLS = 20


def journey(name):
    return [Say(words(f"{name} a"), "commentary", every=0.02), Command(f"touch {name}", "done\n", ["do"]),
            Command(f"rm {name}", None, asks=f"Delete {name}?"), Say(words(f"{name} b"), every=0.02)]


class CodexKillTests(Scenarios):
    async def reached(self, stage, turn, text, moment):
        """Waits for a moment of the turn, or for its end."""
        def has():
            match moment:
                case "message":
                    return True
                case "start":
                    return any(entry["params"]["input"][0]["text"] == text for entry in stage.codex.log("started"))
                case "text":
                    return (bubble := stage.phone.bubble(turn.interaction)) and bubble.streamed
                case "command":
                    return f"touch {text}" in stage.codex.ran()
                case "card":
                    return any(body["session_id"] == turn.session for body in stage.phone.approvals.values())
                case "end":
                    return any(entry["params"]["input"][0]["text"] == text and entry["turn"] in ended(stage) for entry in stage.codex.log("started"))
        await until(lambda: has() or stage.phone.is_ended(turn.interaction), 30, f"the {moment} of {text!r}")

    async def decide(self, stage):
        """Approves every ask as it comes, until cancelled."""
        decided = set()
        while True:
            for name in list(stage.phone.approvals):
                if name not in decided:
                    decided.add(name)
                    stage.relay.decide(name, "approve")
            await asyncio.sleep(0.05)

    async def play(self, kill, name, count, check):
        generator = random.Random(f"{SEED} {name}")
        moments = [MOMENTS[number % len(MOMENTS)] for number in range(count)]
        generator.shuffle(moments)
        log = []
        async with CodexStage() as stage:
            person = asyncio.create_task(self.decide(stage))
            try:
                asked, session = [], None
                for number, moment in enumerate(moments):
                    text = f"walk {number}."
                    # Half of the chats are new.
                    turn = stage.ask(text, *journey(text), session=session if number % 2 else None)
                    session = turn.session
                    if moment == "end":
                        await stage.reached(text)
                    await self.reached(stage, turn, text, moment)
                    after = generator.choice([0, generator.uniform(0, 0.2)])
                    log.append(f"{number}: {after * 1000:.0f} ms after the {moment}")
                    await asyncio.sleep(after)
                    await kill(stage)
                    await stage.ended(turn, seconds=60)
                    asked.append((turn, text))
                check(stage, asked)
                last = stage.ask("hello", session=session)
                await stage.ended(last, seconds=40)
                stage.expect(last, "Understood.")
            except BaseException as error:
                error.add_note(f"KILL_SEED={SEED}, {name}, kills: " + "; ".join(log))
                raise
            finally:
                person.cancel()

    @scenario(200)
    async def test_20_kills_of_the_bridge_leave_every_turn_whole(self):
        async def kill(stage):
            await stage.bridge.restart_after_kill()

        def check(stage, asked):
            for turn, text in asked:
                stage.expect(turn, answer(journey(text)))
            self.assertEqual(sorted(stage.codex.texts()), sorted(text for _, text in asked))
            self.assertEqual(sorted(stage.codex.ran()), sorted(f"{word} {text}" for _, text in asked for word in ("touch", "rm")))
            self.assertEqual(len(stage.codex.servers()), 1)
            stage.check(*(turn for turn, _ in asked), is_prefix=False)
        await self.play(kill, "the bridge", KILLS, check)

    @scenario(200)
    async def test_kills_of_codex_end_every_bubble_and_run_nothing_twice(self):
        async def kill(stage):
            if stage.codex.servers():
                stage.kill_codex()

        def check(stage, asked):
            for turn, _ in asked:
                self.assertTrue(stage.phone.final(turn.interaction).strip())
            ran = stage.codex.ran()
            self.assertEqual(len(ran), len(set(ran)), ran)
            stage.check(*(turn for turn, _ in asked), is_prefix=False)
        await self.play(kill, "codex", KILLS // 3, check)

    @scenario(120)
    async def test_kills_of_the_bridge_in_the_instant_of_a_card(self):
        """Decides the card after the bridge has restarted, or before."""
        async with CodexStage() as stage:
            for number in range(8):
                text = f"walk {number}."
                turn = stage.ask(text, *journey(text))
                card = await stage.approval(turn)
                await asyncio.sleep(0.01 * (number // 2))
                stage.bridge.kill9()
                await stage.bridge.exit()
                if number % 2:
                    stage.relay.decide(card, "approve")
                await stage.bridge.start()
                if not number % 2:
                    stage.relay.decide(card, "approve")
                await stage.ended(turn)
                stage.expect(turn, answer(journey(text)))
                self.assertEqual(stage.codex.ran().count(f"rm {text}"), 1)
                stage.check(turn, is_prefix=False)

    @scenario(120)
    async def test_a_kill_in_the_instant_of_the_ack_sends_the_message_once(self):
        async with CodexStage() as stage:
            stage.relay.hooks.append(lambda what, _: what == "ack" and stage.bridge.kill9())
            turn = stage.ask("remember me", *journey("remember")[:1])
            await stage.bridge.exit()
            stage.relay.hooks.clear()
            await stage.bridge.start()
            await stage.ended(turn)
            stage.expect(turn, answer(journey("remember")[:1]))
            self.assertEqual(stage.codex.texts(), ["remember me"])
            stage.check(turn)

    @scenario(120)
    async def test_messages_that_wait_in_the_bridge_leave_once_after_its_kill(self):
        # If the first turn has ended meanwhile, only the list shows whether the second message was sent.
        for ends in (False, True):
            async with CodexStage(begins=False) as stage:
                # All messages are handed over at once; Codex would merge them into the turn.
                stage.configure({"connections": [{"when_busy": "steer"}]})
                await stage.bridge.start()
                first = stage.ask("first", Say(words("first"), "commentary"), Hold("go"), Say(["First."]))
                await stage.streaming(first)
                second = stage.ask("second", Say(["Second."]), session=first.session)
                third = stage.ask("third", Say(["Third."]), session=first.session)
                await until(lambda: stage.phone.bubble(third.interaction), 30, "the bubble of the message that waits")
                stage.bridge.kill9()
                await stage.bridge.exit()
                if ends:
                    stage.codex.open_gate("go")
                    await stage.turn_ended("first")
                await stage.bridge.start()
                stage.codex.open_gate("go")
                await stage.ended(first, second, third, seconds=60)
                stage.expect(second, "Second.")
                stage.expect(third, "Third.")
                self.assertEqual(stage.codex.texts(), ["first", "second", "third"])
                stage.check(first, second, third)

    @scenario(120)
    async def test_a_server_that_is_killed_twice_in_a_row_leaves_no_chat_behind(self):
        async with CodexStage() as stage:
            session, turns = None, []
            for number in range(3):
                text = f"walk {number}."
                turn = stage.ask(text, Say(words(text), every=0.02), Hold(f"never {number}"), session=session)
                session = turn.session
                await stage.reached(text)
                stage.kill_codex()
                if number % 2:
                    # Sent while the bridge checks its chat.
                    turns.append(stage.ask(f"more {number}", session=session))
                await stage.ended(turn, seconds=60)
                turns.append(turn)
            await stage.ended(*turns, seconds=60)
            last = stage.ask("hello", session=session)
            await stage.ended(last, seconds=60)
            stage.expect(last, "Understood.")
            stage.check(last)

    @scenario(120)
    async def test_a_turn_that_ends_while_the_bridge_is_dead_is_delivered(self):
        async with CodexStage() as stage:
            steps = [Say(words("before"), "commentary"), Hold("dead"), Say(words("after"))]
            turn = stage.ask("go on", *steps)
            await stage.streaming(turn)
            stage.bridge.kill9()
            await stage.bridge.exit()
            stage.codex.open_gate("dead")
            await stage.turn_ended("go on")
            await stage.bridge.start()
            await stage.ended(turn)
            stage.expect(turn, answer(steps))
            stage.check(turn)

    @scenario(120)
    async def test_a_bridge_that_ends_in_order_leaves_codex_and_its_turn_to_go_on(self):
        async with CodexStage() as stage:
            steps = [Say(words("before"), "commentary"), Hold("gone"), Say(words("after"))]
            turn = stage.ask("go on", *steps)
            await stage.streaming(turn)
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            stage.codex.open_gate("gone")
            await stage.turn_ended("go on")
            await stage.bridge.start()
            await stage.ended(turn)
            stage.expect(turn, answer(steps))
            self.assertEqual(len(stage.codex.servers()), 1)


def ended(stage):
    return {entry["turn"] for entry in stage.codex.log("ended")}


if __name__ == "__main__":
    unittest.main()

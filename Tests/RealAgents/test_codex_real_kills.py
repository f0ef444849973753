"""`kill -9` of the bridge and of the real Codex at seeded moments of a turn: `KILLS=20 make real-agents` for twenty of each."""

import asyncio
import os
import random
import unittest

from model import Command, Say
from real_stage import RealStage
from scheduling import Scenarios, scenario

KILLS = int(os.environ.get("KILLS") or 4)
SEED = int(os.environ.get("KILL_SEED") or 7)
MOMENTS = ("message", "model", "text", "card", "second text")


def journey(number):
    """Replies of the model, and the bubble's final text."""
    before, after = f"I begin {number}. " * 5, f"I have done {number}. " * 5
    replies = ([Say(before, "commentary", every=0.02), Command(f"echo {number} >> log", f"Write down {number}?")], [Say(after, every=0.02)])
    return replies, f"{before}\n\n{after}"


class RealKillTests(Scenarios):
    async def reached(self, stage, turn, text, moment, number):
        async def has():
            messages = await stage.answers(turn)
            shown = messages[-1]["text"] if messages else ""
            match moment:
                case "message":
                    return True
                case "model":
                    return text in stage.model.texts()
                case "text":
                    return f"I begin {number}." in shown
                case "card":
                    return (await stage.simulator.call("GET", "/v1/me/snapshot"))["pending_approvals"] or "I have" in shown
                case "second text":
                    return f"I have done {number}." in shown
        await stage.until(has, f"the {moment} of {text!r}")

    async def play(self, name, kill, ended):
        generator = random.Random(f"{SEED} {name}")
        log = []
        async with RealStage() as stage:
            person = None
            try:
                turns, session = [], None
                for number in range(KILLS):
                    text, moment = f"Walk {number}.", MOMENTS[number % len(MOMENTS)]
                    replies, final = journey(number)
                    turn = await stage.ask(text, *replies, session=session if number % 2 else None)
                    session = turn["session_id"]
                    if moment == "second text":
                        person = asyncio.create_task(stage.decide())
                    await self.reached(stage, turn, text, moment, number)
                    after = generator.choice([0, generator.uniform(0, 0.2)])
                    log.append(f"{number}: {after * 1000:.0f} ms after the {moment}")
                    await asyncio.sleep(after)
                    await kill(stage)
                    person = person or asyncio.create_task(stage.decide())
                    await ended(stage, turn, final)
                    person.cancel()
                    person = None
                    turns.append(turn)
                last = await stage.ask("Hello.", [Say("Here.")], session=session)
                self.assertEqual(await stage.final(last), "Here.")
                await stage.check(*turns, last)
                written = [line for path in stage.directory.rglob("log") if path.is_file() for line in path.read_text().split()]
                self.assertEqual(len(written), len(set(written)), f"ran twice: {written}")
                return written
            except BaseException as error:
                error.add_note(f"KILL_SEED={SEED}, {name}, kills: " + "; ".join(log))
                raise
            finally:
                if person:
                    person.cancel()

    @scenario(290)
    async def test_kills_of_the_bridge_leave_every_turn_whole(self):
        async def kill(stage):
            await stage.bridge.restart_after_kill()

        async def ended(stage, turn, final):
            self.assertEqual(await stage.final(turn), final)
        written = await self.play("the bridge", kill, ended)
        self.assertEqual(sorted(written, key=int), [str(number) for number in range(KILLS)])

    @scenario(290)
    async def test_kills_of_codex_end_every_bubble_and_run_nothing_twice(self):
        async def kill(stage):
            stage.kill_codex()

        async def ended(stage, turn, final):
            self.assertTrue((await stage.final(turn)).strip())
        await self.play("codex", kill, ended)


if __name__ == "__main__":
    unittest.main()

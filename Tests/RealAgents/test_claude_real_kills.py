"""`kill -9` of the bridge, of the real Claude Code with all its children, and of both, at seeded moments of a turn: `KILLS=20 make
real-agents` for twenty of each. A command of each turn appends a line to a file: never twice."""

import asyncio
import os
import random
import signal
import unittest

from claude_real_stage import ClaudeRealStage
from peers.claude_steps import Say, bash, write
from scheduling import Scenarios, scenario

KILLS = int(os.environ.get("KILLS") or 7)
SEED = int(os.environ.get("KILL_SEED") or 7)
MOMENTS = ("message", "prompt", "text", "ask", "command", "last row", "end")
ENDED = "its process ended"


def journey(number, file):
    """Steps of the model. The file requires an approval; the person's settings allow the command."""
    return [Say([f"I begin {number}. "] * 10, every=0.02), write(file, f"{number}\n"), bash(f"echo {number} >> effects; sleep 0.3"),
            Say([f"I have done {number}. "] * 5, every=0.02)]


class ClaudeKillTests(Scenarios):
    async def begin(self, stage, number, moment, session):
        """Begins a turn, and returns it at its moment."""
        text = f"Walk {number}."
        if moment == "prompt":
            # The stopped process does not read the bridge's input.
            first = await stage.ask(f"Hello {number}.", Say(["Hello."]), session=session)
            await stage.final(first)
            session = first["session_id"]
            self.signal(stage, signal.SIGSTOP)
        hold = stage.home.directory / "hold"
        hold.touch() if moment == "last row" else hold.unlink(missing_ok=True)
        before = set(stage.children())
        turn = await stage.ask(text, *journey(number, stage.home.project / f"{number}.txt"), session=session)
        await stage.until(self.reached(stage, turn, number, moment, before), f"the {moment} of {text!r}")
        if moment in MOMENTS[:-1]:
            self.assertFalse(any(message["final"] for message in await stage.answers(turn)), moment)
        return turn

    def reached(self, stage, turn, number, moment, before):
        async def has():
            match moment:
                case "message":
                    # The turn's process has started.
                    return set(stage.children()) - before
                case "prompt":
                    await asyncio.sleep(0.3)
                    return await stage.answers(turn)
                case "text":
                    return any(f"I begin {number}." in message["text"] for message in await stage.answers(turn))
                case "ask":
                    return await stage.card(turn)
                case "command":
                    return str(number) in stage.effects()
                case "last row":
                    messages = [row["message"] for row in stage.rows() if row.get("type") == "assistant"]
                    return any(message.get("stop_reason") == "end_turn" and f"I have done {number}." in str(message) for message in messages)
                case "end":
                    return any(message["final"] for message in await stage.answers(turn))
        return has

    @staticmethod
    def signal(stage, number):
        for pid in stage.children():
            os.kill(pid, number)

    async def play(self, name, kill, ended):
        generator = random.Random(f"{SEED} {name}")
        log = []
        async with ClaudeRealStage() as stage:
            wait = f"while [ -e {stage.home.directory}/hold ]; do sleep 0.05; done"
            stage.home.settings({"permissions": {"allow": ["Bash"]}, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": wait}]}]}})
            person = None
            try:
                turns, session = [], None
                for number in range(KILLS):
                    moment = MOMENTS[number % len(MOMENTS)]
                    if moment != "ask":
                        person = asyncio.create_task(stage.decide())
                    # An existing process gets its message at once.
                    turn = await self.begin(stage, number, moment, session if number % 2 and moment != "message" else None)
                    session = turn["session_id"]
                    after = generator.choice([0, generator.uniform(0, 0.2)])
                    log.append(f"{number}: {after * 1000:.0f} ms after the {moment}")
                    await asyncio.sleep(after)
                    await kill(stage)
                    (stage.home.directory / "hold").unlink(missing_ok=True)
                    person = person or asyncio.create_task(stage.decide())
                    log[-1] += f" {await ended(stage, turn, number)}"
                    again = await stage.ask(f"Again {number}.", Say([f"Here {number}."]), session=session)
                    self.assertIn(f"Here {number}.", await stage.final(again))
                    person.cancel()
                    person = None
                    turns += [turn, again]
                await stage.check(*turns)
                written = stage.effects()
                self.assertEqual(len(written), len(set(written)), f"ran twice: {written}")
                print(f"{name}, KILL_SEED={SEED}: {'; '.join(log)}", flush=True)
                return written
            except BaseException as error:
                error.add_note(f"KILL_SEED={SEED}, {name}, kills: " + "; ".join(log))
                raise
            finally:
                if person:
                    person.cancel()

    @scenario(290)
    async def test_kills_of_the_bridge_leave_every_turn_whole(self):
        """The orphan continues to the end of its turn, and the next bridge waits for it."""
        async def kill(stage):
            stage.bridge.kill9()
            await stage.bridge.exit()
            self.signal(stage, signal.SIGCONT)
            await stage.bridge.start()

        async def ended(stage, turn, number):
            final = await stage.final(turn)
            self.assertIn(f"I have done {number}.", final)
            return "done"
        written = await self.play("the bridge", kill, ended)
        self.assertEqual(sorted(written, key=int), [str(number) for number in range(KILLS)])

    async def ended(self, stage, turn, number):
        final = await stage.final(turn)
        runs = stage.effects().count(str(number))
        if f"I have done {number}." in final:
            self.assertEqual(runs, 1)
            return "done"
        self.assertIn(ENDED, final)
        self.assertLessEqual(runs, 1)
        return f"broken off, {runs} effects"

    @scenario(290)
    async def test_kills_of_claude_end_every_bubble_and_run_nothing_twice(self):
        async def kill(stage):
            self.assertTrue(stage.kill_children())
        await self.play("claude", kill, self.ended)

    @scenario(290)
    async def test_kills_of_both_end_every_bubble_and_run_nothing_twice(self):
        async def kill(stage):
            stage.bridge.kill9()
            stage.kill_children()
            await stage.bridge.exit()
            await stage.bridge.start()
        await self.play("both", kill, self.ended)


if __name__ == "__main__":
    unittest.main()

"""The real program and a scripted Codex that is too busy to serve a Stop: no stopped work continues."""

import unittest

from codex_stage import CodexStage
from harness import until
from peers.codex_steps import Command, Hold, Say, SubAgent
from pi_home import words
from scheduling import Scenarios, scenario

RUNNING = Command("sleep 600", None, gate="never")


def overloaded(**refused):
    return CodexStage(lambda codex: codex.habits(overloads_at={name.replace("_", "/"): count for name, count in refused.items()}))


def story(name, *between):
    return [Say(words(f"{name} a"), "commentary"), *between, Say(words(f"{name} b"))]


class CodexStopTests(Scenarios):
    async def stopped(self, stage, turn, ends=1, terminated=True):
        """Stops the turn as the person, and checks Codex's own records for the ends of its sub-agents and commands; the chat is free for
        the next message."""
        stage.relay.stop(turn.session, turn.interaction)
        await stage.ended(turn)
        await until(lambda: [entry["status"] for entry in stage.codex.log("ended")] == ["interrupted"] * ends, 30, "each end")
        if terminated:
            await until(lambda: stage.codex.log("terminated"), 30, "the end of the command")
        again = stage.ask("hello", session=turn.session)
        await stage.ended(again)
        stage.expect(again, "Understood.")

    @scenario(120)
    async def test_an_interrupt_that_is_refused_for_now_is_made_again(self):
        async with overloaded(turn_interrupt=2) as stage:
            turn = stage.ask("long", *story("long", Hold("never")))
            await stage.streaming(turn)
            await self.stopped(stage, turn, terminated=False)
            stage.check(turn)

    @scenario(180)
    async def test_the_commands_of_a_stopped_turn_end_although_that_is_refused_for_now(self):
        for refused in ("list", "terminate"):
            async with overloaded(**{f"thread_backgroundTerminals_{refused}": 2}) as stage:
                turn = stage.ask("long", *story("long", RUNNING))
                await until(stage.codex.ran, 30, "the command")
                await self.stopped(stage, turn)
                stage.check(turn)

    @scenario(180)
    async def test_a_sub_agent_ends_although_its_interrupt_is_refused_for_now(self):
        for refused in ("turn_interrupt", "thread_turns_list"):
            async with overloaded(**{refused: 2}) as stage:
                turn = stage.ask("apprentice", *story("apprentice", SubAgent("apprentice", [RUNNING])))
                await until(stage.codex.ran, 30, "the command")
                await self.stopped(stage, turn, ends=2)

    @scenario(180)
    async def test_what_a_stop_could_not_end_yet_is_ended_by_the_next_process_of_the_bridge(self):
        for is_killed in (True, False):
            async with overloaded(thread_backgroundTerminals_terminate=3) as stage:
                turn = stage.ask("long", *story("long", RUNNING))
                await until(stage.codex.ran, 30, "the command")
                stage.relay.stop(turn.session, turn.interaction)
                await stage.ended(turn)
                stage.bridge.kill9() if is_killed else stage.bridge.terminate()
                await stage.bridge.exit()
                self.assertEqual(stage.codex.log("terminated"), [])
                await stage.bridge.start()
                await until(lambda: stage.codex.log("terminated"), 60, "the end of the command")


if __name__ == "__main__":
    unittest.main()

"""The link to a scripted Oppi server is lost at every bad moment (oppi.md#catch-up): the text stays exact, without repetition, and no
prompt runs twice."""

import asyncio
import os
import random
import unittest

from harness import until
from oppi_stage import OppiProcess, OppiStage, in_both
from peers.oppi_steps import Die, Hold, Say, Tool
from scheduling import Scenarios, scenario
from test_oppi import words

SEED = int(os.environ.get("KILL_SEED", "7"))


class CatchUpTests(Scenarios):
    async def cut_while(self, stage, act, follows=False):
        """Acts while the server is unreachable; afterwards an unfinished run is followed again."""
        made, subscribed = stage.oppi.sockets_made, len(stage.oppi.subscribes)
        await stage.oppi.server.stop_listening()
        stage.oppi.server.drop_connections()
        await act()
        await stage.oppi.server.listen()
        await stage.link_up(40, since=made)
        if follows:
            await until(lambda: any(level == "full" for _, level, _ in stage.oppi.subscribes[subscribed:]), 40, "a subscription")

    @in_both(scenario(120))
    async def test_back_inside_the_ring(self, dialect):
        """Cuts in mid-text, in a tool, and after the end."""
        async with OppiStage(dialect) as stage:
            steps = [Say(words("a")), Hold("text"), Say([" and on."]), Tool(hold="tool"), Say(words("b")), Hold("end"), Say([" End."])]
            turn = stage.ask("ring", *steps)
            await stage.streaming(turn, letters=20)

            async def pass_text():
                stage.oppi.release("text")
                await until(lambda: any(event["type"] == "toolCall" for event in stage.oppi.disk.trace(session)[-1:]), 30, "the tool's call")

            async def pass_tool():
                stage.oppi.release("tool")
                await until(lambda: stage.oppi.disk.trace(session)[-1]["type"] == "toolResult", 30, "the tool's result")

            async def pass_end():
                stage.oppi.release("end")
                await stage.run_ended("ring")

            session = await stage.session_of("ring")
            for act in (pass_text, pass_tool, pass_end):
                await self.cut_while(stage, act, follows=act is not pass_end)
                await until(lambda: stage.phone.tasks_of(turn.interaction), 40, "the card of the tool, which was replayed")
            await stage.ended(turn, seconds=60)
            stage.expect_answer(turn, steps)
            self.assertEqual(len(stage.phone.tasks_of(turn.interaction)), 1)
            stage.check(turn)


    @in_both(scenario(120))
    async def test_back_outside_the_ring(self, dialect):
        """The run continues, and the next one has ended meanwhile."""
        async with OppiStage(dialect, prepare=lambda stage: setattr(stage.oppi, "ring_capacity", 8)) as stage:
            steps = [Say(words("a")), Hold("away"), Tool(), Say(words("b")), Tool(), Tool(), Tool(), Say(words("c")), Hold("on"),
                     Say([" and on."]), Tool(), Say(["End."])]
            turn = stage.ask("far", *steps)
            await stage.streaming(turn, letters=20)

            async def pass_away():
                stage.oppi.release("away")
                await until(lambda: sum(event["type"] == "toolResult" for event in stage.oppi.disk.trace(session)) == 4, 30, "4 tools")

            session = await stage.session_of("far")
            await self.cut_while(stage, pass_away)
            stage.oppi.release("on")
            await stage.ended(turn, seconds=60)
            stage.expect_answer(turn, steps)

            async def pass_end():
                stage.oppi.release("rest")
                await stage.run_ended("beyond")

            steps = [Say(words("d")), Hold("rest"), *[Tool()] * 5, Say(words("e")), Say(["."])]
            second = stage.ask("beyond", *steps, session=turn.session)
            await stage.streaming(second, letters=20)
            await self.cut_while(stage, pass_end)
            await stage.ended(second, seconds=60)
            stage.expect_answer(second, steps)
            stage.check(turn, second)

    @in_both(scenario(120))
    async def test_back_after_the_server_was_started_again(self, dialect):
        """The run is lost; its text stays, a line reports it, and the prompt is not sent again."""
        async with OppiStage(dialect, scale=5) as stage:
            steps = [Say(words("a")), Tool(), Say(words("b")), Hold("never"), Say(["not said"])]
            turn = stage.ask("lost", *steps)
            await until(lambda: "b-7" in (getattr(stage.phone.bubble(turn.interaction), "streamed", None) or ""), 30, "the text")
            await stage.oppi.restart()
            await stage.ended(turn, seconds=60)
            self.assertIn("a-7", stage.phone.final(turn.interaction))
            again = stage.ask("again", Say(["Here."]), session=turn.session)
            await stage.ended(again, seconds=40)
            stage.expect(again, "Here.")
            self.assertEqual(stage.oppi.prompts("lost"), ["lost"])
            stage.check(turn, again)

    @in_both(scenario(120))
    async def test_back_after_an_orderly_stop_and_without_its_history(self, dialect):
        async with OppiStage(dialect, scale=5) as stage:
            turn = stage.ask("lost", Say(words("a")), Hold("never"))
            await stage.streaming(turn, letters=20)
            await stage.oppi.stop()
            stage.oppi.disk.forget_traces()
            await stage.oppi.come_back()
            await stage.ended(turn, seconds=60)
            self.assertIn("a-0", stage.phone.final(turn.interaction))
            self.assertEqual(stage.oppi.prompts("lost"), ["lost"])
            stage.check(turn)

    @in_both(scenario(120))
    async def test_back_after_the_session_was_activated_again(self, dialect):
        """The run and the session ended, and another device is in it: the new numbers are beyond the known ones."""
        async with OppiStage(dialect) as stage:
            steps = [Say(words("a")), Hold("away"), Say([" and on."])]
            turn = stage.ask("first", *steps)
            await stage.streaming(turn, letters=20)
            session = await stage.session_of("first")

            async def pass_away():
                stage.oppi.release("away")
                await stage.run_ended("first")
                stage.oppi.activations[session].end("completed")
                activation = await stage.oppi.activate(stage.oppi.disk.sessions[session])
                for number in range(4):
                    stage.oppi.other_prompts(session, f"of the desk {number}")
                    await until(lambda: not activation.is_busy, 30, "the desk's run has ended")

            await self.cut_while(stage, pass_away)
            await stage.ended(turn, seconds=60)
            stage.expect_answer(turn, steps)
            again = stage.ask("again", Say(["Here."]), session=turn.session)
            await stage.ended(again)
            stage.expect(again, "Here.")
            stage.check(turn, again)

    @in_both(scenario(120))
    async def test_a_session_that_was_idle_is_activated_again_by_the_next_message(self, dialect):
        async with OppiStage(dialect) as stage:
            one = stage.ask("one", Say(["First."]))
            await stage.ended(one)
            session = await stage.session_of("one")
            stage.oppi.activations[session].end("completed")
            two = stage.ask("two", Say(["Second."]), session=one.session)
            await stage.ended(two)
            stage.expect(two, "Second.")
            # No subscription keeps a session: an idle one may end.
            stage.check(one, two)

    @in_both(scenario(120))
    async def test_a_message_while_the_server_is_away_waits_for_it(self, dialect):
        async with OppiStage(dialect) as stage:
            made = stage.oppi.sockets_made
            await stage.oppi.server.stop_listening()
            stage.oppi.server.drop_connections()
            turn = stage.ask("waits", Say(["Here."]))
            await until(lambda: stage.phone.bubble(turn.interaction), 30, "the bubble")
            await stage.oppi.server.listen()
            await stage.link_up(60, since=made)
            await stage.ended(turn, seconds=60)
            stage.expect(turn, "Here.")
            stage.check(turn)

    @in_both(scenario(120))
    async def test_a_cut_in_the_instant_of_the_prompt_runs_it_once(self, dialect):
        """The prompt has arrived, its answer has not, and the session lives on or is activated again meanwhile."""
        for ends in (False, True):
            async with OppiStage(dialect, scale=2) as stage:
                def cut(what, fields):
                    if what == "prompted" and fields["text"] == "once":
                        stage.oppi.cut()
                    elif what == "run_ended" and ends:
                        stage.oppi.activations[fields["session"]].end("completed")
                stage.oppi.hooks.append(cut)
                turn = stage.ask("once", Say(["Only once."], every=0))
                await stage.ended(turn, seconds=60)
                self.assertEqual(stage.oppi.prompts("once"), ["once"])
                self.assertTrue(stage.phone.final(turn.interaction).startswith("Only once."))
                stage.check(turn)

    @in_both(scenario(120))
    async def test_a_deaf_server_is_left_and_the_text_is_exact(self, dialect):
        """The socket stays open and pings are answered, but requests are not: the silence is detected."""
        async with OppiStage(dialect, scale=5) as stage:
            steps = [Say(words("a")), Hold("deaf"), Say([" and on."])]
            turn = stage.ask("deaf", *steps)
            await stage.streaming(turn, letters=20)
            for socket in stage.oppi.sockets:
                socket.socket.go_silent()
            stage.oppi.release("deaf")
            await stage.ended(turn, seconds=90)
            stage.expect_answer(turn, steps)
            stage.check(turn)


class KillTests(Scenarios):
    @in_both(scenario(170))
    async def test_ten_kills_of_the_bridge_at_any_moment(self, dialect):
        async def kill(stage):
            stage.bridge.kill9()
            await stage.bridge.exit()
            await stage.bridge.start()
        await self.at_any_moment(dialect, kill, "kills")

    @in_both(scenario(170))
    async def test_ten_cuts_at_any_moment(self, dialect):
        async def cut(stage):
            stage.oppi.cut()
        await self.at_any_moment(dialect, cut, "cuts")

    async def at_any_moment(self, dialect, act, name):
        generator = random.Random(f"{SEED} {dialect} {name}")
        log = []
        # Each loss of the link makes the next pause longer.
        async with OppiStage(dialect, scale=10 if name == "cuts" else 1) as stage:
            try:
                turns = [await self.disturbed(stage, f"work {number}.", act, generator, log) for number in range(10)]
                await stage.ended(*(turn for turn, _ in turns), seconds=90)
                for turn, steps in turns:
                    stage.expect_answer(turn, steps)
                    self.assertLessEqual(len(stage.phone.tasks_of(turn.interaction)), 1)
                stage.check(*(turn for turn, _ in turns))
            except BaseException as error:
                error.add_note(f"KILL_SEED={SEED}, {name}: {log}")
                raise

    async def disturbed(self, stage, text, act, generator, log):
        """Acts at a seeded event of this run, at the server or the relay, or a moment later."""
        steps = [Say(words("a", 6)), Tool(), Say(words("b", 6))]
        side = generator.choice(["prompted", "text", "tool", "end", "run_ended", "applied"])
        count = generator.randint(1, 4) if side in ("text", "applied") else 1
        later = generator.choice([0, generator.uniform(0.001, 0.03)])
        log.append((text, side, count, round(later, 3)))
        fired = asyncio.Event()

        def happened(what, fields):
            nonlocal count
            if what == side and (what == "applied" or fields.get("text") == text):
                count -= 1
                if count == 0:
                    asyncio.get_running_loop().call_later(later, fired.set)

        hooks = stage.relay.hooks if side == "applied" else stage.oppi.hooks
        hooks.append(happened)
        turn = stage.ask(text, *steps)
        try:
            await asyncio.wait_for(fired.wait(), 120)
        finally:
            hooks.remove(happened)
        await act(stage)
        return turn, steps

    @in_both(scenario(120))
    async def test_the_server_is_killed_in_mid_run_and_started_again(self, dialect):
        """A server in a process of its own, with its history or without."""
        for keeps in (True, False):
            async with OppiStage(dialect, scale=5, server=OppiProcess) as stage:
                lost = stage.ask("lost", Say(words("a")), Tool(), Say(words("b")), Hold("kill"), Die())
                done = stage.ask("done", Say(["It is done."]))
                await stage.ended(done)
                await until(lambda: "b-7" in (getattr(stage.phone.bubble(lost.interaction), "streamed", None) or ""), 30, "text")
                stage.oppi.release("kill")
                await asyncio.wait_for(stage.oppi.process.wait(), 90)
                if not keeps:
                    stage.oppi.disk.forget_traces()
                await stage.oppi.start()
                await stage.ended(lost, seconds=60)
                self.assertIn("a-7", stage.phone.final(lost.interaction))
                again = stage.ask("again", Say(["Here."]), session=lost.session)
                await stage.ended(again, seconds=60)
                stage.expect(again, "Here.")
                stage.check(lost, done, again)

    @in_both(scenario(120))
    async def test_the_run_ends_while_the_bridge_is_dead(self, dialect):
        """A session still active, and one that has ended and whose history is late on disk."""
        for ends in (False, True):
            async with OppiStage(dialect) as stage:
                steps = [Say(words("a")), Hold("dead"), Say([" and on."]), Tool(), Say(["End."])]
                turn = stage.ask("dead", *steps)
                await stage.streaming(turn, letters=20)
                stage.bridge.kill9()
                await stage.bridge.exit()
                stage.oppi.disk.trace_delay = 1.0 if ends else 0.0
                stage.oppi.release("dead")
                await stage.run_ended("dead")
                if ends:
                    stage.oppi.activations[await stage.session_of("dead")].end("completed")
                await stage.bridge.start()
                await stage.ended(turn, seconds=60)
                stage.expect_answer(turn, steps)
                stage.check(turn)

    @in_both(scenario(120))
    async def test_a_kill_in_the_first_second_of_a_run(self, dialect):
        """The list of sessions and the trace still show the session at rest; its sockets show the run."""
        def prepare(stage):
            stage.oppi.disk.save_delay = 6.0
        async with OppiStage(dialect, prepare=prepare) as stage:
            steps = [Say(["So far "]), Hold("on"), Say(["and on."])]
            turn = stage.ask("early", *steps)
            await stage.streaming(turn)
            followed = len(stage.oppi.subscribes)
            await stage.bridge.restart_after_kill()
            await until(lambda: len(stage.oppi.subscribes) > followed, 30, "a subscription")
            await stage.clock.sleep(0.5)
            stage.oppi.release("on")
            await stage.ended(turn, seconds=10)
            stage.expect_answer(turn, steps)
            stage.check(turn)

    @in_both(scenario(120))
    async def test_both_are_killed(self, dialect):
        async with OppiStage(dialect, scale=5) as stage:
            turn = stage.ask("both", Say(words("a")), Hold("never"))
            await stage.streaming(turn, letters=20)
            stage.bridge.kill9()
            await stage.bridge.exit()
            await stage.oppi.restart()
            await stage.bridge.start()
            await stage.ended(turn, seconds=60)
            self.assertIn("a-0", stage.phone.final(turn.interaction))
            self.assertEqual(stage.oppi.prompts("both"), ["both"])
            stage.check(turn)


if __name__ == "__main__":
    unittest.main()

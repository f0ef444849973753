"""The real program and a scripted Codex whose connections, lists of turns and threads are lost (codex.md#what-survives)."""

import unittest

from codex_stage import CodexStage
from harness import until
from peers.codex_client import CodexClient
from peers.codex_steps import Command, Cut, Hold, Say, SubAgent, answer
from pi_home import words
from scheduling import Scenarios, scenario


def story(name, *between):
    return [Say(words(f"{name} a"), "commentary"), *between, Say(words(f"{name} b"))]


class CodexLinkTests(Scenarios):
    @scenario(120)
    async def test_a_connection_that_is_cut_is_joined_again_and_no_second_server_is_started(self):
        async with CodexStage() as stage:
            steps = story("cut", Cut(), Command(), Cut())
            turn = stage.ask("cut", *steps)
            await stage.ended(turn)
            stage.expect(turn, answer(steps))
            again = stage.ask("hello", session=turn.session)
            await stage.ended(again)
            stage.expect(again, "Understood.")
            self.assertEqual(len(stage.codex.servers()), 1)
            stage.check(turn, again)

    @scenario(120)
    async def test_a_list_that_an_overloaded_server_refuses_is_asked_for_again(self):
        async with CodexStage(lambda codex: codex.habits(overloads_at={"thread/turns/list": 2})) as stage:
            steps = story("long", Hold("go"))
            turn = stage.ask("long", *steps)
            await stage.streaming(turn)
            await stage.bridge.restart_after_kill()
            stage.codex.open_gate("go")
            await stage.ended(turn, seconds=40)
            stage.expect(turn, answer(steps))
            stage.check(turn)

    @scenario(120)
    async def test_a_turn_behind_others_in_the_list_is_found(self):
        async with CodexStage() as stage:
            turn = stage.ask("ours", *story("ours", Hold("go")))
            await stage.streaming(turn)
            stage.bridge.kill9()
            await stage.bridge.exit()
            stage.codex.open_gate("go")
            await stage.turn_ended("ours")
            async with CodexClient(f"unix://{stage.state / 'codex-default.sock'}") as desk:
                thread = stage.codex.log("threads")[0]["thread"]
                await desk.resume(thread)
                for number in range(7):
                    await desk.run(thread, f"desk {number}")
            await stage.bridge.start()
            await stage.ended(turn, seconds=40)
            stage.expect_said(turn, answer(story("ours")[1:]))
            self.assertEqual(stage.codex.texts().count("ours"), 1)

    @scenario(120)
    async def test_stop_ends_a_sub_agent_and_the_command_that_it_runs(self):
        for restarts in (False, True):
            async with CodexStage() as stage:
                steps = story("apprentice", SubAgent("apprentice", [Command("sleep 600", None, gate="never")]))
                turn = stage.ask("apprentice", *steps)
                await stage.streaming(turn)
                await until(lambda: stage.codex.ran(), 30, "the command")
                if restarts:
                    await stage.bridge.restart_after_kill()
                stage.relay.stop(turn.session, turn.interaction)
                await stage.ended(turn, seconds=40)
                await until(lambda: [entry["status"] for entry in stage.codex.log("ended")] == ["interrupted"] * 2, 30, "both ends")
                await until(lambda: stage.codex.log("terminated"), 30, "the end of the command")
                again = stage.ask("hello", session=turn.session)
                await stage.ended(again)
                stage.expect(again, "Understood.")

    @scenario(120)
    async def test_a_thread_that_is_gone_is_followed_by_one_in_the_workspace_of_its_chat(self):
        async with CodexStage(begins=False) as stage:
            folders = {name: stage.directory.resolve() / name for name in ("site", "api")}
            for folder in folders.values():
                folder.mkdir()
            stage.bridge.environment.pop("SOPHON_WORKSPACE")
            stage.configure({"workspaces": {name: str(folder) for name, folder in folders.items()}})
            await stage.bridge.start()
            turn = stage.ask("hello")
            await stage.ended(turn)
            new = stage.ask("/bridge new api", session=turn.session)
            two = stage.ask("two", session=turn.session)
            await stage.ended(new, two)
            await stage.lose_threads()
            again = stage.ask("hello again", session=turn.session)
            await stage.ended(again, seconds=40)
            cwds = [entry["params"]["cwd"] for entry in stage.codex.log("threads")]
            self.assertEqual(cwds, [str(folders[name]) for name in ("site", "api", "api")])


if __name__ == "__main__":
    unittest.main()

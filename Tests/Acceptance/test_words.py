"""Commands to the bridge itself, and the folders that agents work in (docs/OPERATING.md): with a child that speaks like pi, with a gateway,
sealed and in the open, and over restarts."""

import json
import unittest
from pathlib import Path

from commands import lines_of, once
from harness import Stage, until
from peers.steps import Say
from pi_home import said
from pi_stage import PiStage
from scheduling import Scenarios, scenario
from test_sealed import sealed


class SealedWordTests(Scenarios):
    @scenario(90)
    async def test_a_sealed_word_is_answered_sealed_and_no_agent_gets_it(self):
        async with sealed() as here:
            session, gateway = await here.chat(), here.stage.gateway
            self.assertEqual(await here.answer("One?", Say(["First."]), session=session), "First.")
            for word, answer in (("/bridge status", "Connected to OpenClaw."), ("/bridge dance", "does not know \u201cdance\u201d"),
                                 ("/bridge new", "begins a new conversation")):
                sent = await here.do(here.phone.send, session, word)
                self.assertIn(answer, (await here.ended(sent))["text"])
            self.assertEqual(await here.answer("Two?", Say(["Second."]), session=session), "Second.")
            self.assertEqual([send["text"] for send in gateway.sends], ["One?", "Two?"])
            self.assertNotEqual(*(send["session"] for send in gateway.sends))
            stored = str(await here.stage.simulator.messages(session))
            for words in ("/bridge", "Connected", "dance", "conversation"):
                self.assertNotIn(words, stored)
            self.assertEqual(await here.stage.simulator.breaches(), [])


class WordTests(Scenarios):
    def folders(self, stage):
        """Folders in which pi's processes were started."""
        return [start["folder"] for start in stage.log("starts")]

    def check_answers(self, stage, *asked):
        """Checks that each has a bubble of its own: one placeholder, one end."""
        for turn in asked:
            self.assertEqual(stage.phone.problems([turn.interaction], True), [])

    @scenario(60)
    async def test_words_are_answered_by_the_bridge_and_all_others_by_the_agent(self):
        async with PiStage({"/new": [said("pi knows /new")]}) as stage:
            words = [stage.ask(text) for text in ("/bridge help", "/bridge dance", "/Bridge status", "/bridge workspaces")]
            other = stage.ask("/new please")
            await stage.ended(*words, other)
            stage.expect_said(words[0], "/bridge new [WORKSPACE]")
            stage.expect_said(words[1], "does not know \u201cdance\u201d")
            stage.expect_said(words[2], "Connected to pi.")
            stage.expect_said(words[3], str(stage.workspace))
            stage.expect(other, "pi knows /new")
            self.check_answers(stage, *words, other)
            self.assertEqual(stage.log("prompts"), ["/new please"])

    @scenario(90)
    async def test_new_waits_for_the_run_and_what_follows_is_of_the_new_session(self):
        async with PiStage({"one": [said("first "), {"hold": "go"}, said("done")]}) as stage:
            one = stage.ask("one")
            await stage.streaming(one)
            new = stage.ask("/bridge new", session=one.session)
            two = stage.ask("two", session=one.session)
            await until(lambda: stage.phone.bubble(two.interaction), 30, "a bubble for the message behind it")
            self.assertFalse(stage.phone.is_ended(new.interaction))
            self.assertEqual(stage.log("prompts"), ["one"])
            stage.open_gate("go")
            await stage.ended(one, new, two)
            stage.expect_said(one, "done")
            stage.expect_said(new, "The next message begins a new conversation with pi")
            starts = stage.log("starts")
            self.assertEqual(len(starts), 2)
            self.assertNotIn("--session", starts[1]["arguments"])
            await stage.bridge.restart_after_kill()
            three = stage.ask("three", session=one.session)
            await stage.ended(three)
            arguments = stage.log("starts")[2]["arguments"]
            # The session of the message behind `new`, not the chat's first one.
            session = Path(arguments[arguments.index("--session") + 1])
            self.assertIn("two", session.read_text())
            self.assertNotIn('"one"', session.read_text())
            self.check_answers(stage, one, new, two, three)

    @scenario(120)
    async def test_a_kill_anywhere_around_new_leaves_one_answer_and_one_new_session(self):
        for moment in ("waiting", "carried out"):
            async with PiStage({"one": [said("first "), {"hold": "go"}, said("done")]}) as stage:
                one = stage.ask("one")
                await stage.streaming(one)
                new = stage.ask("/bridge new", session=one.session)
                two = stage.ask("two", session=one.session)
                await until(lambda: stage.phone.bubble(two.interaction), 30, "a bubble for the message behind it")
                if moment == "carried out":
                    stage.open_gate("go")
                    await until(lambda: stage.phone.is_ended(one.interaction), 30, "the run has ended")
                await stage.bridge.restart_after_kill()
                await stage.ended(one, new, two, seconds=60)
                stage.expect_said(new, "The next message begins a new conversation with pi")
                stage.check_prompts(one, two)
                self.check_answers(stage, new, two)
                # Neither of pi's sessions received both messages.
                for session in (stage.pi.directory / "sessions").iterdir():
                    heard = [text for text in ("one", "two") if json.dumps(text) in session.read_text()]
                    self.assertLess(len(heard), 2, session.read_text())

    @scenario(90)
    async def test_a_chat_works_in_the_workspace_that_it_was_begun_in(self):
        async with PiStage({}, start=False) as stage:
            home = stage.directory.resolve()
            site, api = home / "site", home / "api"
            for folder in (site, api):
                folder.mkdir()
            link = stage.directory / "link"
            link.symlink_to(api)
            stage.configure({"workspaces": {"site": str(site), "api": str(link)}})
            await stage.bridge.start()
            one = stage.ask("one")
            await stage.ended(one)
            new = stage.ask("/bridge new API", session=one.session)
            two = stage.ask("two", session=one.session)
            await stage.ended(new, two)
            stage.expect_said(new, "in the workspace api")
            self.assertEqual(self.folders(stage), [str(site), str(api)])
            # The default changes: the chat stays in its folder.
            stage.configure({"workspaces": {"site": str(site), "api": str(link)}, "default_workspace": "site"})
            await stage.bridge.restart_after_kill()
            three = stage.ask("three", session=one.session)
            await stage.ended(three)
            self.assertEqual(self.folders(stage)[2], str(api))
            refused = stage.ask("/bridge new docs", session=one.session)
            await stage.ended(refused)
            stage.expect_said(refused, "there is site, api")
            # The folder is removed from the configuration, then deleted.
            stage.configure({"workspaces": {"site": str(site)}})
            await stage.bridge.restart_after_kill()
            four = stage.ask("four", session=one.session)
            await stage.ended(four)
            stage.expect_said(four, "of this chat is not configured any more")
            site.rmdir()
            five = stage.ask("five")
            await stage.ended(five)
            stage.expect_said(five, "is not there")
            site.symlink_to(stage.directory)
            six = stage.ask("six")
            await stage.ended(six)
            stage.expect_said(six, "because it")
            self.assertEqual(len(stage.log("starts")), 3)

    @scenario(60)
    async def test_a_bridge_that_was_started_at_home_asks_for_a_folder(self):
        async with PiStage({}, environment={"SOPHON_WORKSPACE": ""}) as stage:
            turn = stage.ask("hello")
            await stage.ended(turn)
            stage.expect_said(turn, "the home directory itself")
            self.assertEqual(stage.log("starts"), [])
            doctor = await once("doctor", "--json", directory=stage.directory, environment=stage.environment())
            checks = {line["check"]: line for line in lines_of(doctor.out) if line["event"] == "doctor_check"}
            self.assertEqual(checks["workspace"]["outcome"], "failed")
            work = stage.directory / "work"
            work.mkdir()
            doctor = await once("doctor", "--json", directory=stage.directory,
                                environment=stage.environment() | {"SOPHON_WORKSPACE": str(work)})
            checks = {line["check"]: line for line in lines_of(doctor.out) if line["event"] == "doctor_check"}
            self.assertEqual(checks["workspace"]["message"], f"the workspace is {work}")

    @scenario(60)
    async def test_the_agents_own_directory_is_still_the_folder_of_all_its_chats(self):
        async with PiStage({}, start=False) as stage:
            garden = stage.directory / "garden"
            garden.mkdir()
            stage.configure({"connections": [{"agent": {"kind": "pi", "directory": str(garden)}}]})
            await stage.bridge.start()
            one = stage.ask("one")
            await stage.ended(one)
            self.assertEqual(self.folders(stage), [str(garden)])

    @scenario(60)
    async def test_a_gateway_gets_another_session_key(self):
        async with Stage() as stage:
            one = stage.ask("one", Say(["first"]))
            await stage.ended(one)
            new = stage.ask("/bridge new", session=one.session)
            two = stage.ask("two", Say(["second"]), session=one.session)
            await stage.ended(new, two)
            stage.expect(two, "second")
            stage.expect_said(new, "a new conversation with OpenClaw")
            folders = stage.ask("/bridge workspaces", session=one.session)
            await stage.ended(folders)
            stage.expect_said(folders, "the bridge has no workspaces for it")
            keys = [send["session"] for send in stage.gateway.sends]
            self.assertEqual(len(keys), 2)
            self.assertEqual(len(set(keys)), 2, keys)
            await stage.bridge.restart_after_kill()
            three = stage.ask("three", Say(["third"]), session=one.session)
            await stage.ended(three)
            self.assertEqual(stage.gateway.sends[-1]["session"], keys[1])
            stage.check(one, two, three, new, folders)


if __name__ == "__main__":
    unittest.main()

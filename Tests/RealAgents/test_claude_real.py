"""Conversations with the real Claude Code through the bridge, for `make real-agents`: actions of a person and of the model."""

import asyncio
import base64
import json
import re
import shutil
import time
import unittest
import urllib.request

from claude_real_stage import ClaudeRealStage
from file_stories import FIVE
from peers.claude_steps import Call, Cut, Hold, Refuse, Say, Think, bash, edit, question, write
from scheduling import Scenarios, scenario

STORY = Say(["word "] * 2_000, every=0.05)
LABEL = (Say(["I ask."]), bash("echo one >> effects"), Say(["As you decided."]))
NARROWED = "\u201cAlways\u201d could not be granted to the agent as you chose it, so this was allowed for this session."
HELPER = {"description": "Dig", "prompt": "Dig the bed now", "subagent_type": "general-purpose", "run_in_background": True}
WAITS = "Nobody answered. It still waits."
MAKEFILE = "clean:\n\techo cleaned >> effects\n"


def waiting(name):
    return f"while [ ! -e {name} ]; do sleep 0.1; done; echo {name} >> effects"


class RealClaudeTests(Scenarios):
    @scenario(60)
    async def test_text_reasoning_and_tools(self):
        async with ClaudeRealStage() as stage:
            (stage.home.project / "notes.txt").write_text("beans\n")
            turn = await stage.ask("Count and read.", Think("I count."), Say(["I ", "look."]), bash("ls | wc -l"),
                                   Call("Read", {"file_path": str(stage.home.project / "notes.txt")}), Say(["Done. "] * 200))
            self.assertEqual(await stage.final(turn), "I look.\n\n" + "Done. " * 200)
            self.assertIn("beans", str(stage.results()))
            await stage.check(turn)

    # Approvals

    @scenario(60)
    async def test_a_call_that_is_allowed_and_one_that_is_denied(self):
        for decision, effects in (("approve", ["one"]), ("deny", [])):
            async with ClaudeRealStage() as stage:
                turn = await stage.ask("Write a label.", *LABEL)
                await stage.decide_card(await stage.card(turn), decision)
                self.assertEqual(await stage.final(turn), "I ask.\n\nAs you decided.")
                self.assertEqual(stage.effects(), effects)
                self.assertEqual("The user declined this call." in stage.results(), decision == "deny")
                await stage.check(turn)

    @scenario(60)
    async def test_always_holds_for_all_edits_in_the_folder_and_for_nothing_else(self):
        async with ClaudeRealStage() as stage:
            bed, other = stage.home.project / "bed.txt", stage.home.project / "other.txt"
            bed.write_text("beans\n")
            read = Call("Read", {"file_path": str(bed)})
            turn = await stage.ask("Sow peas.", read, edit(bed, "beans", "peas"), write(other, "leeks\n"), Say(["Sown."]))
            card = await stage.card(turn)
            for words in ("all edits in this folder", "beans", "peas"):
                self.assertIn(words, str(card))
            await stage.decide_card(card, "approve_always")
            self.assertEqual(await stage.final(turn), f"Sown.\n\n{NARROWED}")
            again = await stage.ask("Sow leeks.", edit(bed, "peas", "leeks"), bash("touch made"), Say(["Sown again."]), session=turn["session_id"])
            card = await stage.card(again)
            self.assertEqual((card.get("command"), bed.read_text(), other.read_text()), ("touch made", "leeks\n", "leeks\n"))
            await stage.decide_card(card, "deny")
            self.assertEqual(await stage.final(again), "Sown again.")
            self.assertFalse(list(stage.home.directory.rglob("settings*.json")), "no rule for ever")
            await stage.check(turn, again)

    @scenario(60)
    async def test_the_words_of_a_refusal_are_in_the_transcript_and_what_they_say_runs(self):
        async with ClaudeRealStage() as stage:
            (stage.home.project / "Makefile").write_text(MAKEFILE)
            (stage.home.project / "build").mkdir()
            turn = await stage.ask("Tidy up.", Say(["I remove it."]), bash("rm -r build"), bash("make clean"), Say(["Tidy."]))
            card = await stage.card(turn)
            self.assertEqual(card["command"], "rm -r build")
            no = await stage.send("/bridge no use make clean instead", turn["session_id"])
            await stage.final(no)
            await stage.decide_card(await stage.card(turn, "make clean"), "approve")
            self.assertEqual(await stage.final(turn), "I remove it.\n\nTidy.\n\nRefused by a message in this chat.")
            self.assertIn("The user declined this call and says: use make clean instead", stage.results())
            self.assertEqual((stage.effects(), (stage.home.project / "build").exists()), (["cleaned"], True))
            self.assertEqual(set(stage.model.texts()), {"Tidy up."})
            await stage.check(turn)

    @scenario(90)
    async def test_a_card_that_expired_comes_back_with_a_message_and_is_allowed_once(self):
        async with ClaudeRealStage() as stage:
            turn = await stage.ask("Write a label.", *LABEL)
            first = await stage.card(turn)
            await stage.simulator.call("POST", "/v1/simulator/approvals/expire", {"approval_id": first["approval_id"]})
            await stage.shows(turn, WAITS)
            other = await stage.ask("Are you there?", Say(["I am."]), session=turn["session_id"])
            second = await stage.card(turn)
            self.assertEqual((second["approval_id"], second["command"]), (first["approval_id"] + "-ask-2", first["command"]))
            self.assertEqual(stage.effects(), [])
            await stage.decide_card(second, "approve")
            self.assertEqual(await stage.final(turn), f"I ask.\n\n{WAITS}\n\nAs you decided.")
            self.assertIn("I am.", await stage.final(other))
            self.assertEqual((stage.effects(), len(stage.children())), (["one"], 1))
            await stage.check(turn, other)

    @scenario(60)
    async def test_questions_are_asked_one_after_the_other(self):
        async with ClaudeRealStage() as stage:
            turn = await stage.ask("Paint the gate.", Say(["Two questions."]), question("Which colour?", "Which wood?"), Say(["Good."]))
            await stage.shows(turn, "Which colour?")
            await stage.send("2", turn["session_id"])
            await stage.shows(turn, "Which wood?")
            await stage.send("oak of our own", turn["session_id"])
            self.assertRegex(await stage.final(turn), r"Good\.$")
            heard, = stage.results()
            for words in ('"Which colour?"="Blue"', '"Which wood?"="oak of our own"'):
                self.assertIn(words, heard)
            self.assertEqual(set(stage.model.texts()), {"Paint the gate."})

    @scenario(60)
    async def test_a_plan_is_refused_with_words_and_then_approved(self):
        async with ClaudeRealStage(environment={"CLAUDE_PERMISSION_MODE": "plan"}) as stage:
            first = await stage.ask("Look around.", Say(["A bed."]))
            await stage.final(first)
            # The plan is a file, whose name the program gives to the model.
            file = re.search(r"/[^ \"]*/plans/[^ \"]*\.md", json.dumps(stage.model.asked[-1][1]))[0]
            leave = Call("ExitPlanMode", {})
            turn = await stage.ask("Plan the bed.", write(file, "Dig, then sow."), leave, Say(["I think again."]), session=first["session_id"])
            await stage.shows(turn, "Dig, then sow.")
            await stage.send("Sow first, please.", turn["session_id"])
            self.assertRegex(await stage.final(turn), r"I think again\.$")
            self.assertIn("The user did not approve the plan and says: Sow first, please.", stage.results())
            again = await stage.ask("Ask again.", leave, write(stage.home.project / "bed.txt", "peas\n"), Say(["Sown."]), session=first["session_id"])
            await stage.shows(again, "Dig, then sow.")
            await stage.send("1", turn["session_id"])
            await stage.decide_card(await stage.card(again), "approve")
            self.assertRegex(await stage.final(again), r"Sown\.$")
            self.assertEqual((stage.home.project / "bed.txt").read_text(), "peas\n")

    # Stops

    @scenario(120)
    async def test_a_stop_in_text_with_an_ask_open_and_in_a_command(self):
        async with ClaudeRealStage() as stage:
            for text, *steps in (("Talk.", STORY), ("Ask.", *LABEL[:2], Say(["not said"])), ("Sleep.", bash("touch begun; sleep 300"), Say(["not said"]))):
                turn = await stage.ask(text, *steps)
                if text == "Talk.":
                    await stage.shows(turn, "word")
                else:
                    card = await stage.card(turn)
                if text == "Sleep.":
                    await stage.decide_card(card, "approve")

                    async def begun():
                        return list(stage.home.project.rglob("begun"))
                    await stage.until(begun, "the command")
                await stage.stop(turn)
                self.assertNotIn("not said", await stage.final(turn, 20))
                again = await stage.ask(f"{text} Go on.", Say(["Gone on."]), session=turn["session_id"])
                self.assertEqual(await stage.final(again), "Gone on.")
                await stage.check(turn, again)
            self.assertEqual(stage.effects(), [])

    # Failures

    @scenario(90)
    async def test_a_login_that_is_refused_is_said_at_once_and_the_next_message_has_another_process(self):
        async with ClaudeRealStage() as stage:
            turn = await stage.ask("Hello.", Refuse(401, "authentication_error", "invalid x-api-key"))
            begun = time.monotonic()
            self.assertIn("/login", await stage.final(turn))
            self.assertLess(time.monotonic() - begun, 20)
            before = stage.children()
            again = await stage.ask("Are you there?", Say(["Here."]), session=turn["session_id"])
            self.assertEqual(await stage.final(again), "Here.")
            self.assertFalse(set(before) & set(stage.children()))
            await stage.check(turn, again)

    @scenario(120)
    async def test_failures_of_the_model(self):
        async with ClaudeRealStage() as stage:
            flaky = await stage.ask("Fail twice.", Refuse(529, "overloaded_error", "Overloaded"), Refuse(500, "api_error", "Internal server error"),
                                    Say(["Third time lucky."]))
            cut = await stage.ask("Be cut.", Say(["Onions beside the "]), Cut(), Say(["carrots."]))
            inside = await stage.ask("Be cut inside.", Cut(["Lettuce in the "]), Say(["Lettuce in the shade."]))
            busy = await stage.ask("Be busy.", Refuse(529, "overloaded_error", "Overloaded"))
            refused = await stage.ask("Refuse.", Refuse(400, "invalid_request_error", "the west bed is no bed"))
            bill = await stage.ask("Get a bill.", Refuse(402, "billing_error", "Pay first."))
            for turn, words in ((flaky, "Third time lucky."), (cut, "Onions beside the carrots."), (inside, "Lettuce in the shade.")):
                self.assertEqual(await stage.final(turn), words)
            for turn, words in ((busy, "overloaded"), (refused, "the west bed is no bed"), (bill, "no credit left")):
                self.assertIn(words, await stage.final(turn))
            again = await stage.ask("Hello.", Say(["Here."]), session=refused["session_id"])
            self.assertEqual(await stage.final(again), "Here.")
            await stage.check(flaky, cut, inside, busy, refused, bill, again)

    # Pictures, many chats

    @scenario(60)
    async def test_pictures_reach_the_model_byte_for_byte(self):
        async with ClaudeRealStage() as stage:
            turn = await stage.ask("Hello.", Say(["Hello."]))
            await stage.final(turn)
            offered = []
            for name, kind, content in FIVE[:3]:
                request = urllib.request.Request(f"{stage.simulator.url}/v1/simulator/files?name={name}", content, method="POST", headers={
                    "Authorization": f"Bearer {stage.simulator.user_token}", "Content-Type": kind})
                with await asyncio.to_thread(urllib.request.urlopen, request, timeout=30) as answer:
                    offered.append(json.load(answer)["result"])
            stage.model.script("Look.", Say(["A fox."]))
            sent = await stage.simulator.call("POST", f"/v1/me/sessions/{turn['session_id']}/send", {"text": "Look.", "attachments": offered})
            again = sent | {"session_id": turn["session_id"]}
            self.assertTrue((await stage.final(again)).startswith("A fox.\n\npaper.pdf was not passed on"))
            content = stage.model.asked[-1][1]["messages"][-1]["content"]
            images = [base64.b64decode(part["source"]["data"]) for part in content if part["type"] == "image"]
            self.assertEqual(images, [content for _, _, content in FIVE[:2]])
            await stage.check(turn, again)

    @scenario(120)
    async def test_ten_chats_at_once(self):
        async with ClaudeRealStage() as stage:
            turns = [await stage.ask(f"Chat {number}.", Say([f"Begun {number}. "]), bash(f"echo {number} >> effects"), Say([f"Answer {number}."]))
                     for number in range(10)]
            person = asyncio.create_task(stage.decide())
            for number, turn in enumerate(turns):
                self.assertEqual(await stage.final(turn), f"Begun {number}. \n\nAnswer {number}.")
            person.cancel()
            self.assertEqual(sorted(stage.effects()), [str(number) for number in range(10)])
            self.assertEqual(len(stage.sessions()), 10)
            await stage.check(*turns)

    # Restarts

    @scenario(90)
    async def test_a_chat_goes_on_after_a_restart(self):
        async with ClaudeRealStage() as stage:
            turn = await stage.ask("My name is Ada.", Say(["Hello Ada."]))
            await stage.final(turn)
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            await stage.left()
            await stage.bridge.start()
            again = await stage.ask("What is my name?", Say(["Ada."]), session=turn["session_id"])
            self.assertEqual(await stage.final(again), "Ada.")
            _, body = stage.model.asked[-1]
            self.assertIn("My name is Ada.", str(body["messages"]), "it still knows the conversation")
            self.assertEqual(len(stage.sessions()), 1)
            await stage.check(turn, again)

    @scenario(90)
    async def test_a_session_that_was_removed_begins_another_conversation_and_says_so(self):
        async with ClaudeRealStage() as stage:
            turn = await stage.ask("One.", Say(["First."]))
            await stage.final(turn)
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            await stage.left()
            shutil.rmtree(stage.home.configuration / "projects")
            await stage.bridge.start()
            again = await stage.ask("Two.", Say(["Second."]), session=turn["session_id"])
            final = await stage.final(again)
            self.assertIn("Second.", final)
            self.assertIn("no longer has this chat's earlier conversation", final)
            third = await stage.ask("Three.", Say(["Third."]), session=turn["session_id"])
            self.assertEqual(await stage.final(third), "Third.")
            await stage.check(turn, again, third)

    @scenario(90)
    async def test_what_an_orphan_had_to_refuse_is_told_to_the_person_and_to_the_model(self):
        async with ClaudeRealStage() as stage:
            turn = await stage.ask("Write a label.", Say(["I ask."]), bash("echo one >> effects"), Say(["I could not."]))
            card = await stage.card(turn)
            await stage.bridge.restart_after_kill()
            final = await stage.final(turn)
            self.assertIn("I could not.", final)
            self.assertIn("1 call could not be asked about while the bridge was away", final)
            again = await stage.ask("Go on.", Say(["Now."]), session=turn["session_id"])
            self.assertEqual(await stage.final(again), "Now.")
            self.assertIn("These calls were refused because nobody could be asked", str(stage.model.asked[-1][1]["messages"]))
            # The relay cannot withdraw a card.
            await stage.decide_card(card, "approve")
            last = await stage.ask("Are you there?", Say(["Here."]), session=turn["session_id"])
            self.assertEqual((await stage.final(last), stage.effects()), ("Here.", []))
            await stage.check(turn, again, last)

    # The background

    @scenario(90)
    async def test_a_command_in_the_background_begins_a_turn_of_its_own(self):
        async with ClaudeRealStage() as stage:
            turn = await stage.ask("Water the beds.", bash(waiting("watered"), run_in_background=True), Say(["The water runs."]))
            stage.model.script("task-notification", Say(["It has run."]), bash("echo dug >> effects"), Say(["The watering is done."]))
            await stage.decide_card(await stage.card(turn), "approve")
            self.assertEqual(await stage.final(turn), "The water runs.")
            stage.touch("watered")
            beside = turn | {"interaction_id": None}
            await stage.decide_card(await stage.card(beside), "approve")
            self.assertEqual(await stage.final(beside), "It has run.\n\nThe watering is done.")
            again = await stage.ask("Thank you.", Say(["You are welcome."]), session=turn["session_id"])
            self.assertEqual(await stage.final(again), "You are welcome.")
            self.assertEqual(stage.effects(), ["watered", "dug"])
            await stage.check(turn, again)

    @scenario(90)
    async def test_a_helper_in_the_background_asks_when_no_turn_is_open(self):
        for decision, effects in (("approve", ["dug"]), ("deny", [])):
            async with ClaudeRealStage() as stage:
                stage.model.script("Dig the bed now", Hold("dig"), bash("echo dug >> effects"), Say(["I have done it."]))
                stage.model.script("task-notification", Say(["The helper is back."]))
                turn = await stage.ask("Send a helper.", Call("Task", HELPER), Say(["It digs."]))
                self.assertEqual(await stage.final(turn), "It digs.")
                stage.model.release("dig")
                beside = turn | {"interaction_id": None}
                await stage.decide_card(await stage.card(beside), decision)
                await stage.shows(beside, "The helper is back.")
                again = await stage.ask("Thank you.", Say(["You are welcome."]), session=turn["session_id"])
                self.assertEqual(await stage.final(again), "You are welcome.")
                self.assertEqual(stage.effects(), effects)
                await stage.check(turn, again)

    @scenario(90)
    async def test_a_helper_that_asks_beside_a_turn_outlives_the_stop_of_that_turn(self):
        async with ClaudeRealStage() as stage:
            stage.model.script("Dig the bed now", Hold("dig"), bash("echo dug >> effects"), Say(["I have done it."]))
            stage.model.script("task-notification", Say(["The helper is back."]))
            turn = await stage.ask("Send a helper.", Call("Task", HELPER), Say(["It digs."]))
            self.assertEqual(await stage.final(turn), "It digs.")
            talk = await stage.ask("Talk.", STORY, session=turn["session_id"])
            await stage.shows(talk, "word")
            stage.model.release("dig")
            beside = turn | {"interaction_id": None}
            card = await stage.card(beside)
            await stage.simulator.call(
                "POST", f"/v1/me/sessions/{talk['session_id']}/stop", {"interaction_id": talk["interaction_id"]})
            self.assertNotIn("The helper", await stage.final(talk, 20))
            await stage.decide_card(card, "approve")
            await stage.shows(beside, "The helper is back.")
            self.assertEqual(stage.effects(), ["dug"])
            await stage.check(turn, talk)

    @scenario(90)
    async def test_a_child_with_a_command_in_the_background_gives_its_place_to_no_other_chat(self):
        async with ClaudeRealStage(configuration={"limits": {"agents": 1}}) as stage:
            first = await stage.ask("Hello.", Say(["Hello."]))
            self.assertEqual(await stage.final(first), "Hello.")
            turn = await stage.ask("Water the beds.", bash(waiting("watered"), run_in_background=True), Say(["The water runs."]))
            await stage.decide_card(await stage.card(turn), "approve")
            self.assertEqual(await stage.final(turn), "The water runs.")
            process = stage.children()
            other = await stage.ask("Good evening.", Say(["Good evening."]))
            await asyncio.sleep(2)
            self.assertEqual((len(process), stage.children(), stage.model.texts().count("Good evening.")), (1, process, 0))
            stage.touch("watered")
            self.assertEqual(await stage.final(other), "Good evening.")
            self.assertEqual(stage.effects(), ["watered"])
            self.assertNotEqual(stage.children(), process)
            await stage.check(first, turn, other)


if __name__ == "__main__":
    unittest.main()

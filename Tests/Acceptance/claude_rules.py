"""The guarantees that a client of Claude Code may rely on, as tests of a program: of the scripted one here, of the real one in
Tests/RealAgents. `lab` is an asynchronous context: `plan` and `release`, its working `folder`, `configuration` (the folder of its own
files), `asked()` (texts that reached the model) and `client(*flags)`. Rules of sessions and of failures are in
`claude_session_rules.py`."""

import asyncio
import json
import signal

from peers.claude_client import block, is_ask
from peers.claude_steps import Call, Say, Think, Together, bash, edit, question, write
from scheduling import scenario

STORY = [f"Stone {number}. " for number in range(60)]
ALL_EDITS = {"type": "addRules", "rules": [{"toolName": "Edit", "ruleContent": "/**"}], "behavior": "allow", "destination": "session"}


def waiting(gate):
    """A command that runs until the file exists."""
    return f"until [ -e {gate} ]; do sleep 0.05; done; echo {gate} >> effects"


class ClaudeRules:
    @staticmethod
    def effects(lab, name="effects"):
        """One line per call that had its effect."""
        path = lab.folder / name
        return path.read_text().split() if path.exists() else []

    @staticmethod
    async def rows(lab, session):
        await asyncio.sleep(0.3)
        path, = lab.configuration.glob(f"projects/*/{session}.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()]

    @staticmethod
    def spoken(rows):
        """Rows of the conversation as pairs: the uuid of a prompt or the kind of a block, and the stop reason."""
        found = []
        for row in rows:
            if row.get("type") == "assistant":
                found.append((row["message"]["content"][0]["type"], row["message"]["stop_reason"]))
            elif row.get("type") == "user":
                content = row["message"]["content"]
                kind = row["uuid"] if isinstance(content, str) or content[0]["type"] == "text" else "tool_result"
                found.append((kind, None))
        return found

    # A turn

    @scenario(60)
    async def test_the_greeting_and_what_is_said_of_a_turn_of_text(self):
        async with self.lab() as lab, lab.client(greets=False) as client:
            lab.plan("beans", Think("Runner beans climb."), Say(["Runner ", "beans climb."]))
            lab.plan("Next", Say(["The snail."]))
            greeting = await client.control("initialize", hooks=None)
            self.assertEqual(len(client.frames), 1)
            self.assertEqual((greeting["pid"], greeting["current_permission_mode"]), (client.pid, "default"))
            self.assertIn(greeting["session_state"], ("idle", None))
            key = await client.user("Which beans climb?")
            end = await client.result()
            self.assertEqual(client.streamed(), "Runner beans climb.")
            self.assertEqual((client.texts(), end["result"]), (["Runner beans climb."], "Runner beans climb."))
            self.assertEqual((end["subtype"], end["is_error"], end["terminal_reason"], end["stop_reason"]), ("success", False, "completed", "end_turn"))
            self.assertEqual(end["user_message_uuids"], [key])
            self.assertNotIn("origin", end)
            kinds = [client.shown(frame) for frame in client.frames[1:]]
            order = ["command_lifecycle queued", "command_lifecycle started", "system init", "system status", "stream_event message_start",
                     "assistant thinking", "assistant text", "stream_event message_delta", "stream_event message_stop", "result success"]
            self.assertEqual([kind for kind in dict.fromkeys(kinds) if kind in order], order)
            self.assertLess(kinds.index("assistant text"), len(kinds) - 1 - kinds[::-1].index("stream_event content_block_stop"))
            self.assertTrue(all(len(frame["message"]["content"]) == 1 and frame["message"]["stop_reason"] is None for frame in client.came("assistant")))
            first, = client.came("system", "init")
            self.assertEqual((first["session_id"], first["permissionMode"], first["cwd"]), (end["session_id"], "default", str(lab.folder)))
            await client.lifecycle(key, "completed")
            again = await client.run("Next, please.")
            self.assertEqual(len(client.came("system", "init")), 2)
            self.assertGreater(again["total_cost_usd"], end["total_cost_usd"])
            one = [sum(model["costUSD"] for model in frame["model_usage_since_last_result"].values()) for frame in (end, again)]
            self.assertAlmostEqual(sum(one), again["total_cost_usd"], 6)
            self.assertEqual(await client.close(), 0)
            rows = self.spoken(await self.rows(lab, end["session_id"]))
            self.assertEqual(rows[:3], [(key, None), ("thinking", "end_turn"), ("text", "end_turn")])

    @scenario(60)
    async def test_lines_and_requests_that_are_not_understood(self):
        async with self.lab() as lab, lab.client() as client:
            lab.plan("Hello", Say(["Hello."]))
            for line in ("", '{"type":"no_such_type"}', '{"type":"keep_alive"}', '{"type":"control_response","response":{"subtype":"success",'
                         '"request_id":"nobody","response":{}}}'):
                await client.send_line(line)
            refused = await client.control("no_such_request")
            self.assertEqual((refused["subtype"], refused.get("error_code")), ("error", "unsupported_request"))
            self.assertEqual((await client.run("Hello."))["result"], "Hello.")
            await client.control("initialize", hooks=None)
            await client.send_line("no JSON")
            self.assertEqual(await client.exit(), 1)
            self.assertIn(b"Error parsing streaming input line", client.stderr)

    # Calls

    @scenario(60)
    async def test_a_command_that_is_allowed_and_one_that_is_denied_with_words(self):
        async with self.lab() as lab, lab.client() as client:
            lab.plan("label", Say(["I write it."]), bash("echo one >> effects"), Say(["It is there."]))
            lab.plan("Again", bash("echo two >> effects"), Say(["I left it."]))
            await client.user("Write the label.")
            request = (ask := await client.asked())["request"]
            call, = [block(frame) for frame in client.came("assistant") if block(frame).get("type") == "tool_use"]
            self.assertEqual((request["tool_name"], request["tool_use_id"], request["input"]), ("Bash", call["id"], call["input"]))
            self.assertEqual(self.effects(lab), [])
            await client.allow(ask)
            end = await client.result()
            self.assertEqual((self.effects(lab), end["result"], client.texts()), (["one"], "It is there.", ["I write it.", "It is there."]))
            mark = len(client.frames)
            key = await client.user("Again.")
            await client.deny(await client.asked(), "Not here, please.")
            end = await client.result()
            (result, frame), = client.results_of_calls(mark)
            self.assertEqual((result["content"], result["is_error"]), ("Not here, please.", True))
            meta, = frame["tool_result_meta"]
            self.assertEqual((meta["non_execution_kind"], meta["permission_decision"]), ("permission-rule", {"decision": "reject", "source": "user_reject"}))
            self.assertEqual((end["subtype"], end["terminal_reason"], end["result"]), ("success", "completed", "I left it."))
            self.assertEqual([denial["tool_name"] for denial in end["permission_denials"]], ["Bash"])
            await client.lifecycle(key, "completed")
            self.assertEqual(self.effects(lab), ["one"])
            row, = [row for row in await self.rows(lab, end["session_id"]) if row.get("toolDenialKind")]
            self.assertEqual((row["toolDenialKind"], row["toolUseResult"]), ("permission-rule", "Error: Not here, please."))

    @scenario(60)
    async def test_answers_that_are_no_answers_deny_and_a_second_one_is_ignored(self):
        async with self.lab() as lab, lab.client() as client:
            lab.plan("first", bash("echo one >> effects"), Say(["So be it."]))
            for answer in ({"behavior": "perhaps"}, {"behavior": "deny"}):
                await client.user("The first.")
                ask = await client.asked()
                await client.answer(ask, **answer)
                await client.allow(ask)
                await client.result()
            await client.user("The first, with an error.")
            ask = await client.asked()
            await client.send({"type": "control_response", "response": {"subtype": "error", "request_id": ask["request_id"], "error": "no"}})
            await client.result()
            self.assertEqual([result["is_error"] for result, _ in client.results_of_calls()], [True] * 3)
            self.assertEqual(self.effects(lab), [])
            await client.user("The first, changed.")
            ask = await client.asked()
            await client.allow(ask, input=ask["request"]["input"] | {"command": "echo other >> effects"})
            await client.result()
            self.assertEqual(self.effects(lab), ["other"])

    @scenario(60)
    async def test_always_for_edits_and_for_a_command_within_the_session(self):
        async with self.lab() as lab:
            inside, other, outside = lab.folder / "note.txt", lab.folder / "other.txt", lab.folder.parent / "outside.txt"
            lab.plan("note", write(inside, "bean\n"), edit(inside, "bean", "sweet pea"), write(other, "leek\n"), Say(["Written."]))
            lab.plan("Outside", write(outside, "leek\n"), Say(["Also written."]))
            lab.plan("Make", bash("touch made"), bash("touch made again"), bash("touch made && touch more"), Say(["Made."]))
            async with lab.client() as client:
                await client.user("Write the note.")
                ask = await client.asked()
                self.assertEqual([entry["type"] for entry in ask["request"]["permission_suggestions"]], ["setMode"])
                await client.allow(ask, updatedPermissions=[ALL_EDITS])
                end = await client.result()
                self.assertEqual((end["result"], inside.read_text(), other.read_text()), ("Written.", "sweet pea\n", "leek\n"))
                await client.user("Outside.")
                await client.deny(await client.asked(), "No.")
                await client.result()
                await client.user("Make it.")
                ask = await client.asked()
                rules = [entry for entry in ask["request"]["permission_suggestions"] if entry["type"] == "addRules"]
                self.assertEqual(rules[0]["rules"][0]["toolName"], "Bash")
                self.assertEqual(rules[0]["destination"], "localSettings")
                await client.allow(ask, updatedPermissions=[rule | {"destination": "session"} for rule in rules])
                third = await client.asked()
                self.assertEqual(third["request"]["input"]["command"], "touch made && touch more")
                await client.deny(third, "No.")
                session = (await client.result())["session_id"]
                self.assertFalse((lab.folder / ".claude" / "settings.local.json").exists())
            async with lab.client(f"--resume={session}") as client:
                await client.user("Write the note again.")
                await client.deny(await client.asked(), "Rules of a session end with its process.", interrupt=True)
                await client.result()

    @scenario(60)
    async def test_edits_that_cannot_be_done_fail_before_anybody_is_asked(self):
        async with self.lab() as lab, lab.client() as client:
            note = lab.folder / "note.txt"
            note.write_text("a bean and a pea\n")
            lab.plan("Begin", edit(note, "a ", "the "), edit(note, "plum", "leek"), edit(note, "bean", "leek"), Say(["Half of it."]))
            await client.user("Begin.")
            ask = await client.asked()
            self.assertEqual(ask["request"]["input"]["old_string"], "bean")
            await client.allow(ask)
            self.assertEqual(((await client.result())["result"], note.read_text()), ("Half of it.", "a leek and a pea\n"))
            failed = [result["content"] for result, _ in client.results_of_calls() if result.get("is_error")]
            for words, content in zip(("Found 2 matches", "String to replace not found"), failed, strict=True):
                self.assertIn(words, content)

    @scenario(60)
    async def test_what_is_asked_again_behind_an_always(self):
        """Which calls are asked again after an Edit was allowed always: an Edit, a Write, two commands on files, and one that only writes
        its output into a file."""
        def added(tool, content=None):
            return ALL_EDITS | {"rules": [{"toolName": tool} | ({"ruleContent": content} if content else {})]}
        mode = {"type": "setMode", "destination": "session"}
        every = ["Edit", "Write", "Bash", "Bash", "Bash"]
        async with self.lab() as lab:
            note, other = lab.folder / "note.txt", lab.folder / "other.txt"
            protected = lab.folder / ".git" / "config"
            lab.plan("Go on", edit(note, "pea", "leek"), write(other, "leek\n"), bash("touch made"), bash("echo one >> effects && touch more"),
                     bash("echo two >> effects"), Say(["Done."]))
            lab.plan("Mend", edit(note, "bean", "pea"), Say(["Mended."]))
            lab.plan("Read", Call("Read", {"file_path": str(note)}), Say(["I have read it."]))
            lab.plan("Protected", write(protected, "[core]\n"), Say(["Done."]))
            for updates, asked in (
                    ([added("Edit")], every[1:]), ([added("Edit"), {"type": "addRules", "rules": "none"}], every), ([ALL_EDITS], every[2:4]),
                    ([added("Edit", "/note.txt")], every[1:]), ([mode | {"mode": "acceptEdits"}], []), ([mode | {"mode": "bypassPermissions"}], every),
                    ([added("Bash")], every[:2])):
                note.write_text("a bean\n")
                other.unlink(missing_ok=True)
                async with lab.client() as client:
                    await client.run("Read the note.")
                    await client.user("Mend the note.")
                    await client.allow(await client.asked(), updatedPermissions=updates)
                    self.assertEqual((await client.result())["result"], "Mended.")
                    mark = len(client.frames)
                    await client.run("Go on.")
                    found = [frame["request"]["tool_name"] for frame in client.frames[mark:] if is_ask(frame)]
                    self.assertEqual(found, asked, updates)
                    await client.user("Protected.")
                    self.assertEqual((await client.asked())["request"]["decision_reason_type"], "safetyCheck")

    @scenario(60)
    async def test_calls_of_one_message(self):
        async with self.lab() as lab, lab.client() as client:
            outside = [lab.folder.parent / name for name in ("a.txt", "b.txt")]
            for path in outside:
                path.write_text("a secret\n")
            lab.plan("both", Together([bash("echo one >> effects"), bash("echo two >> effects")]), Say(["Both."]))
            lab.plan("Read", Together([Call("Read", {"file_path": str(path)}) for path in outside]), Say(["I read."]))
            await client.user("Do both.")
            first = await client.asked()
            await asyncio.sleep(0.2)
            self.assertEqual(len([frame for frame in client.frames if frame.get("type") == "control_request"]), 1)
            await client.deny(first, "Not that one.")
            await client.allow(await client.asked())
            self.assertEqual((await client.result())["result"], "Both.")
            self.assertEqual(self.effects(lab), ["two"])
            await client.user("Read them.")
            asks = [await client.asked(), await client.asked()]
            for ask in reversed(asks):
                await client.allow(ask)
            self.assertEqual((await client.result())["result"], "I read.")

    @scenario(60)
    async def test_questions_and_a_plan(self):
        async with self.lab() as lab:
            lab.plan("gate", Say(["One question."]), question("Which colour?", "Which wood?"), Say(["Good."]))
            lab.plan("Plan", Call("ExitPlanMode", {"plan": "Dig, then sow."}), Say(["As you say."]))
            async with lab.client() as client:
                await client.user("Paint the gate.")
                request = (ask := await client.asked())["request"]
                self.assertEqual((request["tool_name"], request["requires_user_interaction"]), ("AskUserQuestion", True))
                answers = {"Which colour?": "Blue", "Which wood?": "oak of our own"}
                await client.allow(ask, input=request["input"] | {"answers": answers})
                await client.result()
                heard = str(client.results_of_calls()[-1][0]["content"])
                for text, answer in answers.items():
                    self.assertIn(f'"{text}"="{answer}"', heard)
                await client.user("Paint the gate again.")
                await client.deny(await client.asked(), "The user declined to answer.")
                await client.result()
                result = client.results_of_calls()[-1][0]
                self.assertEqual((result["is_error"], result["content"]), (True, "The user declined to answer."))
            async with lab.client(mode="plan") as client:
                await client.user("Plan the bed.")
                ask = await client.asked()
                self.assertEqual((ask["request"]["tool_name"], ask["request"]["requires_user_interaction"]), ("ExitPlanMode", True))
                await client.deny(ask, "Sow first.")
                await client.result()
                await client.user("Plan the bed again.")
                await client.allow(await client.asked())
                await client.result()
                modes = [frame["permissionMode"] for frame in client.came("system") if frame.get("permissionMode")]
                self.assertEqual(modes[-1], "default")

    # Stops

    @scenario(60)
    async def test_interrupts_in_text_at_a_question_between_turns_and_before_one(self):
        async with self.lab() as lab, lab.client() as client:
            lab.plan("story", Say(STORY, every=0.05))
            lab.plan("label", bash("echo one >> effects"), Say(["never said"]))
            lab.plan("Hello", Say(["Hello."]))
            key = await client.user("Tell a story.")
            await client.words()
            receipt = await client.control("interrupt")
            self.assertEqual(receipt["still_queued"], [])
            end = await client.result()
            self.assertEqual((end["subtype"], end["is_error"], end["terminal_reason"]), ("error_during_execution", True, "aborted_streaming"))
            said = client.came("assistant")[-1]
            self.assertTrue(said["aborted"] and "".join(STORY).startswith(block(said)["text"]))
            await client.lifecycle(key, "cancelled")
            await client.user("Write the label.")
            ask = await client.asked()
            await client.control("interrupt")
            end = await client.result()
            self.assertEqual([frame["request_id"] for frame in client.came("control_cancel_request")], [ask["request_id"]])
            self.assertEqual((end["subtype"], end["terminal_reason"]), ("error_during_execution", "aborted_tools"))
            result, frame = client.results_of_calls()[-1]
            self.assertTrue(result["content"].startswith("The user doesn't want to proceed"), result)
            self.assertEqual(frame["tool_result_meta"][0]["non_execution_kind"], "user-rejected")
            await client.allow(ask)
            self.assertEqual((await client.run("Hello."))["result"], "Hello.")
            await client.control("interrupt")
            self.assertEqual((await client.run("Hello again."))["result"], "Hello.")
            self.assertEqual(self.effects(lab), [])
            rows = await self.rows(lab, end["session_id"])
            self.assertIn("[Request interrupted by user for tool use]", str([row.get("message") for row in rows if row.get("type") == "user"]))

    @scenario(60)
    async def test_an_interrupt_that_comes_before_its_turn_has_begun_ends_it(self):
        async with self.lab() as lab, lab.client() as client:
            lab.plan("story", Say(STORY, every=0.05))
            await client.user("Tell a story.")
            await client.begin("interrupt")
            end = await client.result()
            self.assertEqual((end["subtype"], end["terminal_reason"]), ("error_during_execution", "aborted_streaming"))

    @scenario(60)
    async def test_a_denial_that_interrupts_loses_its_words(self):
        async with self.lab() as lab, lab.client() as client:
            lab.plan("label", bash("echo one >> effects"), Say(["never said"]))
            key = await client.user("Write the label.")
            await client.deny(await client.asked(), "Lost words.", interrupt=True)
            end = await client.result()
            self.assertEqual((end["subtype"], end["terminal_reason"]), ("error_during_execution", "aborted_tools"))
            await client.lifecycle(key, "cancelled")
            self.assertNotIn("Lost words.", str(client.came("user")))

    @scenario(60)
    async def test_the_ends_of_the_process(self):
        async with self.lab() as lab:
            lab.plan("Hello", Say(["Hello."]))
            lab.plan("story", Say(STORY, every=0.05))
            async with lab.client() as client:
                await client.run("Hello.")
                self.assertIsNotNone(await client.begin("end_session"))
                self.assertEqual(await client.exit(), 0)
            async with lab.client() as client:
                await client.user("Tell a story.")
                await client.words()
                client.process.send_signal(signal.SIGTERM)
                self.assertEqual(await client.exit(), 143)
                self.assertEqual(client.came("result"), [])

    # Prompts that meet a running turn

    @scenario(60)
    async def test_prompts_that_meet_text_become_one_and_a_plain_stop_leaves_them(self):
        async with self.lab() as lab, lab.client() as client:
            lab.plan("story", Say(STORY[:20], every=0.05))
            lab.plan("Second", Say(["Two."]))
            lab.plan("Third", Say(["Three."]))
            first = await client.user("Tell a story.")
            await client.words()
            second, third = await client.user("Second."), await client.user("Third.")
            self.assertEqual((await client.result())["user_message_uuids"], [first])
            end = await client.result()
            self.assertEqual((end["user_message_uuids"], end["result"]), ([second, third], "Three."))
            row, = [row for row in await self.rows(lab, end["session_id"]) if row.get("uuid") == third]
            self.assertEqual((row["mergedSendUuids"], row["message"]["content"]), ([second], "Second.\nThird."))
            self.assertEqual(client.fates(first), ["queued", "started", "completed"])
            for cancels, fate in ((False, "completed"), (True, "cancelled")):
                await client.user("Tell a story.")
                await client.words()
                key = await client.user("Second.")
                await client.lifecycle(key, "queued")
                receipt = await client.control("interrupt", **{"cancel_queued": True} if cancels else {})
                self.assertEqual((receipt["still_queued"], receipt.get("cancelled")), ([], [key]) if cancels else ([key], receipt.get("cancelled")))
                self.assertEqual((await client.result())["terminal_reason"], "aborted_streaming")
                if not cancels:
                    self.assertEqual((await client.result())["user_message_uuids"], [key])
                await client.lifecycle(key, fate)

    @scenario(60)
    async def test_a_prompt_that_meets_a_call_is_folded_into_the_turn(self):
        async with self.lab() as lab, lab.client("--allowedTools=Bash") as client:
            for gate in ("one", "two", "three"):
                lab.plan(f"Wait for {gate}", bash(waiting(gate)), Say(["Waited."]))
            lab.plan("Second", Say(["Two."]))
            first = await client.user("Wait for one.")
            await client.called()
            await asyncio.sleep(0.3)
            second = await client.user("Second.")
            await client.lifecycle(second, "queued")
            (lab.folder / "one").touch()
            end = await client.result()
            self.assertEqual((end["user_message_uuids"], end["result"]), ([first, second], "Two."))
            commands = [row["attachment"] for row in await self.rows(lab, end["session_id"]) if row.get("attachment", {}).get("type") == "queued_command"]
            self.assertEqual([(command["source_uuid"], command["prompt"]) for command in commands], [(second, "Second.")])
            third = await client.user("Wait for two.")
            await client.called()
            await asyncio.sleep(0.3)
            later = await client.user("Second, later.", priority="later")
            await client.lifecycle(later, "queued")
            (lab.folder / "two").touch()
            self.assertEqual((await client.result())["user_message_uuids"], [third])
            self.assertEqual((await client.result())["user_message_uuids"], [later])
            await client.user("Wait for three.")
            await client.called()
            await asyncio.sleep(0.3)
            taken_back = await client.user("Second, never.")
            await client.lifecycle(taken_back, "queued")
            self.assertTrue((await client.control("cancel_async_message", message_uuid=taken_back))["cancelled"])
            (lab.folder / "three").touch()
            self.assertEqual((await client.result())["result"], "Waited.")
            await client.lifecycle(taken_back, "cancelled")
            self.assertEqual(self.effects(lab), ["one", "two", "three"])

    @scenario(60)
    async def test_a_prompt_at_an_open_question_waits_for_its_answer_and_one_for_now_withdraws_it(self):
        async with self.lab() as lab, lab.client() as client:
            lab.plan("label", bash("echo one >> effects"), Say(["Written."]))
            lab.plan("Second", Say(["Two."]))
            first = await client.user("Write the label.")
            ask = await client.asked()
            second = await client.user("Second.")
            await client.lifecycle(second, "queued")
            await client.allow(ask)
            end = await client.result()
            self.assertEqual((end["user_message_uuids"], end["result"]), ([first, second], "Two."))
            await client.user("Write the label again.")
            ask = await client.asked()
            now = await client.user("Second, now.", priority="now")
            end = await client.result()
            self.assertEqual([frame["request_id"] for frame in client.came("control_cancel_request")], [ask["request_id"]])
            self.assertEqual((end["subtype"], end["is_error"], end["terminal_reason"]), ("success", False, "aborted_tools"))
            self.assertEqual((await client.result())["user_message_uuids"], [now])
            self.assertEqual(self.effects(lab), ["one"])

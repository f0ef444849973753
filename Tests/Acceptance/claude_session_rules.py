"""The guarantees that a client of Claude Code may rely on, continued (`claude_rules.py`): failures of the model, sessions and their files,
orphans, modes, the background, and the fields of frames."""

import asyncio
import json
import os
import uuid
from pathlib import Path

from claude_rules import STORY, ClaudeRules, waiting
from peers.claude_client import block, fields, is_ask, kind
from peers.claude_steps import Call, Cut, Refuse, Say, Think, Together, bash, edit, question, write
from scheduling import scenario

FIELDS = Path(__file__).resolve().parent / "claude_fields.json"
STATES = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}
NO_WORD = "Tool permission request failed: AbortError: "


class ClaudeSessionRules(ClaudeRules):
    # Failures of the model

    @scenario(60)
    async def test_refusals_of_the_model(self):
        async with self.lab() as lab, lab.client() as client:
            lab.plan("east", Refuse(529, "overloaded_error", "Overloaded"), Refuse(500, "api_error", "Internal server error"), Say(["Carrots."]))
            lab.plan("west", Refuse(400, "invalid_request_error", "the west bed is no bed"))
            lab.plan("credit", Refuse(400, "invalid_request_error", "Your credit balance is too low to access the API."))
            lab.plan("bill", Refuse(402, "billing_error", "Pay first."))
            lab.plan("key", Refuse(401, "authentication_error", "invalid x-api-key"))
            lab.plan("busy", Refuse(529, "overloaded_error", "Overloaded"))
            self.assertEqual((await client.run("Plan the east bed."))["result"], "Carrots.")
            self.assertEqual([(frame["attempt"], frame["error_status"]) for frame in client.came("system", "api_retry")], [(1, 529), (2, 500)])
            for prompt, status, error, words in (
                    ("Plan the west bed.", 400, "unknown", "the west bed is no bed"), ("Use up the credit.", 400, "billing_error", "Credit balance is too low"),
                    ("Get a bill.", 402, "unknown", "API Error: 402"), ("Be busy.", 529, "server_error", "API Error: Repeated 529 Overloaded errors")):
                key = await client.user(prompt)
                end = await client.result()
                self.assertEqual((end["subtype"], end["is_error"], end["terminal_reason"], end["api_error_status"]), ("success", True, "api_error", status), prompt)
                said = client.came("assistant")[-1]
                self.assertEqual((said["is_api_error_message"], said["error"], said["message"]["model"]), (True, error, "<synthetic>"), prompt)
                self.assertIn(words, end["result"])
                self.assertEqual(block(said)["text"], end["result"])
                await client.lifecycle(key, "cancelled")
            await client.user("Lose the key.")
            retry = await client.take(lambda frame: frame.get("subtype") == "api_retry")
            self.assertEqual((retry["error_status"], retry["error"]), (401, "authentication_failed"))
            await client.control("interrupt")
            self.assertEqual((await client.result())["terminal_reason"], "aborted_streaming")
            await client.run("Plan the west bed again.")
            self.assertEqual(await client.close(), 1)

    @scenario(60)
    async def test_streams_that_are_cut(self):
        async with self.lab() as lab, lab.client() as client:
            lab.plan("north", Say(["Onions beside the "]), Cut(), Say(["carrots."]))
            lab.plan("south", Cut(["Lettuce in the "]), Say(["Lettuce in the shade."]))
            lab.plan("pond", Cut(), Say(["Lilies."]))
            end = await client.run("Plan the north bed.")
            self.assertEqual((client.texts(), end["result"]), (["Onions beside the ", "carrots."], "carrots."))
            nudge, = [frame for frame in client.came("user") if frame.get("isSynthetic")]
            self.assertIn("Your response above was cut off mid-stream", str(nudge["message"]))
            mark = len(client.frames)
            await client.run("Plan the south bed.")
            self.assertEqual(client.texts(mark), ["Lettuce in the shade."])
            self.assertEqual(client.streamed(mark), "Lettuce in the Lettuce in the shade.")
            kinds = [frame["event"]["type"] for frame in client.came("stream_event", since=mark) if frame["event"]["type"].startswith("message_")]
            self.assertEqual(kinds, ["message_start", "message_stop", "message_start", "message_delta", "message_stop"])
            mark = len(client.frames)
            await client.run("Plan the pond.")
            self.assertEqual((client.texts(mark), client.streamed(mark)), (["Lilies."], ""))

    # Sessions

    @scenario(60)
    async def test_sessions_and_prompts_that_are_sent_again(self):
        session, unknown = str(uuid.uuid4()), str(uuid.uuid4())
        async with self.lab() as lab:
            lab.plan("Hello", Say(["Hello."]))
            lab.plan("story", Say(STORY, every=0.05))
            async with lab.client(f"--session-id={session}") as client:
                hello = await client.user("Hello.")
                self.assertEqual((await client.result())["session_id"], session)
                status = json.loads((lab.configuration / "sessions" / f"{client.pid}.json").read_text())
                started = Path(f"/proc/{client.pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
                self.assertEqual((status["sessionId"], status["procStart"]), (session, started))
                lost = await client.user("Tell a story.")
                await client.words()
                # Rows are written a moment after the frames: a kill in between leaves none of a prompt.
                await asyncio.sleep(0.4)
                client.kill()
                await client.exit()
            self.assertEqual(self.spoken(await self.rows(lab, session))[-1], (lost, None))
            async with lab.client(f"--session-id={session}", greets=False) as client:
                self.assertEqual(await client.exit(), 1)
                self.assertIn(f"Session ID {session} is already in use.".encode(), client.stderr)
                self.assertEqual(client.frames, [])
            async with lab.client(f"--resume={unknown}", greets=False) as client:
                self.assertEqual(await client.exit(), 1)
                end, = client.came("result")
                self.assertEqual((end["subtype"], end["errors"]), ("error_during_execution", [f"No conversation found with session ID: {unknown}"]))
            lab.plan("story", Say(["Once."]))
            async with lab.client(f"--resume={session}") as client:
                await client.user("Hello.", key=hello)
                await client.lifecycle(hello, "completed")
                self.assertEqual(client.came("system", "init"), [])
                await client.user("Tell a story.", key=lost)
                end = await client.result()
                self.assertEqual((end["user_message_uuids"], end["session_id"], end["result"]), ([lost], session, "Once."))
                await client.lifecycle(lost, "completed")
                await client.user("Tell a story.", key=lost)
                await asyncio.sleep(0.5)
                self.assertEqual((client.fates(lost), len(client.came("result"))), (["queued", "started", "completed"], 1))
                self.assertEqual(await client.close(), 0)
            self.assertEqual(list((lab.configuration / "sessions").glob(f"{client.pid}.json")), [])

    @scenario(60)
    async def test_an_orphan_is_denied_works_on_and_leaves(self):
        session = str(uuid.uuid4())
        async with self.lab() as lab:
            lab.plan("label", bash("echo one >> effects"), bash("echo two >> effects"), Say(["I could not."]))
            async with lab.client(f"--session-id={session}", has_parent=True) as client:
                await client.user("Write the label.")
                await client.asked()
                status = lab.configuration / "sessions" / f"{client.pid}.json"
                self.assertIn(json.loads(status.read_text())["status"], ("waiting", "busy"))
                client.process.kill()
                await client.process.wait()
                async with asyncio.timeout(30):
                    while status.exists():
                        await asyncio.sleep(0.05)
                with_words = [row["message"]["content"][0]["content"] for row in await self.rows(lab, session) if row.get("toolDenialKind")]
                self.assertEqual(with_words, [NO_WORD + "Tool permission stream closed before response received", NO_WORD + "Stream closed"])
                self.assertEqual(self.spoken(await self.rows(lab, session))[-1], ("text", "end_turn"))
            self.assertEqual(self.effects(lab), [])

    # Modes, background

    @scenario(60)
    async def test_modes(self):
        async with self.lab() as lab:
            lab.plan("note", write(lab.folder / "note.txt", "bean\n"), bash("touch made"), Say(["Done."]))
            async with lab.client(mode="acceptEdits") as client:
                self.assertEqual(client.greeting["current_permission_mode"], "acceptEdits")
                await client.user("Write the note.")
                self.assertEqual((await client.result())["result"], "Done.")
                self.assertEqual(await client.control("set_permission_mode", mode="default"), {"mode": "default"})
                refused = await client.control("set_permission_mode", mode="bypassPermissions")
                self.assertEqual(refused.get("error_code"), "bypass_not_launched")
                await client.user("Write the note again.")
                await client.deny(await client.asked(), "No.")
                await client.allow(await client.asked())
                await client.result()
            async with lab.client(mode="dontAsk") as client:
                await client.user("Write the note.")
                end = await client.result()
                self.assertEqual(len(end["permission_denials"]), 2)
                self.assertEqual(len(client.came("system", "permission_denied")), 2)
            if os.geteuid() == 0:
                async with lab.client(mode="bypassPermissions", greets=False) as client:
                    self.assertEqual(await client.exit(), 1)
                    self.assertIn(b"cannot be used with root/sudo privileges", client.stderr)
                    self.assertEqual(client.frames, [])

    @scenario(60)
    async def test_a_command_in_the_background_outlives_its_turn_and_starts_one(self):
        async with self.lab() as lab, lab.client("--allowedTools=Bash") as client:
            lab.plan("Water", bash(waiting("watered"), run_in_background=True), Say(["The water runs."]))
            lab.plan("task-notification", Say(["The watering is done."]))
            lab.plan("endless", bash(waiting("nothing"), run_in_background=True), Say(["It runs."]))
            key = await client.user("Water the beds.")
            end = await client.result()
            self.assertEqual((end["user_message_uuids"], end["result"]), ([key], "The water runs."))
            tasks = client.came("system", "background_tasks_changed")[-1]["tasks"]
            self.assertEqual([task["task_type"] for task in tasks], ["local_bash"])
            (lab.folder / "watered").touch()
            end = await client.result()
            self.assertEqual((end["origin"]["kind"], end["result"]), ("task-notification", "The watering is done."))
            self.assertNotIn("user_message_uuids", end)
            self.assertEqual(client.came("system", "background_tasks_changed")[-1]["tasks"], [])
            self.assertEqual([frame["status"] for frame in client.came("system", "task_notification")], ["completed"])
            await client.user("Begin what is endless.")
            await client.result()
            await client.begin("end_session")
            self.assertEqual(await client.exit(), 0)
            self.assertEqual(self.effects(lab), ["watered"])

    @scenario(60)
    async def test_the_hook_of_a_turns_end_tells_what_is_in_the_background(self):
        async with self.lab() as lab, lab.client("--allowedTools=Bash", greets=False) as client:
            lab.plan("endless", bash(waiting("nothing"), run_in_background=True),
                     Call("CronCreate", {"cron": "0 9 * * *", "prompt": "Water the beds.", "recurring": True}), Say(["It runs."]))
            await client.control("initialize", hooks={"Stop": [{"hookCallbackIds": ["stop"]}]})
            await client.user("Begin what is endless.")
            hook = await client.take(lambda frame: frame.get("type") == "control_request" and frame["request"]["subtype"] == "hook_callback")
            self.assertEqual(client.came("result"), [])
            told = hook["request"]["input"]
            self.assertEqual((hook["request"]["callback_id"], told["hook_event_name"], told["last_assistant_message"]), ("stop", "Stop", "It runs."))
            self.assertEqual([(task["type"], task["command"]) for task in told["background_tasks"]], [("shell", waiting("nothing"))])
            self.assertEqual([(cron["prompt"], cron["recurring"]) for cron in told["session_crons"]], [("Water the beds.", True)])
            await client.answer(hook)
            self.assertEqual((await client.result())["result"], "It runs.")
            task, = client.came("system", "background_tasks_changed")[-1]["tasks"]
            self.assertEqual(await client.control("stop_task", task_id=task["task_id"]), {})
            await client.take(lambda frame: frame.get("subtype") == "background_tasks_changed" and frame["tasks"] == [])
            self.assertEqual([frame["status"] for frame in client.came("system", "task_notification")], ["stopped"])

    @scenario(60)
    async def test_helpers_ask_and_an_interrupt_spares_only_what_it_is_told_to(self):
        def helper(in_background):
            given = {"description": "Count the beds", "prompt": "HELP and count.", "subagent_type": "general-purpose", "run_in_background": in_background}
            return Call("Task", given, steps=[bash("echo counted >> effects"), Say(["Three beds."])])
        async with self.lab() as lab, lab.client(environment=STATES) as client:
            lab.plan("HELP", bash("echo counted >> effects"), Say(["Three beds."]))
            lab.plan("in front", helper(False), Say(["The helper counted."]))
            lab.plan("behind", helper(True), Say(["It counts."]))
            lab.plan("task-notification", Say(["The helper is back."]))
            await client.user("Send one in front.")
            ask = await client.asked()
            self.assertTrue(ask["request"]["agent_id"])
            await client.allow(ask)
            self.assertEqual((await client.result())["result"], "The helper counted.")
            call = next(block(frame)["id"] for frame in client.came("assistant") if block(frame).get("name") in ("Task", "Agent"))
            inner = [frame for frame in client.came("assistant") + client.came("user") if frame.get("parent_tool_use_id")]
            self.assertEqual({frame["parent_tool_use_id"] for frame in inner}, {call})
            self.assertNotIn("Three beds.", client.texts())
            self.assertFalse([frame for frame in inner if block(frame).get("type") == "text"])
            for spares in (True, False):
                mark = len(client.frames)
                await client.user("Send one behind.")
                ends = [await client.take(lambda frame: frame.get("type") == "result" or is_ask(frame)) for _ in range(2)]
                ask, = [frame for frame in ends if frame["type"] == "control_request"]
                await client.control("interrupt", **{"spare_background_tasks": True} if spares else {})
                if spares:
                    await client.allow(ask)
                    end = await client.result()
                    self.assertEqual((end["origin"]["kind"], end["result"]), ("task-notification", "The helper is back."))
                else:
                    await client.until(lambda frame: frame.get("subtype") == "task_notification" and frame["status"] == "stopped", mark)
                    self.assertIn(ask["request_id"], [frame["request_id"] for frame in client.came("control_cancel_request", since=mark)])
            await asyncio.sleep(0.2)
            self.assertEqual(client.came("system", "session_state_changed")[-1]["state"], "idle")
            self.assertEqual(self.effects(lab), ["counted"] * 2)

    @scenario(60)
    async def test_a_turn_that_was_broken_off_begins_again_where_that_is_wanted(self):
        session = str(uuid.uuid4())
        async with self.lab() as lab:
            lab.plan("label", bash("echo one >> effects"), Say(["Written."]))
            lab.plan("Continue from where you left off", Say(["I went on."]))
            async with lab.client(f"--session-id={session}") as client:
                key = await client.user("Write the label.")
                await client.asked()
                await asyncio.sleep(0.3)
                client.kill()
                await client.exit()
            async with lab.client(f"--resume={session}", environment={"CLAUDE_CODE_RESUME_INTERRUPTED_TURN": "1"}) as client:
                end = await client.result()
                self.assertEqual((end["result"], end["user_message_uuids"]), ("I went on.", [key]))
            self.assertEqual(self.effects(lab), [])

    @scenario(60)
    async def test_frames_have_only_fields_that_the_real_ones_have(self):
        """`REWRITE_GOLDENS=1 Tests/RealAgents/run test_claude_cli` records them."""
        async with self.lab() as lab:
            outside = lab.folder.parent / "outside.txt"
            outside.write_text("a secret\n")
            note = lab.folder / "note.txt"
            helper = {"description": "Count", "prompt": "HELP and count.", "subagent_type": "general-purpose", "run_in_background": False}
            lab.plan("Do all", Think("I think."), Together([bash("touch x"), write(note, "a\nb\n"), Call("Read", {"file_path": str(outside)})]), Say(["Done."]))
            lab.plan("Edit it", edit(note, "a", "c"), bash("ls"), bash("touch y && false"), question("Which?"), Say(["Done."]))
            lab.plan("HELP", bash("touch h"), Say(["Three."]))
            lab.plan("Send", Call("Task", helper, steps=[bash("touch h"), Say(["Three."])]), Say(["Sent."]))
            lab.plan("Fail", Refuse(500, "api_error", "down"), Refuse(400, "invalid_request_error", "no"))
            lab.plan("Cut", Say(["One "]), Cut(), Say(["two."]))
            lab.plan("story", Say(STORY, every=0.05))
            lab.plan("Water", bash("until [ -e one ]; do sleep 0.05; done", run_in_background=True), Say(["It runs."]))
            async with lab.client(environment=STATES) as client:
                for text in ("Do all.", "Edit it.", "Send a helper.", "Fail.", "Cut.", "/cost"):
                    await client.run(text)
                await client.user("Do all.")
                await client.deny(await client.asked(), "No.")
                await client.asked()
                await client.control("interrupt")
                await client.result()
                await client.user("Tell a story.")
                await client.words()
                await client.control("interrupt", cancel_queued=True)
                await client.result()
                await client.user("Water.")
                await client.result()
                (lab.folder / "one").touch()
                await client.result()
                await client.run("/clear")
            seen = {}
            for frame in client.frames:
                if "novelty" not in kind(frame) and frame["type"] != "control_response":
                    always, ever = seen.setdefault(kind(frame), (fields(frame), set()))
                    seen[kind(frame)] = (always & fields(frame), ever | fields(frame))
            if lab.is_real and os.environ.get("REWRITE_GOLDENS"):
                FIELDS.write_text(json.dumps({name: {"always": sorted(always), "ever": sorted(ever)} for name, (always, ever) in sorted(seen.items())}, indent=1) + "\n")
            known = json.loads(FIELDS.read_text())
            self.assertEqual(sorted(set(seen) - set(known)), [])
            for name, (always, ever) in seen.items():
                self.assertEqual(sorted(ever - set(known[name]["ever"])), [], name)
                if lab.is_real:
                    self.assertEqual(sorted(set(known[name]["always"]) - always), [], name)

"""Prompts, stops, permissions and dialogs of the scripted Oppi server (oppi.md), and its survival of a kill."""

import asyncio
import json
import sys
import tempfile
import unittest
from pathlib import Path

from harness import HERE, until
from peers.clock import Clock
from peers.oppi_client import OppiClient, call
from peers.oppi_disk import Disk
from peers.oppi_steps import Compact, Dialog, Fail, Hold, Refuse, Retry, Say, Tool
from peers.wire import next_port
from scheduling import Scenarios, scenario
from test_oppi_server import new_session, oppi, result_of

DIALECTS = ("seed", "head")


class TurnTests(Scenarios):
    @scenario(60)
    async def test_a_turn_that_comes_again_is_prompted_once_until_the_session_is_activated_again(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                session = await new_session(server)
                turn = {"sessionId": session, "message": "once", "clientTurnId": "t1"}
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.run(session, "once", clientTurnId="t1")
                    mark = len(client.frames)
                    self.assertTrue((await client.ask("prompt", **turn))["success"])
                    acks = [frame for frame in client.frames[mark:] if frame["type"] == "turn_ack"]
                    self.assertEqual([(ack["stage"], ack["duplicate"]) for ack in acks], [("started", True)])
                    conflict = await client.ask("prompt", **turn | {"message": "other"})
                    self.assertEqual(conflict["error"], "clientTurnId conflict: t1")
                    self.assertEqual(server.prompts(), ["once"])
                    await client.ask("stop_session", sessionId=session)
                    await client.ask("subscribe", sessionId=session, sinceSeq=4)
                    mark = len(client.frames)
                    await client.ask("prompt", **turn)
                    await client.idle(mark)
                    self.assertEqual(server.prompts(), ["once", "once"])

    @scenario(60)
    async def test_prompts_while_busy_and_steers_while_idle(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("long", Say(["a"]), Hold("long"), Say(["b"]))
                server.plan("more", Say(["more"]))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    for command, words in (("steer", "Steer"), ("follow_up", "Follow-up")):
                        result = await client.ask(command, sessionId=session, message="x")
                        self.assertEqual(result["error"], f"{words} requires an active streaming turn")
                    await client.send("prompt", sessionId=session, message="long")
                    await client.type("text_delta")
                    mark = len(client.frames)
                    self.assertTrue((await client.ask("prompt", sessionId=session, message="busy"))["success"])
                    self.assertTrue((await client.ask("follow_up", sessionId=session, message="more"))["success"])
                    await client.settled()
                    self.assertEqual("error" in client.types(mark), dialect == "head")
                    server.release("long")
                    await client.idle(mark)
                    ends = [frame["content"] for frame in client.frames[mark:] if frame["type"] == "message_end"]
                    self.assertEqual(ends, ["ab", "more", "more"])
                    self.assertEqual(client.types(mark).count("agent_end"), 1)
                    self.assertEqual("queue_item_started" in client.types(mark), dialect == "head")

    @scenario(60)
    async def test_stops(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("long", Say(["so far"]), Hold("never"))
                server.plan("queued", Say(["queued"]))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.ask("stop", sessionId=session)
                    self.assertEqual((await client.type("stop_confirmed"))["reason"], "Session already idle")
                    await client.send("prompt", sessionId=session, message="long")
                    await client.type("text_delta")
                    await client.ask("follow_up", sessionId=session, message="queued")
                    mark = len(client.frames)
                    await client.ask("stop", sessionId=session)
                    await client.idle(mark)
                    without = ("state", "turn_end", "queue_state")
                    wanted = ["stop_requested", "message_end", "agent_end", "stop_confirmed"]
                    # The result comes last.
                    wanted.append(result_of(dialect))
                    await client.settled()
                    self.assertEqual(client.types(mark, without)[:5], wanted)
                    ended = [frame for frame in client.frames[mark:] if frame["type"] == "message_end"]
                    self.assertEqual(ended[0]["content"], "so far")
                    mark = len(client.frames)
                    await client.run(session, "next")
                    users = [frame["content"] for frame in client.frames[mark:] if frame.get("role") == "user"]
                    self.assertEqual(users, ["next", "queued"] if dialect == "seed" else ["next"])

    @scenario(60)
    async def test_errors_retries_compaction_and_a_refused_prompt(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("flaky", Say(["lost"]), Retry("overloaded"), Say(["kept"]))
                server.plan("broken", Fail("no credit"))
                server.plan("compact", Say(["a"]), Compact("overflow", will_retry=True), Say(["b"]))
                server.plan("refused", Refuse("No API key"))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    result = result_of(dialect)
                    for text, wanted in (
                            ("flaky", ["agent_start", "message_end", "text_delta", "error", "message_end", "agent_end", "retry_start",
                                       "agent_start", "text_delta", "message_end", "retry_end", "agent_end"]),
                            ("broken", ["agent_start", "message_end", "error", "message_end", "agent_end"]),
                            ("compact", ["agent_start", "message_end", "text_delta", "error", "message_end", "agent_end", "compaction_start",
                                         "compaction_end", "agent_start", "text_delta", "message_end", "agent_end"])):
                        mark = len(client.frames)
                        await client.send("prompt", sessionId=session, message=text)
                        count = wanted.count("agent_end")
                        await until(lambda: client.types(mark).count("agent_end") == count, 30, f"{text} has ended")
                        await client.settled()
                        wanted = [kind for kind in wanted if dialect == "head" or kind != "error"]
                        kinds = client.types(mark, ("state", "turn_start", "turn_end", result, "turn_ack"))
                        self.assertEqual(kinds, wanted, text)
                        words = [frame["content"] for frame in client.frames[mark:] if frame.get("role") == "assistant"]
                        self.assertEqual(words, {"flaky": ["lost", "kept"], "broken": [""], "compact": ["a", "b"]}[text])
                    mark = len(client.frames)
                    await client.ask("prompt", sessionId=session, message="refused")
                    await client.settled()
                    self.assertEqual(client.types(mark), ([result, "error", result] if dialect == "head" else [result, result]))

    @scenario(60)
    async def test_text_that_was_not_streamed_and_several_blocks(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("x", Say(["one "], thinking="hm"), Say(["two"], block=True, unstreamed=" three"))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.run(session, "x")
                    deltas = [frame["delta"] for frame in client.frames if frame["type"] == "text_delta"]
                    self.assertEqual(deltas, ["one ", "two"] + ([" three"] if dialect == "seed" else []))
                    ended = [frame for frame in client.frames if frame["type"] == "message_end"][-1]
                    self.assertEqual(ended["content"], "one two three")
                    _, body, _ = await call(server, "GET", f"/workspaces/wsGarden/sessions/{session}?view=full")
                    self.assertEqual([event.get("text") for event in body["trace"] if event["type"] == "assistant"],
                                     ["one ", "two three"])


class QuestionTests(Scenarios):
    @scenario(60)
    async def test_permissions_are_everywhere_and_answered_once(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                tool = Tool(args={"command": "rm x"}, parts=["done"], asks="Delete")
                server.plan("clean", tool, tool, Say(["ok"]))
                session = await new_session(server)
                async with OppiClient(server) as client, OppiClient(server) as stranger:
                    await client.ask("subscribe", sessionId=session)
                    await client.send("prompt", sessionId=session, message="clean")
                    asked = await stranger.type("permission_request")
                    self.assertNotIn("seq", asked)
                    self.assertIn("streamSeq", asked)
                    mark = len(client.frames)
                    await client.ask("subscribe", sessionId=session, sinceSeq=0)
                    again = await client.type("permission_request", mark)
                    self.assertEqual((again["id"], "streamSeq" in again), (asked["id"], False))
                    _, body, _ = await call(server, "GET", "/permissions/pending")
                    self.assertEqual([entry["id"] for entry in body["pending"]], [asked["id"]])
                    mark = len(stranger.frames)
                    result = await stranger.ask("permission_response", id=asked["id"], action="allow", scope="session")
                    self.assertNotIn("sessionId", result)
                    await client.type("agent_end")
                    # The second call is the same: under the session's rule it is not asked again, and no client hears of the answer.
                    self.assertEqual([frame["type"] for frame in stranger.frames[mark:]],
                                     [result_of(dialect)])
                    await stranger.send("permission_response", id=asked["id"], action="deny", requestId="late")
                    error = await stranger.type("error")
                    self.assertEqual(error["error"], f"Permission request not found: {asked['id']}")
                    self.assertEqual(len(server.disk.notes("answers")), 1)

    @scenario(60)
    async def test_denied_expired_and_never_expiring(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("clean", Tool(asks="Delete"), Say(["on"]))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    server.permissions.timeout_seconds = 0.1
                    await client.run(session, "clean")
                    expired = await client.type("permission_expired")
                    self.assertEqual(expired["reason"], "Approval timeout")
                    output, ended = await client.type("tool_output"), await client.type("tool_end")
                    self.assertEqual((output["output"], ended["isError"]), ("Approval timeout", True))
                    server.permissions.timeout_seconds = 0
                    mark = len(client.frames)
                    await client.send("prompt", sessionId=session, message="clean")
                    asked = await client.type("permission_request", mark)
                    self.assertFalse(asked["expires"])
                    self.assertGreater(asked["timeoutAt"] - server.milliseconds(), 99 * 365 * 86_400_000)
                    await client.ask("permission_response", id=asked["id"], action="deny", scope="session")
                    await client.idle(mark)
                    self.assertEqual((await client.type("tool_output", mark))["output"], "Denied by user")
                    self.assertEqual(server.disk.notes("answers")[-1]["scope"], "once")

    @scenario(60)
    async def test_a_session_that_ends_takes_its_questions_along(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("clean", Tool(asks="Delete"))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.send("prompt", sessionId=session, message="clean")
                    await client.type("permission_request")
                    server.activations[session].end("terminated")
                    await client.type("session_ended")
                    await client.settled()
                    self.assertEqual("permission_cancelled" in client.types(), dialect == "head")
                    self.assertEqual(server.permissions.pending, {})

    @scenario(60)
    async def test_dialogs_are_answered_only_in_head(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("choose", Dialog("select", {"title": "Which?", "options": ["a", "b"], "timeout": 500}, {"b": "B it is."}))
                server.plan("ask", Dialog("ask", {"questions": [{"id": "q", "question": "?", "options": []}], "allowCustom": True}))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.send("prompt", sessionId=session, message="choose")
                    asked = await client.type("extension_ui_request")
                    await client.send("extension_ui_response", sessionId=session, id="none", value="b")
                    self.assertEqual((await client.type("error"))["error"], "UI request not found: none")
                    await client.send("extension_ui_response", sessionId=session, id=asked["id"], value="b")
                    await client.idle(0)
                    text = [frame for frame in client.frames if frame["type"] == "message_end"][-1]["content"]
                    self.assertEqual(text, "B it is." if dialect == "head" else "The answer: nothing")
                    mark = len(client.frames)
                    await client.send("prompt", sessionId=session, message="ask")
                    await client.type("extension_ui_request", mark)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.settled()
                    self.assertEqual("extension_ui_request" in client.types(), dialect == "head")


class ProcessTests(Scenarios):
    @scenario(60)
    async def test_a_process_of_its_own_keeps_its_account_through_a_kill(self):
        with tempfile.TemporaryDirectory(prefix="oppi-") as home:
            port = next_port()
            (Path(home) / "plans.json").write_text(json.dumps([{"match": "hi", "steps": [
                {"say": {"chunks": ["so"]}}, {"hold": {"name": "on"}}, {"say": {"chunks": ["on"]}}]}]))

            async def start():
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "peers.oppi_server", "--home", home, "--port", str(port), cwd=HERE,
                    stdout=asyncio.subprocess.PIPE)
                json.loads(await process.stdout.readline())
                return process

            process = await start()
            far = Far(f"http://127.0.0.1:{port}", Disk(home, Clock()).state["owner"], port)
            session = await new_session(far)
            async with OppiClient(far) as client:
                await client.ask("subscribe", sessionId=session)
                await client.send("prompt", sessionId=session, message="hi")
                await client.type("text_delta")
                process.kill()
                await process.wait()
                self.assertEqual(await client.closed(), 1006)
            process = await start()
            try:
                _, body, _ = await call(far, "GET", f"/workspaces/wsGarden/sessions/{session}?view=full")
                self.assertEqual(body["trace"], [], "a file is first written with the first answer")
                self.assertEqual([note["text"] for note in Disk(home, Clock()).notes("prompts")], ["hi"])
            finally:
                process.kill()
                await process.wait()


class Far:
    """The facts about a server in another process that a client needs."""

    certificates = None

    def __init__(self, url, token, port):
        self.url, self.token, self.port = url, token, port


if __name__ == "__main__":
    unittest.main()

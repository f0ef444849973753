"""Habits of a real Oppi server that no kind double would have (oppi.md): attempts, late beginnings, follow-ups, answers, places, traces."""

import json
import unittest

from peers.oppi_client import OppiClient, call
from peers.oppi_steps import Compact, Dialog, Fail, Hold, Pause, Retry, Say, Tool
from scheduling import Scenarios, scenario
from test_oppi_server import new_session, oppi

DIALECTS = ("seed", "head")
PIXEL = "iVBORw0KGgo="


async def history(server, session):
    _, body, _ = await call(server, "GET", f"/workspaces/wsGarden/sessions/{session}?view=full")
    return [(event["type"], event.get("text")) for event in body["trace"] if event["type"] != "system"]


class AttemptTests(Scenarios):
    @scenario(60)
    async def test_a_failed_message_keeps_its_words_in_frames_and_in_the_trace(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("broken", Say(["Half "]), Fail("no credit"))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.run(session, "broken")
                    kinds = client.types(0, ("state", "turn_start", "turn_end"))
                    error = ["error"] if dialect == "head" else []
                    self.assertEqual(kinds[-len(error) - 2:], [*error, "message_end", "agent_end"])
                    self.assertEqual([frame for frame in client.frames if frame["type"] == "message_end"][-1]["content"], "Half ")
                self.assertEqual(await history(server, session), [("user", "broken"), ("assistant", "Half ")])

    @scenario(60)
    async def test_between_two_attempts_a_stop_stops_nothing_and_abort_retry_does(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("flaky", Say(["lost"]), Retry("overloaded", 0.3), Hold("never"))
                server.plan("full", Say(["lost"]), Compact("overflow", will_retry=True, seconds=0.3), Say(["kept"]))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.send("prompt", sessionId=session, message="flaky")
                    await client.type("retry_start")
                    mark = len(client.frames)
                    await client.ask("stop", sessionId=session)
                    self.assertEqual((await client.type("stop_confirmed", mark))["reason"], "Session already idle")
                    await client.type("agent_start", mark)
                    await client.ask("stop", sessionId=session)
                    await client.idle(mark)
                    mark = len(client.frames)
                    await client.send("prompt", sessionId=session, message="flaky")
                    await client.type("retry_start", mark)
                    await client.ask("abort_retry", sessionId=session)
                    ended = await client.type("retry_end", mark)
                    self.assertEqual((ended["success"], ended["finalError"]), (False, "Retry cancelled"))
                    mark = len(client.frames)
                    await client.send("prompt", sessionId=session, message="full")
                    await client.type("compaction_start", mark)
                    await client.ask("stop", sessionId=session)
                    await client.ask("abort_retry", sessionId=session)
                    await client.until(lambda frame: frame.get("content") == "kept", mark)

    @scenario(60)
    async def test_before_a_run_begins_its_session_is_ready_and_a_stop_stops_nothing(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("late", Pause(0.3, compacts=True), Say(["here"]))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.ask("prompt", sessionId=session, message="late")
                    await client.type("compaction_start")
                    await client.ask("stop", sessionId=session)
                    self.assertEqual((await client.type("stop_confirmed"))["reason"], "Session already idle")
                    await client.idle(0)
                    kinds = client.types(0, ("state", "turn_start", "turn_end"))
                    self.assertLess(kinds.index("compaction_end"), kinds.index("agent_start"))

    @scenario(60)
    async def test_a_stop_waits_for_the_permission_that_a_call_waits_for(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("clean", Tool(asks="Delete"), Say(["not said"]))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.send("prompt", sessionId=session, message="clean")
                    asked = await client.type("permission_request")
                    mark = len(client.frames)
                    await client.ask("stop", sessionId=session)
                    await client.settled()
                    self.assertNotIn("agent_end", client.types(mark))
                    await client.ask("permission_response", id=asked["id"], action="deny")
                    await client.idle(mark)
                    self.assertNotIn("not said", str(client.frames[mark:]))


class PromptTests(Scenarios):
    @scenario(60)
    async def test_a_prompt_to_a_busy_session_never_runs_and_a_follow_up_does(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("long", Say(["a"]), Hold("long"))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.send("prompt", sessionId=session, message="long")
                    await client.type("text_delta")
                    mark = len(client.frames)
                    result = await client.ask("prompt", sessionId=session, message="queued", streamingBehavior="followUp", clientTurnId="t1")
                    self.assertTrue(result["success"])
                    await client.settled()
                    kinds = [kind for kind in client.types(mark) if kind in ("queue_state", "error")]
                    self.assertEqual(kinds, ["queue_state", "error"] if dialect == "head" else [])
                    self.assertTrue((await client.ask("follow_up", sessionId=session, message="behind", clientTurnId="t2"))["success"])
                    server.release("long")
                    await client.idle(mark)
                    users = [frame["content"] for frame in client.frames if frame.get("role") == "user"]
                    self.assertEqual(users, ["long", "behind"])

    @scenario(60)
    async def test_pictures_are_in_the_trace_behind_the_words_and_nothing_is_there_before_the_first_answer(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("look", Hold("look"), Say(["a bean"]))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.send("prompt", sessionId=session, message="look", images=[{"data": PIXEL, "mimeType": "image/png"}])
                    self.assertEqual((await client.type("message_end"))["content"], "look")
                    self.assertEqual(await history(server, session), [])
                    server.release("look")
                    await client.idle(0)
                self.assertEqual(await history(server, session), [("user", f"look\ndata:image/png;base64,{PIXEL}"), ("assistant", "a bean")])


class AskTests(Scenarios):
    @scenario(60)
    async def test_an_answer_is_the_first_option_whose_label_contains_it(self):
        options = [{"value": "always", "label": "Yes, always"}, {"value": "yes", "label": "Yes, deploy now"}, {"value": "no", "label": "No, wait"}]
        questions = [{"id": "go", "question": "Deploy?", "options": options},
                     {"id": "in", "question": "In?", "multiSelect": True, "options": [{"value": value, "label": value.title()} for value in ("sw", "go")]}]
        for answers, got in (({"go": "no"}, {"go": "yes"}), ({"go": "No, wait"}, {"go": "no"}), ({"go": "Yes"}, {"go": "always"}),
                             ({"in": ["Sw", "Go"]}, {"in": ["sw"]}), ({"in": "Sw, Go"}, {"in": ["Sw, Go"]}), ({"go": "Perhaps"}, {"go": "Perhaps"})):
            async with oppi("head") as server:
                server.plan("ask", Dialog("ask", {"questions": questions, "allowCustom": True}))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.send("prompt", sessionId=session, message="ask")
                    asked = await client.type("extension_ui_request")
                    await client.send("extension_ui_response", sessionId=session, id=asked["id"], value=json.dumps(answers))
                    await client.idle(0)
                self.assertEqual(server.disk.notes("asked"), [got])


class OutcomeTests(Scenarios):
    @scenario(60)
    async def test_a_call_that_is_aborted_ends_as_failed_and_the_result_of_the_stop_comes_last(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("tool", Tool(hold="never"), Say(["no"]))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.send("prompt", sessionId=session, message="tool")
                    await client.type("tool_output")
                    mark = len(client.frames)
                    self.assertTrue((await client.ask("stop", sessionId=session))["success"])
                    said = [frame for frame in client.frames[mark:] if frame["type"] in ("tool_output", "tool_end", "stop_confirmed")]
                    self.assertEqual([frame["type"] for frame in said], ["tool_output", "tool_end", "stop_confirmed"])
                    self.assertEqual((said[0]["output"], said[1]["isError"]), ("Command aborted", True))

    @scenario(60)
    async def test_rest_says_a_second_later_that_a_run_has_begun_and_at_once_that_it_is_over(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.disk.save_delay = 5.0
                server.plan("long", Say(["a"]), Hold("on"))
                session = await new_session(server)
                path = f"/workspaces/wsGarden/sessions/{session}?view=full"
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.send("prompt", sessionId=session, message="long")
                    await client.type("text_delta")
                    self.assertEqual((await call(server, "GET", path))[1]["session"]["status"], "ready")
                    await server.clock.sleep(5.5)
                    self.assertEqual((await call(server, "GET", path))[1]["session"]["status"], "busy")
                    server.release("on")
                    await client.idle(0)
                    self.assertEqual((await call(server, "GET", path))[1]["session"]["status"], "ready")

    @scenario(60)
    async def test_a_full_subscription_that_fails_takes_the_one_before_it_in_seed(self):
        async with oppi("seed") as server:
            server.workspace_limit = 1
            one, two = await new_session(server), await new_session(server)
            async with OppiClient(server) as client:
                await client.ask("subscribe", sessionId=one)
                self.assertFalse((await client.ask("subscribe", sessionId=two))["success"])
                await client.send("prompt", sessionId=one, message="hello")
                self.assertIn("not subscribed at level=full", (await client.type("error"))["error"])


class PlaceTests(Scenarios):
    @scenario(60)
    async def test_so_many_sessions_are_active_at_once_and_a_stopped_one_gives_its_place_back(self):
        for dialect, count in (("seed", 3), ("head", 20)):
            async with oppi(dialect) as server:
                sessions = [await new_session(server) for _ in range(count + 1)]
                async with OppiClient(server) as client:
                    for session in sessions[:-1]:
                        self.assertTrue((await client.ask("subscribe", sessionId=session, sinceSeq=0))["success"])
                    refused = await client.ask("subscribe", sessionId=sessions[-1], sinceSeq=0)
                    self.assertEqual(refused["error"], f"Workspace session limit reached ({count})")
                    self.assertEqual((await call(server, "POST", f"/workspaces/wsGarden/sessions/{sessions[0]}/stop"))[0], 200)
                    self.assertTrue((await client.ask("subscribe", sessionId=sessions[-1], sinceSeq=0))["success"])

    @scenario(60)
    async def test_a_silent_run_is_ended_as_idle_unless_somebody_subscribes_again(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.idle_seconds = 1.0
                server.plan("quiet", Say(["a"]), Hold("never"))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.send("prompt", sessionId=session, message="quiet")
                    await client.type("text_delta")
                    for _ in range(5):
                        await server.clock.sleep(0.4)
                        await client.ask("subscribe", sessionId=session, sinceSeq=0)
                    self.assertNotIn("session_ended", client.types())
                    await client.type("session_ended")
                    self.assertEqual((await client.type("stop_requested"))["source"], "user")


if __name__ == "__main__":
    unittest.main()

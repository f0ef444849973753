"""The scripted Oppi server by the rules of oppi.md that its traces do not show, asked by a bare client."""

import asyncio
import json
import sys
import tempfile
import unittest
from pathlib import Path

from websockets.exceptions import ConnectionClosed, InvalidStatus

from harness import HERE, until
from peers.oppi_client import OppiClient, call
from peers.oppi_disk import Disk
from peers.clock import Clock
from peers.oppi_server import OppiServer
from peers.oppi_steps import Compact, Dialog, EndSession, Fail, Hold, Refuse, Retry, Say, Tool
from peers.oppi_tls import Certificates
from peers.wire import next_port
from scheduling import Scenarios, scenario
from test_oppi_server import new_session, oppi

DIALECTS = ("seed", "head")


class AccessTests(Scenarios):
    @scenario(60)
    async def test_who_may_connect(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                for token, options, status in (("sk_wrong", {}, 401), (server.token, {"origin": "http://elsewhere"}, 403)):
                    if status == 403 and dialect == "seed":
                        continue
                    with self.assertRaises(InvalidStatus) as refused:
                        await OppiClient(server, token, **options).__aenter__()
                    response = refused.exception.response
                    self.assertEqual(response.status_code, status)
                    self.assertEqual(response.headers["X-Oppi-Protocol"], "2")
                    self.assertEqual("WWW-Authenticate" in response.headers, dialect == "head" and status == 401)
                with self.assertRaises(InvalidStatus) as refused:
                    await OppiClient(server, path="/workspaces/wsGarden/sessions/x/stream").__aenter__()
                self.assertEqual(refused.exception.response.status_code, 404)
                self.assertEqual((await call(server, "GET", "/health", token=""))[:2], (200, {"ok": True, "protocol": 2}))
                self.assertEqual((await call(server, "GET", "/me", token="dt_wrong"))[:2], (401, {"error": "Unauthorized"}))
                in_query = await call(server, "GET", f"/me?token={server.token}", token="")
                self.assertEqual(in_query[0], 401 if dialect == "seed" else 200)
                self.assertEqual((await call(server, "GET", "/sessions"))[0], 404 if dialect == "seed" else 200)
                self.assertEqual((await call(server, "GET", "/sessions/x/events?since=0"))[0], 404)

    @scenario(60)
    async def test_a_pairing_token_serves_once_and_five_failures_block(self):
        async with oppi("head") as server:
            token = server.pairing.new_token()
            pair = lambda value: call(server, "POST", "/pair", {"pairingToken": value, "deviceName": "bridge"}, token="")
            status, body, _ = await pair(token)
            self.assertEqual((status, body["deviceToken"][:3], len(body["deviceToken"])), (200, "dt_", 27))
            async with OppiClient(server, body["deviceToken"]) as client:
                self.assertEqual(client.frames[0]["type"], "stream_connected")
            self.assertEqual((await pair(token))[:2], (401, {"error": "Invalid or expired pairing token"}))
            self.assertEqual((await pair(None))[0], 400)
            statuses = [(await pair("pt_guess"))[0] for _ in range(5)]
            self.assertEqual(statuses, [401, 401, 401, 401, 429])
            self.assertEqual((await pair(server.pairing.new_token()))[0], 429)

    @scenario(60)
    async def test_a_leaf_of_its_own_ca_with_its_pin(self):
        with tempfile.TemporaryDirectory(prefix="oppi-") as home:
            certificates = Certificates(Path(home) / "tls")
            self.assertRegex(certificates.pin, r"^sha256:[A-Za-z0-9_-]{43}$")
            async with OppiServer(home, certificates=certificates) as server:
                async with OppiClient(server) as client:
                    self.assertEqual(client.frames[0]["type"], "stream_connected")
                self.assertEqual((await call(server, "GET", "/me"))[0], 200)

    @scenario(60)
    async def test_orderly_stops_and_what_closes_a_socket(self):
        async with oppi("head") as server:
            client = await OppiClient(server).__aenter__()
            await client.socket.send(b"binary")
            self.assertEqual(await client.closed(), 1003)
            client = await OppiClient(server).__aenter__()
            await server.stop()
            self.assertEqual((await client.closed(), client.socket.close_reason), (1001, "Server shutting down"))
            await server.come_back()
            client = await OppiClient(server).__aenter__()
            try:
                await client.socket.send("x" * (17 << 20))
            except ConnectionClosed:
                pass
            self.assertEqual(await client.closed(), 1009)
        async with oppi("seed") as server:
            client = await OppiClient(server).__aenter__()
            await client.socket.send(b'{"type":"unsubscribe","sessionId":"x","requestId":"b"}')
            self.assertEqual((await client.type("rpc_result"))["requestId"], "b")
            await server.stop()
            self.assertEqual(await client.closed(), 1006)


class SubscriptionTests(Scenarios):
    @scenario(60)
    async def test_a_second_full_turns_the_first_down_only_in_seed(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("go", Say(["text"]))
                one, two = await new_session(server), await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=one)
                    await client.ask("subscribe", sessionId=two)
                    mark = len(client.frames)
                    server.other_prompts(one, "go")
                    await client.idle(mark)
                    got = client.types(mark)
                    self.assertEqual("message_end" in got, dialect == "head", got)
                    self.assertEqual(got.count("agent_end"), 1)
                    mark = len(client.frames)
                    await client.send("prompt", sessionId=one, message="go", requestId="mine")
                    await client.settled()
                    frames = client.frames[mark:]
                    if dialect == "seed":
                        self.assertEqual([frame["type"] for frame in frames], ["error", "rpc_result"])
                        self.assertEqual((frames[0]["sessionId"], "code" in frames[0]), (one, False))
                        self.assertNotEqual(frames[1]["requestId"], "mine")
                    else:
                        self.assertTrue(next(frame for frame in frames if frame.get("requestId") == "mine")["success"])

    @scenario(60)
    async def test_a_repeated_subscription_is_dead_in_head_after_the_session_has_ended(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.run(session, "one")
                    server.activations[session].end("completed")
                    await client.type("session_ended")
                    again = await client.ask("subscribe", sessionId=session)
                    self.assertEqual("deduplicated" in again["data"], dialect == "head")
                    result = await client.ask("prompt", sessionId=session, message="two")
                    self.assertEqual(result["success"], dialect == "seed")
                    if dialect == "head":
                        self.assertEqual(result["error"], f"Session not active: {session}")
                        again = await client.ask("subscribe", sessionId=session, sinceSeq=0)
                        self.assertEqual((again["data"]["currentSeq"], again["data"]["catchUpComplete"]), (0, True))
                        self.assertTrue((await client.ask("prompt", sessionId=session, message="three"))["success"])

    @scenario(60)
    async def test_subscribing_too_often_is_refused_only_in_head(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                session = await new_session(server)
                async with OppiClient(server) as client:
                    results = [await client.ask("subscribe", sessionId=session, sinceSeq=0) for _ in range(31)]
                    self.assertTrue(all(result["success"] for result in results[:30]))
                    self.assertEqual(results[30]["success"], dialect == "seed")

    @scenario(60)
    async def test_failures_levels_and_limits(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                session = await new_session(server)
                server.workspace_limit = 1
                async with OppiClient(server) as client:
                    for fields, words in (({"sinceSeq": -1}, "sinceSeq must be a non-negative integer"),
                                          ({"sinceSeq": True}, "sinceSeq must be a non-negative integer"),
                                          ({"sessionId": "nowhere"}, "Session not found: nowhere")):
                        result = await client.ask("subscribe", **({"sessionId": session} | fields))
                        self.assertEqual((result["success"], result["error"]), (False, words))
                    # Of a session that is not active it is nothing, also when it is activated later.
                    quiet = await client.ask("subscribe", sessionId=session, level="notifications")
                    self.assertEqual((quiet["data"]["currentSeq"], quiet["data"]["catchUpComplete"]), (0, True))
                    self.assertNotIn("connected", client.types())
                    async with OppiClient(server) as other:
                        await other.ask("subscribe", sessionId=session)
                        mark = len(client.frames)
                        await other.run(session, "hello")
                        await client.settled()
                        self.assertEqual(len(client.frames), mark + 1)
                        await client.ask("subscribe", sessionId=session, level="notifications", sinceSeq=4)
                        mark = len(client.frames)
                        await other.run(session, "again")
                        await client.settled()
                        self.assertEqual(set(client.types(mark)), {"agent_start", "agent_end", self.result(dialect)})
                        third = await client.ask("subscribe", sessionId=await new_session(server))
                        self.assertIn("limit", third["error"])

    @staticmethod
    def result(dialect):
        return "rpc_result" if dialect == "seed" else "command_result"

    @scenario(60)
    async def test_one_frame_after_another_and_a_session_that_starts_slowly(self):
        async with oppi("head") as server:
            server.activation_seconds = 0.3
            one, two = await new_session(server), await new_session(server)
            async with OppiClient(server) as client:
                await client.send("subscribe", sessionId=one, requestId="slow")
                await client.send("get_available_models", sessionId=two, requestId="behind")
                await client.until(lambda frame: frame.get("requestId") == "behind")
                order = [frame.get("requestId") for frame in client.frames if frame.get("requestId")]
                self.assertEqual(order, ["slow", "behind"])

    @scenario(60)
    async def test_an_idle_session_ends_and_is_new_afterwards(self):
        async with oppi("seed") as server:
            server.idle_seconds = 0.2
            session = await new_session(server)
            async with OppiClient(server) as client:
                await client.ask("subscribe", sessionId=session)
                await client.run(session, "one")
                await client.type("session_ended")
                status, body, _ = await call(server, "GET", f"/workspaces/wsGarden/sessions/{session}/events?since=0")
                self.assertEqual((status, body["error"]), (404, "Session not active"))
                mark = len(client.frames)
                await client.ask("subscribe", sessionId=session, sinceSeq=4)
                self.assertEqual((await client.type("connected", mark))["currentSeq"], 0)

    @scenario(60)
    async def test_refusals_by_dialect(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                async with OppiClient(server) as client:
                    await client.socket.send("{not json")
                    said = (await client.type("error"))["error"]
                    self.assertEqual(said == "Invalid JSON payload", dialect == "head", said)
                    mark = len(client.frames)
                    await client.send("prompt", message="x")
                    self.assertEqual((await client.type("error", mark))["error"], "sessionId is required for prompt on /stream")
                    mark = len(client.frames)
                    await client.send("dance", requestId="d")
                    await client.settled()
                    answers = [frame.get("error") for frame in client.frames[mark:-1]]
                    self.assertEqual(answers, [] if dialect == "seed" else ["Unsupported command type: dance"])
                    mark = len(client.frames)
                    await client.send("prompt", sessionId="s", message="x", requestId="p")
                    await client.settled()
                    kinds = client.types(mark)[:-1]
                    self.assertEqual(kinds, ["error"] if dialect == "seed" else ["error", "command_result"])

    @scenario(60)
    async def test_a_client_that_answers_no_ping_is_ended(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.ping_seconds = 0.1
                async with OppiClient(server) as client:
                    client.socket.transport.pause_reading()
                    await until(lambda: server.silent_ended, 30, "the socket is ended")
                    client.socket.transport.abort()


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
                    self.assertEqual(client.types(mark, without), [
                        "stop_requested", SubscriptionTests.result(dialect), "message_end", "agent_end", "stop_confirmed"])
                    ended = [frame for frame in client.frames[mark:] if frame["type"] == "message_end"]
                    self.assertEqual(ended[0]["content"], "so far")
                    mark = len(client.frames)
                    await client.run(session, "next")
                    users = [frame["content"] for frame in client.frames[mark:] if frame.get("role") == "user"]
                    self.assertEqual(users, ["queued", "next"] if dialect == "seed" else ["next"])

    @scenario(60)
    async def test_errors_retries_compaction_and_a_refused_prompt(self):
        for dialect in DIALECTS:
            async with oppi(dialect) as server:
                server.plan("flaky", Say(["lost"]), Retry("overloaded"), Say(["kept"]))
                server.plan("broken", Fail("no credit"))
                server.plan("compact", Say(["a"]), Compact(will_retry=True), Say(["b"]))
                server.plan("refused", Refuse("No API key"))
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    result = SubscriptionTests.result(dialect)
                    for text, wanted in (
                            ("flaky", ["agent_start", "message_end", "text_delta", "error", "message_end", "agent_end", "retry_start",
                                       "agent_start", "text_delta", "retry_end", "message_end", "agent_end"]),
                            ("broken", ["agent_start", "message_end", "error", "message_end", "agent_end"]),
                            ("compact", ["agent_start", "message_end", "text_delta", "message_end", "agent_end", "compaction_start",
                                         "compaction_end", "agent_start", "text_delta", "message_end", "agent_end"])):
                        mark = len(client.frames)
                        await client.send("prompt", sessionId=session, message=text)
                        count = wanted.count("agent_end")
                        await until(lambda: client.types(mark).count("agent_end") == count, 30, f"{text} has ended")
                        await client.settled()
                        wanted = [kind for kind in wanted if dialect == "head" or kind != "error"]
                        kinds = client.types(mark, ("state", "turn_start", "turn_end", result, "turn_ack"))
                        self.assertEqual(kinds, wanted, text)
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
                    # The second call is the same; under the session's rule it is not asked again, and nobody hears of the answer.
                    self.assertEqual([frame["type"] for frame in stranger.frames[mark:]],
                                     [SubscriptionTests.result(dialect)])
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
                server.plan("end", EndSession("terminated"))
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
                self.assertEqual([event["type"] for event in body["trace"]], ["user"])
                self.assertEqual([note["text"] for note in Disk(home, Clock()).notes("prompts")], ["hi"])
            finally:
                process.kill()
                await process.wait()


class Far:
    """What a client needs to know of a server in another process."""

    certificates = None

    def __init__(self, url, token, port):
        self.url, self.token, self.port = url, token, port


if __name__ == "__main__":
    unittest.main()

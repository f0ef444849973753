"""Access to the scripted Oppi server, and the content of a subscription (oppi.md), tested by a bare client."""

import tempfile
import unittest
from pathlib import Path

from websockets.exceptions import ConnectionClosed, InvalidStatus

from harness import until
from peers.oppi_client import OppiClient, call
from peers.oppi_server import OppiServer
from peers.oppi_steps import Say
from peers.oppi_tls import Certificates
from scheduling import Scenarios, scenario
from test_oppi_server import new_session, oppi, result_of

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
                    # A subscription to an inactive session is empty, even after a later activation.
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
                        self.assertEqual(set(client.types(mark)), {"agent_start", "agent_end", result_of(dialect)})
                        third = await client.ask("subscribe", sessionId=await new_session(server))
                        self.assertIn("limit", third["error"])

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


if __name__ == "__main__":
    unittest.main()

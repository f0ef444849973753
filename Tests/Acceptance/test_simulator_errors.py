"""Every error code of relay.md#codes that applies to bridges, provoked by hand-written requests."""

import asyncio
import json
import re
import time
import unittest

from peers.raw import ask, request, Raw, upgraded
from scheduling import Scenarios, scenario
from simulated import Simulator

RATE_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Reset-After",
                "X-RateLimit-Bucket", "X-RateLimit-Scope")
BUCKETS = {"msg": (30, 10), "delta": (200, 100), "task": (60, 30), "approval": (10, 2), "memory": (60, 20), "default": (30, 10)}
# Status, code, and whether a hint says when to retry, for codes whose documented cause no bridge can produce.
PLANTED = [(400, "validation_failed", False), (403, "permission_denied", False), (403, "memory_access_denied", False),
           (404, "agent_not_found", False), (410, "interaction_expired", False), (451, "content_blocked", False),
           (500, "internal_error", False), (502, "upstream_error", False), (503, "temporarily_unavailable", True),
           (503, "agent_degraded", True)]
KINDS = {"internal_error": "500", "upstream_error": "502", "temporarily_unavailable": "503"}


class SimulatorScenarios(Scenarios):
    async def bridge(self, method, body, token=None, **options):
        body = body if isinstance(body, (bytes, str)) else json.dumps(body)
        return await ask(self.relay.port, "POST", f"/v1/bridge/{method}", token=token or self.relay.token, body=body, **options)

    async def user(self, method, target, body=None):
        return await self.relay.call(method, target, body)

    def check(self, answer, status, code, rate=True, hint=False, issues=None):
        self.assertEqual((answer.status, json.loads(answer.body).get("error", {}).get("code")), (status, code))
        envelope = json.loads(answer.body)
        self.assertIs(envelope["ok"], False)
        self.assertEqual(set(envelope), {"ok", "error"})
        error = envelope["error"]
        self.assertLessEqual(set(error), {"code", "message", "errors", "details", "retry_after_ms"})
        self.assertTrue(error["message"])
        self.assertEqual(answer.header("Content-Type"), "application/json")
        self.assertRegex(answer.header("X-Request-ID"), r"^req_[0-9a-f]{16}$")
        self.assertRegex(answer.header("traceparent"), r"^00-[0-9a-f]{32}-[0-9a-f]{16}-01$")
        if rate:
            for name in RATE_HEADERS:
                self.assertIsNotNone(answer.header(name), name)
        if hint:
            self.assertRegex(answer.header("Retry-After"), r"^\d+$")
            self.assertEqual(int(answer.header("Retry-After")), -(-error["retry_after_ms"] // 1000))
        else:
            self.assertIsNone(answer.header("Retry-After"))
            self.assertNotIn("retry_after_ms", error)
        if issues is not None:
            self.assertEqual([(issue["path"], issue["code"]) for issue in error["errors"]], issues)
            self.assertTrue(all(issue["message"] for issue in error["errors"]))

    async def asked(self, text="hello"):
        return await self.user("POST", "/v1/simulator/sessions", {"text": text})

    async def opened(self):
        turn = await self.asked()
        answer = await self.bridge("sendMessage", {**self.place(turn), "text": " ", "idempotency_key": turn["interaction_id"]})
        self.assertEqual(answer.status, 200)
        return turn, json.loads(answer.body)["result"]["message_id"]

    @staticmethod
    def place(turn):
        return {"session_id": turn["session_id"], "interaction_id": turn["interaction_id"]}


def served(*options):
    """Gives the scenario a simulator of its own, which must be healthy at the end."""
    def mark(function):
        async def test(self):
            self.relay = await Simulator(*options).start()
            try:
                await function(self)
                self.assertEqual((await ask(self.relay.port, "GET", "/healthz")).status, 200)
                self.assertIsNone(self.relay.process.returncode)
            finally:
                await self.relay.close()
        test.__name__ = function.__name__
        return test
    return mark


class ErrorCodeTests(SimulatorScenarios):
    @scenario(60)
    @served()
    async def test_400_invalid_request_names_what_does_not_fit(self):
        turn = await self.asked()
        answer = await self.bridge("sendMessage", {"session_id": 7, "text": "x" * 65_537})
        self.check(answer, 400, "invalid_request", issues=[
            ("session_id", "invalid_type"), ("text", "too_big"), ("idempotency_key", "invalid_type")])
        self.check(await self.bridge("sendMessage", "[]"), 400, "invalid_request", issues=[
            ("", "invalid_type"), ("session_id", "invalid_type"), ("text", "invalid_type"), ("idempotency_key", "invalid_type")])
        key = {**self.place(turn), "text": "x", "idempotency_key": "a:b"}
        self.check(await self.bridge("sendMessage", key), 400, "invalid_request", issues=[("idempotency_key", "invalid_string")])
        task = {"session_id": turn["session_id"], "task_id": "t", "status": "sung"}
        self.check(await self.bridge("finishTask", task), 400, "invalid_request", issues=[("status", "invalid_enum_value")])

    @scenario(60)
    @served()
    async def test_400_invalid_token_location(self):
        for target in (f"/v1/bridge/sendMessage?token={self.relay.token}", f"/v1/bridge/{self.relay.token}/sendMessage",
                       f"/v1/bridge/ws?access_token={self.relay.token.replace(':', '%3A')}",
                       f"/v1/me/stream?token={self.relay.user_token}", f"/v1/pairing/poll?code={self.relay.token}"):
            method = "GET" if "ws" in target or "stream" in target or "poll" in target else "POST"
            self.check(await ask(self.relay.port, method, target, body=None if method == "GET" else "{}"), 400,
                       "invalid_token_location", rate=False)

    @scenario(60)
    @served()
    async def test_401_invalid_token(self):
        for token in (None, "wrong", self.relay.user_token, self.relay.token[:-1], self.relay.token + "x"):
            answer = await ask(self.relay.port, "POST", "/v1/bridge/sendMessage", token=token, body="{}")
            self.check(answer, 401, "invalid_token", rate=False)
        for header in ("Authorization: Basic x", f"Authorization: bearer{self.relay.token}", "Authorization:"):
            answer = await ask(self.relay.port, "POST", "/v1/bridge/sendMessage", body="{}", headers=(header,))
            self.check(answer, 401, "invalid_token", rate=False)
        self.check(await ask(self.relay.port, "GET", "/v1/me", token=self.relay.token), 401, "invalid_token", rate=False)
        async with Raw(self.relay.port) as raw:
            self.check(await upgraded(raw, "wrong"), 401, "invalid_token", rate=False)

    @scenario(60)
    @served()
    async def test_401_invalid_token_in_mid_life_and_403_and_410_installation_revoked(self):
        turn, message = await self.opened()
        await self.user("POST", "/v1/simulator/revoke", {"what": "installation"})
        delta = {"message_id": message, "delta": "a", "idempotency_key": "k"}
        self.check(await self.bridge("sendMessageDelta", delta), 410, "installation_revoked", rate=False)
        async with Raw(self.relay.port) as raw:
            self.check(await upgraded(raw, self.relay.token), 403, "installation_revoked", rate=False)
        await self.user("POST", "/v1/simulator/revoke", {"what": "token"})
        answer = await self.bridge("sendMessageDelta", delta)
        self.check(answer, 401, "invalid_token", rate=False)

    @scenario(60)
    @served()
    async def test_404_and_410_of_sessions_and_interactions(self):
        turn, message = await self.opened()
        self.check(await self.bridge("sendMessage", {"session_id": "ses_none", "text": "x", "idempotency_key": "a"}),
                   404, "session_not_found")
        self.check(await self.bridge("sendMessage", {"session_id": turn["session_id"], "interaction_id": "int_none",
                                                     "text": "x", "idempotency_key": "a"}), 404, "interaction_not_found")
        self.check(await self.bridge("sendMessageEnd", {"message_id": "msg_none", "idempotency_key": "a"}), 404, "message_not_found")
        self.check(await self.bridge("finishTask", {"session_id": turn["session_id"], "task_id": "t", "status": "failed"}),
                   404, "task_not_found")
        self.check(await self.bridge("unheardOf", {}), 404, "not_found")
        await self.user("DELETE", f"/v1/me/sessions/{turn['session_id']}")
        for method, body in (("sendMessageDelta", {"message_id": message, "delta": "a", "idempotency_key": "b"}),
                             ("createTask", {**self.place(turn), "task_id": "t", "kind": "exec"})):
            self.check(await self.bridge(method, body), 410, "session_deleted")

    @scenario(60)
    @served()
    async def test_409_idempotency_conflict_and_message_finalized(self):
        turn, message = await self.opened()
        first = {"message_id": message, "delta": "a", "idempotency_key": "d"}
        self.assertEqual((await self.bridge("sendMessageDelta", first)).status, 200)
        again = await self.bridge("sendMessageDelta", first)
        self.assertEqual((again.status, json.loads(again.body)), (200, {"ok": True, "result": {"idempotent": True}}))
        self.check(await self.bridge("sendMessageDelta", first | {"delta": "b"}), 409, "idempotency_conflict")
        task = {**self.place(turn), "task_id": "t", "kind": "exec"}
        self.assertEqual((await self.bridge("createTask", task)).status, 200)
        self.check(await self.bridge("createTask", task | {"kind": "read"}), 409, "idempotency_conflict")
        self.assertEqual((await self.bridge("finishTask", {**self.place(turn), "task_id": "t", "status": "completed"})).status, 200)
        end = {"message_id": message, "text": "a", "idempotency_key": "e"}
        self.assertEqual((await self.bridge("sendMessageEnd", end)).status, 200)
        self.check(await self.bridge("sendMessageDelta", first | {"idempotency_key": "d2"}), 409, "message_finalized")
        self.check(await self.bridge("sendMessageEnd", end | {"idempotency_key": "e2"}), 409, "message_finalized")

    @scenario(60)
    @served()
    async def test_413_payload_too_large(self):
        for size, rate in ((1_048_577, True), (1_200_000, False), (3_000_000, False)):
            answer = await self.bridge("sendMessage", b'{"text":"' + b"x" * (size - 11) + b'"}')
            self.check(answer, 413, "payload_too_large", rate=rate)
        answer = await self.bridge("sendMessage", b'{"text":"' + b"x" * (1_048_576 - 11) + b'"}')
        self.assertEqual(answer.status, 400, "a body of 1 MB is read")

    @scenario(60)
    @served()
    async def test_429_rate_limited_to_the_token(self):
        capacity, refill = BUCKETS["approval"]
        async with Raw(self.relay.port) as raw:
            begun = time.monotonic()
            for number in range(200):
                await raw.send(request("POST", "/v1/bridge/requestApproval", self.relay.token, "{}"))
                answer = await raw.answer()
                # The most tokens that came in meanwhile; there may be none, because the bucket began full.
                refilled = refill * (time.monotonic() - begun)
                if answer.status == 429:
                    break
                self.check(answer, 400, "invalid_request")
                left = capacity - 1 - number
                self.assertGreaterEqual(int(answer.header("X-RateLimit-Remaining")), max(left, 0))
                self.assertLessEqual(int(answer.header("X-RateLimit-Remaining")), min(left + refilled, capacity - 1))
                self.assertEqual(answer.header("X-RateLimit-Limit"), str(capacity))
                self.assertEqual(answer.header("X-RateLimit-Bucket"), "approval")
                self.assertEqual(answer.header("X-RateLimit-Scope"), "installation")
                self.assertLessEqual(float(answer.header("X-RateLimit-Reset-After")), min(number + 1, capacity) / refill)
        self.assertGreaterEqual(number, capacity)
        self.assertLessEqual(number, capacity + refilled)
        refused = answer
        self.check(refused, 429, "rate_limited", hint=True)
        self.assertEqual(refused.header("X-RateLimit-Remaining"), "0")
        self.assertEqual(refused.header("Retry-After"), "1")
        wait = json.loads(refused.body)["error"]["retry_after_ms"]
        self.assertTrue(0 < wait <= 500, wait)
        await asyncio.sleep(wait / 1000)
        self.check(await self.bridge("requestApproval", {}), 400, "invalid_request")

    @scenario(60)
    @served()
    async def test_each_bucket_says_its_name_and_size(self):
        methods = {"sendMessage": "msg", "sendMessageEnd": "msg", "sendMessageDelta": "delta", "createTask": "task",
                   "updateTask": "task", "finishTask": "task", "requestApproval": "approval", "getMemory": "memory",
                   "setMemory": "memory", "createSession": "default", "devices": "default", "notifyToolFile": "default"}
        for method, bucket in methods.items():
            answer = await self.bridge(method, {})
            self.assertEqual(answer.header("X-RateLimit-Bucket"), bucket)
            self.assertEqual(answer.header("X-RateLimit-Limit"), str(BUCKETS[bucket][0]))

    @scenario(60)
    @served()
    async def test_codes_without_a_cause_of_the_bridge_are_planted(self):
        turn, message = await self.opened()
        for number, (status, code, hint) in enumerate(PLANTED):
            await self.user("POST", "/v1/simulator/faults", {"kind": KINDS.get(code, code)})
            delta = {"message_id": message, "delta": f"{number}", "idempotency_key": f"d{number}"}
            self.check(await self.bridge("sendMessageDelta", delta), status, code, hint=hint)
            self.assertEqual((await self.bridge("sendMessageDelta", delta)).status, 200, "it took no effect and was one")
        self.assertEqual(await self.relay.breaches(), [])

    @scenario(60)
    @served()
    async def test_request_ids_and_traces_are_kept(self):
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        answer = await self.bridge("sendMessage", {}, headers=(
            "X-Request-ID: mine.1:a_b-c", f"traceparent: 00-{trace}-00f067aa0ba902b7-00", "tracestate: a=1"))
        self.assertEqual(answer.header("X-Request-ID"), "mine.1:a_b-c")
        self.assertTrue(re.fullmatch(f"00-{trace}-[0-9a-f]{{16}}-00", answer.header("traceparent")))
        self.assertNotIn("00f067aa0ba902b7", answer.header("traceparent"))
        self.assertEqual(answer.header("tracestate"), "a=1")
        for odd in ("x" * 65, "a b", "ü"):
            answer = await self.bridge("sendMessage", {}, headers=(f"X-Request-ID: {odd}",))
            self.assertRegex(answer.header("X-Request-ID"), r"^req_[0-9a-f]{16}$")


if __name__ == "__main__":
    unittest.main()

"""The peers alone: a naive bridge in Python talks to both, to prove them before the real one meets them."""

import asyncio
import base64
import json
import sys
import urllib.error
import urllib.request
from types import SimpleNamespace

from harness import Stage, until
from peers import ed25519
from peers.clock import Clock
from peers.eras import canonical_text
from peers.gateway import Gateway
from peers.mini_bridge import MiniBridge
from peers.phone import Phone
from peers.relay import Faults, Relay
from peers.steps import Approval, Fail, Retry, Say, Tool, segments
from scheduling import Scenarios, scenario

MINI = [sys.executable, "-m", "peers.mini_bridge"]


class Pair:
    """Both peers and the naive bridge, in one process."""

    def __init__(self, era):
        self.gateway, self.relay = Gateway(era), Relay()
        self.phone = self.relay.phone

    async def __aenter__(self):
        await self.gateway.__aenter__()
        await self.relay.__aenter__()
        self.events = []
        bridge = MiniBridge(self.relay.url, self.relay.token, self.gateway.url, self.gateway.token, self.events.append)
        self.task = asyncio.create_task(bridge.run())
        await until(lambda: {"event": "ready"} in self.events or self.task.done(), 30, "ready")
        return self

    async def __aexit__(self, *_):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.relay.__aexit__()
        await self.gateway.__aexit__()

    def ask(self, text, *steps, **options):
        self.gateway.plan(text, *steps, **options)
        return self.relay.ask(text)

    async def ended(self, *asked):
        await until(lambda: all(self.phone.is_ended(turn.interaction) for turn in asked), 30,
                    f"ended: {[self.phone.bubble(turn.interaction) for turn in asked]}")


class PeerTests(Scenarios):
    async def converse(self, era):
        # Slower than the pace of `chat`: this bridge reads nothing else, and E1 loses the words held back before a tool.
        disk = [Say(["Let me ", "check the disk. "], every=0.2), Tool(output="61%"), Say(["It is ", "61% full."], every=0.2)]
        async with Pair(era) as pair:
            plain = pair.ask("plain", Say(["Hello", " there.", " I am here."]))
            tools = pair.ask("tools", *disk)
            held = pair.ask("held", Say(["One moment. "]), Approval("reboot", detached=True, followup=[Say(["Done."])]))
            inline = pair.ask("inline", Approval("uptime", detached=False), Say(["Up for days."]))
            stopped = pair.ask("stopped", Say(["tick "] * 500, every=0.02))
            # In the second era no `chat` frame ends a failed run, and this bridge reads no others.
            failed = [] if era == "E2" else [pair.ask("failed", Say(["Looking"]), Fail())]
            for turn, command in ((held, "reboot"), (inline, "uptime")):
                await until(lambda: any(body["command"] == command for body in pair.phone.approvals.values()), 30, command)
                name = next(name for name, body in pair.phone.approvals.items() if body["command"] == command)
                pair.relay.decide(name, "approve")
            # Four runs are at work at once: the run to stop may have waited for its place until now.
            await until(lambda: "tick" in getattr(pair.phone.bubble(stopped.interaction), "streamed", ""), 30, "words of the run to stop")
            pair.relay.stop(stopped.session, stopped.interaction)
            await pair.ended(plain, tools, held, inline, stopped, *failed)
            self.assertEqual(pair.phone.final(plain.interaction), "Hello there. I am here.")
            # `chat` joins the text behind a tool without a separator.
            self.assertEqual(
                "".join(pair.phone.final(tools.interaction).split()), "".join(canonical_text(era, segments(disk)).split()))
            self.assertEqual(pair.phone.final(held.interaction), "One moment.\n\nDone.")
            self.assertEqual(pair.phone.final(inline.interaction), "Up for days.")
            self.assertTrue(pair.phone.final(stopped.interaction).startswith("tick"))
            for turn in failed:
                self.assertIn("rate limit", pair.phone.final(turn.interaction))
            self.assertEqual(sorted(command for _, command in pair.gateway.commands), ["reboot", "uptime"])
            self.assertEqual(pair.phone.problems(), [])
            self.assertEqual(pair.gateway.violations, [])
            self.assertEqual(pair.relay.rules.conflicts, [])
            self.assertTrue(all(count == 1 for count in pair.gateway.starts.values()))

    @scenario(60)
    async def test_a_naive_bridge_converses_with_both_peers_in_E1(self):
        await self.converse("E1")

    @scenario(60)
    async def test_a_naive_bridge_converses_with_both_peers_in_E2(self):
        await self.converse("E2")

    @scenario(60)
    async def test_a_naive_bridge_converses_with_both_peers_in_E3(self):
        await self.converse("E3")

    @scenario(60)
    async def test_a_naive_bridge_converses_with_both_peers_in_E4(self):
        await self.converse("E4")

    @scenario(60)
    async def test_the_harness_runs_a_bridge_as_a_child(self):
        async with Stage("E4", command=MINI) as stage:
            turn = stage.ask("hello", Say(["Good ", "morning."]))
            await stage.ended(turn)
            stage.expect(turn, "Good morning.")
            stage.check(turn)
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            self.assertIn("shutdown", stage.bridge.names())

    @scenario(60)
    async def test_first_frames_in_one_write_with_the_answer(self):
        for order in ("after", "before"):
            async with Pair("E3") as pair:
                pair.gateway.instant = order
                turn = pair.ask("quick", Say(["All ", "at ", "once."], every=0))
                await pair.ended(turn)
                self.assertEqual(pair.phone.final(turn.interaction), "All at once.")
                shown = [frame.get("payload", {}).get("status") or frame.get("event")
                         for _, _, direction, frame in pair.gateway.frames if direction == "in"]
                position = shown.index("started")
                self.assertEqual(shown.index("chat") > position, order == "after")

    @scenario(60)
    async def test_append_frames_of_E4_omit_the_message_and_a_retry_has_no_replace(self):
        async with Pair("E4") as pair:
            turn = pair.ask("again", Say(["First ", "try"], every=0.2), Retry(), Say(["Second ", "try."], every=0.2))
            await pair.ended(turn)
            deltas = [frame["payload"] for _, _, _, frame in pair.gateway.frames
                      if frame.get("event") == "chat" and frame["payload"]["state"] == "delta"]
            self.assertEqual(["message" in delta for delta in deltas], [True, False, True, False])
            self.assertFalse(any(delta.get("replace") for delta in deltas))

    @scenario(60)
    async def test_runs_go_on_while_no_client_is_connected_and_a_used_key_starts_no_second_run(self):
        async with Pair("E3") as pair:
            turn = pair.ask("lonely", Say(["a"] * 20, every=0.02))
            await until(lambda: pair.phone.bubble(turn.interaction) and pair.gateway.runs, 30, "begun")
            run = next(iter(pair.gateway.runs.values()))
            pair.gateway.cut()
            await asyncio.wait_for(run.finished.wait(), 30)
            self.assertEqual(run.final_text, "a" * 20)
            rows = [row["role"] for row in run.session.rows]
            self.assertEqual(rows, ["user", "assistant"])

    @scenario(60)
    async def test_the_relay_answers_repeats_conflicts_and_faults_as_the_sheet_says(self):
        async with Relay() as relay:
            turn = relay.ask("hello")
            body = {"session_id": turn.session, "interaction_id": turn.interaction, "text": " ", "idempotency_key": "k-1"}
            status, first, headers = await call(relay, "sendMessage", body)
            self.assertEqual((status, headers["X-RateLimit-Bucket"]), (200, "msg"))
            _, again, _ = await call(relay, "sendMessage", body)
            self.assertEqual(again["result"], first["result"] | {"idempotent": True})
            status, answer, _ = await call(relay, "sendMessage", body | {"text": "x"})
            self.assertEqual((status, answer["error"]["code"]), (409, "idempotency_conflict"))
            status, answer, _ = await call(relay, "sendMessage", body | {"idempotency_key": "a:b"})
            self.assertEqual((status, answer["error"]["errors"][0]["path"]), (400, "idempotency_key"))
            message = first["result"]["message_id"]
            await call(relay, "sendMessageEnd", {"message_id": message, "text": "x", "idempotency_key": "e"})
            status, answer, _ = await call(relay, "sendMessageDelta", {"message_id": message, "delta": "x", "idempotency_key": "d"})
            self.assertEqual((status, answer["error"]["code"]), (409, "message_finalized"))
            relay.rules.window_seconds = 0
            status, answer, _ = await call(relay, "sendMessage", body | {"idempotency_key": "k-2"})
            self.assertEqual((status, answer["error"]["code"]), (410, "interaction_expired"))
            relay.rules.window_seconds = 100
            # An empty bucket on a stopped clock: no token comes in before the call.
            bucket = relay.rules.buckets["msg"]
            bucket.level, bucket.clock = 0, SimpleNamespace(now=lambda: bucket.at, wall=relay.clock.wall)
            status, answer, headers = await call(relay, "sendMessage", body)
            self.assertEqual((status, headers["Retry-After"]), (429, "1"))
            self.assertGreater(answer["error"]["retry_after_ms"], 0)
            relay.faults = Faults(1.0, kinds=("applied-but-lost",))
            lost = relay.ask("lost", turn.session)
            with self.assertRaises((ConnectionError, OSError)):
                await call(relay, "createTask", {"session_id": lost.session, "task_id": "t", "kind": "exec"})
            self.assertIn("t", relay.phone.tasks)

    @staticmethod
    def told(relay):
        """Approval updates to the bridge: id, decision and reason."""
        return [(update["payload"]["approval_id"], update["payload"]["decision"], update["payload"].get("reason"))
                for update in relay.updates.values() if update["type"] == "approval.resolved"]

    @scenario(20)
    async def test_a_card_of_the_relay_lives_as_long_as_it_says(self):
        async with Relay(clock=Clock(1000)) as relay:
            card = {"session_id": relay.new_session(), "action": "shell.exec", "title": "t", "message": "m"}

            async def ask(name, **fields):
                return await call(relay, "requestApproval", card | {"approval_id": name, "idempotency_key": name} | fields)
            self.assertEqual((await ask("short", expires_in_ms=60_000))[0], 200)
            self.assertEqual((await ask("usual"))[0], 200)
            self.assertEqual((await ask("long", expires_in_ms=1_800_000))[0], 200)
            await ask("usual")
            await until(lambda: not relay.phone.open_cards(), 10, "all have ended")
            self.assertEqual(self.told(relay), [(name, "deny", "expired") for name in ("short", "usual", "long")])
            self.assertEqual(relay.phone.ends, {"short": "expired", "usual": "expired", "long": "expired"})
            for life in (0, -1, 1_800_001, "60000", 1.5, True, None):
                status, answer, _ = await ask("none", expires_in_ms=life)
                self.assertEqual((status, answer["error"]["errors"][0]["path"]), (400, "expires_in_ms"), life)

    @scenario(20)
    async def test_a_card_of_the_relay_ends_by_word_and_by_number_and_is_refused(self):
        async with Relay() as relay:
            session = relay.new_session()
            card = {"session_id": session, "action": "shell.exec", "title": "t", "message": "m"}

            async def ask(name, **fields):
                return await call(relay, "requestApproval", card | {"approval_id": name, "idempotency_key": name} | fields)
            await ask("a")
            await ask("b")
            self.assertTrue(relay.expire("a", reason="timeout"))
            self.assertFalse(relay.expire("a"))
            self.assertIsNone(relay.decide("a", "approve"))
            self.assertIsNotNone(relay.decide("b", "approve"))
            self.assertFalse(relay.expire("b"))
            self.assertEqual(self.told(relay), [("a", "deny", "timeout"), ("b", "approve", None)])
            self.assertEqual((relay.phone.refused, relay.phone.open_cards()), ([("a", "approve")], []))
            relay.rules.hourly = 1
            await ask("c")
            await ask("d")
            self.assertEqual(self.told(relay)[2:], [("d", "deny", "limit")])
            self.assertEqual(relay.phone.open_cards(session), ["c"])
            relay.rules.unknown.add("expires_in_ms")
            status, answer, _ = await ask("e", expires_in_ms=60_000)
            issue = answer["error"]["errors"][0]
            self.assertEqual((status, issue["path"], issue["code"]), (400, "expires_in_ms", "unrecognized_keys"))
            relay.rules.buckets["approval"].level = 10
            for name in ("command", "message", "title", "host"):
                status, answer, _ = await ask("e", **{name: "x" * 65_537})
                self.assertEqual((status, answer["error"]["errors"][0]["path"]), (400, name))
                self.assertEqual((await ask(f"e-{name}", **{name: "x" * 65_536}))[0], 200)

    @scenario(10)
    async def test_the_phone_sees_what_is_broken(self):
        phone = Phone()
        phone.asked["int"] = ("ses", "hi", 0.0)
        phone.see("message_added", message_id="m", session="ses", interaction="int", text=" ", key="k")
        phone.see("task_created", task_id="t", session="ses", interaction="int", body={})
        phone.see("message_delta", message_id="m", delta="abab")
        phone.see("message_finalized", message_id="m", text="ab", finish_reason=None, usage=None)
        phone.see("message_added", message_id="n", session="ses", interaction="int", text=" ", key="k2")
        found = "\n".join(phone.problems())
        for word in ("while the task t was open", "a second bubble", "never ended"):
            self.assertIn(word, found)

    @scenario(10)
    async def test_signatures_agree_with_a_known_vector(self):
        public = ed25519.public_key(bytes(range(32)))
        self.assertEqual(base64.urlsafe_b64encode(public).rstrip(b"="), b"A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg")
        text = (b"v3|56475aa75463474c0285df5dbf2bcab73da651358839e9b77481b2eab107708c|gateway-client|backend|operator|"
                b"operator.read,operator.write,operator.approvals|1770000000000|gw-shared-secret|"
                b"6f0c1b5e-4d0a-4c6e-9a55-2f6d3f1f0a01|node20-darwin|mac")
        expected = "8zyXLcHxJ1SP-l_goiNQ3kxIC2iT9vpqWw-uDK2nzGm_pUOcIyVxCzzET1qES-9_hcxLbpITW8cHCo-mUgE_AQ=="
        signature = ed25519.sign(bytes(range(32)), text)
        self.assertEqual(signature, base64.urlsafe_b64decode(expected))
        self.assertTrue(ed25519.verify(public, text, signature))
        self.assertFalse(ed25519.verify(public, text + b"x", signature))


async def call(relay, method, body):
    def go():
        request = urllib.request.Request(f"{relay.url}/v1/bridge/{method}", json.dumps(body).encode(),
                                         {"Authorization": f"Bearer {relay.token}"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read()), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read()), error.headers
    return await asyncio.to_thread(go)

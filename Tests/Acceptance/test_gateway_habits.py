"""The gateway's double behaves like running gateways (openclaw.md#seen-on-running-gateways)."""

import asyncio
import contextlib
import unittest

from harness import until
from peers.gateway import Gateway
from peers.gateway_client import SCOPES, GatewayClient
from peers.steps import Approval, Fail, Hold, Say, Tool
from scheduling import Scenarios, scenario

CHAT = "agent:main:chat"


@contextlib.asynccontextmanager
async def met(era, *plans, **options):
    """A gateway and a client that follows the chat."""
    async with Gateway(era) as gateway:
        for match, *steps in plans:
            gateway.plan(match, *steps)
        async with GatewayClient(gateway, **options) as client:
            await client.follow(CHAT)
            yield gateway, client


def texts(rows):
    return [row["content"] if isinstance(row["content"], str) else "".join(block.get("text", "") for block in row["content"])
            for row in rows]


def said(client, run, stream="assistant"):
    return [data["text"] for _, kind, data in client.of(run, "agent") if kind == stream]


def shown(client, run, state="delta"):
    return [data["message"]["content"][0]["text"] for _, kind, data in client.of(run, "chat") if kind == state]


class TextHabitTests(Scenarios):
    STEPS = (Say(["Let me", " look", " there."], every=0), Tool(seconds=0.3), Say(["It", " is 1", "0", "0", "0", "."], every=0))

    @scenario(20)
    async def test_the_last_words_before_a_tool_never_come_in_chat_in_E1(self):
        async with met("E1", ("look", *self.STEPS)) as (_, client):
            await client.send("look", CHAT, "a")
            await client.event("chat", "a", state="final")
            self.assertEqual(shown(client, "a"), ["Let me", "It", "It is 1000."])
            self.assertEqual(said(client, "a")[2::6], ["Let me look there.", "It is 1000."])

    @scenario(20)
    async def test_chat_leaves_repeated_pieces_out_in_E2(self):
        async with met("E2", ("look", *self.STEPS)) as (_, client):
            await client.send("look", CHAT, "a")
            await client.event("chat", "a", state="final")
            self.assertEqual(shown(client, "a"), ["Let me", "Let me look there.", "Let me look there.It", "Let me look there.It is 10."])
            self.assertEqual(shown(client, "a", "final"), ["Let me look there.It is 10."])
            self.assertEqual(said(client, "a")[-1], "It is 1000.")

    @scenario(20)
    async def test_words_of_one_pace_are_one_frame_in_E3(self):
        async with met("E3", ("look", *self.STEPS)) as (_, client):
            await client.send("look", CHAT, "a")
            await client.event("chat", "a", state="final")
            self.assertEqual(said(client, "a"), ["Let me", "Let me look there.", "It", "It is 1000."])
            self.assertEqual(shown(client, "a", "final"), ["Let me look there.It is 1000."])

    @scenario(20)
    async def test_lines_that_name_a_file_are_no_text(self):
        for era in ("E1", "E2", "E3"):
            async with met(era, ("draw", Say(["Here it is.\n", "MEDIA: ./pic.png\n"]))) as (_, client):
                await client.send("draw", CHAT, "a")
                await client.event("chat", "a", state="final")
                frames = [data for _, kind, data in client.of("a", "agent") if kind == "assistant"]
                self.assertEqual([data["mediaUrls"] for data in frames if "mediaUrls" in data], [["./pic.png"]])
                self.assertEqual(shown(client, "a", "final"), ["Here it is."])


class RunHabitTests(Scenarios):
    @scenario(20)
    async def test_four_runs_are_at_work_and_the_others_are_silent(self):
        for era in ("E1", "E2", "E3"):
            async with met(era, ("wait", Say(["I wait."]), Hold("go"))) as (gateway, client):
                for number in range(6):
                    await client.send("wait", f"{CHAT}-{number}", f"run-{number}")
                await asyncio.sleep(0.3)
                begun = [number for number in range(6) if client.of(f"run-{number}")]
                self.assertEqual(begun, [0, 1, 2, 3])
                answer = await client.request("agent.wait", runId="run-5", timeoutMs=100)
                self.assertEqual(answer["payload"]["status"], "timeout")
                gateway.release("go")
                await client.event("chat", "run-5", state="final")

    @scenario(20)
    async def test_a_run_stopped_before_it_begins_fails_in_words_too(self):
        for era in ("E1", "E2"):
            async with met(era, ("wait", Hold("go"))) as (_, client):
                for number in range(5):
                    await client.send("wait", f"{CHAT}-{number}", f"run-{number}")
                await client.request("chat.abort", sessionKey=f"{CHAT}-4", runId="run-4")
                final = await client.event("chat", "run-4", state="final")
                self.assertIn("Agent failed before reply", final["message"]["content"][0]["text"])
                self.assertEqual([kind for _, kind, _ in client.of("run-4")], ["aborted", "final"])

    @scenario(20)
    async def test_what_follows_an_abort(self):
        wanted = {"E1": [], "E2": [("end", None)], "E3": [("end", "cancelled"), ("error", None)]}
        for era, ends in wanted.items():
            async with met(era, ("long", Say(["So far. "]), Hold("go"))) as (_, client):
                await client.send("long", CHAT, "a")
                await client.event("agent", "a", stream="assistant")
                await client.request("chat.abort", sessionKey=CHAT, runId="a")
                await asyncio.sleep(0.8)
                lifecycle = [(data["phase"], data.get("status")) for _, kind, data in client.of("a", "agent") if kind == "lifecycle"]
                self.assertEqual(lifecycle[1:], ends)
                if era != "E1":
                    ended = [data["status"] for event, _, data in client.of("a", "sessions.changed")][1:]
                    self.assertEqual(ended, ["killed"] * len(ends))
                    rows = [(row.get("idempotencyKey"), row["stopReason"]) for row in client.rows() if row["role"] == "assistant"]
                    self.assertEqual(rows, [("a:assistant", "stop"), (None, "aborted")])

    @scenario(20)
    async def test_a_second_message_of_the_same_client_finds_the_session_busy(self):
        for era in ("E1", "E2", "E3"):
            async with met(era, ("first", Say(["One."]), Hold("go")), ("second", Say(["Two."]))) as (gateway, client):
                await client.send("first", CHAT, "a")
                await client.event("agent", "a", stream="assistant")
                await client.send("second", CHAT, "b")
                final = await client.event("chat", "b", state="final")
                self.assertNotIn("message", final)
                gateway.release("go")
                two = (await client.event("agent", stream="assistant", text="Two."))["runId"]
                self.assertEqual(two == "a", era == "E3")
                self.assertNotEqual(two, "b")

    @scenario(20)
    async def test_rows_and_changes_of_a_failure(self):
        for era in ("E2", "E3"):
            async with met(era, ("fail", Say(["I begin,"]), Fail("over the limit"))) as (_, client):
                await client.send("fail", CHAT, "a")
                changed = await client.event("sessions.changed", "a", phase="error")
                self.assertEqual((changed["status"], changed.get("hasActiveRun")), ("failed", True if era == "E3" else None))
                self.assertEqual([row.get("stopReason") for row in client.rows()], [None, "error"])
                self.assertEqual(len(client.of("a", "chat")) > 1, era == "E3")
                answer = await client.request("agent.wait", runId="a")
                self.assertEqual(answer["payload"]["status"], "ok")

    @scenario(20)
    async def test_an_answer_without_words_is_an_abort_and_an_error_in_E3(self):
        async with met("E3", ("nothing",)) as (_, client):
            await client.send("nothing", CHAT, "a")
            await client.event("chat", "a", state="error")
            ends = [(kind, data.get("stopReason")) for _, kind, data in client.of("a", "chat")]
            self.assertEqual(ends, [("aborted", "stop"), ("error", None)])

    @scenario(20)
    async def test_a_planned_restart_ends_each_run_with_a_frame_in_E3(self):
        async with met("E3", ("long", Say(["So far."]), Hold("go"))) as (gateway, client):
            await client.send("long", CHAT, "a")
            await client.event("agent", "a", stream="assistant")
            restarting = asyncio.create_task(gateway.restart())
            await client.closed()
            self.assertEqual([data.get("stopReason") for _, kind, data in client.of("a", "chat") if kind == "aborted"], ["restart"])
            await restarting
            async with GatewayClient(gateway) as again:
                await again.follow(CHAT)
                history = (await again.request("chat.history", sessionKey=CHAT))["payload"]
                self.assertEqual(history["sessionInfo"]["status"], "running")
                await again.event("sessions.changed", reason="send")
                await again.event("sessions.changed", phase="start")


class RowHabitTests(Scenarios):
    @scenario(20)
    async def test_rows_by_era(self):
        for era in ("E2", "E3"):
            async with met(era, ("hello", Say(["Hi."]))) as (gateway, client):
                gateway.usage = {"input": 11, "output": 7}
                for number in range(2):
                    await client.send("hello", CHAT, f"run-{number}")
                    await client.event("sessions.changed", f"run-{number}", phase="end")
                roles = [row["role"] for row in client.rows()]
                taken = ["user"] if era == "E2" else []
                self.assertEqual(roles, ["user", "assistant", *taken, "user", "assistant"])
                asked = client.rows()[-2]
                if era == "E2":
                    self.assertEqual(client.rows()[2]["content"], "hello")
                    self.assertRegex(texts([asked])[0], r"(?s)^Sender \(untrusted metadata\):.*\n\n\[.* UTC\] hello$")
                    self.assertNotIn("idempotencyKey", asked)
                else:
                    self.assertEqual((asked["content"], asked["idempotencyKey"]), ("hello", "run-1:user"))
                self.assertEqual(client.rows()[-1]["usage"], gateway.usage)
                self.assertNotIn("usage", client.of("run-1", "chat")[-1][2])
                history = (await client.request("chat.history", sessionKey=CHAT))["payload"]["messages"]
                self.assertEqual(texts(history), ["hello", "Hi."] * 2)

    @scenario(20)
    async def test_a_row_in_E1_has_neither_key_nor_id(self):
        async with met("E1", ("hello", Say(["Hi."]))) as (_, client):
            await client.send("hello", CHAT, "a")
            await client.event("chat", "a", state="final")
            history = (await client.request("chat.history", sessionKey=CHAT))["payload"]["messages"]
            self.assertEqual([sorted(set(row) & {"idempotencyKey", "__openclaw"}) for row in history], [[], []])

    @scenario(20)
    async def test_a_long_row_is_told_whole_when_it_is_asked_for_in_E3(self):
        async with met("E3", ("much", Say(["x" * 150_000]))) as (_, client):
            await client.send("much", CHAT, "a")
            await client.event("chat", "a", state="final")
            row = (await client.request("chat.history", sessionKey=CHAT, maxChars=500_000))["payload"]["messages"][-1]
            self.assertEqual((row["__openclaw"]["reason"], row.get("stopReason")), ("oversized", None))
            answer = await client.request("chat.message.get", sessionKey=CHAT, messageId=row["__openclaw"]["id"], maxChars=500_000)
            self.assertEqual(len(texts([answer["payload"]["message"]])[0]), 150_000)

    @scenario(20)
    async def test_tools_are_told_twice_in_E2_with_the_row_of_their_session(self):
        for era in ("E2", "E3"):
            async with met(era, ("look", Tool())) as (_, client):
                await client.send("look", CHAT, "a")
                await client.event("sessions.changed", "a", phase="end")
                tools = [(event, data.get("session") is not None) for event, _, data in [
                    (frame["event"], None, frame["payload"]) for frame in client.frames if frame.get("type") == "event"
                    and frame["payload"].get("stream") == "tool"]]
                self.assertEqual({event for event, _ in tools}, {"agent", "session.tool"} if era == "E2" else {"agent"})
                self.assertTrue(all(has for _, has in tools))


class ApprovalHabitTests(Scenarios):
    @scenario(20)
    async def test_words_behind_a_command_that_waits(self):
        for era in ("E1", "E2"):
            async with met(era, ("do", Say(["I ask."]), Approval("rm", followup=[Say(["Done."])]), Say(["Asked."]))) as (_, client):
                await client.send("do", CHAT, "a")
                await client.event("chat", "a", state="final")
                self.assertEqual("Asked." in said(client, "a"), era == "E1")
                history = (await client.request("chat.history", sessionKey=CHAT))["payload"]["messages"]
                self.assertEqual([text for text in texts(history) if "ask" in text.lower()], ["I ask.", "Asked."])

    @scenario(20)
    async def test_the_follow_up_of_E1_is_a_heartbeat_or_nothing(self):
        for heartbeats in (True, False):
            async with met("E1", ("do", Approval("rm", followup=[Say(["Done."])]))) as (gateway, client):
                gateway.has_heartbeats = heartbeats
                await client.send("do", CHAT, "a")
                asked = await client.event("exec.approval.requested")
                await client.event("chat", "a", state="final")
                await client.request("exec.approval.resolve", id=asked["id"], decision="allow-once")
                await asyncio.sleep(1.5)
                runs = {frame["payload"]["runId"] for frame in client.frames if frame.get("event") == "agent"} - {"a"}
                self.assertEqual(len(runs), int(heartbeats))
                self.assertFalse([run for run in runs if asked["id"] in run])
                self.assertEqual(len(gateway.commands), 1)

    @scenario(20)
    async def test_a_question_that_nobody_hears_stays_open(self):
        async with met("E2", ("do", Approval("rm")), scopes=SCOPES[:2]) as (gateway, client):
            await client.send("do", CHAT, "a")
            await client.event("chat", "a", state="final")
            self.assertEqual([approval.status for approval in gateway.approvals.values()], ["pending"])

    @scenario(20)
    async def test_a_question_of_a_gateway_that_restarted(self):
        for era in ("E2", "E3"):
            async with met(era, ("do", Approval("rm"))) as (gateway, client):
                await client.send("do", CHAT, "a")
                asked = await client.event("exec.approval.requested")
                await gateway.restart()
                async with GatewayClient(gateway) as again:
                    self.assertEqual((await again.request("exec.approval.list"))["payload"], [])
                    if era == "E2":
                        answer = await again.request("exec.approval.resolve", id=asked["id"], decision="allow-once")
                        self.assertEqual(answer["error"]["details"]["reason"], "APPROVAL_NOT_FOUND")
                    else:
                        answer = (await again.request("approval.resolve", id=asked["id"], kind="exec", decision="allow-once"))["payload"]
                        self.assertEqual((answer["applied"], answer["approval"]["status"], answer["approval"]["reason"]),
                                         (False, "cancelled", "gateway-restart"))
                    self.assertEqual(gateway.commands, [])


class LinkHabitTests(Scenarios):
    @scenario(20)
    async def test_a_method_that_is_not_there(self):
        for era in ("E1", "E2", "E3"):
            async with met(era) as (gateway, client):
                answer = await client.request("chat.dream")
                self.assertEqual(answer["error"]["message"], "missing scope: operator.admin")
                listed = client.hello["payload"]["features"]["methods"]
                self.assertEqual("sessions.subscribe" in listed, era != "E1")
                self.assertEqual("chat.message.get" in listed, era == "E3")

    @scenario(20)
    async def test_a_device_on_the_same_machine_is_not_paired(self):
        for era in ("E1", "E2", "E3"):
            async with met(era) as (_, client):
                auth = client.hello["payload"].get("auth")
                self.assertEqual(auth and sorted(auth), None if era != "E3" else ["role", "scopes"])
                policy = client.hello["payload"]["policy"]
                self.assertEqual(policy, {"maxPayload": 26214400, "maxBufferedBytes": 52428800, "tickIntervalMs": 30000})

    @scenario(20)
    async def test_pairing_leaves_holes_in_the_numbers_of_E2(self):
        async with met("E2") as (gateway, client):
            gateway.broadcast("tick", {})
            before = (await client.until(lambda frame: frame.get("event") == "tick"))["seq"]
            gateway.pairs_silently = False
            with contextlib.suppress(Exception):
                async with GatewayClient(gateway, name="another"):
                    pass
            since = len(client.frames)
            gateway.broadcast("tick", {})
            after = (await client.until(lambda frame: frame.get("event") == "tick", since))["seq"]
            self.assertGreater(after, before + 1)


if __name__ == "__main__":
    unittest.main()

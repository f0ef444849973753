"""Notices: a program or a webhook learns that a run ended, failed or waits for a person."""

import asyncio
import contextlib
import json
import os
import signal
import unittest

from commands import lines_of, once
from harness import Stage, until
from peers.sealed_hand import SealedHand
from peers.steps import Approval, Fail, Say, Wait
from scheduling import Scenarios, scenario

SCALE = 20
# Longer than the minute for which a person who wrote counts as present.
LONG = Wait(70 / SCALE)
TOKEN = "tk_notices0123456789"


class Webhook:
    """A recipient on loopback. It treats each request by the next of its moods, and accepts it when none is left."""

    def __init__(self, *moods):
        self.moods, self.heads, self.bodies, self.taken, self.held = list(moods), [], [], [], []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self._meet, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        for writer in self.held:
            writer.close()
        self.server.close()

    def url(self, rest="/topic?key=q_s3cret"):
        return f"http://127.0.0.1:{self.port}{rest}"

    async def _meet(self, reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = next(int(line.split(":")[1]) for line in head.splitlines() if line.lower().startswith("content-length:"))
                self.heads.append(head)
                self.bodies.append(json.loads(await reader.readexactly(length)))
                mood = self.moods.pop(0) if self.moods else b"HTTP/1.1 204 No Content\r\n\r\n"
                if mood == "hang":
                    self.held.append(writer)
                    return
                if mood == "close":
                    writer.write(b"HTTP/1.1 2")
                    break
                if mood.startswith(b"HTTP/1.1 2"):
                    self.taken.append(self.bodies[-1])
                writer.write(mood)
                await writer.drain()
            writer.close()


class NoticeTests(Scenarios):
    def stage(self, start=True, **notify):
        return Stage("E4", scale=SCALE, start=start, configuration={"log": {"level": "debug"}, "notify": notify})

    async def taken(self, webhook, count=1, seconds=30):
        await until(lambda: len(webhook.taken) >= count, seconds, f"{count} notices; there are {webhook.bodies}")

    async def status(self, stage):
        outcome = await once("status", "--json", directory=stage.directory, environment=stage.environment())
        return lines_of(outcome.out)[0]["status"]["connections"][0]["work"]["notices"]

    def output(self, stage):
        return json.dumps(stage.bridge.events) + "".join(stage.bridge.stderr)

    @scenario(60)
    async def test_a_webhook_gets_the_object_with_the_token_and_no_log_has_either_secret(self):
        async with Webhook() as webhook, self.stage(webhook=webhook.url(), token=TOKEN) as stage:
            short, turn = stage.ask("Short?", Say(["Yes."])), stage.ask("Fix the\ttests,\nplease", Say(["I do. "]), LONG, Say(["Done."]))
            await stage.ended(short, turn, seconds=60)
            await self.taken(webhook)
            body = webhook.taken[0]
            self.assertEqual(list(body), ["id", "event", "connection", "agent", "host", "chat", "ts", "title", "message", "priority"])
            self.assertEqual({name: body[name] for name in ("event", "connection", "agent", "chat", "title", "message", "priority")}, {
                "event": "ended", "connection": "default", "agent": "openclaw", "chat": "Fix the tests, please",
                "title": "openclaw: a run ended", "message": "“Fix the tests, please”", "priority": 3})
            self.assertRegex(body["ts"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertIn("POST /topic?key=q_s3cret HTTP/1.1", webhook.heads[0])
            self.assertIn(f"Authorization: Bearer {TOKEN}", webhook.heads[0])
            event = await stage.bridge.event("notified")
            self.assertEqual((event["id"], event["notice"], event["outcome"], event["tries"]), (body["id"], "ended", "told", 1))
            self.assertEqual(len(webhook.bodies), 1)
            await until(lambda: "a notice was delivered" in self.output(stage), 10, "a line of the log")
            self.assertNotIn(TOKEN, self.output(stage))
            self.assertNotIn("q_s3cret", self.output(stage))
            stage.check(short, turn)

    @scenario(60)
    async def test_a_recipient_that_hangs_and_leads_inwards_holds_up_nothing(self):
        async with Webhook() as inner, Webhook(
                "hang", f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {inner.url()}\r\nContent-Length: 0\r\n\r\n".encode()) as webhook, \
                self.stage(webhook=webhook.url(), events=["failed"]) as stage:
            turn = stage.ask("Break?", LONG, Fail())
            await until(lambda: webhook.held, 30, "a notice that hangs")
            other = stage.ask("Are you there?", Say(["Yes."]))
            await stage.ended(turn, other)
            stage.expect(other, "Yes.")
            self.assertEqual(webhook.taken, [])
            await self.taken(webhook)
            self.assertEqual({body["id"] for body in webhook.bodies}, {webhook.taken[0]["id"]})
            self.assertEqual(inner.bodies, [])
            self.assertEqual((await stage.bridge.event("notified"))["tries"], 3)
            self.assertIn("the webhook answered 307", self.output(stage))

    @scenario(60)
    async def test_one_that_answers_500_and_closes_early_is_tried_again_by_the_next_process(self):
        async with Webhook(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", "close") as webhook, \
                self.stage(webhook=webhook.url(), events=["failed"]) as stage:
            turn = stage.ask("Break?", LONG, Fail())
            await stage.ended(turn)
            await until(lambda: webhook.bodies, 30, "the first try")
            await stage.bridge.restart_after_kill()
            await until(lambda: len(webhook.bodies) == 2, 30, "the second try")
            await stage.bridge.restart_after_kill()
            await self.taken(webhook)
            self.assertEqual(len({body["id"] for body in webhook.bodies}), 1)
            await stage.bridge.event("notified")
            await stage.bridge.restart_after_kill()
            other = stage.ask("Are you there?", Say(["Yes."]))
            await stage.ended(other)
            self.assertEqual(len(webhook.taken), 1)

    @scenario(60)
    async def test_an_ask_has_one_after_its_minute_and_a_program_gets_it(self):
        async with self.stage(start=False) as stage:
            file = stage.directory / "got"
            stage.configure({"notify": {"command": ["/bin/sh", "-c", f"cat >> {file}; env >> {file}.env"], "events": ["waiting"]}})
            await stage.bridge.start()
            turn = stage.ask("May I?", Say(["May I? "]), Approval("rm -rf build", detached=False), Say(["Done."]))
            card = await stage.approval(turn)
            await stage.bridge.event("notified")
            notices = lines_of(file.read_text())
            self.assertEqual([(body["event"], body["wants"], body["chat"], body["priority"]) for body in notices],
                             [("waiting", "rm -rf build", "May I?", 4)])
            self.assertNotIn("SOPHON_", (stage.directory / "got.env").read_text())
            await stage.bridge.restart_after_kill()
            stage.relay.decide(card, "approve")
            await stage.ended(turn)
            await until(lambda: stage.bridge.names().count("ready") == 2, 10, "the second process")
            self.assertEqual(len(lines_of(file.read_text())), 1)

    @scenario(60)
    async def test_programs_that_read_nothing_write_a_gigabyte_or_never_end_hold_up_nothing(self):
        async with self.stage(start=False) as stage:
            # The first never ends, the second only writes.
            script = f"if mkdir {stage.directory}/first; then echo $$ > {stage.directory}/pid; sleep 1000; else head -c 1G /dev/zero; fi"
            stage.configure({"notify": {"command": ["/bin/sh", "-c", script], "events": ["failed"]}})
            await stage.bridge.start()
            turn = stage.ask("Break?", LONG, Fail())
            await until(lambda: (stage.directory / "pid").exists(), 30, "the program")
            other = stage.ask("Are you there?", Say(["Yes."]))
            await stage.ended(turn, other)
            self.assertNotIn("notified", stage.bridge.names())
            event = await stage.bridge.event("notified")
            self.assertEqual((event["outcome"], event["tries"]), ("told", 2))
            self.assertIn("took too long", self.output(stage))
            pid = int((stage.directory / "pid").read_text())
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)
            await until(lambda: stage.bridge.peak_megabytes() < 200, 1, "little memory")
            self.assertEqual((await self.status(stage))["dropped"], 0)

    @scenario(60)
    async def test_of_a_sealed_chat_there_are_fixed_words(self):
        async with Webhook() as webhook, self.stage(start=False, webhook=webhook.url()) as stage:
            hand = SealedHand(stage.relay)
            await stage.bridge.start()
            await until(lambda: hand.bridge, 30, "the bridge's device")
            stage.gateway.plan("Zebrafinch?", Say(["Quartzvein. "]), LONG, Say(["Oxbowlake."]))
            stage.gateway.plan("Juniperash?", Approval("velvetmoss --now", detached=False), Say(["Done."]))
            turn = hand.ask("Zebrafinch?")
            await until(lambda: len(stage.gateway.sends) == 1, 30, "the first message at the agent")
            hand.ask("Juniperash?")
            await stage.ended(turn, seconds=60)
            await self.taken(webhook, 2)
            self.assertEqual({body["event"] for body in webhook.taken}, {"ended", "waiting"})
            for body in webhook.taken:
                self.assertEqual(list(body), ["id", "event", "connection", "agent", "host", "sealed", "ts", "title", "message", "priority"])
                self.assertEqual((body["sealed"], body["title"]), (True, "A sealed chat"))
            words = json.dumps(webhook.bodies).lower()
            for secret in ("zebrafinch", "quartzvein", "oxbowlake", "juniperash", "velvetmoss"):
                self.assertNotIn(secret, words)

    @scenario(60)
    async def test_SIGHUP_brings_a_recipient_and_takes_it_away(self):
        async with Webhook() as webhook, self.stage() as stage:
            turn = stage.ask("Break?", LONG, Fail())
            stage.configure({"notify": {"webhook": webhook.url(), "token": TOKEN}})
            os.kill(stage.bridge.pid, signal.SIGHUP)
            await stage.bridge.event("reloaded")
            await stage.ended(turn)
            await self.taken(webhook)
            self.assertEqual(webhook.taken[0]["event"], "failed")
            await until(lambda: "notified" in stage.bridge.names(), 10, "the event")
            stage.configure({})
            mark = len(stage.bridge.events)
            os.kill(stage.bridge.pid, signal.SIGHUP)
            await stage.bridge.event("reloaded", mark=mark)
            again = stage.ask("Break again?", LONG, Fail())
            await stage.ended(again)
            self.assertEqual(len(webhook.bodies), 1)
            self.assertNotIn(TOKEN, self.output(stage))

    @scenario(30)
    async def test_config_check_and_doctor_say_what_is_wrong_and_send_nothing(self):
        async with Webhook() as webhook, self.stage(start=False) as stage:
            run = lambda *words: once(*words, directory=stage.directory, environment=stage.environment())
            stage.configure({"notify": {"webhook": "http://ntfy.sh/t", "events": ["sung"], "quiet_hours": "22-7", "token": "a b"}})
            outcome = await run("config", "check", "--json")
            self.assertEqual(outcome.code, 2, outcome)
            faults = [event["path"] for event in lines_of(outcome.out) if event["event"] == "config_fault"]
            self.assertEqual(faults, ["notify.webhook", "notify.token", "notify.events", "notify.quiet_hours"])
            findings = []
            for notify in ({"webhook": webhook.url()}, {"webhook": "https://no-such-name.invalid/t"}, {"command": ["no-such-program"]},
                           {"command": ["sh", "-c", "exit"]}):
                stage.configure({"notify": notify})
                outcome = await run("doctor", "--json")
                findings += [event for event in lines_of(outcome.out) if event.get("check") == "notify"]
            self.assertEqual([finding["outcome"] for finding in findings], ["ok", "failed", "failed", "ok"])
            self.assertTrue(findings[0]["message"].endswith("not tried"), findings[0])
            self.assertEqual(webhook.heads, [])
            shown = (await run("config", "show")).out
            self.assertRegex(shown, r'notify\.command +\["sh","-c","exit"\]')


if __name__ == "__main__":
    unittest.main()

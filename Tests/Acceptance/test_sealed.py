"""The live bridge and a sealing phone, with a relay between them that cannot read (relay.md#end-to-end-encryption)."""

import asyncio
import base64
import json
import os
import random
import re
import unittest
from contextlib import asynccontextmanager

from commands import once
from harness import until
from peers.sealed_phone import SealedPhone, sealing
from peers.steps import Approval, Hold, Say, Tool
from pi_home import PiHome, said
from scheduling import Scenarios, scenario
from simulated import PhoneStage, SimulatedStage
from stories import journey, with_approval
from wiretap import Wiretap

FAULTED_CALLS = int(os.environ.get("SEALED_FAULTED_CALLS", "120"))
SEED = int(os.environ.get("SEALED_SEED", "5"))
# Words for content outside of relay.md#not-sealed: conversation, arguments and results of tools, questions.
SECRETS = ("Zebrafinch", "Quartzvein", "Oxbowlake", "Juniperash", "Velvetmoss", "Copperbell", "Marblehare", "Thistledown")


class Conversation:
    """A stage with a phone."""

    def __init__(self, stage, phone):
        self.stage, self.phone = stage, phone

    async def do(self, function, *arguments, **options):
        return await asyncio.to_thread(function, *arguments, **options)

    async def chat(self):
        return await self.do(self.phone.new_chat)

    async def ask(self, text, *steps, session=None):
        self.stage.gateway.plan(text, *steps)
        return await self.do(self.phone.send, session or await self.chat(), text)

    async def ended(self, sent, seconds=30):
        return await self.do(self.phone.ended, sent, seconds)

    async def answer(self, text, *steps, session=None):
        return (await self.ended(await self.ask(text, *steps, session=session)))["text"]

    async def send_raw(self, session, envelope, seconds=30):
        """Sends any envelope, and returns the answer."""
        sent = await self.stage.simulator.call("POST", f"/v1/me/sessions/{session}/send", {"text_ct": envelope})
        return (await self.ended(sent | {"session_id": session}, seconds))["text"]

    async def grant(self, session, device, box):
        await self.stage.simulator.call("POST", f"/v1/me/sessions/{session}/recipients", {
            "recipients": [{"device_id": device, "wrapped_session_key": base64.b64encode(box).decode()}]})


class PiStage(PhoneStage):
    """A stage with a scripted pi, a child whose standard error the bridge shows."""

    def __init__(self, plans):
        super().__init__()
        self._plans = plans

    @property
    def configuration(self):
        return {"record_dir": str(self.directory / "records"), "log": {"level": "debug"}}

    async def enter_agent(self):
        self.pi = PiHome(self.directory / "pi", self._plans)

    def agent_environment(self):
        return self.pi.bridge_environment


@asynccontextmanager
async def sealed(*options, era="E3", stage=None):
    async with stage or SimulatedStage(*options, era=era) as stage:
        phone = SealedPhone(stage.simulator.url, stage.simulator.user_token)
        try:
            await asyncio.to_thread(phone.bridge)
            await asyncio.to_thread(phone.register)
            await asyncio.to_thread(phone.follow)
            yield Conversation(stage, phone)
        finally:
            phone.close()


def shown(messages):
    """The visible content of a chat, without ids, times, and the number of pieces that a text came in. The reported part of an output depends on both, and so does the gateway's frame
    that gave a tool its label: frames name its kind in different words."""
    hide = ("message_id", "interaction_id", "ts", "task_id", "reply_to", "partial_result", "deltas")
    def bare(value):
        if isinstance(value, dict):
            if "status_label" in value:
                value = value | {"status_label": re.sub(r"^\w+ (command=|path=)?", "", value["status_label"])}
            return {name: bare(member) for name, member in value.items() if name not in hide and not name.endswith("_ct")}
        return [bare(member) for member in value] if isinstance(value, list) else value
    return [bare(message) | {"tasks": bare(message.get("tasks", []))} for message in messages]


class WholeTurns(Scenarios):
    @scenario(90)
    async def test_a_sealed_phone_sees_exactly_what_an_open_one_sees(self):
        steps = [Say(["Let me ", "look. "]), Tool("exec", {"command": "df -h /"}, output="61%"), Approval("restart it", detached=False),
                 Tool("read", {"path": "/etc/hosts"}, failed=True), Say(["It is ", "**61%** full. ", "👋"])]
        async with sealed() as here:
            sent = await here.ask("How full is the disk? 👍", *steps)
            asked = await here.do(here.phone.asked, sent["session_id"])
            await here.do(here.phone.decide, asked["approval_id"])
            final = await here.ended(sent)
            plain = await here.stage.ask("How full is it in the open?", *steps)
            decider = asyncio.create_task(here.stage.decide())
            await here.stage.ended(plain)
            decider.cancel()
            sealed_shown = shown(await here.do(here.phone.messages, sent["session_id"]))
            open_stored = await here.stage.simulator.messages(plain["session_id"])
            open_shown = shown(open_stored)
            self.assertEqual(sealed_shown[1:], open_shown[1:])
            self.assertEqual(sealed_shown[0]["text"], "How full is the disk? 👍")
            self.assertTrue(final["text"].endswith("It is **61%** full. 👋"), final)
            self.assertTrue(final["tasks"] and all("args" in task for task in final["tasks"]), final)
            self.assertTrue(final["text"].startswith(here.phone.streamed(sent).rstrip()))
            self.assertEqual((asked["command"], asked["severity"]), ("restart it", "medium"))
            parts = [data["partial_result"] for data in here.phone.heard("task_progress") if "partial_result_ct" in data]
            self.assertTrue(all(part and "61%".startswith(part) for part in parts), parts)
            self.assertEqual(here.phone.unreadable, [])
            self.assertEqual(await here.stage.simulator.breaches(), [])

    @scenario(90)
    async def test_nothing_readable_is_on_the_wire_in_the_log_or_in_the_journal(self):
        zebra, quartz, oxbow, juniper, velvet, copper, marble, thistle = SECRETS
        async with sealed() as here:
            stage = here.stage
            async with Wiretap(stage.simulator.port) as tap:
                stage.bridge.terminate()
                await stage.bridge.exit()
                stage.bridge.environment["SOPHON_BASE_URL"] = tap.url
                (stage.directory / "config" / "bridge.json").write_text(
                    json.dumps({"log": {"level": "debug"}, "record_dir": str(stage.directory / "records")}))
                await stage.bridge.start()
                sent = await here.ask(f"Is the {zebra} there?", Say([f"The {quartz} ", "is. "]),
                                      Tool("exec", {"command": f"find {oxbow}"}, output=juniper),
                                      Approval(f"rm {velvet}", detached=False), Hold("killed"), Say([f"And the {copper}."]))
                asked = await here.do(here.phone.asked, sent["session_id"])
                self.assertIn(velvet, json.dumps(asked))
                await here.do(here.phone.decide, asked["approval_id"])
                # A kill in mid-run leaves an open turn with its text in the journal.
                await until(lambda: quartz in here.phone.streamed(sent), 30, "the first words")
                stage.bridge.kill9()
                await stage.bridge.exit()
                self.check_files(stage)
                stage.gateway.release("killed")
                await stage.bridge.start()
                final = await here.ended(sent)
                for word in (quartz, copper):
                    self.assertIn(word, final["text"])
                self.assertIn(juniper, json.dumps(final["tasks"]))
                # A refused message is not shown as text either.
                self.assertNotIn(marble, await here.send_raw(sent["session_id"], here.phone.sealed(sent["session_id"], marble)[:-8]))
                traffic = bytes(tap.bytes)
            self.assertGreater(len(traffic), 4_000)
            for word in SECRETS:
                for form in (word.encode(), base64.b64encode(word.encode())[1:-4], word.encode().hex().encode()):
                    self.assertNotIn(form, traffic, word)
            self.assertIn(b"text_ct", traffic)
            for seen in (b'"kind":"exec"', b'"type":"session.message"'):
                self.assertIn(seen, traffic, "what is not sealed is seen here, of the calls and of the socket")
            self.check_files(stage)
            told = json.dumps(stage.bridge.events) + "".join(stage.bridge.stderr)
            for arguments in (("journal", "export"), ("journal", "inspect"), ("explain", sent["session_id"]), ("status", "--json")):
                outcome = await once(*arguments, directory=stage.directory, environment=stage.bridge.environment)
                told += outcome.out + outcome.err
            for word in SECRETS:
                self.assertNotIn(word, told)
            self.assertEqual(await stage.simulator.breaches(), [])
            await self.check_at_end(stage)

    @scenario(60)
    async def test_neither_the_standard_error_of_an_agent_nor_its_recording_shows_a_word(self):
        zebra, quartz, oxbow, *_ = SECRETS
        plans = {zebra: [{"complain": [f"{oxbow} failed", f"{oxbow} failed again"]}, said(f"The {quartz}.")]}
        async with sealed(stage=PiStage(plans)) as here:
            sent = await here.do(here.phone.send, await here.chat(), f"Is the {zebra} there?")
            self.assertEqual((await here.ended(sent))["text"], f"The {quartz}.")
            log = lambda: "".join(here.stage.bridge.stderr)
            await until(lambda: "a line, not shown since chats of this agent are encrypted" in log(), 20, "a word about the line")
            await self.check_at_end(here.stage)
            for word in SECRETS:
                self.assertNotIn(word, log() + json.dumps(here.stage.bridge.events))

    async def check_at_end(self, stage):
        """Checks the final writes too."""
        stage.bridge.terminate()
        await stage.bridge.exit()
        self.assertGreater(sum(file.stat().st_size for file in (stage.directory / "records").iterdir()), 1_000)
        self.check_files(stage)

    def check_files(self, stage):
        files = [file for folder in ("state", "config", "records") for file in (stage.directory / folder).rglob("*")
                 if file.is_file()]
        self.assertGreater(sum(file.stat().st_size for file in files), 4_000)
        for file in files:
            content = file.read_bytes()
            for word in SECRETS:
                self.assertNotIn(word.encode(), content, file.name)
                self.assertNotIn(base64.b64encode(word.encode())[1:-4], content, file.name)


class Faults(Scenarios):
    @scenario(600 if FAULTED_CALLS > 200 else 120)
    async def test_calls_that_fail_and_kills_lose_double_and_conflict_nothing(self):
        """The long form is SEALED_FAULTED_CALLS=1000."""
        generator = random.Random(SEED)
        async with sealed() as here:
            stage, asked, number = here.stage, [], 0
            await stage.simulator.call("POST", "/v1/simulator/faults", {
                "kind": "mix", "seed": SEED, "rate": 0.3, "retry_after_ms": 50,
                "kinds": ["429", "500", "502", "503", "reset", "reply_lost", "truncated", "html"]})
            decider = asyncio.create_task(stage.decide())
            faults = lambda: stage.simulator.call("GET", "/v1/simulator/state")
            session = await here.chat()
            while (await faults())["tally"]["faults"] < FAULTED_CALLS:
                for _ in range(4):
                    number += 1
                    steps, final = (with_approval if number % 4 == 0 else journey)(f"turn {number}.", "E3")
                    asked.append((await here.ask(f"turn {number}.", *steps, session=session if number % 2 else None), final))
                if number % 8 == 0:
                    await asyncio.sleep(generator.uniform(0, 1.5))
                    await stage.bridge.restart_after_kill()
                for sent, _ in asked[-8:-4]:
                    await here.ended(sent, 60)
            told = (await faults())["tally"]
            self.assertGreaterEqual(told["replays"], 1, "writes were repeated whose answer was lost")
            await stage.simulator.call("DELETE", "/v1/simulator/faults")
            for sent, final in asked:
                self.assertEqual((await here.ended(sent, 60))["text"], final)
            decider.cancel()
            self.assertGreater(stage.bridge.starts, 1)
            runs = [send["text"] for send in stage.gateway.sends]
            self.assertEqual(sorted(set(runs)), sorted(f"turn {index}." for index in range(1, number + 1)))
            self.assertEqual(await stage.simulator.breaches(), [])
            self.assertEqual(here.phone.unreadable, [])


class BadInput(Scenarios):
    @scenario(90)
    async def test_envelopes_that_are_cut_changed_swapped_or_replayed_reach_no_agent(self):
        async with sealed() as here:
            first, second = await here.chat(), await here.chat()
            good = here.phone.sealed(first, "Good one")
            here.stage.gateway.plan("Good one", Say(["Fine."]))
            self.assertEqual(await here.send_raw(first, good), "Fine.")
            whole = base64.b64decode(here.phone.sealed(first, "Never seen"))
            answer = (await here.do(here.phone.messages, first))[1]
            other = os.urandom(32)
            bad = {
                "replayed": good,
                "its own words": answer["text_ct"],
                "cut": base64.b64encode(whole[:-1]).decode(),
                "nothing but a head": base64.b64encode(whole[:13]).decode(),
                "a bit of the tag": base64.b64encode(whole[:-1] + bytes([whole[-1] ^ 1])).decode(),
                "another version": base64.b64encode(b"\2" + whole[1:]).decode(),
                "another chat's": here.phone.sealed(second, "Never seen"),
                "another kind's": here.phone.sealed(first, "Never seen", "tasks"),
                "another key's": here.phone.sealed(first, "Never seen", key=other),
                "blanked": "AA==",
                "no base64": "*" * 40,
                "no text": base64.b64encode(sealing.seal(sealing.blob_key(here.phone.keys[first][0], f"messages/{first}"), b"\xff\xfe")).decode(),
            }
            said = {what: await here.send_raw(first, envelope) for what, envelope in bad.items()}
            self.assertEqual(len(set(said.values())), 1, said)
            self.assertNotIn("Fine.", said["replayed"])
            self.assertTrue(said["replayed"].strip())
            # Two swapped messages are handled in the order in which they arrive.
            envelopes = [here.phone.sealed(second, f"number {index}") for index in (1, 2)]
            for index in (1, 2):
                here.stage.gateway.plan(f"number {index}", Say([f"Answer {index}."]))
            self.assertEqual([await here.send_raw(second, envelope) for envelope in reversed(envelopes)], ["Answer 2.", "Answer 1."])
            self.assertEqual([send["text"] for send in here.stage.gateway.sends], ["Good one", "number 2", "number 1"])
            self.assertEqual(await here.stage.simulator.breaches(), [])

    @scenario(90)
    async def test_a_message_waits_for_its_key_and_grants_for_others_are_none(self):
        async with sealed() as here:
            phone, bridge = here.phone, await here.do(here.phone.bridge)
            session = (await here.stage.simulator.call("POST", "/v1/me/sessions", {}))["session_id"]
            key = await here.do(phone.make_key, session, hand=False)
            here.stage.gateway.plan("Early", Say(["At last."]))
            sent = await here.do(phone.send, session, "Early")
            own = next(device for device in await here.do(phone.devices) if device["device_id"] == phone.device)
            await here.do(phone.hand, session, [own])
            for box in (b"\2" + os.urandom(93), b"\1" + os.urandom(40), os.urandom(5)):
                await here.grant(session, bridge["device_id"], box)
            # The bridge has sent the placeholder alone, a second after the message.
            await asyncio.sleep(1.5)
            self.assertEqual([message["text"] for message in await here.do(phone.answers, sent)], [""])
            self.assertEqual(here.stage.gateway.sends, [])
            await here.do(phone.hand, session, [bridge])
            self.assertEqual((await here.ended(sent))["text"], "At last.")
            # Another key is refused while this one is in use and no device was removed.
            phone.keys[session].insert(0, os.urandom(32))
            await here.do(phone.hand, session, [bridge])
            phone.keys[session] = [key]
            self.assertEqual(await here.answer("Still?", Say(["Still."]), session=session), "Still.")
            told = "".join(here.stage.bridge.stderr)
            self.assertIn(f"another key was granted for the chat {session}", told)
            self.assertIn(f"a key for the chat {session} cannot be read", told)

    @scenario(90)
    async def test_a_grant_that_the_relay_brings_late_or_never_holds_the_message_until_it_is_there(self):
        async with sealed() as here:
            stage = here.stage
            await stage.simulator.call("POST", "/v1/simulator/faults", {"kind": "grant_late", "count": 2})
            self.assertEqual(await here.answer("Late?", Say(["Late."])), "Late.")
            await stage.simulator.call("DELETE", "/v1/simulator/faults")
            await stage.simulator.call("POST", "/v1/simulator/faults", {"kind": "grant_never", "count": 2})
            sent = await here.ask("Never?", Say(["In the end."]))
            await until(lambda: [shown["role"] for shown in here.phone.heard("message_added")][-1:] == ["agent"], 30, "the empty bubble")
            # A kill during the wait: the journal has the message, still sealed.
            await stage.bridge.restart_after_kill()
            await stage.simulator.call("DELETE", "/v1/simulator/faults")
            await here.do(here.phone.hand, sent["session_id"], await here.do(here.phone.devices))
            self.assertEqual((await here.ended(sent))["text"], "In the end.")
            self.assertEqual([send["text"] for send in stage.gateway.sends], ["Late?", "Never?"])
            self.assertEqual(await stage.simulator.breaches(), [])

    @scenario(90)
    async def test_a_registration_that_is_refused_or_fails_is_made_again(self):
        async with sealed() as here:
            stage, fault = here.stage, "/v1/simulator/faults"
            before = await here.do(here.phone.bridge)
            for kind, count in (("permission_denied", 1), ("500", 2), ("proxy_html", 1)):
                await stage.simulator.call("POST", fault, {"kind": kind, "count": count, "method": "devices"})
                await stage.bridge.restart_after_kill()
                self.assertEqual(await here.answer(f"After {kind}?", Say(["Yes."])), "Yes.")
            self.assertEqual((await here.do(here.phone.bridge))["device_id"], before["device_id"])
            self.assertEqual(await stage.simulator.breaches(), [])


if __name__ == "__main__":
    unittest.main()

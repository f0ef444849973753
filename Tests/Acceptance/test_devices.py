"""Keys of sealed chats on disk, and the phones allowed to have them: `devices`, `status`, `doctor`, `run`
(relay.md#session-key-life-cycle)."""

import asyncio
import json
import os
import signal
import stat

from commands import lines_of, once
from peers.sealed_phone import SealedPhone
from peers.steps import Say
from scheduling import Scenarios, scenario
from simulated import SimulatedStage


class Sealed:
    """A stage with a sealing phone."""

    async def __aenter__(self):
        self.stage = await SimulatedStage().__aenter__()
        self.config, self.state = self.stage.directory / "config", self.stage.directory / "state"
        self.phone = await self.new_phone("first")
        return self

    async def __aexit__(self, *error):
        await self.stage.__aexit__(*error)

    async def new_phone(self, label):
        phone = SealedPhone(self.stage.simulator.url, self.stage.simulator.user_token, label)
        await asyncio.to_thread(phone.bridge)
        await asyncio.to_thread(phone.register)
        return phone

    async def chat(self, text, answer):
        """Makes a sealed chat with one answered question."""
        session = await asyncio.to_thread(self.phone.new_chat)
        return session, await self.ask(session, text, answer)

    async def ask(self, session, text, answer):
        self.stage.gateway.plan(text, Say([answer]))
        sent = await asyncio.to_thread(self.phone.send, session, text)
        return await asyncio.to_thread(self.phone.ended, sent)

    async def command(self, *arguments, **options):
        return await once(*arguments, directory=self.stage.directory, environment=self.stage.bridge.environment, **options)

    async def devices(self):
        listed = lines_of((await self.command("devices", "list", "--json")).out)
        return {event["device_id"]: event for event in listed if event["event"] == "device"}

    async def standing(self, device, wanted, seconds=30):
        for _ in range(seconds * 12):
            if (found := (await self.devices()).get(device)) and found["standing"] == wanted:
                return found
            await asyncio.sleep(0.25)
        raise AssertionError(f"{device} is not {wanted}: {await self.devices()}")

    def keys(self):
        return json.loads((self.config / "session-keys.json").read_text())


class DevicesTests(Scenarios):
    @scenario(90)
    async def test_a_sealed_chat_outlives_a_kill_and_its_key_is_in_the_reference_bridges_form(self):
        async with Sealed() as sealed:
            session, answer = await sealed.chat("How are you?", "Quite well, thank you.")
            self.assertEqual(answer["text"], "Quite well, thank you.")
            kept = sealed.keys()
            self.assertEqual(kept["keys"], {session: sealed.phone.keys[session][0].hex()})
            self.assertEqual(set(kept), {"keys", "savedAt", "nextNumber", "saveNumber"})
            for name in ("session-keys.json", "sealing.json", "relay-device.json"):
                self.assertEqual(stat.S_IMODE((sealed.config / name).stat().st_mode), 0o600, name)
            await sealed.stage.bridge.restart_after_kill()
            self.assertEqual((await sealed.ask(session, "And now?", "Still well."))["text"], "Still well.")
            stored = await sealed.stage.simulator.call("GET", f"/v1/me/sessions/{session}/messages")
            self.assertNotIn("well", json.dumps(stored))
            journal = b"".join(file.read_bytes() for file in sealed.state.glob("journal.db*"))
            self.assertNotIn(b"How are you", journal)
            # The bridge registers again in parallel with the turn, which may end first.
            for _ in range(120):
                status = json.loads((await sealed.command("status", "--json")).out)["status"]["connections"][0]["sealing"]
                if status["registered"]:
                    break
                await asyncio.sleep(0.25)
            self.assertEqual((status["registered"], status["devices_pinned"], status["devices_held"], status["sealed_chats"]),
                             (True, 1, 0, 1))
            self.assertEqual(await sealed.stage.simulator.breaches(), [])

    @scenario(120)
    async def test_a_late_phone_is_held_until_it_is_allowed_and_reads_nothing_more_once_it_is_revoked(self):
        async with Sealed() as sealed:
            session, _ = await sealed.chat("First?", "The first answer.")
            late = await sealed.new_phone("late\x1b[31m")
            await sealed.standing(late.device, "held")
            told = None
            for _ in range(600):
                texts = [message["text"] for message in await asyncio.to_thread(sealed.phone.messages, session)]
                if told := next((text for text in texts if "devices allow 2" in text), None):
                    break
                await asyncio.sleep(0.1)
            self.assertIsNotNone(told, texts)
            self.assertNotIn("\x1b", told)
            await asyncio.to_thread(late.fetch_keys)
            self.assertEqual(late.keys, {})
            listed = await sealed.command("devices", "list")
            self.assertIn(late.device, listed.out)
            self.assertNotIn("\x1b", listed.out)
            doctor = lines_of((await sealed.command("doctor", "--json")).out)
            self.assertEqual([check["outcome"] for check in doctor if check.get("check") == "devices"], ["warning"])

            number = str((await sealed.devices())[late.device]["number"])
            nobody = await sealed.command("devices", "allow", "99")
            self.assertEqual((nobody.code, "no device 99" in nobody.err), (2, True), nobody.err)
            allowed = await sealed.command("devices", "allow", number, "--json", seconds=40)
            self.assertEqual(allowed.code, 0, allowed.err)
            self.assertEqual(lines_of(allowed.out)[-1]["standing"], "pinned")
            for _ in range(300):
                await asyncio.to_thread(late.fetch_keys)
                if session in late.keys:
                    break
                await asyncio.sleep(0.1)
            texts = [message["text"] for message in await asyncio.to_thread(late.messages, session)]
            self.assertIn("The first answer.", texts)
            self.assertEqual((await sealed.command("devices", "allow", late.device)).code, 0)

            revoked = await sealed.command("devices", "revoke", late.device, seconds=40)
            self.assertEqual(revoked.code, 0, revoked.err)
            self.assertEqual((await sealed.devices())[late.device]["standing"], "refused")
            self.assertEqual(list(sealed.state.glob("device-order-*")), [])

    @scenario(60)
    async def test_devices_works_without_a_bridge_and_says_what_it_does_not_find(self):
        async with Sealed() as sealed:
            await sealed.chat("First?", "The first answer.")
            late = await sealed.new_phone("late")
            await sealed.standing(late.device, "held")
            sealed.stage.bridge.terminate()
            self.assertEqual(await sealed.stage.bridge.exit(), 0)
            nobody = await sealed.command("devices", "allow", "dev_nobody")
            self.assertEqual((nobody.code, "no device dev_nobody" in nobody.err), (2, True), nobody.err)
            self.assertEqual((await sealed.command("devices")).code, 2)
            self.assertEqual((await sealed.command("devices", "allow")).code, 2)
            self.assertEqual((await sealed.command("devices", "list", "--connection", "x")).code, 2)
            self.assertEqual((await sealed.command("devices", "allow", late.device)).code, 0)
            self.assertEqual((await sealed.devices())[late.device]["standing"], "pinned")
            await sealed.stage.bridge.start()
            for _ in range(300):
                await asyncio.to_thread(late.fetch_keys)
                if late.keys:
                    break
                await asyncio.sleep(0.1)
            self.assertEqual(list(late.keys), list(sealed.phone.keys))

    @scenario(60)
    async def test_an_order_that_a_dead_bridge_left_is_carried_out_by_the_next_one(self):
        async with Sealed() as sealed:
            await sealed.chat("First?", "The first answer.")
            late = await sealed.new_phone("late")
            found = await sealed.standing(late.device, "held")
            await sealed.stage.bridge.restart_after_kill()
            order = sealed.state / "device-order-left.json"
            sealed.stage.bridge.kill9()
            await sealed.stage.bridge.exit()
            order.write_text(json.dumps({"version": 1, "connection": "default", "device": late.device, "action": "allow",
                                         "publicKey": found["key"]}))
            (sealed.state / "device-order-broken.json").write_text("{")
            await sealed.stage.bridge.start()
            await sealed.standing(late.device, "pinned")
            for _ in range(300):
                if not list(sealed.state.glob("device-order-*")):
                    break
                await asyncio.sleep(0.1)
            self.assertEqual(list(sealed.state.glob("device-order-*")), [])

    @scenario(60)
    async def test_SIGHUP_trusts_devices_and_switches_encryption(self):
        async with Sealed() as sealed:
            session, _ = await sealed.chat("First?", "The first answer.")
            late = await sealed.new_phone("late")
            await sealed.standing(late.device, "held")
            (sealed.config / "bridge.json").write_text(json.dumps(
                {"connections": [{"devices": "trust", "encryption": "require"}]}))
            os.kill(sealed.stage.bridge.pid, signal.SIGHUP)
            await sealed.stage.bridge.event("reloaded")
            await sealed.standing(late.device, "pinned")
            plain = await sealed.stage.ask("In the open?", Say(["You never see this."]))
            await sealed.stage.ended(plain)
            answers = await sealed.stage.answers(plain)
            self.assertIn("encrypted messages only", answers[0]["text"])
            self.assertEqual((await sealed.ask(session, "And sealed?", "Yes."))["text"], "Yes.")

    @scenario(60)
    async def test_a_key_file_that_cannot_be_read_stops_the_start_with_what_to_do_and_stays(self):
        async with Sealed() as sealed:
            session, _ = await sealed.chat("First?", "The first answer.")
            sealed.stage.bridge.terminate()
            await sealed.stage.bridge.exit()
            file = sealed.config / "session-keys.json"
            whole = file.read_text()
            for text, remedy in ((whole[:len(whole) // 2], "delete it"), ("", "delete it"), ('{"keys":{"s":"zz"}}', "delete it")):
                file.write_text(text)
                outcome = await sealed.command("run", "--json")
                self.assertEqual((outcome.code, "session-keys.json" in outcome.err, remedy in outcome.err), (1, True, True), outcome)
                self.assertEqual(file.read_text(), text)
                doctor = await sealed.command("doctor", "--json")
                failed = [check for check in lines_of(doctor.out) if check.get("outcome") == "failed"]
                self.assertEqual(([check["check"] for check in failed], doctor.code), (["devices"], 1), doctor.out)
            file.write_text(whole)
            await sealed.stage.bridge.start()
            self.assertEqual((await sealed.ask(session, "Again?", "Again."))["text"], "Again.")

    @scenario(60)
    async def test_where_the_configuration_cannot_be_written_the_state_directory_has_the_keys(self):
        async with Sealed() as sealed:
            session, _ = await sealed.chat("First?", "The first answer.")
            sealed.stage.bridge.terminate()
            await sealed.stage.bridge.exit()
            # A directory in the file's place cannot be replaced by a file, not even by root.
            for name in ("session-keys.json", "sealing.json"):
                (sealed.config / name).rename(sealed.state / name)
                (sealed.config / f"{name}.new").mkdir()
            await sealed.stage.bridge.start()
            second, answer = await sealed.chat("Second?", "The second answer.")
            self.assertEqual(answer["text"], "The second answer.")
            kept = json.loads((sealed.state / "session-keys.json").read_text())["keys"]
            self.assertEqual(set(kept), {session, second})
            self.assertTrue(any("instead" in line for line in sealed.stage.bridge.stderr), sealed.stage.bridge.stderr)

    @scenario(90)
    async def test_one_folder_for_configuration_and_state_keeps_the_keys_through_kills(self):
        async with Sealed() as sealed:
            session, _ = await sealed.chat("First?", "The first answer.")
            bridge = sealed.stage.bridge
            bridge.terminate()
            await bridge.exit()
            bridge.environment = bridge.environment | {"SOPHON_STATE_DIR": str(sealed.config)}
            await bridge.start()
            for number in range(3):
                made, answer = await sealed.chat(f"New {number}?", f"New {number}.")
                self.assertEqual(answer["text"], f"New {number}.")
                await bridge.restart_after_kill()
                self.assertEqual(sealed.keys()["keys"].keys() & {session, made}, {session, made})
                for chat, text in ((session, f"First {number}."), (made, f"Made {number}.")):
                    self.assertEqual((await sealed.ask(chat, f"{text}?", text))["text"], text)

    @scenario(60)
    async def test_a_start_that_finds_the_keys_twice_says_which_it_uses(self):
        async with Sealed() as sealed:
            session, _ = await sealed.chat("First?", "The first answer.")
            sealed.stage.bridge.terminate()
            await sealed.stage.bridge.exit()
            file, copy = (folder / "session-keys.json" for folder in (sealed.config, sealed.state))
            copy.write_text(file.read_text())
            copy.chmod(0o600)
            mark = len(sealed.stage.bridge.stderr)
            await sealed.stage.bridge.start()
            said = "".join(sealed.stage.bridge.stderr[mark:])
            self.assertTrue(f"{file} is used" in said or f"{copy} is used" in said, said)
            self.assertIn("away", said)
            self.assertNotIn(sealed.phone.keys[session][0].hex(), said)
            self.assertEqual((await sealed.ask(session, "Again?", "Again."))["text"], "Again.")

    @scenario(60)
    async def test_logout_forgets_the_keys(self):
        async with Sealed() as sealed:
            await sealed.chat("First?", "The first answer.")
            sealed.stage.bridge.terminate()
            await sealed.stage.bridge.exit()
            outcome = await sealed.command("logout", "--json")
            self.assertEqual(outcome.code, 0, outcome.err)
            self.assertIn("keys_deleted", [event["event"] for event in lines_of(outcome.out)])
            left = {file.name.partition(".")[0] for file in sealed.config.iterdir()}
            self.assertEqual(left & {"session-keys", "sealing", "relay-device", "credentials"}, set())
            again = await sealed.command("logout", "--json")
            self.assertNotIn("keys_deleted", [event["event"] for event in lines_of(again.out)])

"""`pair` and `logout` against a relay that pairs in either documented form (relay.md#pairing-the-shipping-form, relay.md#pairing-the-documented-form)."""

import asyncio
import json
import os
import shlex
import stat
import tempfile
import time
import unittest
from pathlib import Path

BINARY = Path(__file__).resolve().parents[2] / ".build" / "debug" / "sophon-bridge"


def bridge_command():
    """A copy of the harness's function: the harness's peers need a library that pairing does not."""
    if named := os.environ.get("SOPHON_BRIDGE"):
        return shlex.split(named)
    if BINARY.exists():
        return [str(BINARY)]
    raise unittest.SkipTest(f"there is no bridge: build it, or set SOPHON_BRIDGE ({BINARY})")


class PairingRelay:
    """Answers `start` and `poll`; `polls` is a list, whose last entry repeats."""

    def __init__(self, start=None, polls=(), start_status=200):
        self.start, self.polls, self.start_status = start or {}, list(polls), start_status
        self.requests = []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_):
        self.server.close()

    async def _serve(self, reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().split("\r\n")
                length = next((int(l.split(":")[1]) for l in lines if l.lower().startswith("content-length")), 0)
                body = (await reader.readexactly(length)).decode()
                method, target, _ = lines[0].split(" ")
                self.requests.append((method, target, json.loads(body) if body else None))
                status, answer = self._answer(target)
                text = json.dumps(answer)
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, target):
        if target.startswith("/v1/pairing/start"):
            if self.start_status != 200:
                return self.start_status, {"ok": False, "error": {"code": "internal_error", "message": "no"}}
            return 200, {"ok": True, "result": self.start() if callable(self.start) else self.start}
        result = self.polls.pop(0) if len(self.polls) > 1 else self.polls[0]
        return 200, {"ok": True, "result": result}


class PairingTests(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.config = Path(self.directory.name) / "config"
        self.opened = Path(self.directory.name) / "opened"
        browser = Path(self.directory.name) / "browser"
        # Renamed into place, so that a reader sees the whole file or none.
        browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{self.opened}.part" && mv "{self.opened}.part" "{self.opened}"\n')
        browser.chmod(0o700)
        self.browser = str(browser)

    async def run_bridge(self, *arguments, relay, **variables):
        environment = {
            "PATH": os.environ["PATH"], "HOME": self.directory.name, "SOPHON_CONFIG_DIR": str(self.config),
            "SOPHON_BASE_URL": relay, "BROWSER": self.browser, **variables,
        }
        process = await asyncio.create_subprocess_exec(
            *bridge_command(), *arguments, env=environment, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE)
        try:
            output, words = await asyncio.wait_for(process.communicate(), 60)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise AssertionError(f"{' '.join(arguments)} had not ended after 60 s") from None
        events = [json.loads(line) for line in output.decode().splitlines()] if "--json" in arguments else []
        return process.returncode, events, output.decode() + words.decode()

    def start(self, **members):
        return {"code": "9FP9SVT", "expires_at": int(time.time() * 1000) + 120_000, **members}

    async def test_the_browser_form_saves_a_token_that_logout_deletes(self):
        claimed = {"status": "claimed", "bot_token": "inst_1:s_test_1", "installation_id": "inst_1",
                   "sophon_ws_url": "wss://relay/v1/bridge/ws"}
        async with PairingRelay(polls=[{"status": "pending"}, claimed]) as relay:
            url = relay.url + "/v1/pairing/redeem?code=9FP9SVT"
            relay.start = self.start(browser_url=url)
            code, events, words = await self.run_bridge("pair", "--json", "--host-label", "work", relay=relay.url)
            self.assertEqual(code, 0, words)
            self.assertEqual(
                [event["event"] for event in events],
                ["pairing_started", "pairing_browser_opened", "pairing_claimed", "paired_only"])
            self.assertEqual(events[0]["code"], "9FP9SVT")
            self.assertEqual(events[0]["mode"], "browser")
            self.assertEqual(events[2]["installation_id"], "inst_1")
            self.assertNotIn("s_test_1", words)
            self.assertEqual(
                relay.requests[:2],
                [("POST", "/v1/pairing/start",
                  {"connector_type_id": "openclaw", "connector_type": "openclaw", "host_label": "work"}),
                 ("GET", "/v1/pairing/poll?code=9FP9SVT&timeout=25", None)])
            for _ in range(1000):
                if self.opened.exists():
                    break
                await asyncio.sleep(0.01)
            self.assertEqual(self.opened.read_text(), url)

            saved = self.config / "credentials.json"
            self.assertEqual(stat.S_IMODE(saved.stat().st_mode), 0o600)
            self.assertEqual(stat.S_IMODE(self.config.stat().st_mode), 0o700)
            credentials = json.loads(saved.read_text())
            self.assertEqual(credentials["botToken"], "inst_1:s_test_1")
            self.assertEqual(credentials["installationId"], "inst_1")
            self.assertEqual(credentials["sophonBase"], relay.url)
            # The device of this bridge, for which phones seal the keys of their chats.
            self.assertRegex(credentials["bridgeSecretHex"], "^[0-9a-f]{64}$")
            self.assertRegex(credentials["bridgePubkeyHex"], "^[0-9a-f]{64}$")
            self.assertNotIn(credentials["bridgeSecretHex"], words)
            self.opened.unlink()
            await self.run_bridge("pair", relay=relay.url)
            self.assertEqual(json.loads(saved.read_text())["bridgeSecretHex"], credentials["bridgeSecretHex"])

            code, events, _ = await self.run_bridge("logout", "--json", relay=relay.url)
            self.assertEqual((code, events[0]["event"], events[0]["deleted"]), (0, "logged_out", True))
            self.assertFalse(saved.exists())
            code, _, words = await self.run_bridge("logout", relay=relay.url)
            self.assertEqual(code, 0)
            self.assertIn("nothing to delete", words)

    async def test_the_other_form_polls_with_its_token_and_opens_nothing_when_told_so(self):
        paired = {"status": "paired", "token": "inst_2:s_test_2", "installation_id": "inst_2"}
        async with PairingRelay(polls=[paired]) as relay:
            relay.start = {"code": "9FP9SVT", "expires_at": int(time.time()) + 60, "poll_token": "p_1",
                           "browser_url": relay.url + "/redeem"}
            code, events, words = await self.run_bridge("pair", "--json", relay=relay.url, SOPHON_MANUAL_PAIR="1")
            self.assertEqual(code, 0, words)
            self.assertEqual(
                [event["event"] for event in events], ["pairing_started", "pairing_claimed", "paired_only"])
            self.assertEqual(events[0]["mode"], "manual")
            self.assertEqual(relay.requests[1], ("POST", "/v1/pairing/poll", {"poll_token": "p_1"}))
            self.assertFalse(self.opened.exists())

    async def test_a_code_of_the_phone_is_polled_without_a_start(self):
        claimed = {"status": "claimed", "bot_token": "t", "installation_id": "inst_1"}
        async with PairingRelay(polls=[claimed]) as relay:
            code, _, words = await self.run_bridge("pair", "--code", "9FP9SVT", relay=relay.url)
            self.assertEqual(code, 0, words)
            self.assertEqual(
                relay.requests, [("GET", "/v1/pairing/poll?code=9FP9SVT&timeout=25", None)])

    async def test_an_expired_code_ends_with_22(self):
        async with PairingRelay(self.start(), [{"status": "expired"}]) as relay:
            code, events, _ = await self.run_bridge("pair", "--json", relay=relay.url)
            self.assertEqual((code, events[-1]["code"]), (22, 22))
            self.assertFalse((self.config / "credentials.json").exists())

    async def test_a_pairing_that_nobody_confirms_ends_with_21(self):
        # The expiry counts from the call, so that a slow start has the full time.
        soon = lambda: {"code": "9FP9SVT", "expires_at": int(time.time() * 1000) + 3_000}
        async with PairingRelay(soon, [{"status": "pending"}]) as relay:
            code, events, _ = await self.run_bridge("pair", "--json", relay=relay.url)
            self.assertEqual((code, events[-1]["code"]), (21, 21))

    async def test_a_relay_that_cannot_pair_now_ends_with_20(self):
        async with PairingRelay(start_status=500) as relay:
            code, events, _ = await self.run_bridge("pair", "--json", relay=relay.url)
            self.assertEqual((code, events[-1]["event"]), (20, "error"))
            self.assertEqual(len(relay.requests), 3)

    async def test_the_relay_is_given_the_agent_of_the_connection(self):
        claimed = {"status": "claimed", "bot_token": "t", "installation_id": "inst_1"}
        for agent in ("codex", "oppi"):
            async with PairingRelay(self.start(), [claimed]) as relay:
                code, events, words = await self.run_bridge("pair", "--json", relay=relay.url, SOPHON_AGENT=agent)
                self.assertEqual(code, 0, words)
                self.assertEqual((relay.requests[0][2]["connector_type_id"], relay.requests[0][2]["connector_type"]), (agent, agent))
                self.assertEqual(events[0]["connector"], agent)

    async def test_several_connections_have_to_be_named(self):
        self.config.mkdir(mode=0o700)
        (self.config / "bridge.json").write_text(
            json.dumps({"connections": [{"name": "home"}, {"name": "work", "agent": {"kind": "pi"}}]}))
        claimed = {"status": "claimed", "bot_token": "t", "installation_id": "inst_1"}
        async with PairingRelay(self.start(), [claimed]) as relay:
            code, _, words = await self.run_bridge("pair", relay=relay.url)
            self.assertEqual(code, 2)
            self.assertIn("home, work", words)
            code, _, words = await self.run_bridge("pair", "--connection", "work", relay=relay.url)
            self.assertEqual(code, 0, words)
            self.assertEqual(relay.requests[0][2]["connector_type"], "pi")
            self.assertTrue((self.config / "credentials.work.json").exists())


if __name__ == "__main__":
    unittest.main()

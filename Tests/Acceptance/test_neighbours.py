"""Other users of the machine, who take an agent's port on loopback (THREAT_MODEL.md#another-user-of-the-machine)."""

import json
import os
import pwd
import shutil
import subprocess
import unittest

from codex_stage import CodexStage
from commands import lines_of, once
from harness import Stage, bridge_command, until
from oppi_stage import OppiStage
from peers.neighbour import Neighbour
from peers.steps import Say
from scheduling import Scenarios, scenario

SECRETS = ("plain-owner-token-0123", "plain-codex-token-0123")


class NeighbourTests(Scenarios):
    def users(self):
        """The bridge's user, and another one."""
        if os.getuid() != 0 or not shutil.which("setpriv") or not shutil.which("python3", path="/usr/bin:/bin"):
            self.skipTest("needs root, setpriv and a python3 for all users")
        owner, stranger = pwd.getpwnam("nobody"), pwd.getpwnam("daemon")
        as_owner = ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]
        if subprocess.run([*as_owner, *bridge_command(), "--version"], capture_output=True, cwd="/").returncode != 0:
            self.skipTest("another user may not read the project here")
        return owner, stranger, as_owner

    @staticmethod
    def hand_over(stage, owner, as_owner):
        """The bridge and its files become the owner's."""
        stage.directory.chmod(0o755)
        for path in (stage.directory, *stage.directory.rglob("*")):
            os.chown(path, owner.pw_uid, owner.pw_gid)
        stage.bridge.command = as_owner + [word for word in stage.bridge.command if word not in as_owner]

    @staticmethod
    def listens(stage, listener, kind="openclaw", **agent):
        stage.configure({"connections": [{"agent": {"kind": kind, "listener": listener} | agent}]})

    async def refuses(self, stage, stranger, as_owner, thief, secrets):
        """The bridge runs against a port that a stranger holds."""
        await stage.bridge.start(ready_seconds=0)
        told = await until(lambda: next((line for line in stage.bridge.stderr if f"held by user {stranger.pw_uid}" in line), None),
                           20, "the sentence in the log")
        for word in (f"port {thief.port} ", '"listener', str(stranger.pw_uid)):
            self.assertIn(word, told.replace("\\", ""))
        def reason():
            link = json.loads((stage.state / "status.json").read_text())["connections"][0]["agent"]["link"]
            return link.get("reason", "")
        await until(lambda: f"held by user {stranger.pw_uid}" in reason(), 20, "the sentence in the status")
        self.assertIn('"listener"', reason())
        command = as_owner + bridge_command()
        status = await once("status", directory=stage.directory, environment=stage.bridge.environment, command=command)
        self.assertIn(f"held by user {stranger.pw_uid}", status.out)
        stage.bridge.terminate()
        await stage.bridge.exit()
        found = await once("doctor", "--json", directory=stage.directory, environment=stage.bridge.environment, command=command)
        failed = [event for event in lines_of(found.out) if event.get("outcome") == "failed"]
        self.assertEqual([event["check"] for event in failed], ["agent_listener"], found)
        self.assertEqual(found.code, 12)
        self.assertIn(f"held by user {stranger.pw_uid}", failed[0]["message"])
        self.assertEqual(bytes(thief.heard), b"", "not one byte was sent")
        for secret in secrets:
            self.assertNotIn(secret.encode(), bytes(thief.heard))

    @scenario(120)
    async def test_a_port_that_another_user_took_gets_no_token_of_openclaw(self):
        owner, stranger, as_owner = self.users()
        async with Stage(start=False) as stage, Neighbour(stranger, target=stage.gateway.port) as thief:
            stage.bridge.environment["OPENCLAW_URL"] = f"ws://127.0.0.1:{thief.port}"
            self.hand_over(stage, owner, as_owner)
            await self.refuses(stage, stranger, as_owner, thief, [stage.gateway.token])

    @scenario(120)
    async def test_a_port_that_another_user_took_gets_no_token_of_oppi(self):
        owner, stranger, as_owner = self.users()
        async with OppiStage(begins=False) as stage, Neighbour(stranger, target=int(stage.oppi.url.rsplit(":", 1)[1])) as thief:
            stage.bridge.environment |= {"OPPI_URL": f"http://127.0.0.1:{thief.port}"}
            self.hand_over(stage, owner, as_owner)
            await self.refuses(stage, stranger, as_owner, thief, [stage.oppi.token])

    @scenario(120)
    async def test_a_port_that_another_user_took_gets_no_token_of_codex(self):
        owner, stranger, as_owner = self.users()
        async with CodexStage(begins=False) as stage, Neighbour(stranger) as thief:
            stage.bridge.environment |= {"CODEX_URL": f"ws://127.0.0.1:{thief.port}", "CODEX_TOKEN": SECRETS[1]}
            stage.bridge.environment.pop("CODEX_COMMAND")
            self.hand_over(stage, owner, as_owner)
            await self.refuses(stage, stranger, as_owner, thief, SECRETS)

    @scenario(150)
    async def test_set_ups_that_are_meant_go_on(self):
        owner, stranger, as_owner = self.users()
        setups = {
            "a gateway of this user": ("own", owner, "127.0.0.1"),
            "on the loopback of IPv6": ("own", owner, "::1"),
            "a gateway as its own user, by name": (stranger.pw_name, stranger, "127.0.0.1"),
            "a gateway as its own user, by number": (str(stranger.pw_uid), stranger, "::1"),
            "the forward of a container": ("any", stranger, "127.0.0.1"),
            "a gateway of root": ("own", pwd.getpwnam("root"), "127.0.0.1"),
        }
        async with Stage(start=False) as stage:
            for name, (listener, user, host) in setups.items():
                with self.subTest(name):
                    self.listens(stage, listener)
                    async with Neighbour(user, host, target=stage.gateway.port) as forward:
                        shown = f"[{host}]" if ":" in host else host
                        stage.bridge.environment["OPENCLAW_URL"] = f"ws://{shown}:{forward.port}"
                        self.hand_over(stage, owner, as_owner)
                        await stage.bridge.start()
                        turn = stage.ask(name, Say(["Yes."]))
                        await stage.ended(turn)
                        stage.expect(turn, "Yes.")
                        self.assertTrue(forward.heard, "the messages went this way")
                        stage.bridge.terminate()
                        await stage.bridge.exit()

    @scenario(120)
    async def test_a_port_that_changes_hands_between_two_connects_is_asked_for_each(self):
        owner, stranger, as_owner = self.users()
        async with Stage(start=False) as stage:
            async with Neighbour(owner, target=stage.gateway.port) as first:
                port = first.port
                stage.bridge.environment["OPENCLAW_URL"] = f"ws://127.0.0.1:{port}"
                self.hand_over(stage, owner, as_owner)
                await stage.bridge.start()
            # The gateway ends, and a stranger is there first.
            async with Neighbour(stranger, port=port, target=stage.gateway.port) as thief:
                await until(lambda: f"held by user {stranger.pw_uid}" in "".join(stage.bridge.stderr), 30, "the sentence in the log")
                self.assertEqual(bytes(thief.heard), b"")
            # It is started again.
            async with Neighbour(owner, port=port, target=stage.gateway.port):
                turn = stage.ask("Back?", Say(["Back."]))
                await stage.ended(turn, seconds=60)
                stage.expect(turn, "Back.")


if __name__ == "__main__":
    unittest.main()

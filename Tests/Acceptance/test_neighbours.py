"""Other users of the machine, who take an agent's port on loopback or its socket (THREAT_MODEL.md#another-user-of-the-machine)."""

import asyncio
import json
import os
import pwd
import shutil
import subprocess
import unittest

from codex_double import CodexProcess
from codex_stage import CodexStage
from commands import lines_of, once
from harness import Stage, bridge_command, until
from oppi_stage import OppiStage
from peers.neighbour import Neighbour
from peers.oppi_steps import Say as OppiSay
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
        """Gives the bridge and its files to the owner."""
        stage.directory.chmod(0o755)
        for path in (stage.directory, *stage.directory.rglob("*")):
            os.chown(path, owner.pw_uid, owner.pw_gid)
        stage.bridge.command = as_owner + [word for word in stage.bridge.command if word not in as_owner]

    @staticmethod
    def listens(stage, listener, kind="openclaw", **agent):
        stage.configure({"connections": [{"agent": {"kind": kind, "listener": listener} | agent}]})

    async def refuses(self, stage, stranger, as_owner, thief, secrets):
        """Runs the bridge against a port held by a stranger."""
        await stage.bridge.start(ready_seconds=0)
        told = await until(lambda: next((line for line in stage.bridge.stderr if f"held by user {stranger.pw_uid}" in line), None),
                           20, "the sentence in the log")
        for word in (f"port {thief.port} ", '"listener', str(stranger.pw_uid)):
            self.assertIn(word, told.replace("\\", ""))
        def reason():
            status = stage.state / "status.json"
            link = json.loads(status.read_text())["connections"][0]["agent"]["link"] if status.exists() else {}
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

    def setups(self):
        """Name: the value of `agent.listener`, the listening user, the address, and whether in a network namespace of its own."""
        owner, stranger, as_owner = self.users()
        setups = {
            "an agent of this user": ("own", owner, "127.0.0.1", False),
            "on the loopback of IPv6": ("own", owner, "::1", False),
            "an agent as its own user, by name": (stranger.pw_name, stranger, "127.0.0.1", False),
            "an agent as its own user, by number": (str(stranger.pw_uid), stranger, "::1", False),
            "the forward of a container, of another user": ("any", stranger, "127.0.0.1", False),
            "an agent of root": ("own", pwd.getpwnam("root"), "127.0.0.1", False),
        }
        if subprocess.run([*as_owner, "unshare", "--user", "--net", "true"], capture_output=True, cwd="/").returncode == 0:
            setups["the forward of a rootless container"] = ("own", owner, "127.0.0.1", True)
        return setups

    async def goes_on(self, stage, kind, target, name, scheme, *steps, **agent):
        owner, _, as_owner = self.users()
        for setup, (listener, user, host, is_apart) in self.setups().items():
            with self.subTest(setup):
                self.listens(stage, listener, kind, **agent)
                async with Neighbour(user, host, target=target, is_apart=is_apart) as forward:
                    shown = f"[{host}]" if ":" in host else host
                    stage.bridge.environment[name] = f"{scheme}://{shown}:{forward.port}"
                    self.hand_over(stage, owner, as_owner)
                    await stage.bridge.start()
                    turn = stage.ask(setup, *steps)
                    await stage.ended(turn)
                    self.assertTrue(forward.heard, "the messages went this way")
                    stage.bridge.terminate()
                    await stage.bridge.exit()

    @scenario(150)
    async def test_set_ups_that_are_meant_go_on(self):
        async with Stage(start=False) as stage:
            await self.goes_on(stage, "openclaw", stage.gateway.port, "OPENCLAW_URL", "ws", Say(["Yes."]))

    @scenario(150)
    async def test_set_ups_of_oppi_that_are_meant_go_on(self):
        async with OppiStage(begins=False) as stage:
            await self.goes_on(stage, "oppi", int(stage.oppi.url.rsplit(":", 1)[1]), "OPPI_URL", "http", OppiSay(["Yes."]))

    @scenario(150)
    async def test_set_ups_of_codex_that_are_meant_go_on(self):
        async with CodexStage(begins=False) as stage:
            token = stage.directory / "token"
            token.write_text(SECRETS[1])
            async with CodexProcess(stage.codex, "--ws-auth", "capability-token", "--ws-token-file", str(token),
                                    listen="ws://127.0.0.1:0") as server:
                stage.bridge.environment["CODEX_TOKEN"] = SECRETS[1]
                await self.goes_on(stage, "codex", int(server.address.rsplit(":", 1)[1]), "CODEX_URL", "ws")

    async def changes_hands(self, stage, target, host, name, scheme, *steps):
        """Reaches the agent through a port whose owner changes while the bridge runs."""
        owner, stranger, as_owner = self.users()
        shown = f"[{host}]" if ":" in host else host
        async with Neighbour(owner, host, target=target) as first:
            port = first.port
            stage.bridge.environment[name] = f"{scheme}://{shown}:{port}"
            self.hand_over(stage, owner, as_owner)
            await stage.bridge.start()
            turn = stage.ask("Here?", *steps)
            await stage.ended(turn)
            self.assertTrue(first.heard, "it went this way")
        # The agent ends, and a stranger takes the port first.
        async with Neighbour(stranger, host, port, target) as thief:
            await until(lambda: f"held by user {stranger.pw_uid}" in "".join(stage.bridge.stderr), 30, "the sentence in the log")
            # Long enough for several tries.
            await asyncio.sleep(2)
            self.assertEqual(bytes(thief.heard), b"")
        # The agent starts again.
        async with Neighbour(owner, host, port, target):
            turn = stage.ask("Here?", session=turn.session)
            await stage.ended(turn, seconds=60)

    @scenario(120)
    async def test_a_port_that_changes_hands_between_two_connects_is_asked_for_each(self):
        async with Stage(start=False) as stage:
            await self.changes_hands(stage, stage.gateway.port, "127.0.0.1", "OPENCLAW_URL", "ws", Say(["Yes."]))

    @scenario(120)
    async def test_a_port_of_ipv6_that_changes_hands_is_asked_for_each(self):
        async with Stage(start=False) as stage:
            await self.changes_hands(stage, stage.gateway.port, "::1", "OPENCLAW_URL", "ws", Say(["Yes."]))

    @scenario(120)
    async def test_a_port_of_oppi_that_changes_hands_is_asked_for_each(self):
        for host in ("127.0.0.1", "::1"):
            async with OppiStage(begins=False) as stage:
                await self.changes_hands(stage, int(stage.oppi.url.rsplit(":", 1)[1]), host, "OPPI_URL", "http", OppiSay(["Yes."]))

    @scenario(120)
    async def test_a_port_of_codex_that_changes_hands_is_asked_for_each(self):
        for host in ("127.0.0.1", "::1"):
            async with CodexStage(begins=False) as stage:
                token = stage.directory / "token"
                token.write_text(SECRETS[1])
                async with CodexProcess(stage.codex, "--ws-auth", "capability-token", "--ws-token-file", str(token),
                                        listen="ws://127.0.0.1:0") as server:
                    stage.bridge.environment["CODEX_TOKEN"] = SECRETS[1]
                    await self.changes_hands(stage, int(server.address.rsplit(":", 1)[1]), host, "CODEX_URL", "ws")

    @scenario(120)
    async def test_a_socket_of_codex_that_another_user_has_is_said_to_be_and_gets_no_byte(self):
        owner, stranger, as_owner = self.users()
        for is_named, has_file in ((False, True), (False, False), (True, False)):
            async with CodexStage(begins=False) as stage:
                stage.directory.chmod(0o755)
                door = stage.directory / "door"
                door.mkdir()
                os.chown(door, stranger.pw_uid, stranger.pw_gid)
                stage.state.mkdir(mode=0o700)
                (stage.state / "codex-default.sock").symlink_to(door / "sock")
                async with Neighbour(stranger, str(door / "sock")) as thief:
                    self.hand_over(stage, owner, as_owner)
                    # The socket's file may be this user's, and its listener another's.
                    os.chown(door / "sock", *((stranger if has_file else owner)[2:4]))
                    if is_named:
                        stage.bridge.environment["CODEX_URL"] = f"unix://{door / 'sock'}"
                    await stage.bridge.start(ready_seconds=0)
                    words = f"belongs to user {stranger.pw_uid}, not to this one ({owner.pw_uid})"
                    await until(lambda: words in "".join(stage.bridge.stderr), 20, "the sentence in the log")
                    if not is_named:
                        turn = stage.ask("hello")
                        await stage.ended(turn)
                        stage.expect_said(turn, words)
                    command = as_owner + bridge_command()
                    status = stage.state / "status.json"
                    await until(lambda: status.exists() and words in status.read_text(), 20, "the sentence in the status")
                    stage.bridge.terminate()
                    await stage.bridge.exit()
                    found = await once("doctor", "--json", directory=stage.directory, environment=stage.bridge.environment, command=command)
                    failed = [event for event in lines_of(found.out) if event.get("outcome") == "failed"]
                    self.assertEqual(([event["check"] for event in failed], found.code), (["agent_listener"], 12), found)
                    self.assertIn(words, failed[0]["message"])
                    self.assertTrue(failed[0]["remedy"])
                    self.assertEqual(bytes(thief.heard), b"")
                    self.assertEqual(stage.codex.servers(), [])


if __name__ == "__main__":
    unittest.main()

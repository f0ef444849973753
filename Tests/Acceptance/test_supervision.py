"""`run` under a service manager: a Unix socket in its place receives the messages of sd_notify(3)."""

import asyncio
import contextlib
import os
import signal
import socket
import tempfile
import time
import unittest
from pathlib import Path

from harness import Stage, until
from peers.steps import Hold, Say
from scheduling import Scenarios, scenario
from slow_disk import SlowDisk


class Manager:
    """Records each datagram with its time."""

    def __init__(self, watchdog_seconds=None, abstract=False, is_full=False):
        self.watchdog_seconds, self.abstract, self.is_full = watchdog_seconds, abstract, is_full
        self.heard = []

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="bridge-manager-")
        self.path = f"@bridge-manager-{os.getpid()}" if self.abstract else str(Path(self.directory.name) / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path.replace("@", "\0"))
        self.socket.setblocking(False)
        if self.is_full:
            self._fill()
        else:
            self.listen()
        return self

    def listen(self):
        asyncio.get_running_loop().add_reader(self.socket, self._hear)

    def _fill(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, contextlib.suppress(BlockingIOError):
            sender.setblocking(False)
            while True:
                sender.sendto(b"FILL=1", self.path.replace("@", "\0"))

    def __exit__(self, *_):
        asyncio.get_running_loop().remove_reader(self.socket)
        self.socket.close()
        self.directory.cleanup()

    def _hear(self):
        self.heard.append((time.monotonic(), self.socket.recv(4096).decode()))

    @property
    def environment(self):
        limit = {"WATCHDOG_USEC": str(int(self.watchdog_seconds * 1e6))} if self.watchdog_seconds else {}
        return {"NOTIFY_SOCKET": self.path} | limit

    def lines(self):
        return [line for _, message in self.heard for line in message.splitlines()]

    def beats(self):
        return [moment for moment, message in self.heard if message == "WATCHDOG=1"]

    async def beat(self, more, seconds=30):
        """Waits for further beats, each within the manager's limit after the previous one."""
        begun = len(self.beats())
        await until(lambda: len(self.beats()) >= begun + more, seconds, f"{more} more signs of life")
        moments = self.beats()[max(0, begun - 1):]
        return max(later - earlier for earlier, later in zip(moments, moments[1:]))


class SupervisionTests(Scenarios):
    @scenario(60)
    async def test_ready_status_reload_and_stop(self):
        for abstract in (False, True):
            with Manager(abstract=abstract) as manager:
                async with Stage("E3", environment=manager.environment) as stage:
                    await until(lambda: "STATUS=ready, 0 turns open" in manager.lines(), 30, "the line of a ready bridge")
                    self.assertEqual(manager.lines()[0], "READY=1")
                    turn = stage.ask("hold", Say(["Hel"]), Hold("go"), Say(["lo."]))
                    await stage.streaming(turn)
                    await until(lambda: manager.lines()[-1] == "STATUS=ready, 1 turn open", 30, "an open turn in the line")
                    stage.gateway.release("go")
                    await stage.ended(turn)
                    os.kill(stage.bridge.pid, signal.SIGHUP)
                    await stage.bridge.event("reloaded")
                    await until(lambda: manager.lines().count("READY=1") == 2, 30, "ready again behind the reload")
                    reloading = manager.lines().index("RELOADING=1")
                    self.assertTrue(manager.lines()[reloading + 1].startswith("MONOTONIC_USEC="))
                    self.assertNotIn("WATCHDOG=1", manager.lines())
                    stage.bridge.terminate()
                    self.assertEqual(await stage.bridge.exit(20), 0)
                    self.assertIn("STOPPING=1", manager.lines())

    @scenario(60)
    async def test_readiness_is_said_again_where_the_queue_was_full(self):
        with Manager(is_full=True) as manager:
            async with Stage("E3", environment=manager.environment):
                manager.listen()
                await until(lambda: "READY=1" in manager.lines(), 30, "readiness behind a full queue")

    @scenario(120)
    async def test_signs_of_life_go_on_while_the_disk_is_slow_and_the_relay_is_deaf(self):
        limit = 2
        with SlowDisk(5_000) as disk, Manager(watchdog_seconds=limit) as manager:
            async with Stage("E3", environment=manager.environment | disk.environment) as stage:
                disk.slow()
                turn = stage.ask("slow", Say(["Hello."]))
                self.assertLess(await manager.beat(16), limit)
                disk.fast()
                await stage.ended(turn, seconds=60)
                stage.relay.away_seconds = 60
                stage.ask("deaf", Say(["Hello."]))
                self.assertLess(await manager.beat(12), limit)

    @scenario(60)
    async def test_a_process_that_stands_still_gives_no_sign(self):
        with Manager(watchdog_seconds=2) as manager:
            async with Stage("E3", environment=manager.environment) as stage:
                await manager.beat(3)
                os.kill(stage.bridge.pid, signal.SIGSTOP)
                await asyncio.sleep(0.3)
                stood = len(manager.beats())
                await asyncio.sleep(2.5)
                self.assertEqual(len(manager.beats()), stood)
                os.kill(stage.bridge.pid, signal.SIGCONT)
                await manager.beat(2)

    @scenario(60)
    async def test_a_manager_that_is_not_there_or_not_meant_costs_nothing(self):
        for environment in ({"NOTIFY_SOCKET": "/nowhere/notify"}, {"NOTIFY_SOCKET": "vsock:2:1"},
                            {"WATCHDOG_USEC": "1000000"}):
            async with Stage("E3", environment=environment) as stage:
                turn = stage.ask("hello", Say(["Hello."]))
                await stage.ended(turn)
                stage.expect(turn, "Hello.")


if __name__ == "__main__":
    unittest.main()

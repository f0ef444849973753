"""`top`: a live view on a terminal of any size, and plain pictures without one."""

import asyncio
import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import termios
import unittest

from commands import lines_of, once
from harness import Stage, bridge_command, until
from peers.steps import Approval, Hold, Say
from scheduling import Scenarios, scenario

ESCAPES = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")


class Terminal:
    """A pseudo-terminal with `top` on it."""

    def __init__(self, stage, *arguments, columns=80, lines=24, **environment):
        self.stage, self.arguments, self.size, self.environment = stage, arguments, (lines, columns), environment
        self.text = ""

    async def __aenter__(self):
        self.master, self.slave = pty.openpty()
        self.resize(*self.size)
        self.before = termios.tcgetattr(self.slave)
        base = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        settings = {name: value for name, value in self.stage.environment().items() if name != "NO_COLOR"}
        self.process = await asyncio.create_subprocess_exec(
            *bridge_command(), "top", *self.arguments, stdin=self.slave, stdout=self.slave, stderr=self.slave,
            cwd=self.stage.directory, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env=base | {"HOME": str(self.stage.directory), "TERM": "xterm"} | settings | self.environment)
        os.set_blocking(self.master, False)
        asyncio.get_running_loop().add_reader(self.master, self._read)
        return self

    def _read(self):
        with contextlib.suppress(BlockingIOError, OSError):
            self.text += os.read(self.master, 65536).decode(errors="replace")

    def resize(self, lines, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    @property
    def picture(self):
        """The last complete picture."""
        frames = self.text.split("\x1b[H")[1:]
        whole = [frame for frame in frames if "\x1b[J" in frame]
        return ESCAPES.sub("", whole[-1].split("\x1b[J")[0]).replace("\r", "").split("\n") if whole else []

    def write(self, keys):
        os.write(self.master, keys)

    async def exit(self):
        return await asyncio.wait_for(self.process.wait(), 30)

    async def __aexit__(self, kind, error, trace):
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        if error is not None:
            error.add_note(repr(self.text[-2000:]))
        asyncio.get_running_loop().remove_reader(self.master)
        os.close(self.master)
        os.close(self.slave)


class TopTests(Scenarios):
    @scenario(120)
    async def test_a_terminal_shows_chats_and_is_given_back(self):
        async with Stage("E3") as stage:
            turn = stage.ask("go on", Say(["at work "]), Hold("held"), Say(["done"]))
            asking = stage.ask("may I", Approval())
            await stage.approval(asking)
            async with Terminal(stage, "--every", "300ms", columns=40, lines=30) as terminal:
                await until(lambda: any("waits for you" in line for line in terminal.picture), 30, "a chat that asks")
                await until(lambda: any(line.strip().startswith("chat") and "work" in line for line in terminal.picture), 30,
                            "a chat that works")
                self.assertTrue(all(len(line) <= 40 for line in terminal.picture), terminal.picture)
                self.assertIn("\x1b[?1049h", terminal.text)
                self.assertIn("\x1b[1m", terminal.text, "there is colour")
                self.assertFalse(termios.tcgetattr(terminal.slave)[3] & termios.ICANON)
                # After the resize each picture keeps to the new size.
                mark = len(terminal.text)
                terminal.resize(10, 20)
                await until(lambda: "more lines" in terminal.text[mark:], 20, "a lower picture")
                self.assertTrue(len(terminal.picture) <= 10 and all(len(line) <= 20 for line in terminal.picture), terminal.picture)
                terminal.write(b"xq")
                self.assertEqual(await terminal.exit(), 0)
                self.given_back(terminal)
            stage.gateway.release("held")
            await stage.ended(turn)

    def given_back(self, terminal):
        terminal._read()
        self.assertTrue(terminal.text.rstrip().endswith("\x1b[?1049l"), terminal.text[-100:])
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.before)

    @scenario(90)
    async def test_ctrl_c_and_a_signal_give_the_terminal_back(self):
        async with Stage("E3") as stage:
            for end in (lambda terminal: terminal.write(b"\x03"), lambda terminal: terminal.process.send_signal(signal.SIGTERM)):
                async with Terminal(stage, "--every", "1h") as terminal:
                    await until(lambda: terminal.picture, 30, "a picture")
                    end(terminal)
                    self.assertEqual(await terminal.exit(), 0)
                    self.given_back(terminal)

    @scenario(90)
    async def test_a_dumb_terminal_and_no_color_get_plain_text(self):
        async with Stage("E3") as stage:
            async with Terminal(stage, "--every", "200ms", TERM="dumb") as terminal:
                await until(lambda: terminal.text.count("sophon-bridge ") >= 2, 30, "two pictures")
                self.assertNotIn("\x1b", terminal.text)
                self.assertIn("\r\n\r\nsophon-bridge", terminal.text)
                terminal.write(b"\x03")
                self.assertEqual(await terminal.exit(), 0)
            async with Terminal(stage, "--once", NO_COLOR="1") as terminal:
                self.assertEqual(await terminal.exit(), 0)
                terminal._read()
                self.assertNotIn("\x1b", terminal.text)
                self.assertIn("agent", terminal.text)

    @scenario(90)
    async def test_without_a_terminal_there_are_plain_pictures_or_lines(self):
        async with Stage("E3") as stage:
            said = lambda *more, **extra: once("top", *more, directory=stage.directory, environment=stage.environment() | extra)
            picture = await said("--once", COLUMNS="20")
            self.assertEqual(picture.code, 0, picture)
            self.assertTrue(all(len(line) <= 20 for line in picture.out.splitlines()), picture.out)
            line, = lines_of((await said("--once", "--json")).out)
            self.assertEqual((line["event"], line["running"]), ("top", True))
            self.assertIn("connections", line["status"])
            for wrong in ("0s", "2", "1ms", "forever"):
                outcome = await said("--every", wrong)
                self.assertEqual(outcome.code, 2, outcome)
                self.assertIn("--every takes", outcome.err)
            closed = await once("-c", '"$@" top --every 200ms | head -2; exit ${PIPESTATUS[0]}', "bash", *bridge_command(),
                                directory=stage.directory, environment=stage.environment(), command=["/bin/bash"])
            self.assertEqual(closed.code, 141, closed)
            stage.bridge.terminate()
            await stage.bridge.exit()
            self.assertIn("not running", (await said("--once")).out)

    @scenario(60)
    async def test_where_no_bridge_has_run_it_says_so(self):
        async with Stage("E3", start=False) as stage:
            outcome = await once("top", "--once", directory=stage.directory, environment=stage.environment())
            self.assertEqual((outcome.code, outcome.out), (0, "not running, and no bridge has run here\n"))


if __name__ == "__main__":
    unittest.main()

"""Files touched by the agent's tools: announced at the end of the call, and read at the phone's request."""

import base64
import os
import signal
import tempfile
import unittest
from pathlib import Path

from harness import Stage, until
from peers import oppi_steps
from peers.steps import Say, Tool
from scheduling import Scenarios, scenario
from test_files import OppiStage
from pi_home import said
from pi_stage import PiStage

PNG = b"\x89PNG\r\n\x1a\n" + os.urandom(3000)


async def announced(stage, session, *paths):
    """Waits for all announcements, and returns them by path."""
    await until(lambda: all((session, str(path)) in stage.relay.rules.files for path in paths), 30, "the files are announced")
    return {path: body for (place, path), body in stage.relay.rules.files.items() if place == session}


async def read(stage, path, vouched=None):
    return await stage.relay.request("file.read.req", path=str(path), server_vouched_path=str(vouched or path))



class FileViewTests(Scenarios):
    def folder(self):
        folder = tempfile.TemporaryDirectory(prefix="work-")
        self.addCleanup(folder.cleanup)
        return Path(folder.name).resolve()

    @scenario(60)
    async def test_files_that_tools_read_write_and_edit_are_announced_and_read(self):
        root = self.folder()
        (root / "notes.md").write_text("grüße")
        (root / "fox.png").write_bytes(PNG)
        (root / "link").symlink_to(root / "notes.md")
        for era in ("E1", "E4"):
            async with Stage(era) as stage:
                turn = stage.ask("Go.", Tool("read", {"path": str(root / "link")}), Tool("write", {"path": str(root / "fox.png")}),
                                 Tool("edit", {"path": str(root / "gone")}), Tool("read", {"path": "/etc/hostname"}, failed=True), Say(["Done."]))
                await stage.ended(turn)
                files = await announced(stage, turn.session, root / "notes.md", root / "fox.png")
                self.assertEqual(set(files), {str(root / "notes.md"), str(root / "fox.png")})
                notes = files[str(root / "notes.md")]
                self.assertEqual((notes["tool"], notes["display_name"], notes["mime"], notes["size_bytes"]), ("read", "notes.md", "text/markdown", 7))
                for name, kind, content in (("notes.md", "text/markdown", "grüße".encode()), ("fox.png", "image/png", PNG)):
                    answer = await read(stage, root / name)
                    self.assertEqual((answer["mime_type"], answer["size_bytes"], base64.b64decode(answer["base64"])), (kind, len(content), content))
                stage.check(turn)

    @scenario(60)
    async def test_everything_else_is_refused_by_the_relays_words(self):
        root = self.folder()
        names = ("a.txt", "swapped", "pipe", "large", "gone", "secret")
        for name in names:
            (root / name).write_text("x")
        (root / "other").write_text("not announced")
        async with Stage("E4") as stage:
            turn = stage.ask("Go.", *[Tool("write", {"path": str(root / name)}) for name in names], Say(["Done."]))
            await stage.ended(turn)
            await announced(stage, turn.session, *[root / name for name in names])
            (root / "swapped").unlink()
            (root / "swapped").symlink_to("/etc/passwd")
            (root / "pipe").unlink()
            os.mkfifo(root / "pipe")
            os.truncate(root / "large", 2 << 30)
            (root / "gone").unlink()
            expected = {root / "swapped": "forbidden", root / "pipe": "forbidden", root / "large": "too_large", root / "gone": "not_found",
                        "/etc/shadow": "forbidden", "/dev/zero": "forbidden", root: "forbidden", root / "other": "forbidden",
                        f"{root}/../{root.name}/a.txt": "forbidden", "a.txt": "forbidden"}
            for path, code in expected.items():
                answer = await read(stage, path)
                self.assertEqual(answer.get("error", {}).get("code"), code, path)
                self.assertEqual(answer["error"].get("size_bytes"), 2 << 30 if code == "too_large" else None)
            self.assertEqual((await read(stage, root / "a.txt", root / "secret"))["error"]["code"], "forbidden")
            self.assertEqual((await stage.relay.request("file.read.req", path=str(root / "a.txt")))["error"]["code"], "invalid_request")
            self.assertEqual((await stage.relay.request("file.read.req"))["error"]["code"], "invalid_request")
            self.assertEqual(base64.b64decode((await read(stage, root / "a.txt"))["base64"]), b"x")
            # The bridge's own files stay hidden, even after a tool has touched them.
            own = stage.state / "status.json"
            after = stage.ask("And?", Tool("read", {"path": str(own)}), Tool("write", {"path": str(root / "last")}), Say(["Yes."]), session=turn.session)
            (root / "last").write_text("x")
            await stage.ended(after)
            await announced(stage, turn.session, root / "last")
            self.assertNotIn((turn.session, str(own.resolve())), stage.relay.rules.files)
            self.assertEqual((await read(stage, own.resolve()))["error"]["code"], "forbidden")

    @scenario(60)
    async def test_a_file_that_holds_a_secret_since_a_reload_is_not_shown(self):
        token = self.folder() / "relay.token"
        async with Stage("E3", start=False) as stage:
            stage.bridge.environment.pop("SOPHON_BOT_TOKEN")
            stage.configure({"connections": [{"relay": {"token": stage.relay.token}}]})
            token.write_text(stage.relay.token)
            token.chmod(0o600)
            await stage.bridge.start()
            turn = stage.ask("Go.", Tool("read", {"path": str(token)}), Say(["Done."]))
            await stage.ended(turn)
            await announced(stage, turn.session, token)
            self.assertEqual(base64.b64decode((await read(stage, token))["base64"]), stage.relay.token.encode())
            stage.configure({"connections": [{"relay": {"token": f"@{token}"}}]})
            os.kill(stage.bridge.pid, signal.SIGHUP)
            await until(lambda: "the configuration was read anew" in "".join(stage.bridge.stderr), 30, "a word about the configuration")
            self.assertEqual((await read(stage, token))["error"]["code"], "forbidden")

    @scenario(60)
    async def test_the_next_process_reads_what_an_earlier_one_announced(self):
        root = self.folder()
        (root / "a.txt").write_text("x")
        async with Stage("E3") as stage:
            turn = stage.ask("Go.", Tool("write", {"path": str(root / "a.txt")}), Say(["Done."]))
            await stage.ended(turn)
            await announced(stage, turn.session, root / "a.txt")
            await stage.bridge.restart_after_kill()
            await until(lambda: stage.relay.sockets, 30, "the next process is there")
            self.assertEqual(base64.b64decode((await read(stage, root / "a.txt"))["base64"]), b"x")

    @scenario(60)
    async def test_pi_works_in_a_folder_and_its_paths_are_below_it(self):
        for line in ("B", "L"):
            steps = [{"tool": {"name": "write", "args": {"path": "src/a.txt"}, "output": "ok"}}, said("Done.")]
            async with PiStage({"Go": steps}, line) as stage:
                file = stage.workspace.resolve() / "src" / "a.txt"
                file.parent.mkdir()
                file.write_text("from pi")
                turn = stage.relay.ask("Go.")
                await stage.ended(turn)
                files = await announced(stage, turn.session, file)
                self.assertEqual(files[str(file)]["tool"], "write")
                self.assertEqual(base64.b64decode((await read(stage, file))["base64"]), b"from pi")

    @scenario(60)
    async def test_oppis_files_are_read_where_it_is_on_this_machine(self):
        root = self.folder()
        (root / "a.txt").write_text("from Oppi")
        for dialect in ("seed", "head"):
            async with OppiStage(dialect) as stage:
                stage.oppi.plan("Go", oppi_steps.Tool("edit", {"path": str(root / "a.txt")}), oppi_steps.Say(["Done."]))
                turn = stage.relay.ask("Go.")
                await stage.ended(turn)
                files = await announced(stage, turn.session, root / "a.txt")
                self.assertEqual(files[str(root / "a.txt")]["tool"], "edit")
                self.assertEqual(base64.b64decode((await read(stage, root / "a.txt"))["base64"]), b"from Oppi")


if __name__ == "__main__":
    unittest.main()

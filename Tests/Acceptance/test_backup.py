"""`journal backup`: a whole copy of the journal while the bridge writes it, and a bridge that continues from the copy."""

import os
import shutil
import sqlite3
import unittest

from commands import lines_of, once
from harness import Stage, bridge_command, until
from peers.steps import Hold, Say
from scheduling import Scenarios, scenario
from stories import words


class BackupTests(Scenarios):
    @scenario(120)
    async def test_a_copy_beside_a_busy_bridge_is_whole(self):
        async with Stage("E3") as stage:
            turns = [stage.ask(f"go on {number}", Say(words("w", 600))) for number in range(8)]
            for turn in turns:
                await stage.streaming(turn)
            copy = stage.directory / "copy.db"
            said = lambda *more: once("journal", *more, directory=stage.directory, environment=stage.environment())
            outcome = await said("backup", str(copy))
            self.assertEqual(outcome.code, 0, outcome)
            self.assertTrue(any(not stage.phone.is_ended(turn.interaction) for turn in turns), "the bridge was still writing")
            self.assertEqual(copy.stat().st_mode & 0o777, 0o600)
            self.check_whole(copy, turns)
            outcome = await said("backup", str(copy))
            self.assertEqual(outcome.code, 1, outcome)
            self.assertIn("add --replace", outcome.err)
            outcome = await said("backup", str(copy), "--replace", "--json")
            self.assertEqual(outcome.code, 0, outcome)
            event = lines_of(outcome.out)[-1]
            self.assertEqual((event["event"], event["file"], event["bytes"]),
                             ("journal_backed_up", str(copy), copy.stat().st_size))
            self.check_whole(copy, turns)
            self.assertEqual(sorted(file.name for file in stage.directory.glob("copy*")), ["copy.db"], "nothing is left beside it")
            await stage.ended(*turns, seconds=60)
            stage.check(*turns)

    def check_whole(self, copy, turns):
        with sqlite3.connect(f"file:{copy}?mode=ro&immutable=1", uri=True) as journal:
            self.assertEqual(journal.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            kept = {name for name, in journal.execute("SELECT name FROM turns")}
        journal.close()
        self.assertLessEqual({turn.interaction for turn in turns}, kept)

    @scenario(120)
    async def test_another_state_directory_goes_on_from_the_copy(self):
        async with Stage("E3") as stage:
            before, after = words("before", 5), words("after", 5)
            ended = stage.ask("done", Say(words("d", 3)))
            await stage.ended(ended)
            turn = stage.ask("go on", Say(before), Hold("moved"), Say(after))
            # The last word waits for the end of the segment.
            await stage.streaming(turn, letters=len("".join(before[:-1])) - 2)
            copy = stage.directory / "copy.db"
            outcome = await once("journal", "backup", str(copy), directory=stage.directory, environment=stage.environment())
            self.assertEqual(outcome.code, 0, outcome)
            stage.bridge.kill9()
            await stage.bridge.exit()
            moved = stage.directory / "moved"
            moved.mkdir(mode=0o700)
            shutil.move(copy, moved / "journal.db")
            stage.bridge.environment = stage.bridge.environment | {"SOPHON_STATE_DIR": str(moved)}
            verified = await once("journal", "verify", directory=stage.directory, environment=stage.bridge.environment)
            self.assertEqual(verified.code, 0, verified)
            await stage.bridge.start()
            stage.gateway.release("moved")
            await stage.ended(turn, seconds=40)
            stage.expect(turn, "".join(before + after).strip())
            again = stage.ask("and more", Say(words("m", 3)))
            await stage.ended(again)
            stage.check(ended, turn, again)

    @scenario(60)
    async def test_what_cannot_be_backed_up_says_why(self):
        async with Stage("E3") as stage:
            said = lambda *more, **extra: once(
                "journal", "backup", *more, directory=stage.directory, environment=stage.environment() | extra)
            file = stage.directory / "link.db"
            file.symlink_to("target.db")
            await until(lambda: (stage.state / "journal.db").exists(), 10, "a journal")
            for arguments, extra, words_of_it in (
                ((str(stage.directory / "a.db"),), {"SOPHON_STATE_DIR": str(stage.directory / "none")}, "there is no journal at"),
                ((str(stage.directory / "none" / "a.db"),), {}, "cannot write"),
                ((str(stage.state / "journal.db"), "--replace"), {}, "among the bridge's own files"),
                ((str(stage.state / "sophon-bridge.lock"), "--replace"), {}, "among the bridge's own files"),
                ((str(stage.state / "else.db"),), {}, "among the bridge's own files"),
                ((str(file), "--replace"), {}, "is no ordinary file"),
                ((str(stage.directory), "--replace"), {}, "is no ordinary file"),
                (("/dev/full", "--replace"), {}, "is no ordinary file"),
            ):
                outcome = await said(*arguments, **extra)
                self.assertEqual(outcome.code, 1, (arguments, outcome))
                self.assertIn(words_of_it, outcome.err)
            self.assertEqual((await said()).code, 2)
            self.assertEqual((await once("journal", "verify", "--replace", directory=stage.directory,
                                         environment=stage.environment())).code, 2)
            self.assertFalse((stage.directory / "none").exists() or os.path.exists(stage.directory / "target.db"))
            self.assertEqual(os.readlink(file), "target.db")

    @scenario(60)
    async def test_a_full_disk_leaves_the_old_copy(self):
        async with Stage("E3") as stage:
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            disk = stage.directory / "disk"
            disk.mkdir()
            (disk / "copy.db").write_text("the one before")
            # A limit on the file's size acts like a full disk, and needs no mount.
            outcome = await once("-c", 'ulimit -f 16; trap "" XFSZ; exec "$@"', "sh", *bridge_command(), "journal", "backup",
                                 str(disk / "copy.db"), "--replace", directory=stage.directory,
                                 environment=stage.environment(), command=["/bin/sh"])
            self.assertEqual(outcome.code, 1, outcome)
            self.assertEqual((disk / "copy.db").read_text(), "the one before")
            self.assertEqual([file.name for file in disk.iterdir()], ["copy.db"])


if __name__ == "__main__":
    unittest.main()

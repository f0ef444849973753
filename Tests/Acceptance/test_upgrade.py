"""What an earlier process left behind, and the room that all of it takes: upgrades, records that cannot be read, full disks."""

import asyncio
import contextlib
import gzip
import json
import shutil
import sqlite3
import unittest
from pathlib import Path

from commands import lines_of, once
from harness import HERE, Stage, until
from peers.saved_one import load, move
from peers.steps import Hold, Say, Tool
from scheduling import Scenarios, scenario
from stories import words
from test_state import Mounted

FIXTURES = HERE.parent / "Fixtures" / "journal"
SENTENCE = "could not read what it had kept"


@contextlib.contextmanager
def database(stage):
    with contextlib.closing(sqlite3.connect(stage.state / "journal.db", timeout=30)) as opened, opened:
        yield opened


def rows(stage, sql):
    with contextlib.closing(sqlite3.connect(f"file:{stage.state}/journal.db?mode=ro", uri=True, timeout=30)) as opened:
        return opened.execute(sql).fetchall()


def fill(directory):
    filler = Path(directory) / "filler"
    with open(filler, "wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass
    return filler


def about_turns(calls):
    """The bridge registers its device whenever it connects; that call belongs to no turn."""
    return [call.method for call in calls if call.method != "devices"]


class UpgradeTests(Scenarios):
    def put(self, stage, version, name="killed"):
        """The journal of an earlier version, and what the peers knew when its bridge was killed a moment ago."""
        stage.state.mkdir(mode=0o700, parents=True)
        shutil.copy(FIXTURES / version / f"{name}.db", stage.state / "journal.db")
        saved = json.loads(gzip.decompress((FIXTURES / version / f"{name}.peers.json.gz").read_bytes()))
        move(stage.state / "journal.db", stage.clock.milliseconds() - saved["wall"])
        return {text: turn for turn in load(stage, saved).values()
                for text in [stage.phone.asked[turn.interaction][1]]}

    @scenario(120)
    async def test_every_open_turn_of_version_1_is_taken_up_and_ended(self):
        async with Stage("E4", start=False) as stage:
            turns = self.put(stage, "v1")
            gateway, phone = stage.gateway, stage.phone
            await stage.bridge.start()
            restored = await stage.bridge.event("ready")
            self.assertTrue(restored)
            for text in ("asking", "detached"):
                name = next(name for name, body in phone.approvals.items() if body["session_id"] == turns[text].session)
                stage.relay.decide(name, "approve")
            await until(lambda: len(gateway.resolve_calls) >= 4, 30, "the four decisions at the gateway")
            gateway.release("go on")
            beside = ("window", "expired")
            bubbles = [turn for text, turn in turns.items() if text not in beside]
            await stage.ended(*bubbles, seconds=60)
            await until(lambda: all(phone.loose_messages(turns[text].session) for text in beside), 30, "the late answers")
            problems = phone.problems([turn.interaction for turn in bubbles])
            self.assertEqual(problems, [])
            self.assertEqual(stage.relay.rules.conflicts + stage.relay.rules.rewrites, [])
            self.assertEqual([key for key, count in gateway.starts.items() if count != 1], [])
            final = lambda text: phone.final(turns[text].interaction)
            for text in ("streaming", "busy", "delta"):
                self.assertTrue(final(text).startswith(f"{text}-0 ") and final(text).endswith("and on."), final(text))
            for text in ("tool", "failing tools", "card two", "asking", "allowed"):
                self.assertTrue(final(text).endswith("and on."), final(text))
            for text in ("detached", "followed"):
                self.assertTrue(final(text).endswith("Followed up."), final(text))
            self.assertEqual(sorted(command for _, command in gateway.commands), [
                f"systemctl restart {text}" for text in ("allowed", "asking", "detached", "followed")])
            for text in ("waiting", "handed over", *(f"accepted {number}" for number in range(8))):
                self.assertEqual(final(text), f"You said: {text}")
            self.assertTrue(final("ending").endswith("end-11"), final("ending"))
            self.assertTrue(final("opening").endswith("opening-11"), final("opening"))
            whole = final("more") + "".join(phone.loose_messages(turns["more"].session))
            self.assertEqual(whole, ("".join(words("more")) + "".join(words("long", 6_200))).strip())
            self.assertTrue(final("stopping").startswith("stopping-0 "))
            self.assertEqual(gateway.runs[f"sophon-{turns['stopping'].interaction}"].state, "aborted")
            # The window's bubble said what there was; the rest comes beside it, once.
            self.assertEqual(len(phone.loose_messages(turns["window"].session)), 1)
            self.assertTrue(phone.loose_messages(turns["expired"].session)[0].endswith("and on."))
            # The job's chat has no interaction: its bubble is the only message of its session.
            nightly = [bubble for bubble in phone.bubbles.values() if bubble.streamed.startswith("nightly-0")]
            await until(lambda: nightly[0].final, 20, "the job's bubble ended")
            self.assertTrue(nightly[0].final.endswith("and on."), nightly[0].final)
            cards = [task for task, states in phone.tasks.items() if task.startswith("call_same")]
            self.assertEqual(len(cards), 2)

            await until(lambda: not rows(stage, "SELECT 1 FROM turns WHERE closed_at IS NULL"), 20, "all turns closed")
            self.assertEqual(rows(stage, "PRAGMA auto_vacuum"), [(2,)])
            # A restart has nothing to take up.
            calls = len(stage.relay.calls)
            await stage.bridge.restart_after_kill()
            await asyncio.sleep(1)
            self.assertEqual(about_turns(stage.relay.calls[calls:]), [])

    @scenario(60)
    async def test_a_record_that_cannot_be_read_ends_its_bubble_with_a_sentence(self):
        async with Stage("E4") as stage:
            streaming = stage.ask("streaming", Say(words("said", 20)), Tool(seconds=600))
            waiting = stage.ask("waiting", session=streaming.session)
            await stage.streaming(streaming, letters=60)
            await until(lambda: stage.phone.tasks, 20, "the card")
            await until(lambda: stage.phone.bubble(waiting.interaction), 20, "the second bubble")
            await asyncio.sleep(1)
            stage.bridge.kill9()
            await stage.bridge.exit()
            with database(stage) as spoiled:
                self.assertGreater(spoiled.execute("UPDATE turns SET record = x'7B7D' WHERE record IS NOT NULL").rowcount, 1)
            await stage.bridge.start()
            await stage.ended(streaming, waiting)
            final = stage.phone.final(streaming.interaction)
            self.assertTrue(final.startswith("said-0 said-1 "), final)
            self.assertIn(SENTENCE, final)
            self.assertIn(SENTENCE, stage.phone.final(waiting.interaction))
            self.assertIn("cannot be read", "".join(stage.bridge.stderr))
            self.assertEqual(stage.phone.problems([streaming.interaction, waiting.interaction]), [])
            await until(lambda: not rows(stage, "SELECT 1 FROM turns WHERE record IS NOT NULL OR closed_at IS NULL"), 20,
                        "the records are gone")
            after = stage.ask("after", Say(["After."]))
            await stage.ended(after)
            stage.expect(after, "After.")

    @scenario(60)
    async def test_an_end_older_than_a_day_is_a_dead_letter_and_never_doubled(self):
        async with Stage("E4") as stage:
            turn = stage.ask("old", Say(words("old")))
            stage.relay.hold["sendMessageEnd"] = asyncio.Event()
            await stage.ended(turn)
            stage.bridge.kill9()
            await stage.bridge.exit()
            stage.relay.hold.clear()
            del stage.relay.calls[:]
            move_newest(stage, -25 * 3_600_000)
            # The relay has forgotten the key: the same call would be a new one.
            stage.relay.rules.answers.clear()
            await stage.bridge.start()
            await until(lambda: not rows(stage, "SELECT 1 FROM turns WHERE closed_at IS NULL"), 20, "the turn is closed")
            self.assertEqual(about_turns(stage.relay.calls), [])
            say = lambda *arguments: once(*arguments, directory=stage.directory, environment=stage.environment())
            inspected = lines_of((await say("journal", "inspect", "--json")).out)
            letters = [event["key"] for event in inspected if event["event"] == "dead_letter"]
            self.assertEqual(letters, [f"{turn.interaction}-end"])
            await until(lambda: '"dead_letters":1' in (stage.state / "status.json").read_text().replace(" ", ""), 20,
                        "the dead letter in status")

    @scenario(60)
    async def test_explain_tells_the_text_of_a_closed_turn_in_one_line(self):
        async with Stage("E3") as stage:
            turn = stage.ask("on", Say(words("a", 60), every=0.04), Tool(), Say(words("b", 60), every=0.04))
            await stage.ended(turn, seconds=40)
            await until(lambda: rows(stage, "SELECT 1 FROM turns WHERE closed_at IS NOT NULL"), 20, "the turn is closed")
            say = lambda *arguments: once(*arguments, directory=stage.directory, environment=stage.environment())
            told = (await say("explain", turn.interaction)).out
            sent = [line for line in told.splitlines() if "pieces of text" in line]
            self.assertEqual(len(sent), 1, told)
            deltas = sum(call.method == "sendMessageDelta" for call in stage.relay.calls)
            length = len(stage.phone.bubble(turn.interaction).streamed)
            self.assertIn(f"sent {deltas} pieces of text, {length} bytes, 0 retries, the last: delivered", sent[0])
            self.assertNotIn("-d1-", told)
            fold = [event for event in lines_of((await say("explain", turn.interaction, "--json")).out)
                    if event["event"] == "turn_fold" and event["kind"] == "text"]
            self.assertEqual([(event["calls"], event["bytes"]) for event in fold], [(deltas, length)])

    @scenario(150, weight=0)
    async def test_the_file_shrinks_while_the_bridge_runs(self):
        # Ten minutes after the relay's link is up what is older than 30 days is forgotten.
        async with Stage("E4", scale=60) as stage:
            file = stage.state / "journal.db"
            stage.bridge.terminate()
            await stage.bridge.exit()
            old = stage.clock.milliseconds() - 40 * 86_400_000
            with database(stage) as large:
                large.execute(f"""WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
                    INSERT INTO turns (connection, name, kept_at, closed_at, outcome)
                    SELECT 'default', 'old' || i, {old}, {old}, 'answered' FROM n""")
                large.execute("""WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
                    INSERT INTO tries (turn, key, attempt, result, delivered, milliseconds, tried_at)
                    SELECT number, name || '-d1-' || i, 1, 'delivered', 1, 5, kept_at FROM turns, n WHERE name LIKE 'old%'""")
                large.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            before = file.stat().st_size
            self.assertGreater(before, 6_000_000)
            await stage.bridge.start()
            turn = stage.ask("meanwhile", Say(["Still", " here."]))
            await stage.ended(turn)
            await until(lambda: file.stat().st_size < before / 3, 100, f"a file of less than a third of {before} bytes")
            self.assertIsNone(stage.bridge.process.returncode)
            self.assertEqual(rows(stage, "SELECT count(*) FROM turns WHERE name LIKE 'old%'"), [(0,)])
            later = stage.ask("later", Say(["Later."]))
            await stage.ended(later)
            stage.check(turn, later)

    @scenario(60)
    async def test_a_journal_without_room_to_be_rebuilt_says_so_and_works(self):
        with Mounted("size=20m") as path:
            async with Stage("E4", start=False, environment={"SOPHON_STATE_DIR": str(path / "state")}) as stage:
                stage.state = path / "state"
                self.put(stage, "v1")
                with database(stage) as large:
                    large.execute("INSERT INTO settings VALUES ('default', 'ballast', zeroblob(8000000))")
                await stage.bridge.start()
                told = "".join(stage.bridge.stderr)
                self.assertIn("the journal keeps its size", told)
                self.assertIn("make room on its disk", told)
                self.assertEqual(rows(stage, "PRAGMA auto_vacuum"), [(0,)])
                turn = stage.ask("with little room", Say(["It works."]))
                await stage.ended(turn)
                stage.expect(turn, "It works.")

    @scenario(90)
    async def test_a_close_that_could_not_be_written_is_written_when_there_is_room(self):
        with Mounted("size=3m") as path:
            async with Stage("E4", environment={"SOPHON_STATE_DIR": str(path / "state")}) as stage:
                stage.state = path / "state"
                turn = stage.ask("last word", Say(words("before")), Hold("full"), Say(["The end."]))
                await stage.streaming(turn)
                # The end is stored and under way; then the disk is full, and the answer and the close cannot be written.
                stage.relay.hold["sendMessageEnd"] = answer = asyncio.Event()
                stage.gateway.release("full")
                await stage.ended(turn)
                filler = fill(path)
                answer.set()
                stage.relay.hold.clear()
                await stage.bridge.event("turn_ended")
                await asyncio.sleep(2)
                self.assertEqual(rows(stage, "SELECT count(*) FROM turns WHERE closed_at IS NULL"), [(1,)])
                filler.unlink()
                await until(lambda: rows(stage, "SELECT count(*) FROM turns WHERE closed_at IS NULL") == [(0,)], 40,
                            "the close is written")
                calls = len(stage.relay.calls)
                await stage.bridge.restart_after_kill()
                await asyncio.sleep(1)
                self.assertEqual(about_turns(stage.relay.calls[calls:]), [])
                stage.check(turn)


def move_newest(stage, milliseconds):
    """Moves all that happened by so much time, records of the newest version too."""
    move(stage.state / "journal.db", milliseconds)


if __name__ == "__main__":
    unittest.main()

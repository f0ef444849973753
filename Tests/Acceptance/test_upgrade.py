"""Leftovers of an earlier process, and their size: upgrades, unreadable records, full disks."""

import asyncio
import contextlib
import hashlib
import json
import re
import sqlite3
import unittest
from pathlib import Path

from commands import lines_of, once
from harness import Stage, until
from kept_worlds import FIXTURES, WORLDS, OpenClawWorld
from peers.saved import Move, move_journal
from peers.steps import Hold, Say, Tool
from scheduling import Scenarios, scenario
from stories import words
from taken_up import differences, play
from test_state import Mounted

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
    """Calls without those of the device, which the bridge makes at each connect and which belong to no turn."""
    return [call.method for call in calls if call.method != "devices"]


def listed():
    """Intended differences: (fixture, order and item, call, reason). A `*` in a call matches any name."""
    lines = [line for line in (FIXTURES / "DIFFERENCES").read_text().splitlines() if line and not line.startswith("#")]
    return [line.split("\t") for line in lines]


def is_like(name, pattern):
    return re.fullmatch(r"\S+(?: \S+)?".join(map(re.escape, pattern.split("*"))), name) is not None


class KeptJournals(unittest.TestCase):
    def test_no_kept_journal_is_made_anew(self):
        """Checks the fixtures' hashes: only the program of that time can write them, and its actions are known from its own runs alone."""
        sums = {str(path.relative_to(FIXTURES)): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in FIXTURES.rglob("*") if path.is_file() and path.name not in ("DIFFERENCES", "SHA256SUMS")}
        kept = (FIXTURES / "SHA256SUMS").read_text().splitlines()
        self.assertEqual({name: sum for sum, name in (line.split("  ") for line in kept)}, sums)

    def test_each_difference_is_of_a_fixture_and_says_why(self):
        for line in listed():
            self.assertEqual(len(line), 4, line)
            fixture, item, call, why = line
            self.assertIn(fixture, WORLDS)
            self.assertRegex(item, r"^[1-9][0-9]\.[1-9][0-9]?$")
            self.assertRegex(call, r"^[^*]+: ")
            self.assertRegex(why, r"^[A-Z].{20,}\.$")


class NamedDifferences(unittest.TestCase):
    """A line of DIFFERENCES allows one difference and no other."""

    def names(self, then, now):
        def told(text):
            return {"turns": {"a": {"calls": [{"method": "sendMessageEnd", "idempotency_key": "k", "text": text}]}},
                    "agent": {}, "problems": {}}
        return [name for name, _, _ in differences(told(then), told(now))]

    def test_texts_are_equal_but_for_the_blank_lines_between_paragraphs(self):
        self.assertEqual(self.names("one and on.", "one\n\n and on."), ["a: sendMessageEnd k text in paragraphs"])
        self.assertEqual(self.names("one and on.", "one\n\n and on.\n\nDropped."),
                         ["a: sendMessageEnd k text in paragraphs goes on: Dropped."])
        self.assertEqual(self.names("one", "one more"), ["a: sendMessageEnd k text goes on: more"])

    def test_a_text_that_lacks_something_is_named_otherwise(self):
        for now in ("one\n\n on.", "one", "one\nand on.", "", "one and\n\non"):
            self.assertEqual(self.names("one and on.", now), ["a: sendMessageEnd k text"])

    def test_a_piece_that_does_not_come_is_named_with_its_words(self):
        def told(*pieces):
            return {"turns": {"a": {"calls": [{"method": "sendMessageDelta", "deltas": piece} for piece in pieces]}}, "agent": {},
                    "problems": {}}
        self.assertEqual([name for name, _, _ in differences(told("and on."), told())], ['a: - sendMessageDelta "and on."'])


class TakenUp(Scenarios):
    """Every turn of a kept journal ends as with the program that wrote it, except for the lines of DIFFERENCES."""

    async def as_then(self, agent):
        kept = json.loads((FIXTURES / agent / "taken_up.json").read_text())
        async with WORLDS[agent]() as world:
            stage = world.stage
            found = list(differences(kept, await play(world, await world.put())))
            meant = [call for fixture, _, call, _ in listed() if fixture == agent]
            unlisted = [f"{name}:\n    then {before}\n    now  {now}" for name, before, now in found
                        if not any(is_like(name, call) for call in meant)]
            self.assertEqual(unlisted, [], "\n".join(["not in DIFFERENCES:", *unlisted]))
            gone = [call for call in meant if not any(is_like(name, call) for name, _, _ in found)]
            self.assertEqual(gone, [], "in DIFFERENCES, and no longer so")
            self.assertEqual(rows(stage, "PRAGMA auto_vacuum"), [(2,)])
            # A restart finds no open work.
            calls = len(stage.relay.calls)
            await stage.bridge.restart_after_kill()
            await asyncio.sleep(1)
            self.assertEqual(about_turns(stage.relay.calls[calls:]), [])

    @scenario(120)
    async def test_what_openclaw_had_begun_ends_as_it_did_then(self):
        await self.as_then("openclaw")

    @scenario(120)
    async def test_what_oppi_had_begun_ends_as_it_did_then(self):
        await self.as_then("oppi")

    @scenario(120)
    async def test_what_codex_had_begun_ends_as_it_did_then(self):
        await self.as_then("codex")

    @scenario(120)
    async def test_what_pi_had_begun_ends_as_it_did_then(self):
        await self.as_then("pi")


class UpgradeTests(Scenarios):
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
                self.assertGreater(spoiled.execute("UPDATE parts SET content = x'7B7D' WHERE place % 1048576 = 0").rowcount, 1)
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
            # The relay has forgotten the key: a repeated call would be a new one.
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
        # Ten minutes after the relay's link is up, the purge deletes turns older than 30 days.
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
            async with OpenClawWorld(environment={"SOPHON_STATE_DIR": str(path / "state")}) as world:
                stage = world.stage
                stage.state = path / "state"
                await world.put()
                with database(stage) as large:
                    # The settings of a file made by an early version.
                    large.execute("PRAGMA auto_vacuum = 0")
                    large.commit()
                    large.execute("VACUUM")
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
                # The end is stored and in flight; then the disk is full, and neither the answer nor the close can be written.
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
    """Shifts all times in the journal, records of the newest version included."""
    move_journal(stage.state / "journal.db", Move(stage.clock.milliseconds(), milliseconds))


if __name__ == "__main__":
    unittest.main()

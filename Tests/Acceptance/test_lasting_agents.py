"""Agents that outlive the bridge: their lines in `status`, and their ends. The journal gets the names of real processes, as the bridge
writes them before a program runs."""

import shutil
import signal
import sqlite3
import subprocess
import tempfile
import unittest
from pathlib import Path

from commands import lines_of, once
from scheduling import Scenarios, scenario


def start_ticks(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


class LastingAgentTests(Scenarios):
    def home(self):
        home = Path(tempfile.mkdtemp(prefix="bridge-acceptance-"))
        self.addCleanup(shutil.rmtree, home)
        return home

    def sleeper(self):
        process = subprocess.Popen(["sleep", "600"], start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    async def journal(self, home, *children):
        """A state directory left by a bridge, made by a `run` that ends for lack of a token."""
        state = home / "state"
        await once("run", "--state-dir", str(state), directory=home,
                   environment={"SOPHON_BASE_URL": "http://127.0.0.1:1", "SOPHON_AGENT": "pi"})
        self.assertTrue((state / "journal.db").exists(), list(state.iterdir()))
        with sqlite3.connect(state / "journal.db") as database:
            for connection, kind, pid, ticks, value in children:
                database.execute("INSERT INTO settings (connection, name, value) VALUES (?, ?, ?)",
                                 (connection, f"agent {kind} process {pid} {ticks}", value.encode()))
        database.close()
        return state

    @scenario(90)
    async def test_status_lists_what_lives_on_and_stop_ends_it(self):
        home = self.home()
        server, next_of_its_number = self.sleeper(), self.sleeper()
        state = await self.journal(
            home, ("default", "codex", server.pid, start_ticks(server.pid), "outlives codex"),
            # The recorded process is gone, and another one has its number.
            ("default", "codex", next_of_its_number.pid, start_ticks(next_of_its_number.pid) - 1, "outlives codex"))
        where = ("--state-dir", str(state))
        shown = await once("status", "--json", *where, directory=home)
        self.assertEqual([(child["pid"], child["program"], child["life"], child["connection"])
                          for child in lines_of(shown.out)[0]["processes"]],
                         [(server.pid, "codex", "outlives", "default")])
        said = await once("status", *where, directory=home)
        self.assertIn(f"codex, process {server.pid}", said.out)
        planned = await once("service", "stop", "--dry-run", *where, directory=home)
        self.assertIn(f"would end codex, process {server.pid}", planned.out)
        self.assertIsNone(server.poll())
        outcome = await once("service", "stop", *where, directory=home)
        self.assertEqual(outcome.code, 0, outcome)
        self.assertIn(f"ended codex, process {server.pid}", outcome.out)
        self.assertEqual(server.wait(30), -signal.SIGTERM)
        self.assertIsNone(next_of_its_number.poll())
        shown = await once("status", "--json", *where, directory=home)
        self.assertEqual(lines_of(shown.out)[0]["processes"], [])

    @scenario(90)
    async def test_logout_ends_the_agents_of_its_connection_alone(self):
        home = self.home()
        ours, other = self.sleeper(), self.sleeper()
        state = await self.journal(home, ("default", "codex", ours.pid, start_ticks(ours.pid), "outlives codex"),
                                   ("work", "codex", other.pid, start_ticks(other.pid), "outlives codex"))
        outcome = await once("logout", directory=home, environment={"SOPHON_STATE_DIR": str(state)})
        self.assertEqual(outcome.code, 0, outcome)
        self.assertEqual(ours.wait(30), -signal.SIGTERM)
        self.assertIsNone(other.poll())

    @scenario(90)
    async def test_a_connection_is_forgotten_when_its_agents_have_ended(self):
        home = self.home()
        left, other = self.sleeper(), self.sleeper()
        state = await self.journal(home, ("old", "codex", left.pid, start_ticks(left.pid), "outlives codex"),
                                   ("work", "codex", other.pid, start_ticks(other.pid), "outlives codex"))
        outcome = await once("journal", "clean", "--connection", "old", directory=home, environment={"SOPHON_STATE_DIR": str(state)})
        self.assertEqual(outcome.code, 0, outcome)
        self.assertEqual(left.wait(30), -signal.SIGTERM)
        self.assertIsNone(other.poll())
        with sqlite3.connect(state / "journal.db") as database:
            self.assertEqual(database.execute("SELECT connection FROM settings WHERE name LIKE 'agent %'").fetchall(), [("work",)])

    @scenario(90)
    async def test_an_agent_of_a_connection_that_is_gone_ends_with_the_next_start(self):
        home = self.home()
        left = self.sleeper()
        state = await self.journal(home, ("old", "codex", left.pid, start_ticks(left.pid), "outlives codex"))
        outcome = await once("run", "--state-dir", str(state), directory=home,
                             environment={"SOPHON_BASE_URL": "http://127.0.0.1:1", "SOPHON_AGENT": "pi"})
        self.assertEqual(left.wait(30), -signal.SIGTERM, outcome)
        self.assertIn("not configured any more", outcome.err)


if __name__ == "__main__":
    unittest.main()

"""The scripted Claude Code keeps the rules that the real one keeps (`claude_rules.py`, Tests/RealAgents), and has the bad habits that
it is given."""

import os
import tempfile
import unittest
from contextlib import asynccontextmanager
from pathlib import Path

from claude_double import COMMAND, ClaudeDouble
from claude_rules import ClaudeRules
from peers.claude_client import ClaudeClient
from scheduling import Scenarios


class Lab:
    is_real = False

    def __init__(self, home):
        self.double = ClaudeDouble(Path(home) / "claude")
        self.folder, self.configuration = self.double.folder, self.double.configuration
        self.plan, self.release, self.asked = self.double.plan, self.double.open_gate, self.double.texts

    def client(self, *flags, environment=None, **options):
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.double.directory)} | self.double.environment | (environment or {})
        return ClaudeClient(COMMAND, self.folder, variables, *flags, **options)


@asynccontextmanager
async def lab(**habits):
    with tempfile.TemporaryDirectory(prefix="claude-double-") as home:
        made = Lab(os.path.realpath(home))
        made.double.habits(**habits)
        try:
            yield made
            if violations := made.double.log("violations"):
                raise AssertionError(violations)
        except BaseException as error:
            error.add_note(f"violations of the double: {made.double.log('violations')}")
            raise
        finally:
            made.double.end()


class ScriptedRulesTests(ClaudeRules, Scenarios):
    lab = staticmethod(lab)


if __name__ == "__main__":
    unittest.main()

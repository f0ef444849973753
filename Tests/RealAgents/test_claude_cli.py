"""The rules that the bridge and the scripted Claude Code rely on (`claude_rules.py`), checked with the real one, without the bridge."""

import unittest
from contextlib import asynccontextmanager

from claude_home import ClaudeHome
from claude_session_rules import ClaudeSessionRules
from peers.claude_client import ClaudeClient
from scheduling import Scenarios


class Lab:
    def __init__(self, home):
        self.home, self.folder, self.configuration = home, home.project, home.configuration
        self.plan, self.release, self.asked = home.model.script, home.model.release, home.model.texts

    is_real = True

    def client(self, *flags, environment=None, **options):
        return ClaudeClient(self.home.command, self.folder, self.home.environment | (environment or {}), *flags, **options)


@asynccontextmanager
async def lab():
    async with ClaudeHome() as home:
        yield Lab(home)


class RealClaudeTests(ClaudeSessionRules, Scenarios):
    lab = staticmethod(lab)


if __name__ == "__main__":
    unittest.main()

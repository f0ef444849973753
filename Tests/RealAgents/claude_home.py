"""A home with Claude Code in it, inside the cell, and its scripted model."""

import json
import os
import tempfile
from pathlib import Path

from cell import HOME
from claude_model import ClaudeModel

CLAUDE = Path(os.environ.get("REAL_CLAUDE", "/nowhere")) / "claude"


class ClaudeHome:
    """`async with ClaudeHome() as home`: `directory` is the home, `project` the folder in which Claude Code works, `model` the server."""

    command = [str(CLAUDE)]

    def __init__(self, directory=None):
        self.directory = directory or Path(tempfile.mkdtemp(prefix="home-", dir=HOME))
        self.project, self.configuration = self.directory / "project", self.directory / ".claude"
        self.project.mkdir(parents=True)
        self.configuration.mkdir()

    async def __aenter__(self):
        self.model = await ClaudeModel().__aenter__()
        return self

    async def __aexit__(self, *_):
        await self.model.__aexit__()

    @property
    def environment(self):
        """Environment of Claude Code, which calls nothing but the model."""
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.directory), "LANG": "C.UTF-8", "TERM": "dumb",
                "ANTHROPIC_BASE_URL": self.model.url, "ANTHROPIC_API_KEY": "none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1"}

    @property
    def bridge_environment(self):
        """Environment of a bridge with this agent. The bridge passes unknown variables on."""
        return {"SOPHON_AGENT": "claude", "SOPHON_WORKSPACE": str(self.project), "CLAUDE_COMMAND": " ".join(self.command)} | self.environment

    def settings(self, settings):
        """Writes the person's settings."""
        (self.configuration / "settings.json").write_text(json.dumps(settings))

"""A home with Claude Code in it, inside the cell, and the scripted model that it asks."""

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
        """Of Claude Code. It calls nobody but the model."""
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.directory), "LANG": "C.UTF-8", "TERM": "dumb",
                "ANTHROPIC_BASE_URL": self.model.url, "ANTHROPIC_API_KEY": "none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1"}

    @property
    def bridge_environment(self):
        """Of a bridge whose agent this is. The bridge passes on what it does not know."""
        return {"SOPHON_AGENT": "claude", "SOPHON_WORKSPACE": str(self.project), "CLAUDE_COMMAND": " ".join(self.command)} | self.environment

    def settings(self, settings):
        """What the person has set."""
        (self.configuration / "settings.json").write_text(json.dumps(settings))

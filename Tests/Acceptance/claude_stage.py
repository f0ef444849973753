"""A relay, the bridge, and children of it that speak like Claude Code (`peers/claude_program.py`)."""

from claude_double import ClaudeDouble
from harness import Stage


class ClaudeStage(Stage):
    """A relay and the bridge; the agent is the bridge's own child."""

    def __init__(self, **options):
        self._habits = options.pop("habits", {})
        self._arguments = options.pop("arguments", [])
        self._starts = options.pop("start", True)
        super().__init__(environment=options.pop("environment", {}), start=False, **options)

    async def __aenter__(self):
        await super().__aenter__()
        self.claude = ClaudeDouble(self.directory / "claude")
        self.claude.habits(**self._habits)
        self.bridge.environment = self.environment()
        if self._starts:
            await self.bridge.start()
        return self

    @property
    def folder(self):
        return self.claude.folder

    def environment(self):
        base = super().environment()
        for name in ("OPENCLAW_URL", "OPENCLAW_TOKEN", "OPENCLAW_STATE_DIR"):
            base.pop(name)
        if not hasattr(self, "claude"):
            return base | self._extra
        own = self.claude.bridge_environment
        return base | own | {"CLAUDE_COMMAND": " ".join([own["CLAUDE_COMMAND"], *self._arguments])} | self._extra

    def ask(self, text, *steps, session=None, **options):
        """`steps` are those of the turn that this prompt begins."""
        if steps:
            self.claude.plan(text, *steps)
        return self.relay.ask(text, session=session, **options)

    def open_gate(self, name):
        self.claude.open_gate(name)

    def transcript(self):
        """Rows of the only session; empty before its file exists."""
        files = list(self.claude.configuration.glob("projects/*/*.jsonl"))
        assert len(files) <= 1, files
        return self.claude.rows(files[0].stem) if files else []

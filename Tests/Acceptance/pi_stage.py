"""A relay, the bridge, and children of it that speak like pi (`peers/pi_program.py`)."""

from harness import Stage
from pi_home import PiHome

LINES = ("B", "L")
"""Lines of the protocol (pi.md#versions)."""


class PiStage(Stage):
    """A relay and the bridge; the agent is the bridge's own child."""

    def __init__(self, plans, line="B", **options):
        self._plans = {"plans": plans, "line": line} | options.pop("pi", {})
        self._starts = options.pop("start", True)
        super().__init__(environment=options.pop("environment", {}), start=False, **options)

    async def __aenter__(self):
        await super().__aenter__()
        self.pi = PiHome(self.directory / "pi", **self._plans)
        self.bridge.environment = self.environment()
        if self._starts:
            await self.bridge.start()
        return self

    @property
    def workspace(self):
        return self.pi.workspace

    def environment(self):
        base = super().environment()
        for name in ("OPENCLAW_URL", "OPENCLAW_TOKEN", "OPENCLAW_STATE_DIR"):
            base.pop(name)
        return base | (self.pi.bridge_environment if hasattr(self, "pi") else {}) | self._extra

    def open_gate(self, name):
        self.pi.open_gate(name)

    def log(self, name):
        return self.pi.log(name)

    def child(self):
        return self.pi.child()

    def check_prompts(self, *asked):
        """Checks that each message was prompted once."""
        self.pi.check_prompts(self.phone, *asked)

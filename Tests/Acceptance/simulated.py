"""The bridge between a scripted gateway and the simulator, each in a process of its own, as a developer would run them."""

import asyncio
import json
import shutil
import tempfile
import urllib.request
from pathlib import Path

from harness import Bridge, _children, _die_with_the_parent, bridge_command
from peers.gateway import Gateway
from scheduling import LEEWAY


class Simulator:
    """`sophon-bridge simulate` on a free port."""

    def __init__(self, *options):
        self.options = options

    async def start(self, listen="127.0.0.1:0"):
        self.process = await asyncio.create_subprocess_exec(
            *bridge_command(), "simulate", "--strict", "--listen", listen, "--json", *self.options, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, preexec_fn=_die_with_the_parent)
        _children.add(self.process.pid)
        line = await asyncio.wait_for(self.process.stdout.readline(), 30 * LEEWAY)
        if not line:
            raise AssertionError(f"simulate ended at once: {(await self.process.stderr.read()).decode()}")
        first = json.loads(line)
        self.url, self.token, self.user_token = first["base_url"], first["token"], first["user_token"]
        self.port = int(self.url.rsplit(":", 1)[1])
        return self

    @property
    def pid(self):
        return self.process.pid

    def memory(self, name="VmRSS"):
        """Memory of the process, in megabytes."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) / 1024
        raise AssertionError("the simulator has ended")

    def _call(self, method, path, body):
        request = urllib.request.Request(
            self.url + path, None if body is None else json.dumps(body).encode(), method=method,
            headers={"Authorization": f"Bearer {self.user_token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["result"]

    async def call(self, method, path, body=None):
        """Calls the relay as the user, on a thread, and retries while it is down."""
        for attempt in range(40):
            try:
                return await asyncio.to_thread(self._call, method, path, body)
            except (ConnectionError, urllib.error.URLError) as error:
                if getattr(error, "code", 503) != 503 or attempt == 39:
                    raise
                await asyncio.sleep(0.1)

    async def breaches(self):
        return (await self.call("GET", "/v1/simulator/breaches"))["breaches"]

    async def messages(self, session):
        return (await self.call("GET", f"/v1/me/sessions/{session}/messages"))["messages"]

    async def close(self):
        if self.process.returncode is None:
            self.process.kill()
        await self.process.communicate()
        _children.discard(self.process.pid)


class PhoneStage:
    """The simulator and the bridge; `agent_environment` chooses the agent."""

    def __init__(self, *options, environment=None, prefix="bridge-simulated-", parent=None):
        """`environment` adds variables to the bridge's; None removes one."""
        self.simulator, self._more = Simulator(*options), environment or {}
        self._place = {"prefix": prefix, "dir": parent}

    configuration = None
    """Configuration that the bridge reads at its start, if any."""

    async def enter_agent(self):
        pass

    async def leave_agent(self):
        pass

    def agent_environment(self):
        return {}

    async def __aenter__(self):
        self.directory = Path(tempfile.mkdtemp(**self._place))
        if self.configuration is not None:
            file = self.directory / "config" / "bridge.json"
            file.parent.mkdir(mode=0o700)
            file.write_text(json.dumps(self.configuration))
        await self.enter_agent()
        await self.simulator.start()
        environment = {
            "SOPHON_BASE_URL": self.simulator.url, "SOPHON_BOT_TOKEN": self.simulator.token,
            "SOPHON_CONFIG_DIR": str(self.directory / "config"), "SOPHON_STATE_DIR": str(self.directory / "state"),
            "NO_COLOR": "1"} | self.agent_environment() | self._more
        self.bridge = Bridge(self.directory, {name: value for name, value in environment.items() if value is not None})
        try:
            await self.bridge.start(ready_seconds=60)
        except BaseException as error:
            await self.__aexit__(None, error, None)
            raise
        return self

    async def __aexit__(self, kind, error, trace):
        if error is not None and not isinstance(error, asyncio.CancelledError):
            error.add_note(self.story())
        await self.bridge.close()
        await self.simulator.close()
        await self.leave_agent()
        shutil.rmtree(self.directory, ignore_errors=True)

    def story(self):
        return self.bridge.story()

    async def send(self, text, session=None):
        body = {"text": text} | ({"session_id": session} if session else {})
        return await self.simulator.call("POST", "/v1/simulator/sessions", body)

    async def decide(self, decision="approve"):
        """Decides every approval as it comes, until cancelled."""
        done = set()
        while True:
            snapshot = await self.simulator.call("GET", "/v1/me/snapshot")
            for entry in snapshot["pending_approvals"]:
                if entry["approval_id"] not in done:
                    done.add(entry["approval_id"])
                    await self.simulator.call("POST", f"/v1/me/approvals/{entry['approval_id']}", {"decision": decision})
            await asyncio.sleep(0.1)

    async def answers(self, turn):
        """The agent's messages in the turn's bubble."""
        return [message for message in await self.simulator.messages(turn["session_id"])
                if message["role"] == "agent" and message.get("interaction_id") == turn["interaction_id"]]

    async def ended(self, *turns, seconds=60):
        seconds *= LEEWAY
        end = asyncio.get_running_loop().time() + seconds
        for turn in turns:
            while not any(message["final"] for message in await self.answers(turn)):
                if asyncio.get_running_loop().time() > end:
                    raise AssertionError(f"after {seconds} s the bubble is {await self.answers(turn)}")
                await asyncio.sleep(0.1)


class SimulatedStage(PhoneStage):
    """A stage with the scripted gateway of OpenClaw."""

    def __init__(self, *options, era="E3", environment=None):
        super().__init__(*options, environment=environment)
        self.gateway = Gateway(era)

    async def enter_agent(self):
        await self.gateway.__aenter__()

    async def leave_agent(self):
        await self.gateway.__aexit__()

    def agent_environment(self):
        return {"SOPHON_AGENT": "openclaw", "OPENCLAW_URL": self.gateway.url, "OPENCLAW_TOKEN": self.gateway.token,
                "OPENCLAW_STATE_DIR": str(self.directory / "openclaw")}

    async def ask(self, text, *steps, session=None):
        if steps:
            self.gateway.plan(text, *steps)
        return await self.send(text, session)

"""The checks of scripts/container-check in a root that it made: a simulator and a bridge inside, a scripted gateway outside.

    container_run.py image ROOT                      up to `ready`, healthy, a message answered, and out on SIGTERM
    container_run.py package ROOT OLD.deb NEW.deb    the same after an upgrade with a turn open; then removal and purge
    container_run.py pod ROOT DOCUMENTS              as the StatefulSet of these documents (JSON) asks: user, mounts, probes, PID 1"""
import asyncio
import base64
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Tests" / "Acceptance"))
from peers.gateway import Gateway  # noqa: E402
from peers.steps import Hold, Say  # noqa: E402

PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PIPE = asyncio.subprocess.PIPE


def say(text):
    print(f"container-check: {text}", flush=True)


def expect(condition, sentence):
    if not condition:
        raise SystemExit(f"container-check: {sentence}")


def inside(root, user, home, *command, **environment):
    """A command as that user in the root, with these variables alone."""
    given = [f"{name}={value}" for name, value in environment.items()]
    return ["chroot", f"--userspec={user}", str(root), "env", "-i", f"HOME={home}", PATH, *given, *command]


def phone(base, token, method, path, body=None):
    request = urllib.request.Request(base + path, method=method, data=json.dumps(body).encode() if body else None,
                                     headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)["result"]


class Program:
    """A process of the program with --json, whose events are awaited in order."""

    def __init__(self, *command):
        self.command = command

    async def __aenter__(self):
        self.process = await asyncio.create_subprocess_exec(*self.command, stdout=PIPE)
        return self

    async def __aexit__(self, *_):
        if self.process.returncode is None:
            os.kill(self.pid(), signal.SIGKILL)
        await self.process.wait()

    def pid(self):
        """Id of the program itself, a child of `unshare`."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0]) if self.command[0] == "unshare" and children else self.process.pid

    async def event(self, name, seconds=20):
        async def find():
            while raw := await self.process.stdout.readline():
                found = json.loads(raw)
                if found["event"] == name:
                    return found
            raise SystemExit(f"container-check: ended before its event {name}")
        return await asyncio.wait_for(find(), seconds)

    async def terminate(self, seconds=10):
        os.kill(self.pid(), signal.SIGTERM)
        code = await asyncio.wait_for(self.process.wait(), seconds)
        expect(code == 0, f"run ended with {code} on SIGTERM")


class Stage:
    """The simulator as that user in the root, and the gateway."""

    def __init__(self, root, user, home):
        self.root, self.user, self.home = root, user, home

    async def __aenter__(self):
        self._stack = contextlib.AsyncExitStack()
        simulator = await self._stack.enter_async_context(Program(
            *inside(self.root, self.user, self.home, "sophon-bridge", "simulate", "--strict", "--listen", "127.0.0.1:0", "--json")))
        self.relay = await simulator.event("listening")
        self.gateway = await self._stack.enter_async_context(Gateway("E3"))
        self.gateway.plan("ping", Say(["pong"]))
        return self

    async def __aexit__(self, *failure):
        await self._stack.aclose()

    def variables(self):
        return {"SOPHON_BASE_URL": self.relay["base_url"], "SOPHON_BOT_TOKEN": self.relay["token"], "SOPHON_AGENT": "openclaw",
                "OPENCLAW_URL": self.gateway.url, "OPENCLAW_TOKEN": self.gateway.token}

    def bridge(self, **environment):
        return Program(*inside(self.root, self.user, self.home, "sophon-bridge", "run", "--json", **self.variables(), **environment))

    async def ask(self, text):
        return await asyncio.to_thread(phone, self.relay["base_url"], self.relay["user_token"], "POST", "/v1/simulator/sessions",
                                       {"text": text})

    async def answers(self, turn):
        path = f"/v1/me/sessions/{turn['session_id']}/messages"
        messages = (await asyncio.to_thread(phone, self.relay["base_url"], self.relay["user_token"], "GET", path))["messages"]
        return [message["text"] for message in messages if message["role"] == "agent"]


async def answered(stage, bridge):
    turn = await stage.ask("ping")
    await bridge.event("turn_ended")
    expect(await stage.answers(turn) == ["pong"], f"the answer is {await stage.answers(turn)}")
    say("a message was answered")


async def image(root):
    home = "/var/lib/sophon"
    state = {"SOPHON_STATE_DIR": f"{home}/state"}
    async with Stage(root, "sophon", home) as stage, stage.bridge(**state) as bridge:
        await bridge.event("ready")
        await answered(stage, bridge)
        healthy = subprocess.run(inside(root, "sophon", home, "sophon-bridge", "status", "--healthy", **state))
        expect(healthy.returncode == 0, "status --healthy failed")
        await bridge.terminate()
        say("out on SIGTERM with 0")


SYSTEMCTL = """#!/bin/sh
echo "$*" >>/run/asked
case "$*" in
    *list-units*sophon-bridge@*) cat /run/active ;;
    *list-units*user@*) echo "user@1000.service loaded active running ada" ;;
    *FragmentPath*) cat /run/fragment ;;
    *ActiveState*) if grep -q . /run/active; then echo active; else echo inactive; fi ;;
esac
"""


class Systemd:
    """A systemctl in the root that records the calls of a maintainer script."""

    def __init__(self, root):
        self.root, self.program = root, root / "usr/local/bin/systemctl"

    def __enter__(self):
        (self.root / "run/systemd/system").mkdir(parents=True, exist_ok=True)
        self.program.write_text(SYSTEMCTL)
        self.program.chmod(0o755)
        self.runs(True)
        return self

    def __exit__(self, *_):
        self.program.unlink()
        shutil.rmtree(self.root / "run/systemd")
        for name in ("asked", "active", "fragment"):
            (self.root / "run" / name).unlink(missing_ok=True)

    def runs(self, is_running, fragment="/usr/lib/systemd/user/sophon-bridge.service"):
        (self.root / "run/active").write_text("sophon-bridge@ada.service loaded active running\n" if is_running else "")
        (self.root / "run/fragment").write_text(fragment + "\n")
        (self.root / "run/asked").write_text("")

    def changed(self):
        """Lines of units started, stopped or restarted."""
        asked = (self.root / "run/asked").read_text().splitlines()
        return [line for line in asked if {"start", "stop", "restart", "try-restart", "enable"} & set(line.split())]


def dpkg(root, *arguments):
    done = subprocess.run(inside(root, "root", "/root", "dpkg", *arguments, DEBIAN_FRONTEND="noninteractive", LC_ALL="C.UTF-8"),
                          stdout=PIPE, stderr=subprocess.STDOUT, text=True)
    expect(done.returncode == 0, f"dpkg {' '.join(arguments)}: {done.stdout}")
    return done.stdout


def fresh(root, package):
    """Restores the root to before any package of this project, with the package and a user in it."""
    shutil.copy(package, root / "package.deb")
    if (root / "usr/bin/sophon-bridge").exists():
        dpkg(root, "--purge", "sophon-bridge")
    home = root / "home/ada"
    if not home.exists():
        subprocess.run(["chroot", root, "useradd", "--create-home", "--uid", "1000", "ada"], check=True)
    for folder in (".local", ".config"):
        shutil.rmtree(home / folder, ignore_errors=True)
    return home


def maintained(root, old, new):
    """Checks which units an upgrade and a removal touch, in states that an administrator may leave."""
    with Systemd(root) as systemd:
        for is_running, fragment, expected in (
                (True, "/usr/lib/systemd/user/sophon-bridge.service",
                 ["restart sophon-bridge@ada.service", "--user --machine=1000@ restart sophon-bridge.service"]),
                (True, "/home/ada/.config/systemd/user/sophon-bridge.service", ["restart sophon-bridge@ada.service"]),
                (False, "/usr/lib/systemd/user/sophon-bridge.service", [])):
            for package in (old, new):
                shutil.copy(package, root / "package.deb")
                systemd.runs(is_running, fragment)
                dpkg(root, "--install", "--force-downgrade", "/package.deb")
            expect(systemd.changed() == expected, f"an upgrade asked for {systemd.changed()}, expected {expected}")
        systemd.runs(True)
        dpkg(root, "--remove", "sophon-bridge")
        expect([line.split()[-2:] for line in systemd.changed()]
               == [["stop", "sophon-bridge@ada.service"], ["stop", "sophon-bridge.service"]], f"a removal asked for {systemd.changed()}")
        dpkg(root, "--purge", "sophon-bridge")
        systemd.runs(True)
        shutil.copy(old, root / "package.deb")
        dpkg(root, "--install", "/package.deb")
        expect(systemd.changed() == [], f"a first installation asked for {systemd.changed()}")
    say("an upgrade restarts what runs and nothing else, a removal stops it, an installation starts nothing")


async def package(root, old, new):
    home = fresh(root, old)
    installed = dpkg(root, "--install", "/package.deb")
    expect("sophon-bridge:" not in installed, f"an installation says {installed}")
    maintained(root, old, new)
    async with Stage(root, "ada", "/home/ada") as stage:
        stage.gateway.plan("long", Say(["begun, "]), Hold("rest"), Say(["and ended"]))
        async with stage.bridge() as bridge:
            await bridge.event("ready")
            turn = await stage.ask("long")
            for _ in range(200):
                if "".join(await stage.answers(turn)).startswith("begun"):
                    break
                await asyncio.sleep(0.05)
            else:
                expect(False, "the turn does not begin")
            shutil.copy(new, root / "package.deb")
            dpkg(root, "--install", "/package.deb")
            say(f"upgraded {old.name} to {new.name} with a turn open")
            await bridge.terminate()
        async with stage.bridge() as bridge:
            await bridge.event("ready")
            stage.gateway.release("rest")
            await bridge.event("turn_ended")
            answers = await stage.answers(turn)
            expect(answers == ["begun, and ended"], f"the turn ended as {answers}")
            say("the new program ended it, in one bubble")
            await answered(stage, bridge)
            await bridge.terminate()
    demo = subprocess.run(inside(root, "ada", "/home/ada", "sophon-bridge", "demo", "--once", "--speed", "max"),
                          stdout=PIPE, stderr=subprocess.STDOUT, text=True)
    expect(demo.returncode == 0, f"demo: {demo.stdout[-2000:]}")
    files = [path for path in dpkg(root, "--listfiles", "sophon-bridge").split() if not (root / path[1:]).is_dir()]
    dpkg(root, "--remove", "sophon-bridge")
    left = [path for path in files if (root / path[1:]).exists()]
    expect(not left, f"a removal leaves {left}")
    said = dpkg(root, "--purge", "sophon-bridge")
    expect("/home/ada/.local/state/sophon (ada)" in said, f"a purge says {said}")
    expect((home / ".local/state/sophon/journal.db").exists(), "a purge took a journal")
    say("removed and purged; the home is as it was")


def give_to_group(folder, pod):
    """Applies fsGroup like the kubelet."""
    os.chown(folder, 0, pod["securityContext"]["fsGroup"])
    folder.chmod(0o2775)


def pod_folders(work, documents, stage):
    """The volumes of the pod, with the simulator's and the gateway's tokens in place of the overlay's."""
    state = next(document for document in documents if document["kind"] == "StatefulSet")
    pod = state["spec"]["template"]["spec"]
    by_name = {document["metadata"]["name"]: document for document in documents if "data" in document}
    tokens = {"relay-token": stage.relay["token"], "openclaw-token": stage.gateway.token}
    for claim in state["spec"]["volumeClaimTemplates"]:
        folder = work / claim["metadata"]["name"]
        folder.mkdir()
        give_to_group(folder, pod)
    for volume in pod["volumes"]:
        folder = work / volume["name"]
        folder.mkdir()
        if "emptyDir" in volume:
            give_to_group(folder, pod)
            continue
        is_secret = "secret" in volume
        source = by_name[volume["secret"]["secretName"] if is_secret else volume["configMap"]["name"]]
        for name, text in source["data"].items():
            file = folder / name
            file.write_text(tokens[name] + "\n" if is_secret else text)
            expect(not is_secret or base64.b64decode(text), f"the secret's {name} is empty")
            os.chown(file, 0, pod["securityContext"]["fsGroup"])
            file.chmod(volume["secret"]["defaultMode"] if is_secret else 0o644)
    return pod


def pod_command(root, work, pod, stage):
    """The container in namespaces of its own: mounts, a read-only root, the program as process 1 of that user."""
    (container,) = pod["containers"]
    context = pod["securityContext"] | container["securityContext"]
    script = ["set -e", "mount --make-rprivate /", f"mount --bind {root} {root}", f"mount -t proc proc {root}/proc"]
    for mount in container["volumeMounts"]:
        target = f"{root}{mount['mountPath']}"
        pathlib.Path(target).mkdir(parents=True, exist_ok=True)
        script.append(f"mount --bind {work / mount['name']} {target}")
        if mount.get("readOnly"):
            script.append(f"mount -o remount,bind,ro {target}")
    expect(context["readOnlyRootFilesystem"] and context["runAsNonRoot"] and context["capabilities"] == {"drop": ["ALL"]}
           and not context["allowPrivilegeEscalation"], "the StatefulSet's containers may do more than is checked here")
    script += [f"mount -o remount,bind,ro {root}", 'exec "$@"']
    person = ["setpriv", f"--reuid={context['runAsUser']}", f"--regid={context['runAsGroup']}", f"--groups={context['fsGroup']}",
              "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
    given = {entry["name"]: entry["value"] for entry in container["env"]} | {
        "SOPHON_BASE_URL": stage.relay["base_url"], "OPENCLAW_URL": stage.gateway.url}
    return ["unshare", "--mount", "--pid", "--fork", "bash", "-c", "\n".join(script), "bash", "chroot", str(root), *person,
            "env", "-i", PATH, *(f"{name}={value}" for name, value in given.items()), "sophon-bridge", *container["args"], "--json"]


def probe(pod, name):
    (container,) = pod["containers"]
    wanted = container[name]["httpGet"]
    (port,) = [port["containerPort"] for port in container["ports"] if port["name"] == wanted["port"]]
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{wanted['path']}", timeout=container[name]["timeoutSeconds"]) as answer:
            return answer.status
    except urllib.error.URLError as refusal:
        return getattr(refusal, "code", refusal.reason)


async def pod(root, documents):
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        work.chmod(0o755)
        async with Stage(root, "sophon", "/var/lib/sophon") as stage:
            spec = pod_folders(work, json.loads(documents.read_text()), stage)
            async with Program(*pod_command(root, work, spec, stage)) as bridge:
                await bridge.event("ready")
                lines = pathlib.Path(f"/proc/{bridge.pid()}/status").read_text().splitlines()
                status = dict(line.split(":\t", 1) for line in lines)
                expect(status["Name"] == "sophon-bridge" and status["NSpid"].split()[-1] == "1", "it is not process 1")
                expect(status["Uid"].split() == [str(spec["securityContext"]["runAsUser"])] * 4, "it is another user")
                expect(int(status["CapEff"], 16) == 0 and status["NoNewPrivs"] == "1", "it has capabilities")
                await answered(stage, bridge)
                for name in ("livenessProbe", "readinessProbe"):
                    found = await asyncio.to_thread(probe, spec, name)
                    expect(found == 200, f"the {name} found {found}")
                await bridge.terminate(spec["terminationGracePeriodSeconds"])
        expect((work / "state/state/journal.db").exists(), "the journal is not on the volume")
    say("as a pod: process 1 of no known user, on a read-only root, probed, out on SIGTERM with 0")


if __name__ == "__main__":
    paths = [pathlib.Path(argument).resolve() for argument in sys.argv[2:]]
    asyncio.run({"image": image, "package": package, "pod": pod}[sys.argv[1]](*paths))

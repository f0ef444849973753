"""docs/SIMULATOR.md is correct: its commands run verbatim, and its list of routes is complete."""

import asyncio
import json
import os
import re
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

from harness import HERE
from scheduling import Scenarios, scenario
from simulator import Simulator

README = HERE.parent.parent / "README.md"
DOCUMENT = HERE.parent.parent / "docs" / "SIMULATOR.md"


class SimulatorDocsTests(Scenarios):
    @scenario(60)
    async def test_the_commands_of_the_document_run_as_they_stand_there(self):
        blocks = re.findall(r"^```sh\n(.*?)^```$", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), 4)
        with tempfile.TemporaryDirectory(prefix="simulator-docs-") as directory:
            simulator = Simulator(directory)
            try:
                await simulator.start()
                script = "set -euo pipefail\n" + "\n".join(blocks).replace("127.0.0.1:8787", f"127.0.0.1:{simulator.port}")
                process = await asyncio.create_subprocess_exec(
                    "bash", "-c", script, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE, env={"PATH": os.environ["PATH"]})
                said, errors = (words.decode() for words in await asyncio.wait_for(process.communicate(), 120))
                self.assertEqual((process.returncode, errors), (0, ""), said)
                answers = [line for line in said.splitlines() if line]
                self.assertTrue(all(line.startswith('{"ok":true') for line in answers), said)
                for words in ('"text":"It is 61% full."', '"status":"claimed"', '"status":"pending"', '"planned":2'):
                    self.assertIn(words, said)
                self.assertEqual(await simulator.breaches(), [])
            finally:
                await simulator.close()

    @scenario(30)
    async def test_the_first_line_of_the_document_has_the_members_that_the_program_tells(self):
        line, = re.findall(r"^```json\n(\{\"event\":\"listening\".*)\n```$", DOCUMENT.read_text(), re.MULTILINE)
        written = json.loads(line)
        with tempfile.TemporaryDirectory(prefix="simulator-docs-") as directory:
            simulator = Simulator(directory)
            try:
                told = (await simulator.start()).about
                self.assertEqual(set(written), set(told) - {"ts"})
                for name in ("base_url", "socket_url", "phone_url"):
                    self.assertEqual(written[name].replace("8787", str(simulator.port)).split("usr_test_")[0],
                                     told[name].split("usr_test_")[0])
            finally:
                await simulator.close()

    @scenario(60)
    async def test_the_turn_in_python_of_the_readme_runs_as_it_stands_there(self):
        program, = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
        with tempfile.TemporaryDirectory(prefix="simulator-docs-") as directory:
            simulator = Simulator(directory)
            try:
                await simulator.start()
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-c", program.replace("127.0.0.1:8787", f"127.0.0.1:{simulator.port}"),
                    stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE)
                said, _ = await asyncio.wait_for(process.communicate(), 120)
                self.assertEqual(said.decode(), "Hello.\n")
                self.assertEqual(await simulator.breaches(), [])
            finally:
                await simulator.close()

    @scenario(30)
    async def test_the_routes_of_the_document_are_those_of_the_program(self):
        listed = re.findall(r"^\| `(GET|POST|PATCH|DELETE) (/v1/[^` ]+)`", DOCUMENT.read_text(), re.MULTILINE)
        with tempfile.TemporaryDirectory(prefix="simulator-docs-") as directory:
            simulator = Simulator(directory)
            try:
                await simulator.start()
                routes = (await simulator.user("GET", "/v1/simulator"))["routes"]
                self.assertEqual(sorted(" ".join(route) for route in listed if route[1].startswith("/v1/simulator")),
                                 sorted(routes))
                session = (await simulator.user("POST", "/v1/me/sessions", {}))["session_id"]
                for method, path in (route for route in listed if route[1].startswith("/v1/me")):
                    if path == "/v1/me/stream" or method == "DELETE":
                        continue
                    path = path.replace("/sessions/:id", f"/sessions/{session}").replace(":id", "none")
                    status, words = await asyncio.to_thread(self.ask, simulator, method, path)
                    # Any answer but "no such address" and "not this method" proves the route.
                    self.assertFalse(status == 405 or '"code":"not_found"' in words, f"{method} {path}: {status} {words}")
            finally:
                await simulator.close()

    @staticmethod
    def ask(simulator, method, path):
        request = urllib.request.Request(simulator.url + path, None if method == "GET" else b"{}",
                                         {"Authorization": f"Bearer {simulator.user_token}"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


if __name__ == "__main__":
    unittest.main()

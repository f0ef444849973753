"""Metrics and health: reports to monitoring programs, and the harm that such programs could do."""

import asyncio
import contextlib
import os
import re
import socket
import stat
import unittest
from dataclasses import dataclass
from pathlib import Path

from commands import once
from harness import Stage, until
from peers.steps import Approval, Hold, Say
from scheduling import Scenarios, scenario
from stories import words

NAMES = """build_info turns_total relay_calls_total relay_refusals_total bucket_level lane_waiting lane_oldest_seconds
placeholder_seconds added_latency_seconds approvals_open questions_open asks_unanswered link_up reconnects_total
agent_processes notify_total journal_bytes journal_commit_seconds log_dropped_total held_bytes""".split()


def free_port(host="127.0.0.1"):
    with socket.socket() as taken:
        taken.bind((host, 0))
        return taken.getsockname()[1]


@dataclass
class Reply:
    status: int
    headers: dict
    body: str

    def value(self, sample):
        """The value of a sample by its name with its labels, or None if the page lacks it."""
        found = re.search(rf"^(?:sophon_bridge_)?{re.escape(sample)} (\S+)$", self.body, re.M)
        return float(found[1]) if found else None


async def connect(place, own=None):
    """Connects from the address `own`."""
    if place.startswith("unix:"):
        return await asyncio.open_unix_connection(place.removeprefix("unix:"))
    host, port = place.rsplit(":", 1)
    return await asyncio.open_connection(host.strip("[]"), int(port), local_addr=own and (own, 0))


async def ask(place, path="/metrics", method="GET", host="watcher.example", seconds=30, own=None):
    """One request on a connection of its own."""
    async with asyncio.timeout(seconds):
        reader, writer = await connect(place, own)
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Reply(int(first.split()[1]), headers, body.decode())


async def answers(place, path, status, seconds=30):
    """Waits until the path has the status, and returns the reply."""
    async def look():
        while (reply := await ask(place, path)).status != status:
            await asyncio.sleep(0.05)
        return reply
    return await asyncio.wait_for(look(), seconds)


def allocated(pid):
    """Resident memory without file pages: code is read and released at its own times."""
    return int(re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) * 1024


class MetricsTests(Scenarios):
    @contextlib.asynccontextmanager
    async def stage(self, place=None, **more):
        place = place or f"127.0.0.1:{free_port()}"
        async with Stage("E3", configuration={"metrics": place}, **more) as stage:
            yield stage, place

    @scenario(60)
    async def test_a_conversation_shows_on_the_page_and_none_of_its_words_do(self):
        async with self.stage() as (stage, place):
            turn = stage.ask("the secret of the tower", Say(words("turquoise")))
            await stage.ended(turn)
            page = await ask(place)
            self.assertEqual(page.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
            for name in [f"sophon_bridge_{name}" for name in NAMES] + ["process_resident_memory_bytes"]:
                self.assertRegex(page.body, rf"(?m)^# HELP {name} \S")
                self.assertRegex(page.body, rf"(?m)^# TYPE {name} (counter|gauge|histogram)$")
                self.assertRegex(page.body, rf"(?m)^{name}(_count)?({{[^}}]*}})? [0-9.e+-]+$")
            self.assertEqual(page.value('turns_total{connection="default",outcome="answered"}'), 1)
            for method in ("sendMessage", "sendMessageDelta", "sendMessageEnd"):
                calls = page.value(f'relay_calls_total{{connection="default",method="{method}",outcome="delivered"}}')
                self.assertEqual(calls, sum(call.method == method for call in stage.relay.calls), method)
            self.assertEqual(page.value("placeholder_seconds_count"), 1)
            self.assertLess(page.value("placeholder_seconds_sum"), 10)
            self.assertGreaterEqual(page.value("added_latency_seconds_count"), 1)
            self.assertGreaterEqual(page.value("journal_commit_seconds_count"), 2)
            self.assertGreater(page.value("journal_bytes"), 4_096)
            self.assertGreater(page.value("process_resident_memory_bytes"), 1 << 20)
            for side in ("relay", "agent"):
                self.assertEqual(page.value(f'link_up{{connection="default",side="{side}"}}'), 1)
            for word in ("tower", "turquoise", turn.session, turn.interaction, stage.relay.token):
                self.assertNotIn(word, page.body)

    @scenario(60)
    async def test_what_waits_for_a_person_and_a_lost_link_show_while_they_last(self):
        async with self.stage() as (stage, place):
            turn = stage.ask("may I", Say(["May I? "]), Approval("uptime", detached=False), Say(["I may."]))
            approval = await stage.approval(turn)
            page = await ask(place)
            self.assertEqual((page.value("approvals_open"), page.value("questions_open")), (1, 0))
            stage.relay.decide(approval, "approve")
            await stage.ended(turn)
            self.assertEqual((await ask(place)).value("approvals_open"), 0)
            stage.gateway.cut()
            await stage.link_up(since=1)
            await answers(place, "/readyz", 200)
            self.assertEqual((await ask(place)).value('reconnects_total{connection="default",side="agent"}'), 1)

    @scenario(60)
    async def test_health_is_of_the_process_and_readiness_of_both_links(self):
        async with self.stage() as (stage, place):
            ready = await answers(place, "/readyz", 200)
            self.assertEqual(ready.body, "ok\n")
            await stage.gateway.go_away()
            away = await answers(place, "/readyz", 503)
            self.assertEqual(away.body, "default: the link to the agent is down (waiting)\n")
            self.assertEqual((await ask(place)).value('link_up{connection="default",side="agent"}'), 0)
            health = await ask(place, "/healthz")
            self.assertEqual((health.status, health.body), (200, "ok\n"))

    @scenario(60)
    async def test_paths_and_methods(self):
        async with self.stage() as (stage, place):
            for path in ("/", "/metrics/", "/favicon.ico", "/../metrics", "//metrics", "/METRICS"):
                self.assertEqual((await ask(place, path)).status, 404, path)
            for path in ("/metrics", "/healthz", "/readyz"):
                for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
                    reply = await ask(place, path, method)
                    self.assertEqual((reply.status, reply.headers.get("allow")), (405, "GET, HEAD"), (path, method))
                head, got = await ask(place, path, "HEAD"), await ask(place, path, host="10.0.0.7:1")
                self.assertEqual((head.status, head.body, got.status), (200, "", 200))
            self.assertEqual((await ask(place, "/metrics?name=x")).status, 200)

    @scenario(90, weight=0)
    async def test_scrapers_that_do_not_read_hold_up_neither_the_bridge_nor_for_long_another_scraper(self):
        async with self.stage() as (stage, place):
            silent = [await connect(place) for _ in range(4)]
            asking = [await connect(place) for _ in range(4)]
            for _, writer in asking:
                writer.transport.pause_reading()
                writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
            turn = stage.ask("meanwhile", Say(words("unhindered")))
            await stage.ended(turn, seconds=5)
            # One address has eight places, which stay taken until 10 s without traffic have passed; other addresses are answered.
            refused, _ = await connect(place)
            self.assertEqual(await refused.read(), b"")
            self.assertEqual((await ask(place, "/healthz", seconds=5, own="127.0.0.2")).status, 200)
            others = [await connect(place, "127.0.0.3") for _ in range(8)]
            self.assertEqual((await ask(place, seconds=60, own="127.0.0.2")).status, 200)
            for _, writer in others:
                writer.close()
            for _, writer in silent + asking:
                writer.close()
            stage.check(turn)

    @scenario(120)
    async def test_a_thousand_scrapes_cost_no_memory_and_no_answer(self):
        async with self.stage() as (stage, place):
            turn = stage.ask("beside it", Say(words("first")), Hold("go"), Say(words(" and last")))
            await stage.streaming(turn)

            async def scrape(count):
                for _ in range(count):
                    self.assertEqual((await ask(place)).status, 200)

            await asyncio.gather(*[scrape(25) for _ in range(8)])
            before = allocated(stage.bridge.pid)
            await asyncio.gather(*[scrape(125) for _ in range(8)])
            self.assertLess(allocated(stage.bridge.pid) - before, 2 << 20)
            stage.gateway.release("go")
            await stage.ended(turn)
            stage.check(turn)
            # Few descriptors stay open: those of the current connections.
            await until(lambda: len(os.listdir(f"/proc/{stage.bridge.pid}/fd")) < 60, 20, "descriptors given back")

    @scenario(60)
    async def test_a_unix_socket_is_the_owners_and_a_stale_one_is_replaced(self):
        async with Stage("E3", start=False) as stage:
            file = stage.directory / "m.sock"
            stage.configure({"metrics": f"unix:{file}"})
            await stage.bridge.start()
            self.assertEqual(stat.filemode(file.lstat().st_mode), "srw-------")
            self.assertEqual((await ask(f"unix:{file}")).status, 200)
            await stage.bridge.restart_after_kill()
            self.assertEqual((await ask(f"unix:{file}", "/healthz")).status, 200)
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            self.assertFalse(file.exists())
            file.write_text("not to be replaced")
            outcome = await self.run_once(stage)
            self.assertEqual(outcome.code, 1)
            self.assertIn("no socket", outcome.err)
            self.assertEqual(file.read_text(), "not to be replaced")

    async def run_once(self, stage, *arguments, **environment):
        return await once("run", *arguments, directory=stage.directory, environment=stage.environment() | environment)

    @scenario(60)
    async def test_a_place_that_is_taken_or_none_ends_the_start_with_a_sentence(self):
        async with Stage("E3", start=False) as stage:
            with socket.socket() as taken:
                taken.bind(("127.0.0.1", 0))
                taken.listen()
                port = taken.getsockname()[1]
                outcome = await self.run_once(stage, "--metrics", f"127.0.0.1:{port}")
            self.assertEqual(outcome.code, 1)
            self.assertIn(f"metrics: cannot listen on 127.0.0.1:{port}: another program listens there", outcome.err)
            for place, code in (("localhost:9464", 2), ("9464", 2), ("192.0.2.1:9464", 1), ("unix:relative", 2),
                                ("tcp://127.0.0.1:9464", 2)):
                outcome = await self.run_once(stage, SOPHON_METRICS=place)
                self.assertEqual(outcome.code, code, place)
                self.assertIn("metrics", outcome.err)

    @scenario(60)
    async def test_beyond_loopback_it_is_taken_with_one_warning(self):
        port = free_port("0.0.0.0")
        async with self.stage(f"0.0.0.0:{port}") as (stage, _):
            self.assertEqual((await ask(f"127.0.0.1:{port}", "/readyz", host="pod.svc")).status, 200)
            warnings = [line for line in stage.bridge.stderr if "can be read from other machines" in line]
            self.assertEqual(len(warnings), 1, stage.bridge.stderr)
        async with self.stage() as (stage, _):
            self.assertFalse([line for line in stage.bridge.stderr if "can be read from other machines" in line])

    @scenario(60)
    async def test_sighup_does_not_move_it(self):
        async with self.stage() as (stage, place):
            mark = len(stage.bridge.events)
            stage.configure({"metrics": f"127.0.0.1:{free_port()}"})
            os.kill(stage.bridge.pid, 1)
            error = await stage.bridge.event("error", mark=mark)
            self.assertIn("metrics can only change at a start", error["message"])
            self.assertEqual((await ask(place, "/healthz")).status, 200)


if __name__ == "__main__":
    unittest.main()

"""A bridge between a scripted gateway and a scripted relay, scraped by Prometheus through a minute of cuts and kills."""
import asyncio
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Acceptance"))

from harness import Stage, until  # noqa: E402
from peers.steps import Say  # noqa: E402
from stories import words  # noqa: E402
from test_metrics import NAMES, allocated, answers, ask, free_port  # noqa: E402

MINUTE = float(os.environ.get("METRICS_SECONDS", "60"))
SCRAPES = 2_000


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def get(port, path, **query):
    url = f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode(query)}"
    return json.loads(await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=10).read()))["data"]


async def one(port, query):
    """The first value of a query, or None."""
    result = (await get(port, "/api/v1/query", query=query))["result"]
    return float(result[0]["value"][1]) if result else None


def judge(ok, words):
    print(f"{'ok  ' if ok else 'FAIL'} {words}", flush=True)
    return ok


def promtool(page):
    checked = subprocess.run(["promtool", "check", "metrics"], input=page.encode(), capture_output=True, check=False)
    said = (checked.stdout + checked.stderr).decode().strip()
    return judge(checked.returncode == 0 and not said, f"promtool check metrics{': ' + said if said else ''}")


async def scrapes(place, count):
    for _ in range(count):
        assert (await ask(place)).status == 200


async def cost(stage, place):
    """CPU time of a scrape, and the memory that it leaves allocated."""
    await scrapes(place, 200)
    memory, cpu, begun = allocated(stage.bridge.pid), cpu_seconds(stage.bridge.pid), time.monotonic()
    await scrapes(place, SCRAPES)
    per_scrape = (cpu_seconds(stage.bridge.pid) - cpu) / SCRAPES
    rate = SCRAPES / (time.monotonic() - begun)
    grown = allocated(stage.bridge.pid) - memory
    yield judge(per_scrape < 0.01, f"{per_scrape * 1000:.2f} ms CPU a scrape at {rate:.0f} a second: {per_scrape * 100:.3f} % "
                                   "with one a second (under 1 %)")
    yield judge(grown < 1 << 20, f"{grown / 1024:.0f} KB more memory after {SCRAPES} scrapes (under 1 MB)")


async def trouble(stage, place, end):
    """Plays turns all the time, with a cut or a kill every few seconds."""
    dice, number, kills = random.Random(1), 0, 0
    while time.monotonic() < end:
        number += 1
        turn = stage.ask(f"turn {number}", Say(words(f"t{number}")))
        await stage.ended(turn, seconds=30)
        what = dice.choice([stage.gateway.cut, stage.relay.cut, "kill", None, None])
        if what == "kill":
            await stage.bridge.restart_after_kill()
            kills += 1
        elif what:
            what()
        await asyncio.sleep(dice.uniform(0.2, 2))
    await answers(place, "/readyz", 200)
    return number, kills


async def watched(stage, place, folder):
    port = free_port()
    configuration = folder / "prometheus.yml"
    configuration.write_text(
        "global: {scrape_interval: 1s}\nscrape_configs: [{job_name: bridge, static_configs: [{targets: ['" + place + "']}]}]\n")
    process = await asyncio.create_subprocess_exec(
        "prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}", stdout=asyncio.subprocess.DEVNULL,
        stderr=(folder / "prometheus.log").open("w"))
    try:
        begun = time.monotonic()
        turns, kills = await trouble(stage, place, begun + MINUTE)
        await asyncio.sleep(3)
        seconds = int(time.monotonic() - begun) + 5
        up = await one(port, f"sum_over_time(up[{seconds}s])")
        tried = await one(port, f"count_over_time(up[{seconds}s])")
        target = (await get(port, "/api/v1/targets"))["activeTargets"][0]
        known = set(await get(port, "/api/v1/label/__name__/values"))
        resets = await one(port, f"max(resets(sophon_bridge_turns_total[{seconds}s]))")
        lost = [name for name in NAMES if not known & {f"sophon_bridge_{name}", f"sophon_bridge_{name}_count"}]
        yield judge(target["health"] == "up" and not target["lastError"], f"the target is up at the end {target['lastError']}")
        # A kill costs the scrapes before the next process listens.
        yield judge(tried - up <= 3 * kills + 1, f"{up:.0f} of {tried:.0f} scrapes through {turns} turns and {kills} kills")
        yield judge(not lost, f"Prometheus knows every name {' '.join(lost)}")
        yield judge((resets or 0) <= kills, f"{resets or 0:.0f} resets of a counter, no more than kills")
    finally:
        process.terminate()
        await process.wait()


async def main():
    place, good = f"127.0.0.1:{free_port()}", []
    with tempfile.TemporaryDirectory(prefix="metrics-check-") as folder:
        async with Stage("E3", configuration={"metrics": place}) as stage:
            turn = stage.ask("first", Say(words("first")))
            await stage.ended(turn)
            good.append(promtool((await ask(place)).body))
            good += [ok async for ok in cost(stage, place)]
            good += [ok async for ok in watched(stage, place, pathlib.Path(folder))]
            good.append(promtool((await ask(place)).body))
            await until(lambda: stage.bridge.process.returncode is None, 1, "the bridge still runs")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

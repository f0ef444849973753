"""Routines: the gateway's scheduler, used from the phone."""

import json
import os
import signal
import unittest

from commands import once
from harness import Stage, until
from peers.steps import Say
from scheduling import Scenarios, scenario
from stories import ERAS

ADMIN = {"connections": [{"agent": {"kind": "openclaw", "admin": True}}]}
JOB = {"name": "Backup", "schedule": {"kind": "cron", "expr": "0 7 * * *", "tz": "Europe/Berlin"}, "sessionTarget": "isolated",
       "wakeMode": "now", "payload": {"kind": "agentTurn", "message": "Back up."}}


def whole_life_in_era(era):
    @scenario(90)
    async def test(self):
        async with Stage(era, start=False) as stage:
            stage.configure(ADMIN)
            await stage.bridge.start()

            async def cron(verb, **params):
                return (await stage.relay.request(f"cron.{verb}.req", params=params))["result"]

            self.assertTrue((await cron("status"))["enabled"])
            job = await cron("add", **JOB)
            self.assertEqual([known["name"] for known in (await cron("list"))["jobs"]], ["Backup"])
            await cron("update", id=job["id"], patch={"enabled": False})
            self.assertEqual((await cron("list"))["jobs"], [])
            self.assertEqual(len((await cron("list", includeDisabled=True))["jobs"]), 1)
            self.assertEqual((await cron("run", id=job["id"])).get("ran"), False)
            await cron("update", id=job["id"], patch={"enabled": True})

            # The job's run has a chat of its own on the phone.
            stage.gateway.plan("Back up.", Say(["All is saved."]))
            await cron("run", id=job["id"], mode="force")
            chats = lambda: [bubble.session for bubble in stage.phone.bubbles.values() if bubble.final == "All is saved."]
            await until(chats, 30, "the routine's answer")
            body, = [call.body for call in stage.relay.calls if call.method == "createSession"]
            self.assertEqual(body["source"], "cron")
            self.assertEqual(len((await cron("runs", id=job["id"]))["entries"]), 1)
            self.assertTrue((await cron("remove", id=job["id"]))["removed"])
            self.assertEqual((await cron("list", includeDisabled=True))["jobs"], [])
    return test


class RoutineTests(Scenarios):
    for era in ERAS:
        vars()[f"test_from_add_to_remove_in_{era}"] = whole_life_in_era(era)

    @scenario(60)
    async def test_what_is_wrong_is_said_by_its_name(self):
        async with Stage("E4", start=False) as stage:
            stage.configure(ADMIN)
            await stage.bridge.start()

            async def error(verb, params):
                return (await stage.relay.request(f"cron.{verb}.req", params=params))["error"]

            for verb, params, words in (
                ("add", JOB | {"schedule": {"kind": "hourly"}}, "schedule.kind"),
                ("add", JOB | {"schedule": {"kind": "every", "everyMs": "1h"}}, "schedule.everyMs"),
                ("add", JOB | {"payload": {"kind": "agentTurn"}}, "payload.message"),
                ("add", {}, "name"), ("list", {"limit": 1000}, "limit"), ("remove", {}, "id"), ("add", [JOB], "params"),
            ):
                answer = await error(verb, params)
                self.assertEqual(answer["code"], f"cron_{verb}_failed")
                self.assertIn(words, answer["message"])
            self.assertEqual(stage.gateway.violations, [])
            self.assertEqual(stage.gateway.jobs, {})
            self.assertIn("unknown cron job", (await error("run", {"id": "none"}))["message"])
            self.assertEqual((await error("dance", {}))["code"], "unknown_request")

    @scenario(60)
    async def test_without_the_scope_the_remedy_is_named(self):
        async with Stage("E3") as stage:
            answer = (await stage.relay.request("cron.remove.req", params={"id": "j1"}))["error"]
            self.assertIn("operator.admin", answer["message"])
            self.assertIn("openclaw devices approve", answer["message"])

    @scenario(60)
    async def test_a_gateway_that_is_away_is_an_answer_too(self):
        async with Stage("E3") as stage:
            await stage.gateway.go_away()
            await stage.bridge.event("agent_lost")
            answer = (await stage.relay.request("cron.list.req", params={}))["error"]
            self.assertEqual(answer["code"], "cron_list_failed")
            answer = (await stage.relay.request("models.list.req"))["error"]
            self.assertEqual(answer["code"], "models_list_failed")
            await stage.gateway.come_back()

    @scenario(120)
    async def test_once_there_was_a_key_nothing_of_a_routine_goes_out_in_the_open_until_the_person_allows_it(self):
        async with Stage("E4", start=False) as stage:
            async def cron(verb, **params):
                return await stage.relay.request(f"cron.{verb}.req", params=params)

            async def reload(**settings):
                stage.configure({"connections": [ADMIN["connections"][0] | settings]})
                mark = len(stage.bridge.events)
                os.kill(stage.bridge.pid, signal.SIGHUP)
                await stage.bridge.event("reloaded", mark=mark)

            stage.configure(ADMIN)
            keys = {"keys": {"ses_old": "0a" * 32}, "savedAt": "2026-01-01T00:00:00.000Z"}
            (stage.directory / "config" / "session-keys.json").write_text(json.dumps(keys))
            (stage.directory / "config" / "session-keys.json").chmod(0o600)
            await stage.bridge.start()
            # With the reference bridge's file alone no phone may read, which the log reports.
            await until(lambda: "sealing.json was not there" in "".join(stage.bridge.stderr), 10, "the line of the log")
            self.assertIn("no phone may read", (await once(
                "status", directory=stage.directory, environment=stage.environment())).out)

            job = JOB | {"name": "Zebrafinch", "description": "Quartzvein"}
            added = await cron("add", **job)
            self.assertIn("id", added["result"])
            listed = await cron("list", query="nothing is called so", includeDisabled=True)
            self.assertEqual([known["schedule"]["expr"] for known in listed["result"]["jobs"]], ["0 7 * * *"], "no word is searched for")
            refused = await cron("run", id="Oxbowlake")
            self.assertEqual(refused["error"]["code"], "cron_run_failed")
            for answer in (added, listed, refused, await cron("status")):
                for word in ("Zebrafinch", "Quartzvein", "Back up", "Oxbowlake", "jobs.json"):
                    self.assertNotIn(word, json.dumps(answer))
            self.assertIn("routines", (await cron("runs", id=added["result"]["id"]))["error"]["message"])

            await reload(routines="allow")
            self.assertEqual((await cron("list"))["result"]["jobs"][0]["name"], "Zebrafinch")
            self.assertIn("result", await cron("runs", id=added["result"]["id"]))
            evil = JOB | {"delivery": {"mode": " Webhook", "to": "https://evil.example"}}
            self.assertIn("post elsewhere", (await cron("add", **evil))["error"]["message"])
            await reload(routines="off")
            for verb in ("list", "status", "runs"):
                self.assertIn("switched off", (await cron(verb))["error"]["message"])
            await reload(encryption="require")
            for verb in ("list", "status", "runs"):
                self.assertIn("requires encryption", (await cron(verb))["error"]["message"])
            await reload(encryption="require", routines="allow")
            self.assertEqual(len((await cron("list"))["result"]["jobs"]), 1)
            self.assertEqual(len(stage.gateway.jobs), 1)

    @scenario(60)
    async def test_a_value_of_routines_that_is_none_is_a_fault_that_changes_nothing(self):
        async with Stage("E4") as stage:
            for value in ("yes", True, "Allow", 1):
                stage.configure({"connections": [{"routines": value}]})
                mark = len(stage.bridge.events)
                os.kill(stage.bridge.pid, signal.SIGHUP)
                self.assertEqual((await stage.bridge.event("error", mark=mark))["code"], 2)
                paths = {event["path"] for event in stage.bridge.events[mark:] if event["event"] == "config_fault"}
                self.assertEqual(paths, {"connections[0].routines"})
            self.assertIn("result", await stage.relay.request("cron.list.req", params={}))


if __name__ == "__main__":
    unittest.main()

"""`service` with a systemctl that only records its calls: in a mount namespace, where systemd seems to run and the program has its final
path."""

import json
import os
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

from commands import lines_of, once
from harness import bridge_command
from scheduling import Scenarios, scenario

SYSTEMCTL = """#!/bin/sh
printf '%s\\n' "$*" >> "$HOME/systemctl.log"
[ ! -e "$HOME/systemctl.fails" ] || { echo "Failed to connect to bus"; exit 1; }
case "$*" in *" restart "*) [ ! -e "$HOME/restart.fails" ] || { echo "Job for sophon-bridge.service failed."; exit 1; };; esac
case "$*" in *" show "*) printf 'LoadState=loaded\\nActiveState=failed\\nSubState=failed\\nNRestarts=3\\nExecMainStatus=23\\n';; esac
"""
SETTING = """set -e
mount -t tmpfs none /run; mkdir -p /run/systemd/system
mount -t tmpfs none "$1"; touch "$1/sophon-bridge"; chmod 755 "$1/sophon-bridge"
mount --bind "$2" "$1/sophon-bridge"
place=$1; shift 2; exec "$place/sophon-bridge" "$@"
"""


def can_isolate():
    tried = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/run"], capture_output=True)
    return tried.returncode == 0


class ServiceTests(Scenarios):
    def setUp(self):
        if len(bridge_command()) > 1 or not can_isolate():
            self.skipTest("no mount namespace can be made here")

    def home(self):
        home = Path(tempfile.mkdtemp(prefix="bridge-acceptance-"))
        self.addCleanup(shutil.rmtree, home)
        (home / "bin").mkdir()
        systemctl = home / "bin" / "systemctl"
        systemctl.write_text(SYSTEMCTL)
        systemctl.chmod(0o755)
        return home

    async def service(self, home, *arguments, place="/mnt", **environment):
        command = ["unshare", "--mount", "bash", "-c", SETTING, "bash", place, os.path.realpath(bridge_command()[0])]
        return await once("service", *arguments, command=command, directory=home, path=home / "bin", environment=environment)

    def asked(self, home):
        log = home / "systemctl.log"
        return log.read_text().splitlines() if log.exists() else []

    @scenario(60)
    async def test_install_writes_the_unit_and_uninstall_takes_it_away(self):
        home = self.home()
        file = home / "odd %name$.json"
        file.write_text("{}")
        outcome = await self.service(home, "install", "--config", str(file), "--json", SOPHON_BASE_URL="http://127.0.0.1:1",
                                     SOPHON_BOT_TOKEN="inst_0000000000000000:s_test_secret")
        self.assertEqual(outcome.code, 0, outcome)
        unit = home / ".config/systemd/user/sophon-bridge.service"
        self.assertEqual(lines_of(outcome.out)[-1]["path"], str(unit))
        self.assertEqual(stat.S_IMODE(unit.stat().st_mode), 0o600)
        lines = unit.read_text().splitlines()
        self.assertIn(f'ExecStart="/mnt/sophon-bridge" "run" "--config" "{home}/odd %%name$$.json"', lines)
        self.assertIn('Environment="SOPHON_BASE_URL=http://127.0.0.1:1"', lines)
        self.assertIn(f"EnvironmentFile=-{home}/.config/sophon/bridge.env", lines)
        self.assertIn("RestartPreventExitStatus=2 23 24", lines)
        self.assertIn("WantedBy=default.target", lines)
        self.assertNotIn("s_test_secret", unit.read_text() + outcome.out + outcome.err)
        self.assertEqual([line.removeprefix("--user --no-pager ") for line in self.asked(home)],
                         ["daemon-reload", "enable sophon-bridge.service", "restart sophon-bridge.service"])

        status = await self.service(home, "status")
        self.assertIn("it ended with 23: the relay refused the token", status.out)
        self.assertEqual((await self.service(home, "restart")).code, 0)
        (home / "systemctl.log").unlink()
        outcome = await self.service(home, "uninstall")
        self.assertEqual(outcome.code, 0, outcome)
        self.assertFalse(unit.exists())
        self.assertEqual([line.removeprefix("--user --no-pager ") for line in self.asked(home)],
                         ["disable --now sophon-bridge.service", "daemon-reload"])
        again = await self.service(home, "uninstall")
        self.assertEqual(again.code, 0)
        self.assertIn("nothing to do", again.out)
        outcome = await self.service(home, "install", "--dry-run", "--state-dir", "st", SOPHON_STATE_DIR="/elsewhere")
        self.assertIn(f'Environment="SOPHON_STATE_DIR={home}/st"', outcome.out.splitlines())
        self.assertNotIn("/elsewhere", outcome.out)
        self.assertEqual((await self.service(home, "restart")).code, 1)

    @scenario(60)
    async def test_a_bridge_that_does_not_start_is_installed_all_the_same(self):
        home = self.home()
        (home / "restart.fails").touch()
        outcome = await self.service(home, "install")
        self.assertEqual(outcome.code, 1)
        self.assertTrue((home / ".config/systemd/user/sophon-bridge.service").exists())
        self.assertIn("go into", outcome.err)
        self.assertIn("Job for sophon-bridge.service failed.", outcome.err)
        self.assertIn("sophon-bridge service restart", outcome.err)
        self.assertNotIn("su or sudo", outcome.err)

    @scenario(60)
    async def test_a_unit_that_was_installed_with_the_program_is_restarted_and_stopped(self):
        home = self.home()
        unit = home / ".local/share/systemd/user/sophon-bridge.service"
        unit.parent.mkdir(parents=True)
        unit.write_text("")
        for verb in ("restart", "stop"):
            outcome = await self.service(home, verb)
            self.assertEqual(outcome.code, 0, outcome)
        self.assertEqual([line.removeprefix("--user --no-pager ") for line in self.asked(home)],
                         ["restart sophon-bridge.service", "stop sophon-bridge.service"])
        self.assertTrue(unit.exists())

    @scenario(60)
    async def test_a_program_in_a_directory_that_is_emptied_is_not_installed(self):
        home = self.home()
        outcome = await self.service(home, "install", place="/var/tmp")
        self.assertEqual(outcome.code, 2, outcome)
        self.assertIn("/var/tmp/sophon-bridge is in a directory that is emptied", outcome.err)
        self.assertIn("~/.local/bin", outcome.err)
        self.assertEqual(self.asked(home), [])
        self.assertFalse((home / ".config").exists())

    @scenario(60)
    async def test_a_dry_run_prints_the_unit_and_does_nothing(self):
        home = self.home()
        outcome = await self.service(home, "install", "--dry-run", place="/var/tmp")
        self.assertEqual(outcome.code, 0, outcome)
        self.assertIn('ExecStart="/var/tmp/sophon-bridge" "run"', outcome.out)
        self.assertEqual(self.asked(home), [])
        self.assertFalse((home / ".config").exists())

    @scenario(60)
    async def test_what_systemctl_complains_of_is_said(self):
        home = self.home()
        (home / "systemctl.fails").touch()
        outcome = await self.service(home, "install")
        self.assertEqual(outcome.code, 1, outcome)
        self.assertIn("Failed to connect to bus", outcome.err)

    @scenario(60)
    async def test_without_systemd_it_says_what_to_do_instead(self):
        home = self.home()
        outcome = await once("service", "status", directory=home, path=home / "bin")
        if os.path.exists("/run/systemd/system"):
            self.skipTest("systemd runs here")
        self.assertEqual(outcome.code, 1, outcome)
        self.assertIn("sophon-bridge run", outcome.err)


if __name__ == "__main__":
    unittest.main()

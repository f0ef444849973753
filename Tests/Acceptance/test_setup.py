"""`scripts/setup` on a machine of stubs: silent if nothing is missing, and root only as announced."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "setup"
TOOLS = ("bash", "sh", "dirname", "sed", "sort", "head", "cat", "env", "mkdir", "touch", "chmod", "cp")
PROGRAMS = ("g++", "pkg-config", "python3", "openssl", "curl", "debootstrap", "chromium", "chromedriver", "apt-cache")


class Machine:
    """A machine whose programs are stubs; each call that could change something becomes a line."""

    def __init__(self, directory, *, user=1000, sudo="works", without=()):
        self.directory = Path(directory)
        self.commands = self.directory / "bin"
        self.commands.mkdir()
        (self.directory / "scripts").mkdir()
        shutil.copy(SCRIPT, self.directory / "scripts")
        for tool in TOOLS:
            (self.commands / tool).symlink_to(shutil.which(tool))
        for program in set(PROGRAMS) - set(without):
            self.stub(program, "exit 0")
        self.stub("swift", "echo 'Swift version 6.3 (a stub)'")
        self.stub("id", f"echo {user}")
        # Like the real one: it lists unknown packages on standard error, and fails.
        self.stub("dpkg-query", "status=0; shift 3; for p in \"$@\"; do case \" $LACKING \" in *\" $p \"*) status=1 ;; "
                                "*) echo \"installed $p\" ;; esac; done; exit $status")
        self.stub("apt-get", 'echo "CALL apt-get $* $DEBIAN_FRONTEND by ${WHO:-user}" >&2')
        python = ('case "$1 $2" in "-m venv") echo "CALL venv" >&2; mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;; '
                  '"-m pip") echo "CALL pip" >&2 ;; esac')
        if "python3" not in without:
            self.stub("python3", python)
        if sudo:
            password = '[ "$1" = -n ] && exit 1' if sudo == "asks" else '[ "$1" = -n ] && shift'
            self.stub("sudo", f'echo "CALL sudo $*" >&2; {password}; export WHO=root; exec "$@"')

    def stub(self, name, words):
        path = self.commands / name
        path.write_text(f"#!/bin/sh\n{words}\n")
        path.chmod(0o755)

    def run(self, *arguments, lacking=""):
        done = subprocess.run(
            [self.directory / "scripts" / "setup", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=30, env={"PATH": str(self.commands), "LACKING": lacking})
        return done.returncode, done.stdout


class SetupTests(unittest.TestCase):
    def machine(self, **parts):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        return Machine(directory.name, **parts)

    def test_where_all_is_there_it_says_and_does_nothing(self):
        machine = self.machine()
        code, words = machine.run()
        self.assertEqual((code, words.count("CALL")), (0, 2), words)
        self.assertRegex(words, r"setup: making \.build/python with websockets==[\d.]+ .*\n(.*\n)*CALL pip")
        self.assertEqual(machine.run(), (0, ""))
        self.assertEqual(machine.run("build"), (0, ""))

    def test_what_is_missing_is_named_before_sudo_is_called(self):
        code, words = self.machine(without=("g++",)).run("build", lacking="libssl-dev")
        self.assertEqual(code, 0, words)
        lines = words.splitlines()
        self.assertEqual(lines[0], "setup: missing: g++ libssl-dev; they are installed now")
        for number, line in enumerate(lines):
            if line.startswith("CALL sudo"):
                self.assertRegex(lines[number - 1], r"^setup: with sudo: env DEBIAN_FRONTEND=noninteractive apt-get")
        self.assertIn("CALL apt-get -qq install -y --no-install-recommends g++ libssl-dev noninteractive by root", words)
        self.assertEqual(lines[-1], "setup: installed: g++ libssl-dev")

    def test_root_needs_no_sudo(self):
        code, words = self.machine(user=0, sudo=None, without=("curl",)).run()
        self.assertEqual(code, 0, words)
        self.assertIn("install -y --no-install-recommends curl noninteractive by user", words)

    def test_where_sudo_would_ask_it_fails_with_the_command_to_run(self):
        code, words = self.machine(sudo="asks").run("build", lacking="libwslay-dev")
        self.assertEqual(code, 1, words)
        self.assertIn("sudo did not do it; as root run: env DEBIAN_FRONTEND=noninteractive apt-get", words)
        self.assertNotIn("CALL apt-get", words)

    def test_without_sudo_it_fails_with_the_command_to_run(self):
        code, words = self.machine(sudo=None).run("build", lacking="libwslay-dev")
        self.assertEqual(code, 1, words)
        self.assertIn("there is no sudo; as root run: env", words)

    def test_building_needs_nothing_of_the_tests(self):
        machine = self.machine(without=("chromium", "chromedriver", "debootstrap", "python3"))
        self.assertEqual(machine.run("build"), (0, ""))
        self.assertFalse((machine.directory / ".build").exists())

    def test_another_version_of_a_module_is_installed_anew(self):
        machine = self.machine()
        machine.run()
        (machine.directory / ".build/python/modules").write_text("websockets==1.0")
        code, words = machine.run()
        self.assertEqual((code, words.count("CALL pip")), (0, 1), words)


if __name__ == "__main__":
    unittest.main()

"""A cell: namespaces in which a program sees loopback alone, an empty environment, and only the system's folders and the kept ones. The end
of its first process ends all of its processes.

`run(command, keep=[...], home=...)`; kept folders keep their paths, and `home` becomes /home/ada. Users other than root need user
namespaces; `refusal()` says why there can be none."""

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

HOME = "/home/ada"
SYSTEM = {"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr"}
MS_BIND, MS_REC = 0x1000, 0x4000


def command_line(command, keep=(), home=None, environment=None):
    enter = ["unshare", "--net", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--propagation", "private"]
    if os.geteuid() != 0:
        enter += ["--user", "--map-root-user"]
    plan = {"command": list(command), "keep": [str(path) for path in keep], "home": home and str(home),
            "environment": environment or {}}
    return [*enter, sys.executable, str(Path(__file__).resolve()), json.dumps(plan)]


def run(command, keep=(), home=None, environment=None, **options):
    return subprocess.run(command_line(command, keep, home, environment), **options)


def refusal():
    """Why no cell can be made here, or None."""
    try:
        made = run(["/bin/true"], capture_output=True, text=True, timeout=30)
    except FileNotFoundError:
        return "there is no program unshare (package util-linux)"
    except subprocess.TimeoutExpired:
        return "making namespaces did not end in 30 s"
    if made.returncode == 0:
        return None
    lines = made.stderr.strip().splitlines()
    return f"namespaces are not allowed here: {lines[-1] if lines else made.returncode}"


# Inside

def mount(source, target, kind=None, flags=0):
    libc = ctypes.CDLL(None, use_errno=True)
    text = lambda value: value.encode() if value is not None else None
    if libc.mount(text(source), text(str(target)), text(kind), flags, None) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"mount of {source} on {target}: {os.strerror(error)}")


def hide(keep, home):
    """Keeps folders open while their parents are hidden, then mounts them at their own paths."""
    held = [(os.open(path, os.O_PATH), path, os.path.isdir(path)) for path in keep]
    if home:
        held.append((os.open(home, os.O_PATH), HOME, True))
    for entry in os.scandir("/"):
        if entry.is_dir(follow_symlinks=False) and entry.name not in SYSTEM:
            mount("tmpfs", entry.path, "tmpfs")
    for folder in ("/tmp", "/var/tmp", HOME):
        os.makedirs(folder, mode=0o1777 if folder != HOME else 0o755, exist_ok=True)
    for handle, path, is_folder in held:
        if is_folder:
            os.makedirs(path, exist_ok=True)
        elif not os.path.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            Path(path).touch()
        mount(f"/proc/self/fd/{handle}", path, flags=MS_BIND | MS_REC)
        os.close(handle)
    mount("proc", "/proc", "proc")


def raise_loopback():
    """SIOCSIFFLAGS with IFF_UP and IFF_RUNNING."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x41))


def main(plan):
    hide(plan["keep"], plan["home"])
    raise_loopback()
    child = os.fork()
    if child == 0:
        os.chdir(HOME)
        os.execvpe(plan["command"][0], plan["command"], {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": HOME, "LANG": "C.UTF-8",
                                                         "TERM": "dumb"} | plan["environment"])
    # This process is the first of the namespace, so it inherits orphans.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: os.kill(child, number))
    while True:
        ended, status = os.wait()
        if ended == child:
            sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

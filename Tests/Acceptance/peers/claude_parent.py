"""Runs a command and forwards its standard streams: a parent that a test can kill, to orphan the command."""

import json
import subprocess
import sys
import threading


def main():
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True)
    sys.stdout.write(json.dumps({"child": child.pid}) + "\n")
    sys.stdout.flush()

    def feed():
        for line in sys.stdin.buffer:
            child.stdin.write(line)
        child.stdin.close()
    threading.Thread(target=feed, daemon=True).start()
    while piece := child.stdout.read(65_536):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    sys.exit(child.wait())


if __name__ == "__main__":
    main()

"""Standard output of a scripted Claude Code: unbounded, so that a client that does not read blocks nothing, and silent once closed."""

import queue
import sys
import threading

PATIENCE = 30


class Output:
    def __init__(self):
        self.lines = queue.Queue()
        self.is_closed = False
        threading.Thread(target=self._write, daemon=True).start()

    def put(self, line):
        self.lines.put(line)

    def _write(self):
        while True:
            line = self.lines.get()
            try:
                if not self.is_closed:
                    sys.stdout.buffer.write(line)
                    sys.stdout.buffer.flush()
            except (OSError, ValueError):
                self.is_closed = True
            self.lines.task_done()

    def flush(self):
        """Waits up to half a minute for the reader."""
        done = threading.Event()
        threading.Thread(target=lambda: (self.lines.join(), done.set()), daemon=True).start()
        done.wait(PATIENCE)

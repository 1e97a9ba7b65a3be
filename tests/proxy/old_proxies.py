"""What tests of moving in share: twemproxy (nutcracker) over real memcacheds.
"""

import os
import socket
import subprocess
import time

from proxy_case import DEADLINE_S
# pylint: disable=wrong-import-order
from ctl_case import hold_port

# Debian's package puts it into a folder that only root searches.
FOLDERS = os.environ["PATH"].split(":") + ["/usr/sbin", "/usr/local/sbin"]


def nutcracker_program():
    """Its path; empty where it is not installed."""
    paths = (os.path.join(folder, "nutcracker") for folder in FOLDERS)
    return next((path for path in paths if os.access(path, os.X_OK)), "")


class Nutcracker:
    """One that runs with this configuration, each pool at a path."""

    def __init__(self, folder, text):
        os.makedirs(folder, exist_ok=True)
        self.config = os.path.join(folder, "nutcracker.yml")
        with open(self.config, "w", encoding="ascii") as file:
            file.write(text)
        self.log = os.path.join(folder, "nutcracker.log")
        self.held = hold_port()  # of what it cannot leave out
        self.process = subprocess.Popen(
            [nutcracker_program(), "-c", self.config, "-o", self.log,
             "-s", str(self.held.getsockname()[1]), "-a", "127.0.0.1",
             "-p", os.path.join(folder, "nutcracker.pid")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

    def wait_for(self, path):
        """It sends no word of its own: until it listens there."""
        end = time.monotonic() + DEADLINE_S
        while self.process.poll() is None and time.monotonic() < end:
            try:
                with socket.socket(socket.AF_UNIX) as one:
                    one.connect(path)
                return
            except OSError:
                time.sleep(0.01)
        with open(self.log, encoding="utf-8", errors="replace") as file:
            raise RuntimeError(f"nutcracker does not listen: {file.read()}")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.held.close()


def pool(name, listen, servers, **settings):
    """Of nutcracker.yml; servers: with weights, and names where they have
    some."""
    lines = [f"{name}:", f"  listen: {listen}"]
    lines += [f"  {key}: {value}" for key, value in settings.items()]
    lines += ["  servers:"] + [f"   - {server}" for server in servers]
    return "\n".join(lines) + "\n"

"""A network with nothing in it but one socket that listens: what runs there
reaches the process that has the socket, and no other."""

import os
import shutil
import socket
import subprocess
import sys

# Brings loopback up, and sends the socket. A host without any address but
# loopback resolves no name, not even a number (AI_ADDRCONFIG): it gets one.
INSIDE = """
import fcntl, socket, struct, sys
UP_AND_RUNNING, SET_FLAGS, SET_ADDRESS = 0x41, 0x8914, 0x8916
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sH14x", b"lo",
                                                   UP_AND_RUNNING))
    fcntl.ioctl(any_socket, SET_ADDRESS, struct.pack(
        "16sHH4s8x", b"lo:1", socket.AF_INET, 0,
        socket.inet_aton("192.0.2.1")))
listening = socket.create_server(("127.0.0.1", 0), backlog=128)
with socket.socket(fileno=int(sys.argv[1])) as out:
    socket.send_fds(out, [b"x"], [listening.fileno()])
sys.stdin.read()
"""


class Island:

    def __init__(self):
        own = [] if os.geteuid() == 0 else ["--map-root-user"]
        here, there = socket.socketpair()
        with here, there:
            self.process = subprocess.Popen(
                ["unshare", "--net", *own, sys.executable, "-c", INSIDE,
                 str(there.fileno())],
                stdin=subprocess.PIPE, pass_fds=[there.fileno()])
            there.close()
            descriptors = socket.recv_fds(here, 1, 1)[1]
        if not descriptors:
            self.close()
            raise OSError("no network of its own")
        self.listening = socket.socket(fileno=descriptors[0])
        self.address = "%s:%d" % self.listening.getsockname()
        of_process = f"/proc/{self.process.pid}/ns"
        self.enter = ["nsenter", f"--net={of_process}/net"]
        if own:
            self.enter += [f"--user={of_process}/user",
                           "--preserve-credentials"]

    def close(self):
        if hasattr(self, "listening"):
            self.listening.close()
        self.process.stdin.close()
        self.process.wait()


def may_be():
    """Whether this machine lets a test have one."""
    if not shutil.which("unshare") or not shutil.which("nsenter"):
        return False
    own = [] if os.geteuid() == 0 else ["--map-root-user"]
    return subprocess.run(["unshare", "--net", *own, "true"],
                          stdin=subprocess.DEVNULL, capture_output=True,
                          check=False).returncode == 0

"""A network of a benchmark's own: loopback alone, with CUBIC, so that figures
do not hang on the congestion control that the machine is set to."""

import os
import socket
import subprocess
import sys

ENTERED = "ERS_OWN_NETWORK"  # in the environment of what runs there
# A network other than the first one may not set its default, but its routes
# may have a congestion control of their own.
SET_UP = """ip link set lo up && for to in 127.0.0.0/8 127.0.0.1; do
  ip route change table local local $to dev lo proto kernel scope host \
src 127.0.0.1 congctl cubic || exit 1
done"""


def in_force():
    """The congestion control of connections on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server, \
            socket.create_connection(server.getsockname()) as client:
        name = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        return name.rstrip(b"\0").decode()


def enter():
    """Starts this program anew there, once. Where that may not be, it goes on
    as it is. Says which congestion control is in force."""
    own = bool(os.environ.get(ENTERED))
    if not own:
        words = ["unshare", "--net", "sh", "-c"]
        may = subprocess.run([*words, SET_UP], stdin=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL,
                             check=False).returncode == 0
        if may:
            os.environ[ENTERED] = "1"
            os.execvp(words[0], [*words, SET_UP + '\nexec "$0" "$@"',
                                 sys.executable, *sys.argv])
    print(f"congestion control: {in_force()}, in "
          + ("a network of its own" if own else "this machine's network "
             "(another one takes root, and iproute2)"), file=sys.stderr)

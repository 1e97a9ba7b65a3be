"""One memcached process: start it, know it again, signal it.

A pid alone is no name: the kernel gives it to another one once its process
has gone. A process is known here by its pid, its start time and the boot it
was started in, and it is signalled through a pidfd opened before those are
compared, so that nothing but the process that was started is ever signalled.
Linux only.
"""

import os
import pwd
import random
import select
import shutil
import signal
import socket
import subprocess
import time

LOOPBACK = "127.0.0.1"
LOWEST_PORT = 15000
PORT_ATTEMPTS = 50
# A busy machine may take this long to end or stop a process.
SIGNAL_S = 60


class ClusterError(Exception):
    """What went wrong and what to do, as one sentence for the user."""


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def read_stat(pid):
    """(state letter, start time in clock ticks) of a pid, or None if gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8",
                  errors="replace") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold blanks and parentheses itself.
    fields = text[text.rindex(")") + 2:].split()
    return fields[0], int(fields[19])


def thread_states(pid):
    """The state letters of its threads."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return []
    stats = [read_stat(f"{pid}/task/{thread}") for thread in threads]
    return [stat[0] for stat in stats if stat is not None]


def process_state(pid, start_ticks, boot):
    """'running', 'stopped' or 'dead', of the process started then."""
    if pid is None or boot != boot_id():
        return "dead"
    stat = read_stat(pid)
    if stat is None or stat[1] != start_ticks or stat[0] in "ZX":
        return "dead"
    return "stopped" if stat[0] in "Tt" else "running"


def signal_process(pid, start_ticks, boot, number, wait_s=0.0):
    """Signals exactly that process and waits up to wait_s for its end.

    Returns False if it was gone already; True if it was signalled and, where
    wait_s > 0, has ended. Raises ClusterError if it is still there then.
    """
    if pid is None:
        return False
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if process_state(pid, start_ticks, boot) == "dead":
            return False
        try:
            signal.pidfd_send_signal(pidfd, number)
        except ProcessLookupError:
            return False
        if wait_s > 0:
            poll = select.poll()
            poll.register(pidfd, select.POLLIN)
            if not poll.poll(wait_s * 1000):
                raise ClusterError(
                    f"memcached process {pid} did not end within {wait_s:g} s "
                    f"of {signal.Signals(number).name}")
        return True
    finally:
        os.close(pidfd)


def freeze_process(pid, start_ticks, boot, wait_s):
    """As signal_process, with SIGSTOP: True once all its threads stand still.
    """
    if not signal_process(pid, start_ticks, boot, signal.SIGSTOP):
        return False
    deadline = time.monotonic() + wait_s
    while any(state not in "TtZX" for state in thread_states(pid)):
        if time.monotonic() > deadline:
            raise ClusterError(f"memcached process {pid} did not stand still "
                               f"within {wait_s:g} s of SIGSTOP")
        # Another's child that stops causes no event: look again soon.
        time.sleep(0.001)
    return True


def end_processes(identities):
    """Ends them politely, then not; passes over those already gone."""
    for identity in identities:
        signal_process(*identity, signal.SIGTERM)
        # A frozen process gets SIGTERM only once it goes on.
        signal_process(*identity, signal.SIGCONT)
    for identity in identities:
        try:
            signal_process(*identity, signal.SIGCONT, wait_s=5)
        except ClusterError:
            signal_process(*identity, signal.SIGKILL, wait_s=SIGNAL_S)


def find_memcached():
    path = shutil.which("memcached") or shutil.which(
        "memcached", path="/usr/bin:/usr/sbin:/usr/local/bin")
    if path is None:
        raise ClusterError(
            "memcached is not installed: apt-get install memcached, "
            "or run memcached-cluster/install-packages run")
    return path


def unprivileged_user():
    """The user that a memcached of root's becomes: it refuses to stay root."""
    for name in ("memcache", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise ClusterError("run as root, memcached needs a user to become, and "
                       "neither memcache nor nobody exists: run as a user")


def host_of(settings):
    return settings.get("host", LOOPBACK)


def command_line(settings, port):
    command = [find_memcached(), "-l", host_of(settings), "-p", str(port), "-U", "0",
               "-m", str(settings["memory_mb"]),
               "-I", f"{settings['item_max_mb']}m",
               "-t", str(settings["threads"])]
    if not settings["evict"]:
        command.append("-M")
    if not settings.get("lru_maintainer", True):
        command += ["-o", "no_lru_maintainer"]
    if os.geteuid() == 0:
        command += ["-u", unprivileged_user()]
    return command


def candidate_ports():
    """Ports to try, below those that the kernel hands to outgoing sockets.

    A dead server's port must stay free for it, and a client that reconnects
    to a dead port of that range can, by chance, connect to itself.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range",
              encoding="ascii") as file:
        highest = int(file.read().split()[0]) - 1
    lowest = LOWEST_PORT if highest > LOWEST_PORT + 1000 else 1024
    return random.SystemRandom().sample(
        range(lowest, highest), min(PORT_ATTEMPTS, highest - lowest))


def answering_pid(port, host=LOOPBACK, timeout_s=1.0):
    """The pid that the memcached at the port names, or None."""
    try:
        with socket.create_connection((host, port), timeout_s) as link:
            link.settimeout(timeout_s)
            link.sendall(b"stats\r\nquit\r\n")
            reply = b""
            while True:
                part = link.recv(65536)
                if not part:
                    break
                reply += part
    except OSError:
        return None
    for line in reply.split(b"\r\n"):
        if line.startswith(b"STAT pid "):
            return int(line.split()[2])
    return None


def start_process(settings, port, log_path, wait_s):
    """Starts memcached at the port and waits until this very one answers.

    Returns (pid, start_ticks), or None if the port is taken. Raises
    ClusterError for any other failure; nothing is left running then.
    """
    host = host_of(settings)
    with open(log_path, "wb") as log:
        process = subprocess.Popen(
            command_line(settings, port), stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, cwd="/", start_new_session=True)
    deadline = time.monotonic() + wait_s
    try:
        while process.poll() is None:
            if answering_pid(port, host) == process.pid:
                stat = read_stat(process.pid)
                if stat is not None:
                    # It outlives this command, on purpose.
                    process.returncode = 0
                    return process.pid, stat[1]
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"memcached at {host}:{port} did not answer within "
                    f"{wait_s:g} s")
            # A server that begins to answer causes no event: ask again soon.
            time.sleep(0.005)
    except BaseException:
        process.kill()
        process.wait()
        raise
    with open(log_path, encoding="utf-8", errors="replace") as log:
        said = log.read().strip()
    if "Address already in use" in said:
        return None
    raise ClusterError(f"memcached at {host}:{port} ended with exit code "
                       f"{process.returncode}: {said or 'no message'}")


def is_held(host, port):
    """Whether any socket has the port, also one that does not listen: memcached
    itself would take it all the same."""
    with socket.socket() as probe:
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False


def start_anywhere(settings, log_path, wait_s):
    """The same at a free port of its choice: (port, pid, start_ticks)."""
    for port in candidate_ports():
        if is_held(host_of(settings), port):
            continue
        started = start_process(settings, port, log_path, wait_s)
        if started is not None:
            return port, *started
    raise ClusterError(f"no free port on {host_of(settings)} among {PORT_ATTEMPTS} "
                       "tried: stop what listens there")

"""A new process takes over from one that runs (SIGUSR2): no client is refused,
none is cut off, and none has to ask twice."""

import ctypes
import http.client
import json
import os
import select
import signal
import socket
import subprocess
import threading
import unittest

from daemon_case import BAD_USAGE, DaemonCase, ENDED, FAILED
from proxy_case import (DEADLINE_S, ERSPROXY, KIB, MIB, Link, random_bytes,
                        split_address)

CLIENTS = 50
PR_SET_CHILD_SUBREAPER = 36
# A binary "version" and its answer's magic and operation.
VERSION = b"\x80\x0b" + bytes(22)


class Orphan:
    """A process that this one has not started: its parent has ended."""

    def __init__(self, pid):
        self.pid = pid
        self.ended = None

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        if self.ended is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout=DEADLINE_S):
        if self.ended is None:
            pidfd = os.pidfd_open(self.pid)
            over = select.select([pidfd], [], [], timeout)[0]
            os.close(pidfd)
            if not over:
                raise TimeoutError(f"process {self.pid} does not end")
            self.ended = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.ended


class Client(threading.Thread):
    """Writes and reads a key of its own, all the time; every few times, or
    always, over a new connection."""

    def __init__(self, addresses, number, stop):
        super().__init__()
        self.address = addresses[number % len(addresses)]
        self.number, self.stop = number, stop
        self.asked, self.pids, self.wrong = 0, set(), []

    def run(self):
        try:
            while not self.stop.is_set() and not self.wrong:
                with Link(self.address) as link:
                    self.use(link)
        except (OSError, AssertionError) as error:
            self.wrong.append(repr(error))

    def use(self, link):
        lengths = (10, 5000, 200 * KIB)
        while not self.stop.is_set():
            value = random_bytes(lengths[self.asked % 3], seed=self.number)
            said = link.set(f"c{self.number}", value)
            got = link.get(f"c{self.number}")
            if said != b"STORED" or got != value:
                self.wrong.append((said, got and len(got)))
                return
            self.pids.add(link.stats()["pid"])
            self.asked += 1
            if self.number % 5 == 0:
                return


class HandoverTest(DaemonCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # So that what the daemons leave behind is this process's to wait for.
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")

    def begin(self, more=""):
        path = self.path("ersproxy.yaml")
        self.config(f"admin: 127.0.0.1:0\nstate_dir: {self.path('state')}\n"
                    f"threads: 2\n{more}")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        text = text.replace('["127.0.0.1:0"]',
                            f'["127.0.0.1:0", "{self.path("socket")}"]')
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return self.start("--config", path)

    def next_of(self, daemon):
        """Has a new process take over; the old one, which has not ended yet.
        """
        old = daemon.process
        old.send_signal(signal.SIGUSR2)
        said = b""
        while not said.startswith(b"MAINPID="):
            said = daemon.notices.recv(4096)
        daemon.process = Orphan(int(said.partition(b"=")[2]))
        # The new one is this process's to wait for once that has ended.
        self.addCleanup(old.wait)
        self.addCleanup(old.kill)
        return old

    def same(self, got, wanted):
        """As assertEqual, without printing megabytes."""
        self.assertTrue(got == wanted, "other bytes than stored")

    def admin(self, daemon, method, path, body=None):
        link = http.client.HTTPConnection(*split_address(daemon.addresses[-1]),
                                          timeout=DEADLINE_S)
        self.addCleanup(link.close)
        link.request(method, path, body and json.dumps(body),
                     {"Content-Type": "application/json"})
        return json.loads(link.getresponse().read())

    def pid_by(self, link):
        return int(link.stats()["pid"])

    def test_no_client_is_refused_or_cut_off(self):
        daemon = self.begin()
        stop = threading.Event()
        clients = [Client(daemon.addresses[:2], i, stop)
                   for i in range(CLIENTS)]
        idle = [self.link_to(address) for address in daemon.addresses[:2]]
        for client in clients:
            client.start()
        try:
            pids = [str(daemon.process.pid)]
            # The second one takes over what was taken over.
            for _ in range(2):
                self.until(lambda: all(pids[-1] in client.pids or client.wrong
                                       for client in clients),
                           "each was served by the process")
                old = self.next_of(daemon)
                self.assertEqual(old.wait(DEADLINE_S), ENDED, daemon.log())
                pids.append(str(daemon.process.pid))
            self.until(lambda: all(pids[-1] in client.pids or client.wrong
                                   for client in clients),
                       "each was served by the last one")
        finally:
            stop.set()
            for client in clients:
                client.join(DEADLINE_S)
        self.assertEqual([client.wrong for client in clients],
                         [[]] * CLIENTS, daemon.log())
        for link in idle:
            self.assertEqual(self.pid_by(link), daemon.process.pid)
        with open(daemon.ports, encoding="utf-8") as file:
            self.assertEqual(file.read().split(), daemon.addresses)
        daemon.process.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.process.wait(), ENDED, daemon.log())
        self.assertFalse(os.path.exists(daemon.addresses[1]))
        print(f"{sum(client.asked for client in clients)} times a key was set "
              f"and read by {CLIENTS} clients, over two handovers")

    def link_to(self, address):
        link = Link(address)
        self.addCleanup(link.socket.close)
        return link

    def test_what_was_begun_is_ended(self):
        daemon = self.begin()
        address = daemon.addresses[0]
        value = random_bytes(3 * MIB, seed=1)
        half_line, half_header, half_value, reader = (
            self.link_to(address) for _ in range(4))
        slow = Link(address, receive_bytes=4 * KIB)
        self.addCleanup(slow.socket.close)
        self.assertEqual(half_line.set("long", value), b"STORED")
        half_line.send(b"get lo")
        half_header.send(VERSION[:10])
        half_value.send(b"set other 0 0 %d\r\n" % len(value) + value[:MIB])
        slow.send(b"get long\r\nget long\r\nversion\r\n")
        self.assertEqual(slow.line(), b"VALUE long 0 %d" % len(value))
        # All of that has come once this, which came later, is answered.
        self.assertEqual(reader.ask(b"mn"), b"MN")

        old = self.next_of(daemon)
        # Those are served by the new one, from where they stand.
        half_line.send(b"ng\r\n")
        self.same(half_line.values()["long"][0], value)
        self.assertEqual(self.pid_by(half_line), daemon.process.pid)
        half_header.send(VERSION[10:])
        self.assertEqual(half_header.read(2), b"\x81\x0b")
        self.assertEqual(self.pid_by(reader), daemon.process.pid)
        # The old one waits for these.
        half_value.send(value[MIB:] + b"\r\n")
        self.assertEqual(half_value.line(), b"STORED")
        self.same(half_value.get("other"), value)
        self.assertEqual(self.pid_by(half_value), daemon.process.pid)
        answer = value + b"\r\nEND\r\n"
        self.same(slow.read(len(answer)), answer)
        self.assertEqual(slow.line(), b"VALUE long 0 %d" % len(value))
        self.same(slow.read(len(answer)), answer)
        self.assertTrue(slow.line().startswith(b"VERSION "))
        self.assertEqual(old.wait(DEADLINE_S), ENDED, daemon.log())

    def test_jobs_go_on_in_the_new_one(self):
        daemon = self.begin()
        link = self.link_to(daemon.addresses[0])
        for i in range(8):
            self.assertEqual(link.set(f"job{i}", b"x" * 200 * KIB), b"STORED")
        path = "/v1/jobs/" + self.admin(
            daemon, "POST", "/v1/jobs",
            {"to": "wide", "select": {"prefix": "job"}, "parallel": 1,
             "bytes_per_second": 1000})["id"]
        self.until(lambda: self.admin(daemon, "GET", path)["objects"]["changed"]
                   > 0, "it has begun")
        old = self.next_of(daemon)
        self.assertEqual(old.wait(DEADLINE_S), ENDED, daemon.log())
        self.until(lambda: self.admin(daemon, "GET", path)["state"] ==
                   "running", "it goes on")
        self.assertEqual(daemon.log().count("is taken up"), 1)
        self.admin(daemon, "POST", path + "/cancel")

    def test_where_the_new_one_cannot_serve_the_old_one_goes_on(self):
        daemon = self.begin()
        link = self.link_to(daemon.addresses[0])
        path = self.path("ersproxy.yaml")
        with open(path, encoding="utf-8") as file:
            good = file.read()
        other = self.spare()
        for bad, why in ((good + "no_such_setting: 1\n", "no_such_setting"),
                         (good.replace(self.servers.split(",")[0], other),
                          "does not take over")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(bad)
            before = len(daemon.log())
            daemon.process.send_signal(signal.SIGUSR2)
            self.until(lambda before=before: "this one goes on" in
                       daemon.log()[before:], "it says that it goes on")
            self.assertIn(why, daemon.log()[before:])
            self.assertIn(f"exit code {BAD_USAGE}", daemon.log()[before:])
            self.assertEqual(self.pid_by(link), daemon.process.pid)
            self.assertEqual(self.admin(daemon, "GET", "/status")["state"],
                             "serving")
        with open(path, "w", encoding="utf-8") as file:
            file.write(good)
        old = self.next_of(daemon)
        self.assertEqual(old.wait(DEADLINE_S), ENDED, daemon.log())
        self.assertEqual(self.pid_by(link), daemon.process.pid)

    def test_where_the_new_one_dies_too_late_both_end(self):
        daemon = self.begin()
        # The new one finds that once the jobs of the old one have ended.
        jobs = os.path.join(self.path("state"), "jobs")
        os.rename(jobs, jobs + ".away")
        with open(jobs, "wb"):
            pass
        daemon.process.send_signal(signal.SIGUSR2)
        self.assertEqual(daemon.process.wait(DEADLINE_S), FAILED, daemon.log())
        self.assertIn("this one ends, too", daemon.log())

    def test_where_the_new_one_dies_with_the_clients_the_old_one_says_so(self):
        daemon = self.begin()
        link = self.link_to(daemon.addresses[0])
        idle = self.link_to(daemon.addresses[0])
        link.send(b"set k 0 0 2\r\nx")
        self.assertEqual(idle.ask(b"mn"), b"MN")
        old = self.next_of(daemon)
        self.until(lambda: self.pid_by(idle) == daemon.process.pid,
                   "a client is the new one's")
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process = old
        self.assertEqual(idle.read_all(), b"")
        self.until(lambda: "was ended by signal 9" in daemon.log(),
                   "the old one sees it")
        link.send(b"y\r\n")
        self.assertEqual(link.line(), b"STORED")
        self.assertEqual(link.read_all(), b"")
        self.assertEqual(old.wait(DEADLINE_S), FAILED, daemon.log())
        self.assertIn("1 client cut off", daemon.log())

    def test_tunnels_go_on_and_are_waited_for(self):
        daemon = self.begin()
        tunnels = []
        server = self.servers.split(",")[0]

        def ask_for_tunnel():
            tunnels.append(self.link_to(daemon.addresses[-1]))
            tunnels[-1].send(f"CONNECT {server} HTTP/1.1\r\n\r\n".encode())
            self.assertIn(b" 200 ", tunnels[-1].until(b"\r\n\r\n"))
        ask_for_tunnel()
        old = self.next_of(daemon)
        ask_for_tunnel()  # of the new one
        for tunnel in tunnels:
            self.assertTrue(tunnel.ask(b"version").startswith(b"VERSION"))
        self.assertIsNone(old.poll())
        tunnels[0].socket.close()
        self.assertEqual(old.wait(DEADLINE_S), ENDED, daemon.log())
        self.assertTrue(tunnels[1].ask(b"version").startswith(b"VERSION"))

    def test_sockets_that_it_is_started_with_are_used(self):
        """As systemd does it (LISTEN_FDS)."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            address = "127.0.0.1:%d" % listening.getsockname()[1]
            early = self.link_to(address)  # before there is a daemon
            path = self.path("ersproxy.yaml")
            self.config("")
            with open(path, encoding="utf-8") as file:
                text = file.read().replace("127.0.0.1:0", address)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            script = ('export LISTEN_FDS=1 LISTEN_PID=$$; '
                      f'exec "$0" --config "$1" 3<&{listening.fileno()}')
            # The second one finds them as the first one did.
            for _ in range(2):
                with subprocess.Popen(
                        ["sh", "-c", script, ERSPROXY, path],
                        pass_fds=[listening.fileno()],
                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                        env=self.environment("")) as process:
                    self.addCleanup(process.kill)
                    self.assertEqual(self.pid_by(early), process.pid)
                    process.terminate()
                    self.assertEqual(process.wait(DEADLINE_S), ENDED)
                early = self.link_to(address)


if __name__ == "__main__":
    unittest.main()

"""A new process that is to take over (SIGUSR2), and then does not go on: what
stands in for it here says only what the test wants."""

import os
import signal
import unittest

from daemon_case import DaemonCase, ENDED, FAILED
from proxy_case import DEADLINE_S, ERSPROXY, Link

PATIENCE_S = 60  # the daemon's
CLIENTS = 400    # far more than fit between two processes
STAND_IN = """#!/usr/bin/env python3
import os, select, socket
listening = int(os.environ["ERSPROXY_TAKES_OVER"].split(":")[1])
with socket.socket(fileno=3 + listening) as channel:
    {}
    end = select.poll()
    end.register(channel, 0)
    end.poll()
"""
SAYS_NOTHING = "pass"
MAY_SERVE = 'channel.send(b"m"); channel.recv(1)'
SERVES = MAY_SERVE + '; channel.send(b"s")'


class StalledTest(DaemonCase):

    def begin(self, name, then):
        """A daemon, which `then` is to take over from."""
        program = self.path(f"program-{name}")
        os.symlink(ERSPROXY, program)
        daemon = self.start("--config", self.config("threads: 2\n"),
                            program=program)
        os.unlink(program)
        with open(program, "w", encoding="utf-8") as file:
            file.write(STAND_IN.format(then))
        os.chmod(program, 0o755)
        return daemon

    def link_to(self, daemon):
        link = Link(daemon.addresses[0])
        self.addCleanup(link.socket.close)
        return link

    def test_one_that_says_no_more_is_given_up(self):
        goes_on = self.begin("1", SAYS_NOTHING)
        ends = self.begin("2", MAY_SERVE)
        for daemon in (goes_on, ends):
            daemon.process.send_signal(signal.SIGUSR2)
        self.until(lambda: "can serve" in ends.log(), "it gives way")
        for word, number in (("SIGHUP", signal.SIGHUP),
                             ("SIGUSR2", signal.SIGUSR2)):
            ends.process.send_signal(number)
            self.until(lambda word=word: any(
                word in line and "passed over" in line
                for line in ends.log().splitlines()), "the log has the signal")
        link = self.link_to(goes_on)
        self.assertEqual(ends.process.wait(PATIENCE_S + DEADLINE_S), FAILED,
                         ends.log())
        self.assertIn("that it serves: it is killed", ends.log())
        self.until(lambda: "this one goes on" in goes_on.log(), "it goes on")
        self.assertIn("that it can serve: it is killed", goes_on.log())
        self.assertEqual(int(link.stats()["pid"]), goes_on.process.pid)
        goes_on.stop()

    def test_one_that_takes_no_client_holds_up_none_for_long(self):
        daemon = self.begin("3", SERVES)
        clients = [self.link_to(daemon) for _ in range(CLIENTS)]
        for client in clients:
            client.send(b"get " + b"k " * 400)
        daemon.process.send_signal(signal.SIGUSR2)
        # Not so long for each of them.
        self.assertEqual(daemon.process.wait(DEADLINE_S), ENDED, daemon.log())
        self.assertRegex(daemon.log(), r"\d+ clients cut off")


if __name__ == "__main__":
    unittest.main()

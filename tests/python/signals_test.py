"""A Ctrl-C in the midst of a call: it is raised, and nothing is cut short."""

import contextlib
import os
import signal
import sys
import threading

import ers
from package_case import (DEADLINE_S, MiB, PackageCase, RelayedCase,
                          random_bytes, unittest)

OLD = random_bytes(MiB, 1)


class HeldCallTest(RelayedCase):
    """The signal comes while the library waits for servers, so that Python
    handles it as soon as it is called back, before the callback's first line."""

    def setUp(self):
        super().setUp()
        self.client = self.open(**self.relayed)

    def interrupt(self):
        """Of the main thread, once it is in the library."""
        main = threading.main_thread().ident
        self.relay.held.wait(DEADLINE_S)
        # What is seen holds until the signal is sent: neither step lets the
        # GIL go.
        while not sys._current_frames()[main].f_code.co_filename.endswith(
                os.sep + "_client.py"):
            pass
        os.kill(os.getpid(), signal.SIGINT)
        self.relay.open_gate()

    def interrupted(self, call):
        self.relay.close_gate()
        other = threading.Thread(target=self.interrupt)
        other.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                call()
        finally:
            other.join()

    def test_the_old_value_stands_where_a_source_is_interrupted(self):
        for call in (self.client.put_from, self.client.append_from):
            with self.subTest(call.__name__):
                self.client.put("stands", OLD)
                self.interrupted(lambda call=call: call(
                    "stands", (bytes(MiB) for _ in range(64))))
                self.assertTrue(self.client.get("stands") == OLD)

    def test_a_get_is_ended(self):
        self.client.put("read", bytes(40 * MiB))
        parts, shown = [], []
        self.interrupted(lambda: self.client.get("read"))
        self.interrupted(lambda: self.client.get_to("read", parts.append))
        self.assertEqual(parts, [])
        self.interrupted(lambda: self.client.get_to("read", parts.append,
                                                    shown.append))
        self.assertEqual(parts, [])
        self.assertEqual(len(self.client.get("read")), 40 * MiB)

    def test_a_visit_is_ended(self):
        for number in range(3):
            self.client.put(f"visited{number}", OLD)
        seen = []
        self.interrupted(
            lambda: self.client.visit(lambda key, _info: seen.append(key)))
        self.assertEqual(seen, [])


class LogTest(PackageCase):

    def test_a_log_that_is_interrupted_ends_in_the_call(self):
        lines = []

        def log(_level, line):
            lines.append(line)
            raise KeyboardInterrupt if len(lines) == 1 else OSError
        silent = self.servers + ",127.0.0.1:1"
        client = self.open(servers=silent, log=log)
        with self.assertRaises(KeyboardInterrupt):
            client.put("logged", OLD)
        self.assertTrue(lines)
        client.put("logged", OLD)  # once; what a log raises else is dropped
        self.assertTrue(client.get("logged") == OLD)


class PoolTest(PackageCase):
    """A signal's handler may raise wherever Python calls, or has called."""

    def steps(self, client, strike):
        """The calls of a get, the `strike`th of which ends so."""
        count = 0

        def step(frame, event, _what):
            nonlocal count
            inner = frame.f_code.co_filename.endswith(
                (os.sep + "_pool.py", os.sep + "threading.py"))
            if event not in ("call", "c_return") or not inner:
                return
            count += 1
            if count == strike:
                sys.setprofile(None)
                raise KeyboardInterrupt
        sys.setprofile(step)
        try:
            client.get("pool")
        finally:
            sys.setprofile(None)
        return count

    def test_no_client_is_lost_wherever_a_call_is_interrupted(self):
        client = self.open(parallel=1)
        client.put("pool", b"x")
        steps = self.steps(client, 0)
        self.assertGreater(steps, 5)
        for strike in range(1, steps + 1):
            with self.subTest(strike):
                with contextlib.suppress(KeyboardInterrupt):
                    self.steps(client, strike)
                    self.fail("it was not interrupted")
                # On another thread, which would wait for the only client.
                got = []
                other = threading.Thread(
                    target=lambda got=got: got.append(client.get("pool")),
                    daemon=True)
                other.start()
                other.join(DEADLINE_S)
                self.assertEqual(got, [b"x"])


if __name__ == "__main__":
    unittest.main()

"""Calls let other threads run, and each other; clients end when they should."""

import os
import threading

import ers
from package_case import (DEADLINE_S, MiB, PackageCase, RelayedCase,
                          open_files, random_bytes, unittest)


class Call(threading.Thread):
    """A call on a thread of its own."""

    def __init__(self, call, *words):
        super().__init__(daemon=True)
        self.call, self.words = call, words
        self.result = self.failure = None
        self.start()

    def run(self):
        try:
            self.result = self.call(*self.words)
        except BaseException as failure:  # pylint: disable=broad-except
            self.failure = failure

    def wait(self):
        self.join(DEADLINE_S)
        if self.is_alive():
            raise AssertionError("the call does not end")
        if self.failure:
            raise self.failure
        return self.result


class GilTest(RelayedCase):

    def test_other_threads_run_while_a_call_waits_for_servers(self):
        value = random_bytes(MiB, 1)
        into = bytearray(MiB)
        client = self.open(**self.relayed)
        client.put("through", value)
        for call in (lambda: client.put("through", value),
                     lambda: client.get("through"),
                     lambda: client.get_into("through", into),
                     lambda: client.update("through", 0, value[:10]),
                     lambda: client.get_to("through", lambda part: None),
                     lambda: client.stat("through"),
                     client.servers):
            self.relay.close_gate()
            running = Call(call)
            # This thread and the relay's go on with the call under way.
            self.assertTrue(self.relay.held.wait(DEADLINE_S))
            self.assertTrue(running.is_alive())
            self.relay.open_gate()
            running.wait()
        self.assertTrue(into == value)

    def test_a_buffer_cannot_be_resized_while_a_call_uses_it(self):
        buffer = bytearray(random_bytes(MiB, 2))
        client = self.open(**self.relayed)
        client.put("lent", buffer)
        for call in (client.put, client.get_into):
            self.relay.close_gate()
            running = Call(call, "lent", buffer)
            self.assertTrue(self.relay.held.wait(DEADLINE_S))
            with self.assertRaises(BufferError):
                buffer.append(1)
            self.relay.open_gate()
            running.wait()
        self.assertTrue(buffer == random_bytes(MiB, 2))


class ThreadsTest(PackageCase):

    def test_calls_of_one_client_run_at_the_same_time(self):
        client = self.open(parallel=2)
        client.put("slow", bytes(20 * MiB))
        client.put("other", b"x")
        got = []

        def sink(_part):
            if not got:  # the first call goes on once the second has ended
                got.append(Call(client.get, "other").wait())
        client.get_to("slow", sink)
        self.assertEqual(got, [b"x"])

    def test_more_threads_than_clients_take_turns(self):
        client = self.open(parallel=2)
        values = {f"turn{n}": random_bytes(100_000, n) for n in range(8)}

        def work(key, value):
            for _ in range(5):
                client.put(key, value)
                self.assertTrue(client.get(key) == value)
        for running in [Call(work, *item) for item in values.items()]:
            running.wait()

    def test_close_waits_for_calls_and_then_none_is_taken(self):
        before = open_files()
        client = self.open()
        value = random_bytes(20 * MiB, 3)
        client.put("closing", value)
        begun, go_on = threading.Event(), threading.Event()
        parts = []

        def sink(part):
            begun.set()
            go_on.wait(DEADLINE_S)
            parts.append(part)
        reading = Call(client.get_to, "closing", sink)
        self.assertTrue(begun.wait(DEADLINE_S))
        closing = Call(client.close)
        go_on.set()
        reading.wait()
        closing.wait()
        self.assertTrue(b"".join(parts) == value)
        self.assertEqual(open_files(), before)
        for call in (lambda: client.get("closing"), client.servers,
                     lambda: client.put("closing", b"")):
            with self.assertRaisesRegex(RuntimeError, "closed"):
                call()
        client.close()  # once more is nothing

    def test_the_end_of_a_with_statement_closes(self):
        with ers.Client(self.servers) as client:
            client.put("with", b"x")
        with self.assertRaisesRegex(RuntimeError, "closed"):
            client.get("with")

    def test_a_callback_may_not_use_its_client(self):
        client = self.open()
        client.put("inner", b"x")
        client.put("outer", bytes(MiB))
        for call in (lambda: client.get("inner"), client.close):
            with self.assertRaisesRegex(RuntimeError, "must not use"):
                client.get_to("outer", lambda part, call=call: call())
        # Another one it may.
        client.get_to("outer", lambda part: self.client.get("inner"))
        self.assertEqual(client.get("inner"), b"x")

    def test_a_child_process_is_refused_and_the_parent_goes_on(self):
        self.client.put("fork", b"x")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                self.client.get("fork")
            except RuntimeError as error:
                code = 0 if "before fork" in str(error) else 2
            self.client.close()  # touches nothing of the parent's
            os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(self.client.get("fork"), b"x")


if __name__ == "__main__":
    unittest.main()

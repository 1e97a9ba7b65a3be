"""Many clients that change one key: each is answered as memcached does, and
what was acknowledged is there, once.

ERS_CONNECTIONS and ERS_OPERATIONS make it a longer trial; ctest's is short.
ERS_PROXIES names the numbers of processes, 1,2 by default."""

import collections
import os
import threading
import unittest

from proxy_case import Link, ProxyCase

CONNECTIONS = int(os.environ.get("ERS_CONNECTIONS", "8"))
OPERATIONS = int(os.environ.get("ERS_OPERATIONS", "80"))
PROXIES = os.environ.get("ERS_PROXIES", "1,2").split(",")
EACH = OPERATIONS // CONNECTIONS
TOTAL = EACH * CONNECTIONS


class Contention:
    """With `proxies` processes on the same servers."""

    options = ("--threads", "2")
    proxies = 1

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addresses = [cls.address] + [
            cls.start_proxy(f"proxy{i}", *cls.options).addresses[0]
            for i in range(1, cls.proxies)]

    def crowd(self, work, connections=CONNECTIONS):
        """work(link, i), on a connection each, gives answers: how often each
        came."""
        counts, problems, lock = collections.Counter(), [], threading.Lock()
        start = threading.Barrier(connections)

        def one(i):
            try:
                with Link(self.addresses[i % len(self.addresses)]) as link:
                    start.wait()
                    answers = work(link, i)
            except (OSError, AssertionError, ValueError) as error:
                answers = [repr(error)]
            with lock:
                counts.update(answers)

        threads = [threading.Thread(target=one, args=(i,))
                   for i in range(connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])
        return dict(counts)

    def value(self, key):
        """By each process."""
        values = {self.link(address).get(key) for address in self.addresses}
        self.assertEqual(len(values), 1)
        return values.pop()

    def test_appends_and_prepends(self):
        self.link().set("a", b".")

        def work(link, i):
            verb = "prepend" if i % 2 else "append"
            return [link.store(verb, "a", b"%02d" % i) for _ in range(EACH)]

        self.assertEqual(self.crowd(work), {b"STORED": TOTAL})
        before, after = self.value("a").split(b".")
        for value, first in ((after, 0), (before, 1)):
            pieces = collections.Counter(
                value[at:at + 2] for at in range(0, len(value), 2))
            self.assertEqual(pieces, {
                b"%02d" % i: EACH for i in range(first, CONNECTIONS, 2)})

    def test_appends_without_answers(self):
        """Those of one client stay in order."""
        self.link().set("n", b"")

        def work(link, i):
            link.send(b"".join(b"append n 0 0 6 noreply\r\n%02d%03d,\r\n"
                               % (i, n) for n in range(EACH)))
            return [link.ask(b"mn")]

        self.assertEqual(self.crowd(work), {b"MN": CONNECTIONS})
        pieces = self.value("n").rstrip(b",").split(b",")
        for i in range(CONNECTIONS):
            own = [piece[2:] for piece in pieces if piece[:2] == b"%02d" % i]
            self.assertEqual(own, [b"%03d" % n for n in range(EACH)])

    def test_appends_to_a_value_of_blocks(self):
        self.link().set("b", b"." * 30_000)
        work = lambda link, i: [link.store("append", "b", b"x" * 100)
                                for _ in range(EACH // 2)]
        self.assertEqual(self.crowd(work),
                         {b"STORED": EACH // 2 * CONNECTIONS})
        self.assertEqual(len(self.value("b")),
                         30_000 + 100 * (EACH // 2) * CONNECTIONS)

    def test_increments_and_decrements(self):
        for key, value in (("i", b"1000000"), ("l", b"1000000" + b" " * 4093)):
            with self.subTest(bytes=len(value)):
                self.link().set(key, value)

                def work(link, i, key=key.encode()):
                    change = ((b"incr %s 3", b"decr %s 2", b"ma %s N0 J7 D5 v",
                               b"ma %s MD D4")[i % 4]) % key
                    answers = []
                    for _ in range(EACH):
                        answer = link.ask(change)
                        if answer.startswith(b"VA "):
                            answer = link.line()
                        answers.append(b"number" if answer[:1].isdigit()
                                       else answer)
                    return answers

                whole = [sum(i % 4 == kind for i in range(CONNECTIONS))
                         for kind in range(4)]
                counts = self.crowd(work)
                self.assertEqual(counts, {b"number": EACH * sum(whole[:3]),
                                          b"HD": EACH * whole[3]})
                by = EACH * (3 * whole[0] - 2 * whole[1] + 5 * whole[2]
                             - 4 * whole[3])
                self.assertEqual(int(self.value(key)), 1_000_000 + by)

    def test_touches_and_reads(self):
        self.link().set("t", b"v")

        def work(link, i):
            answers = []
            for n in range(EACH):
                exptime = 1000 + i * EACH + n
                if i % 2:
                    answers.append(link.ask(b"touch t %d" % exptime))
                else:
                    link.send(b"gat %d t\r\n" % exptime)
                    answers.append(link.values()["t"][0])
            return answers

        odd = CONNECTIONS // 2
        self.assertEqual(self.crowd(work), {
            b"TOUCHED": EACH * odd, b"v": EACH * (CONNECTIONS - odd)})

    def test_loops_of_cas(self):
        self.link().set("c", b"0")
        times = max(1, EACH // 4)

        def work(link, _):
            answers = []
            while answers.count(b"STORED") < times:
                value, _, cas = link.get_many("c", verb="gets")["c"]
                answers.append(link.store("cas", "c", b"%d" % (int(value) + 1),
                                          more=f" {cas}"))
            return answers

        counts = self.crowd(work)
        self.assertEqual(counts[b"STORED"], times * CONNECTIONS)
        self.assertLessEqual(set(counts), {b"STORED", b"EXISTS"})
        self.assertEqual(int(self.value("c")), times * CONNECTIONS)

    def test_one_add_of_many_is_stored(self):
        for n in range(5):
            counts = self.crowd(lambda link, i, n=n: [
                link.store("add", f"add{n}", b"x" * (i % 2 * 9000 + 1))])
            self.assertEqual(counts, {b"STORED": 1,
                                      b"NOT_STORED": CONNECTIONS - 1})

    def test_writes_while_all_is_flushed(self):
        ended = threading.Event()

        def work(link, i):
            if i == 0:
                answers = []
                while not ended.is_set():
                    answers.append(link.ask(b"flush_all"))
                    ended.wait(0.02)  # a cluster has other things to do
                return answers
            answers = []
            for n in range(EACH):
                key = f"f{i % 3}{n % 5}"
                answers += [
                    link.set(key, b"1" * (1 if n % 2 else 20_000)),
                    link.store("add", key, b"1"),
                    link.store("append", key, b"1"),
                    link.ask(b"touch %s 100" % key.encode()),
                    link.ask(b"delete %s" % key.encode())]
            if i == 1:
                ended.set()
            return answers

        counts = self.crowd(work)
        self.assertLessEqual(set(counts), {
            b"OK", b"STORED", b"NOT_STORED", b"TOUCHED", b"NOT_FOUND",
            b"DELETED"}, counts)


for count in PROXIES:
    name = f"Contention{count}Test"
    globals()[name] = type(name, (Contention, ProxyCase),
                           {"proxies": int(count)})

if __name__ == "__main__":
    unittest.main()

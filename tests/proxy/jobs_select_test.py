"""Which objects a job takes, and how fast it goes."""

import threading
import time
import unittest

from jobs_case import JobsCase
from proxy_case import KIB, Link, random_bytes


class SelectTest(JobsCase):

    def store(self, prefix, lengths):
        with self.link() as link:
            for name, length in lengths.items():
                link.set(f"{prefix}{name}", random_bytes(length, length))

    def take(self, to="wide", **select):
        """The job that took these, once it is done."""
        job = self.api.start(to, select=select)
        self.assertEqual(job["select"], select)
        job = self.wait_for(self.api, job["id"], "done")
        self.sums_up(job)
        return job

    def wide(self, prefix):
        return {key.removeprefix(prefix)
                for key, width in self.widths(prefix).items()
                if width == "wide"}

    def test_prefix_and_pattern(self):
        self.store("pp:", {name: 5000 for name in
                           ("a1", "a2", "b1", "b22", "c")})
        self.assertEqual(self.take(prefix="pp:a")["objects"]["changed"], 2)
        self.assertEqual(self.wide("pp:"), {"a1", "a2"})
        # The whole key must match.
        self.assertEqual(self.take(pattern="b[0-9]")["objects"]["selected"],
                         0)
        self.take(pattern="pp:b[0-9]")
        self.assertEqual(self.wide("pp:"), {"a1", "a2", "b1"})
        job = self.take(prefix="pp:", pattern=".*[0-9]")
        self.assertEqual((job["objects"]["changed"], job["objects"]["already"]),
                         (1, 3))
        self.assertEqual(self.wide("pp:"), {"a1", "a2", "b1", "b22"})

    def test_size_and_to_where(self):
        sizes = {"0": 0, "100": 100, "4999": 4999, "5000": 5000,
                 "100000": 100000, "100001": 100001}
        self.store("size:", sizes)
        self.take(prefix="size:", min_bytes=5000, max_bytes=100000)
        self.assertEqual(self.wide("size:"), {"5000", "100000"})
        self.take(prefix="size:", max_bytes=100)
        self.assertEqual(self.wide("size:"), {"0", "100", "5000", "100000"})
        job = self.take("narrow", prefix="size:")
        self.assertEqual((job["objects"]["changed"], job["objects"]["already"]),
                         (4, 2))
        self.assertEqual(self.wide("size:"), set())
        job = self.take("rs:3,1", prefix="size:")
        self.assertEqual(job["objects"]["changed"], 6)
        # A scheme of one width is not for this.
        job = self.take(prefix="size:")
        self.assertEqual(job["objects"]["selected"], 0)
        with self.link() as link:
            for name, length in sizes.items():
                self.same(link.get(f"size:{name}"),
                          random_bytes(length, length), name)

    def test_idle(self):
        """Reads count from the second one on, in both sizes that a proxy reads
        differently; listings, stats and jobs do not."""
        self.assertTrue(any(self.takes_the_idle(f"{attempt}:")
                            for attempt in range(8)),
                        "this machine never reads a value all 3 s")

    def takes_the_idle(self, prefix):
        """False: nothing was read for a while of what is read meanwhile, and
        it is wide. Of the 10 s of idleness the rest is for memcached, which
        may count reads some seconds late."""
        cold, hot = prefix + "cold:", prefix + "hot:"
        lengths = {"short": 1000, "blocks": 20 * KIB, "streamed": 200 * KIB}
        self.store(cold, lengths)
        self.store(hot, lengths)
        stored = time.time()
        stop = threading.Event()
        reads = [time.monotonic()]

        def read():
            with Link(self.address) as link:
                while not stop.is_set():
                    for name in lengths:
                        link.get(f"{hot}{name}")
                    reads.append(time.monotonic())
                    # The pace of what is read, not a wait for anything.
                    time.sleep(0.05)

        reader = threading.Thread(target=read)
        reader.start()
        self.addCleanup(reader.join)
        self.addCleanup(stop.set)
        idle = 10
        with self.link() as link:
            while time.time() < stored + idle + 3:
                for name in lengths:
                    link.lines(f"ers stat {cold}{name}".encode())
                link.lines(b"ers list narrow")
                self.assertEqual(self.take(prefix=cold, idle_seconds=3600)
                                 ["objects"]["selected"], 0)
        self.assertGreater(len(reads), 10)
        self.take(pattern=f"{prefix}(cold|hot):.*", idle_seconds=idle)
        stop.set()
        reader.join()
        self.assertEqual(self.wide(cold), set(lengths))
        gap = max(after - before for before, after in zip(reads, reads[1:]))
        if gap < 3:
            self.assertEqual(self.wide(hot), set())
        return not self.wide(hot)

    def test_age(self):
        self.assertTrue(any(self.takes_the_old(f"age{attempt}:")
                            for attempt in range(5)), "too slow to know")

    def takes_the_old(self, prefix):
        """False: what is to be new was old by then."""
        self.store(prefix, {"old": 5000, "touched": 5000})
        changed = time.time()
        age = 8
        self.until(lambda: time.time() > changed + age, "they are old")
        fresh = time.time()
        with self.link() as link:
            self.assertEqual(link.ask(f"touch {prefix}touched 1000".encode()),
                             b"TOUCHED")
        self.store(prefix, {"new": 5000})
        job = self.take(prefix=prefix, age_seconds=age)
        if time.time() >= fresh + age:
            return False
        self.assertEqual(job["objects"]["selected"], 1)
        self.assertEqual(self.wide(prefix), {"old"})
        return True

    def test_a_rate_limit_holds(self):
        count, length, rate = 30, 100 * KIB, 1_000_000
        self.store("rate:", {str(i): length for i in range(count)})
        job = self.api.start(select={"prefix": "rate:"}, parallel=2,
                             bytes_per_second=rate)
        job = self.wait_for(self.api, job["id"], "done")
        self.assertEqual(job["objects"]["changed"], count)
        moved = job["bytes_read"] + job["bytes_written"]
        # The bucket holds 0.1 s, and the two at work may be ahead of it.
        ahead = rate * 0.1 + 2 * 2 * length
        self.assertLessEqual(moved - ahead, rate * job["active_seconds"])
        self.assertGreater(moved, rate)


if __name__ == "__main__":
    unittest.main()

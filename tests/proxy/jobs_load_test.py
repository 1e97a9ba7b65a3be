"""A job under a load of reads and writes."""

import threading
import unittest

from jobs_case import JobsCase
from proxy_case import KIB, Link, random_bytes

COUNT, LENGTH, READERS = 200, 256 * KIB, 3


class LoadTest(JobsCase):

    def test_no_get_fails_and_every_value_is_right(self):
        values = {f"load:{i}": random_bytes(LENGTH, i) for i in range(COUNT)}
        with self.link() as link:
            for key, value in values.items():
                self.assertEqual(link.set(key, value), b"STORED")
        stop = threading.Event()
        wrong, reads = [], [0] * READERS

        def read(number):
            with Link(self.address) as link:
                while not stop.is_set():
                    for key, value in values.items():
                        if stop.is_set():
                            break
                        if link.get(key) != value:
                            wrong.append(key)
                        reads[number] += 1

        def write():
            with Link(self.address) as link:
                while not stop.is_set():
                    for key in list(values)[::10]:
                        if link.set(key, values[key]) != b"STORED":
                            wrong.append(key)

        threads = [threading.Thread(target=read, args=(i,))
                   for i in range(READERS)] + [threading.Thread(target=write)]
        for thread in threads:
            thread.start()
        try:
            jobs = [self.wait_for(self.api, self.api.start(
                to, select={"prefix": "load:"}, parallel=8)["id"], "done")
                    for to in ("wide", "narrow", "wide")]
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        print(f"{sum(reads)} reads while {jobs}")
        self.assertEqual(wrong, [])
        self.assertGreater(min(reads), 0)
        for job in jobs:
            objects = self.sums_up(job)
            self.assertEqual((objects["selected"], objects["failed"],
                              objects["gone"]), (COUNT, 0, 0), job)
        with self.link() as link:
            for key, value in values.items():
                self.same(link.get(key), value, key)


if __name__ == "__main__":
    unittest.main()

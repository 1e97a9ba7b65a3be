"""Jobs that outlive their process: kill -9, restarts, and damaged files."""

import os
import random
import unittest

from jobs_case import JobsCase
from proxy_case import KIB, random_bytes

COUNT, LENGTH = 60, 40 * KIB
SEED = int(os.environ.get("ERS_SEED") or random.randrange(1 << 32))


class StateCase(JobsCase):

    def fill(self, prefix):
        self.values = {f"{prefix}{i}": random_bytes(LENGTH, i)
                       for i in range(COUNT)}
        with self.link() as link:
            for key, value in self.values.items():
                link.set(key, value)

    def all_right(self, prefix, width="wide"):
        self.assertEqual(set(self.widths(prefix).values()), {width})
        self.assertEqual(self.widths(prefix).keys(), self.values.keys())
        with self.link() as link:
            for key, value in self.values.items():
                self.same(link.get(key), value, key)

    def changed(self, api, number, least):
        self.until(lambda: api.job(number)["objects"]["changed"] >= least
                   or api.job(number)["state"] == "done",
                   f"{least} objects are changed")

    def file_of(self, number):
        return os.path.join(self.state_dir(), "jobs", f"{number}.json")


class KillTest(StateCase):

    def test_killed_at_random_moments(self):
        """No object is left, lost or counted twice."""
        print(f"ERS_SEED={SEED}")
        chance = random.Random(SEED)
        self.fill("kill:")
        words = ("--state-dir", self.state_dir())
        proxy, api = self.start_with(*words)
        number = api.start(select={"prefix": "kill:", "min_bytes": LENGTH},
                           parallel=3, bytes_per_second=100_000)["id"]
        taken_up = f"job {number} of the last process is taken up"
        kills, resumed, least = 0, 0, 0
        while least < COUNT:
            self.changed(api, number, least)
            proxy.process.kill()
            proxy.wait()
            kills += 1
            proxy, api = self.start_with(*words)
            job = api.job(number)
            self.assertNotIn(job["state"], ("paused", "failed", "cancelled"))
            # One that ended before it was killed has nothing to take up.
            if job["state"] in ("listing", "running"):
                self.until(lambda said=proxy.said: taken_up in said(),
                           taken_up)
                resumed += 1
            least = job["objects"]["changed"] + chance.randint(1, 15)
        self.assertGreater(kills, 3)
        self.assertGreater(resumed, 2)
        job = self.wait_for(api, number, "done")
        self.assertEqual(self.sums_up(job), {
            "selected": COUNT, "changed": COUNT, "already": 0, "gone": 0,
            "failed": 0, "left": 0})
        self.assertEqual(job["select"], {"prefix": "kill:",
                                         "min_bytes": LENGTH})
        self.all_right("kill:")

    def test_a_paused_one_stays_paused_and_ids_go_on(self):
        self.fill("paused:")
        words = ("--state-dir", self.state_dir())
        proxy, api = self.start_with(*words)
        number = api.start(select={"prefix": "paused:"},
                           bytes_per_second=100_000)["id"]
        self.changed(api, number, 5)
        self.assertEqual(api.command(number, "pause")[0], 200)
        proxy.process.kill()
        proxy.wait()
        proxy, api = self.start_with(*words)
        job = api.job(number)
        self.assertEqual(job["state"], "paused")
        other = api.start(select={"prefix": "none:"})["id"]
        self.assertEqual(int(other), int(number) + 1)
        self.wait_for(api, other, "done")
        self.assertEqual(api.job(number), job)
        self.assertEqual(api.command(number, "resume")[0], 200)
        job = self.wait_for(api, number, "done")
        self.assertEqual(self.sums_up(job)["changed"], COUNT)
        self.all_right("paused:")

    def test_ended_by_sigterm(self):
        self.fill("term:")
        words = ("--state-dir", self.state_dir())
        proxy, api = self.start_with(*words)
        number = api.start(select={"prefix": "term:"},
                           bytes_per_second=100_000)["id"]
        self.changed(api, number, 5)
        proxy.terminate()
        self.assertEqual(proxy.wait(), 0, proxy.said())
        widths = list(self.widths("term:").values())
        self.assertIn("narrow", widths)
        proxy, api = self.start_with(*words)
        job = self.wait_for(api, number, "done")
        self.assertEqual(self.sums_up(job)["changed"], COUNT)
        self.assertGreater(job["bytes_written"], 0)
        self.all_right("term:")
        # What has ended is remembered, until it is forgotten.
        proxy.terminate()
        proxy.wait()
        proxy, api = self.start_with(*words)
        self.assertEqual(api.job(number), job)
        self.assertEqual(api.ask("DELETE", f"/v1/jobs/{number}"), (200, {}))
        self.assertFalse(os.path.exists(self.file_of(number)))

    def test_without_a_folder_jobs_end_with_the_process(self):
        proxy, api = self.start_with()
        self.link().set("memory:1", random_bytes(5000, 1))
        number = api.start(select={"prefix": "memory:"})["id"]
        self.wait_for(api, number, "done")
        proxy.terminate()
        proxy.wait()
        _, api = self.start_with()
        self.assertEqual(api.ask("GET", "/v1/jobs"), (200, {"jobs": []}))


class FilesTest(StateCase):

    def test_damaged_files_are_set_aside(self):
        words = ("--state-dir", self.state_dir())
        proxy, api = self.start_with(*words)
        numbers = [api.start(select={"prefix": "none:"})["id"]
                   for _ in range(4)]
        for number in numbers:
            self.wait_for(api, number, "done")
        proxy.terminate()
        proxy.wait()
        with open(self.file_of(numbers[0]), "rb") as file:
            good = file.read()
        bad = {numbers[0]: good[:len(good) // 2], numbers[1]: b"",
               numbers[2]: good}  # that of another job
        for number, text in bad.items():
            with open(self.file_of(number), "wb") as file:
                file.write(text)
        with open(self.file_of(9), "w", encoding="ascii") as file:
            file.write('{"format": 99}')
        with open(self.file_of(numbers[3]) + ".new", "wb") as file:
            file.write(b"cut off")
        proxy, api = self.start_with(*words)
        self.assertEqual([job["id"] for job in api.ask("GET", "/v1/jobs")[1]
                          ["jobs"]], [numbers[3]])
        for number, text in bad.items():
            self.assertIn(f"job {number} is lost: {self.file_of(number)} is "
                          "damaged", proxy.said())
            self.assertFalse(os.path.exists(self.file_of(number)))
            with open(self.file_of(number) + ".broken", "rb") as file:
                self.assertEqual(file.read(), text)
        self.assertIn("job 9 is not taken up: ", proxy.said())
        self.assertTrue(os.path.exists(self.file_of(9)))
        self.assertFalse(os.path.exists(self.file_of(numbers[3]) + ".new"))
        # No id comes twice.
        self.assertEqual(api.start(select={"prefix": "none:"})["id"], "10")

    def test_no_id_comes_twice(self):
        """Forgotten, or set aside: others may still speak of it."""
        words = ("--state-dir", self.state_dir())
        given = []
        for damage in (False, True):
            proxy, api = self.start_with(*words)
            given.append(int(api.start(select={"prefix": "none:"})["id"]))
            self.wait_for(api, given[-1], "done")
            if damage:
                proxy.terminate()
                self.assertEqual(proxy.wait(), 0)
                with open(self.file_of(given[-1]), "wb"):
                    pass
                proxy, _ = self.start_with(*words)
                self.assertIn(f"job {given[-1]} is lost", proxy.said())
                os.remove(self.file_of(given[-1]) + ".broken")
            else:
                self.assertEqual(
                    api.ask("DELETE", f"/v1/jobs/{given[-1]}"), (200, {}))
            proxy.kill()
        _, api = self.start_with(*words)
        given.append(int(api.start(select={"prefix": "none:"})["id"]))
        self.assertEqual(given, sorted(set(given)))

    def refused(self, folder, why):
        with self.assertRaises(RuntimeError) as raised:
            self.start_with("--state-dir", folder)
        self.assertIn(f"--state-dir: \"{folder}\": {why}",
                      str(raised.exception))

    def test_folders_that_cannot_be_used(self):
        proxy, _ = self.start_with("--state-dir", self.state_dir())
        self.refused(self.state_dir(), "another ersproxy uses it")
        proxy.terminate()
        proxy.wait()
        self.start_with("--state-dir", self.state_dir())
        path = self.file("plain", b"")
        self.refused(path, "it is no folder")
        self.refused(self.path("not/there"), "neither it nor the folder above")
        crowded = self.path("crowded")
        os.makedirs(crowded)
        with open(os.path.join(crowded, "jobs"), "wb"):
            pass
        self.refused(crowded, "its folder \"jobs\"")

    def test_a_journal_that_cannot_be_written(self):
        proxy, api = self.start_with("--state-dir", self.state_dir())
        jobs = os.path.join(self.state_dir(), "jobs")
        os.rename(jobs, jobs + "-away")
        code, answer = api.ask("POST", "/v1/jobs", {"to": "wide"})
        self.assertEqual(code, 503)
        self.assertIn("the journal", answer["error"])
        self.assertIn(f"the journal {jobs}/", proxy.said())
        self.assertEqual(api.ask("GET", "/v1/jobs"), (200, {"jobs": []}))
        os.rename(jobs + "-away", jobs)
        number = api.start(select={"prefix": "none:"})["id"]
        self.wait_for(api, number, "done")

    def test_what_could_not_be_written_is_written_later(self):
        self.fill("later:")
        words = ("--state-dir", self.state_dir())
        proxy, api = self.start_with(*words)
        number = api.start(select={"prefix": "later:"}, parallel=1,
                           bytes_per_second=40_000)["id"]
        self.changed(api, number, 1)
        self.assertEqual(api.command(number, "pause")[0], 200)
        proxy.kill()
        # Taken up as paused, it is at rest: it has nothing more to write.
        proxy, api = self.start_with(*words)
        jobs = os.path.join(self.state_dir(), "jobs")
        os.rename(jobs, jobs + "-away")
        code, answer = api.command(number, "cancel")
        self.assertEqual((code, "the journal" in answer["error"]),
                         (503, True))
        os.rename(jobs + "-away", jobs)

        def written():
            with open(self.file_of(number), encoding="utf-8") as file:
                return "cancelled" in file.read()
        self.until(written, "the file says that it is cancelled")
        proxy.kill()
        _, api = self.start_with(*words)
        self.assertEqual(api.job(number)["state"], "cancelled")

    def test_jobs_are_forgotten_while_they_are_made(self):
        """Nothing waits for an answer; ids are guessed."""
        proxy, api = self.start_with("--state-dir", self.state_dir())
        requests = [("POST", "/v1/jobs",
                     '{"to": "wide", "select": {"prefix": "none:"}}')] * 8
        for word, method in (("/cancel", "POST"), ("", "DELETE")):
            requests += [(method, f"/v1/jobs/{i}{word}", "")
                         for i in range(1, 9)]
        links = [self.link(f"{api.host}:{api.port}") for _ in requests]
        for link, (method, path, body) in zip(links, requests):
            link.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\n"
                      "Content-Type: application/json\r\n"
                      f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        for link, request in zip(links, requests):
            self.assertTrue((link.line() or b"").startswith(b"HTTP/1.1 "),
                            (request, proxy.said()))
        self.assertEqual(api.ask("GET", "/v1/jobs")[0], 200)


if __name__ == "__main__":
    unittest.main()

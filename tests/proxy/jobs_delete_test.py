"""ersctl job delete: all objects of a prefix, at a rate."""

import json
import subprocess
import unittest

from jobs_case import JobsCase
from proxy_case import DEADLINE_S
# pylint: disable=wrong-import-order
from ctl_case import BAD_USAGE, DONE, ERSCTL

COUNT = 300


class DeleteTest(JobsCase):

    def fill(self, *prefixes):
        link = self.link()
        for prefix in prefixes:
            for number in range(COUNT):
                self.assertEqual(link.set(f"{prefix}{number}", b"x"),
                                 b"STORED")

    def left(self, prefix):
        return len(self.link().get_many(
            *(f"{prefix}{number}" for number in range(COUNT))))

    def job(self, *words, code=DONE):
        result = subprocess.run(
            [ERSCTL, "--proxy", self.proxy.addresses[-1], "job", *words,
             "--json"], capture_output=True, stdin=subprocess.DEVNULL,
            env=self.environment(""), timeout=DEADLINE_S, check=False)
        self.assertEqual(result.returncode, code, (words, result.stderr))
        return json.loads(result.stdout or result.stderr)

    def test_all_of_a_prefix_are_deleted_and_no_others(self):
        self.fill("one:", "two:")
        job = self.job("delete", "--prefix", "one:", "--watch")
        self.assertEqual(job["state"], "done")
        self.assertEqual(job["to"], "delete")
        self.assertEqual(job["objects"]["changed"], COUNT)
        self.assertEqual(self.left("one:"), 0)
        self.assertEqual(self.left("two:"), COUNT)
        job = self.job("delete", "--prefix", "two:", "--pattern", "two:1.*",
                       "--watch")
        self.assertEqual(job["objects"]["changed"], 111)
        self.assertEqual(self.left("two:"), COUNT - 111)
        # Blocks go with their objects.
        self.assertEqual(self.job("delete", "--prefix", "two:",
                                  "--watch")["state"], "done")
        self.until(lambda: not self.blocks(), "no block is left")

    def test_a_rate_holds_and_a_cancelled_job_leaves_the_rest(self):
        self.fill("slow:")
        job = self.job("delete", "--prefix", "slow:", "--rate", "5")
        self.assertEqual(job["objects_per_second"], 5)
        number = job["id"]
        self.until(lambda: self.api.job(number)["objects"]["changed"] > 2,
                   "it has begun")
        done = self.job("cancel", number)
        self.assertEqual(done["state"], "cancelled")
        self.until(lambda: self.left("slow:") == COUNT - self.api.job(number)[
            "objects"]["changed"], "what is not deleted stays")
        # At 5 a second it would have taken longer than this test.
        self.assertGreater(self.left("slow:"), COUNT // 2)
        # One that is paused goes on.
        job = self.job("delete", "--prefix", "slow:", "--rate", "30")
        self.assertEqual(self.job("pause", job["id"])["state"], "paused")
        self.job("resume", job["id"])
        self.until(lambda: self.api.job(job["id"])["state"] == "done",
                   "it ends")
        self.assertEqual(self.left("slow:"), 0)

    def test_a_mistake_does_not_delete_everything(self):
        for select, why in (({}, "prefix is missing"),
                            ({"prefix": ""}, "prefix is missing"),
                            ({"prefix": "a", "idle_seconds": 5}, "idle_seconds"),
                            ({"prefix": "a", "age_seconds": 5}, "age_seconds")):
            code, answer = self.api.ask(
                "POST", "/v1/jobs", {"to": "delete", "select": select})
            self.assertEqual(code, 400, select)
            self.assertIn(why, str(answer))
        code, _ = self.api.ask("POST", "/v1/jobs", {
            "to": "wide", "objects_per_second": 5})
        self.assertEqual(code, 400)
        self.job("delete", code=BAD_USAGE)
        self.job("delete", "--prefix", "", code=BAD_USAGE)


if __name__ == "__main__":
    unittest.main()

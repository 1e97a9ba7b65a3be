"""The cloud profile is the same for the same seed, uneven, and has stragglers."""

import os
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(TOP, "eval"))
# pylint: disable=wrong-import-position
import rows
from testbed import bed, beds, cloud, namespaces

# Answers as toxiproxy does; links are refused where one is named "refused".
PROXY = """#!/usr/bin/env python3
import http.server, json, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer({})
    def do_POST(self):
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        name = json.loads(asked)["name"]
        self.answer({"listen": "127.0.0.1:4711"},
                    404 if name == "refused" else 200)
    def answer(self, what, code=200):
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(what).encode())
port = int(sys.argv[sys.argv.index("-port") + 1])
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


class CloudTest(unittest.TestCase):

    def test_profiles(self):
        made = cloud.profiles(17, 5)
        self.assertEqual(made, cloud.profiles(17, 5))
        self.assertNotEqual(made, cloud.profiles(17, 6))
        # A smaller cluster has the same links.
        self.assertEqual(made[:6], cloud.profiles(6, 5))
        stragglers = [i for i, profile in enumerate(made) if profile.jitter_ms]
        self.assertEqual(stragglers, [0, 8, 16])
        others = [profile.mbit for profile in made if not profile.jitter_ms]
        self.assertGreater(len(set(others)), 1)
        self.assertGreaterEqual(min(others), cloud.LEAST_MBIT)
        for number in stragglers:
            self.assertLessEqual(made[number].mbit, cloud.MOST_MBIT / 4)

    def test_both_directions_are_held_back_alike(self):
        toxics = cloud.Profile(80, 3, 1).toxics()
        self.assertEqual([(kind, stream, what.get("rate"))
                          for kind, stream, what in toxics],
                         [("bandwidth", "upstream", 10_000),
                          ("bandwidth", "downstream", 10_000),
                          ("latency", "downstream", None)])


class BedTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = os.path.join(folder.name, "proxy")
        with open(program, "w", encoding="utf-8") as file:
            file.write(PROXY)
        os.chmod(program, 0o755)
        changed = mock.patch.object(cloud, "PROGRAM", program)
        changed.start()
        self.addCleanup(changed.stop)

    def test_proxies_are_asked_for(self):
        proxies = cloud.Proxies(bed.Local(), 1)
        self.addCleanup(proxies.end)
        self.assertEqual(proxies.add(11211, cloud.Profile(80, 3, 1)), 4711)
        with self.assertRaisesRegex(bed.BedError, "proxies: .*404"):
            proxies.ask("proxies", {"name": "refused"})

    def test_it_has_the_tcp_that_was_asked_for_or_reports_the_machine_s(self):
        with cloud.CloudBed(2, 1) as made:
            self.assertEqual(made.tcp, bed.Bed(1).tcp)
        why = namespaces.refusal()
        if why is not None:
            self.skipTest(why)
        with cloud.CloudBed(2, 1, "reno") as made:
            self.assertEqual(made.tcp, "reno")
            self.assertIsInstance(made.client, namespaces.Loopback)
            # All ends are there, and the proxies answer from there.
            self.assertEqual(made.nodes, [made.client] * 2)
            self.assertEqual(
                made.proxies.add(11211, cloud.Profile(80, 3, 1)), 4711)

    def test_a_run_with_root_goes_on_with_rows_of_its_tcp_alone(self):
        self.assertIn("cloud", beds.with_tcp("namespaces"))
        for kind in ("unshaped", "hosts"):
            self.assertEqual(beds.with_tcp(kind), ())
        found = [mock.Mock(bed="cloud", tcp="bbr")]
        with self.assertRaisesRegex(rows.RowError, "TCP is bbr, this is cubic"):
            rows.hold_tcp(found, beds.with_tcp("namespaces"), "cubic", "a file")


if __name__ == "__main__":
    unittest.main()

"""`eval/run --quick`: its rows are whole, sane, and of the analyser's bytes."""

import collections
import os
import statistics
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "eval"))
# pylint: disable=wrong-import-position
import rows
from paper import experiments
from testbed import bed, namespaces

DEADLINE_S = 280
REPETITIONS = 2


def run(out, *words):
    return subprocess.run(
        [sys.executable, os.path.join(TOP, "eval", "run"), "--quick", "--out",
         out, "--programs", os.environ["PROGRAMS"], *words], check=False,
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        timeout=DEADLINE_S)


class QuickTest(unittest.TestCase):

    def run_quick(self, out):
        done = run(out)
        if done.returncode != 0 and "Mbit/s carries" in done.stderr:
            # Others keep the machine so busy that no link can be trusted.
            print(f"again, unshaped: {done.stderr}", file=sys.stderr)
            if os.path.exists(out):
                os.remove(out)
            done = run(out, "--bed", "unshaped")
        self.assertEqual(done.returncode, 0, done.stderr)
        print(done.stderr, file=sys.stderr)
        return done

    def test_quick(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "rows.csv")
            done = self.run_quick(out)
            found = rows.read(out)
            again = run(out, "--bed", "unshaped" if found[0].bed == "unshaped"
                        else "auto", "--list")
            other = run(out, "--tcp", "reno", "--list")
        left_out = (set(experiments.CLOUD) if "no links as in a cloud"
                    in done.stderr else set())
        self.check_cells(found, left_out)
        # Those as in a cloud, too, then have what was asked for.
        self.shaped = any(row.bed == "namespaces" for row in found)
        for row in found:
            with self.subTest(row=row):
                self.check_row(row)
        self.check_interface(found)
        # It would go on where it was: with what it could not run.
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn(f"{2 if left_out else 0} groups", again.stderr)
        if found[0].bed == "namespaces":
            self.assertEqual(other.returncode, 3)
            self.assertIn("rows whose TCP is cubic, this is reno", other.stderr)

    def check_cells(self, found, left_out):
        groups = experiments.quick()
        if found[0].bed == "unshaped":
            groups = experiments.unshaped(groups)
        wanted = collections.Counter(
            (key, number) for group in groups
            if group.experiment not in left_out for cell in group.cells
            for key in group.keys(cell) for number in range(REPETITIONS))
        self.assertEqual(collections.Counter(
            (experiments.key_of(row), row.repetition) for row in found), wanted)

    def check_row(self, row):
        self.assertGreater(row.seconds, 0)
        self.assertLess(row.seconds, 60)
        self.assertEqual(row.servers, row.k_to + row.m)
        if row.scheme not in ("rep", "libmemcached-copies"):
            self.assertEqual((row.payload_in, row.payload_out),
                             (row.expected_in, row.expected_out))
            self.assertGreaterEqual(row.socket_in, row.payload_in)
            self.assertGreaterEqual(row.socket_out, row.payload_out)
        self.assertTrue(row.tcp)
        if self.shaped:
            self.assertEqual(row.tcp, namespaces.TCP)
        if row.link_mbit is not None:
            self.assertAlmostEqual(row.measured_mbit / row.link_mbit, 1,
                                   delta=0.1)
            self.assertLessEqual(row.burst_bytes, 64 << 10)
            self.assertGreater(row.interface_out, row.payload_out or 0)
            # Links cannot be outrun by more than their bursts.
            links = 1 if row.bed == "namespaces" else row.servers
            most = row.link_mbit * 1e6 / 8 * 1.1 * row.seconds
            self.assertLess(row.payload_in or 0,
                            links * (most + row.burst_bytes + 16384))

    def check_interface(self, found):
        ratios = list(filter(None, map(rows.interface_ratio, found)))
        if found[0].bed == "namespaces":
            self.assertAlmostEqual(statistics.median(ratios), 1,
                                   delta=rows.INTERFACE_TOLERANCE)


# Prints its port, or goes to one, and then its congestion control.
TALK = """
import socket, sys
address, *port = sys.argv[1:]
if port:
    end = socket.create_connection((address, int(port[0])))
else:
    listening = socket.create_server((address, 0))
    print(listening.getsockname()[1], flush=True)
    end, _ = listening.accept()
print(end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
      .rstrip(b"\\0").decode(), flush=True)
sys.stdin.read()
"""


class CommandTest(unittest.TestCase):

    def refused(self, code, why, *words):
        with tempfile.TemporaryDirectory() as folder:
            done = run(os.path.join(folder, "rows.csv"), *words)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(why, done.stderr)

    def test_what_cannot_be_run_is_said(self):
        self.refused(3, "nothing to run", "exp1-servers", "--bed", "unshaped")
        self.refused(3, "no exp1-servers: it takes links of namespaces",
                     "exp1-servers", "--bed", "unshaped")
        self.refused(3, "nothing to run", "exp1", "--object-bytes", "7")

    def test_parameters_that_are_none_are_said(self):
        self.refused(2, "'6,2' is not three numbers", "exp2", "--set", "6,2")
        self.refused(3, "--set 5,1,4: ", "exp2", "--set", "5,1,4", "--bed",
                     "unshaped")
        self.refused(2, "--scheme says which schemes", "own")

    def test_an_experiment_of_one_s_own_is_run(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "rows.csv")
            done = run(out, "own", "--scheme", "ers2-paper", "rs", "--set",
                       "3,1,6", "--object-bytes", "10000", "--bed", "unshaped")
            self.assertEqual(done.returncode, 0, done.stderr)
            found = rows.read(out)
        self.assertEqual(
            {(row.scheme, row.operation) for row in found},
            {("rs", "put"), ("rs", "get")}
            | {("ers2-paper", operation) for operation in rows.OPERATIONS})
        self.assertEqual({(row.experiment, row.k, row.m, row.k_to, row.servers,
                           row.object_bytes) for row in found},
                         {("own", 3, 1, 6, 7, 10000)})

    def test_what_has_its_own_tcp_takes_no_other(self):
        self.refused(2, "--tcp: of namespaces alone", "--tcp", "reno", "--bed",
                     "unshaped")
        self.refused(2, "--tcp: of namespaces alone", "--tcp", "reno",
                     "--hosts", "a,b")


class CongestionTest(unittest.TestCase):

    def test_both_ends_have_what_was_asked_for(self):
        why = namespaces.refusal()
        if why is not None:
            self.skipTest(why)
        for tcp in (namespaces.TCP, "reno"):
            with self.subTest(tcp=tcp), namespaces.NamespaceBed(
                    1, 1000, tcp) as made:
                self.assertEqual(made.tcp, tcp)
                self.check_ends(made.client, *made.nodes, tcp)

    def check_ends(self, here, server, tcp):
        listening = bed.Ending(server.command(
            "python3", "-c", TALK, server.address))
        self.addCleanup(listening.end)
        client = bed.Ending(here.command(
            "python3", "-c", TALK, server.address, listening.line()))
        self.addCleanup(client.end)
        self.assertEqual([listening.line(), client.line()], [tcp, tcp])

    def test_a_machine_by_itself_has_what_was_asked_for_too(self):
        why = namespaces.refusal()
        if why is not None:
            self.skipTest(why)
        for tcp in (namespaces.TCP, "reno"):
            node = namespaces.Loopback(tcp)
            self.addCleanup(node.end)
            with self.subTest(tcp=tcp):
                self.check_ends(node, node, tcp)

    def test_an_unknown_one_is_named(self):
        why = namespaces.refusal()
        if why is not None:
            self.skipTest(why)
        with self.assertRaisesRegex(bed.BedError, "congctl nonesuch.*congestion"):
            namespaces.NamespaceBed(1, 1000, "nonesuch")


if __name__ == "__main__":
    unittest.main()

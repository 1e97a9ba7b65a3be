"""Prometheus' memcached_exporter, run against the proxy: it finds all that it
finds in a plain memcached."""

import http.client
import os
import re
import subprocess
import tempfile
import unittest

from proxy_case import DEADLINE_S, TOP
from metrics_case import MetricsCase
from metrics_text import parse

PREPARE = os.path.join(TOP, "tests", "proxy", "clients", "prepare")
FOLDER = os.environ.get("ERS_CLIENTS")
BUILD_S = 300

# What it asks of `stats`, `stats settings`, and of each class of `stats items`
# and `stats slabs` (pkg/exporter/exporter.go), but for what is there only with
# extstore, with memcached's own proxy, with a temporary LRU (number_temp) or
# before 1.5 (mem_requested of slabs).
GENERAL = """
    get_hits get_misses delete_hits delete_misses incr_hits incr_misses
    decr_hits decr_misses cas_hits cas_misses touch_hits touch_misses uptime
    time cas_badval cmd_flush cmd_set rusage_user rusage_system bytes
    limit_maxbytes curr_items total_items bytes_read bytes_written
    curr_connections total_connections rejected_connections conn_yields
    listen_disabled_num evictions reclaimed store_too_large store_no_memory
    lru_crawler_starts direct_reclaims crawler_items_checked crawler_reclaimed
    moves_to_cold moves_to_warm moves_within_lru accepting_conns
    """.split()
SETTINGS = """
    maxconns lru_crawler_sleep lru_crawler_tocrawl hot_lru_pct warm_lru_pct
    hot_max_factor warm_max_factor""".split()
ITEMS = """
    number age hits_to_hot hits_to_warm hits_to_cold hits_to_temp
    crawler_reclaimed evicted evicted_nonzero evicted_time evicted_unfetched
    expired_unfetched outofmemory reclaimed tailrepairs mem_requested
    moves_to_cold moves_to_warm moves_within_lru number_hot number_warm
    number_cold age_hot age_warm""".split()
SLABS = """
    get_hits delete_hits incr_hits decr_hits cas_hits cas_badval touch_hits
    cmd_set chunk_size chunks_per_page total_pages total_chunks used_chunks
    free_chunks free_chunks_end""".split()
# Of memcached's settings; a proxy has no crawler.
CRAWLER = "memcached_lru_crawler_"


class ExporterTest(MetricsCase):

    def numeric(self, facts, names, prefix=""):
        for name in names:
            with self.subTest(prefix + name):
                self.assertRegex(facts[prefix + name], r"^\d+(\.\d{6})?$")

    def test_every_field_is_there_and_numeric(self):
        client = self.serve().client()
        client.set(b"k", b"v")
        self.numeric(client.facts(b"stats"), GENERAL)
        settings = client.facts(b"stats settings")
        self.numeric(settings, SETTINGS)
        self.assertIn(settings["lru_crawler"], ("yes", "no"))
        self.assertIn(settings["lru_maintainer_thread"], ("yes", "no"))
        self.numeric(client.facts(b"stats items"), ITEMS, "items:1:")
        slabs = client.facts(b"stats slabs")
        self.numeric(slabs, SLABS, "1:")
        self.numeric(slabs, ["active_slabs", "total_malloced"])

    def test_versions_and_the_level_that_a_client_sets(self):
        client = self.serve().client()
        facts = client.facts(b"stats")
        self.assertEqual(facts["version"], "1.6.18")
        self.assertRegex(facts["ers_version"], r"^\d+\.\d+\.\d+")
        self.assertEqual(client.line(b"version\r\n"), b"VERSION 1.6.18")
        for level, shown in ((b"0", "0"), (b"1", "1"), (b"7", "2")):
            self.assertEqual(client.line(b"verbosity %s\r\n" % level), b"OK")
            self.assertEqual(client.facts(b"stats settings")["verbosity"],
                             shown)

    def exporter(self):
        """The program; skips with the reason where it cannot be had."""
        folder = FOLDER or tempfile.mkdtemp(dir=self.folder)
        made = subprocess.run([PREPARE, "exporter", folder],
                              stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=BUILD_S, check=False)
        answer = (made.stdout.strip().splitlines() or [""])[-1]
        if made.returncode != 0:
            print(f"no memcached_exporter: {answer}", flush=True)
            self.skipTest(f"memcached_exporter: {answer} {made.stderr[-300:]}")
        return answer

    def exported(self, program, address):
        """The families that it makes of a server, and what it logged."""
        process = subprocess.Popen(
            [program, "--memcached.address", address, "--memcached.timeout",
             f"{DEADLINE_S}s", "--web.listen-address", "127.0.0.1:0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        try:
            log = []
            for line in process.stderr:
                log.append(line)
                where = re.search(r"Listening on.*address=(\S+:\d+)", line)
                if where:
                    break
            else:
                self.fail(f"it has not started: {log}")
            link = http.client.HTTPConnection(where[1], timeout=DEADLINE_S)
            link.request("GET", "/metrics")
            reply = link.getresponse()
            text = reply.read().decode()
            self.assertEqual(reply.status, 200, text)
            link.close()
        finally:
            process.terminate()
            rest = process.communicate(timeout=DEADLINE_S)[1]
        # The rest is the exporter's own process and its Go runtime.
        ours = "".join(
            line + "\n" for line in text.splitlines()
            if re.match(r"(# \w+ )?memcached_(?!exporter_)", line))
        self.assertNotIn("level=error", rest)
        return {(name, labels): value
                for name, family in parse(ours, conventions=False).items()
                for (_, labels), value in family.samples.items()}

    def test_it_exports_all_that_it_does_of_a_plain_memcached(self):
        program = self.exporter()
        client = self.serve().client()
        client.set(b"k", b"v")
        for _ in range(3):
            client.line(b"mg k\r\n")
        client.line(b"mg none\r\n")
        proxy = self.exported(program, self.proxy_address)
        plain = self.exported(program, self.servers.split(",")[0])
        self.assertEqual(proxy["memcached_up", ()], 1)
        self.assertEqual(plain["memcached_up", ()], 1)
        names = {name for name, _ in proxy}
        missing = sorted({name for name, _ in plain} - names)
        self.assertEqual(
            [name for name in missing if not name.startswith(CRAWLER)], [])
        # It has commands of every kind that a plain one has.
        self.assertEqual(
            [labels for name, labels in plain
             if name == "memcached_commands_total"
             and (name, labels) not in proxy], [])
        commands = "memcached_commands_total"
        self.assertEqual(proxy[commands, (("command", "get"),
                                          ("status", "hit"))], 3)
        self.assertEqual(proxy[commands, (("command", "get"),
                                          ("status", "miss"))], 1)
        self.assertEqual(proxy[commands, (("command", "set"),
                                          ("status", "hit"))], 1)
        self.assertEqual(proxy["memcached_items_total", ()], 1)

    def serve(self, *words, **more):
        daemon = super().serve(*words, **more)
        self.proxy_address = daemon.addresses[0]
        return daemon


if __name__ == "__main__":
    unittest.main()

"""Every call of ers.Client does what it says, on real servers."""

import re
import time

import ers
from package_case import TOP, KiB, MiB, PackageCase, random_bytes, unittest


class CallsTest(PackageCase):

    def test_a_value_of_any_length_comes_back(self):
        for length in (0, 1, 100, 5 * KiB, 300 * KiB, 20 * MiB):
            value = random_bytes(length, length)
            info = self.client.put("any", value)
            self.assertEqual(info.length, length)
            got = self.client.get("any")
            self.assertIs(type(got), bytes)
            self.assertTrue(got == value, length)

    def test_an_empty_value_behind_a_longer_one(self):
        other = self.open()
        self.client.put("shrinks", bytes(MiB))
        self.client.get("shrinks")
        other.put("shrinks", b"")
        self.assertEqual(self.client.get("shrinks"), b"")

    def test_info_is_that_of_the_object(self):
        stored = self.client.put("info", bytes(MiB), scheme="ers2:4,1,5",
                                 width="wide", client_flags=7)
        value, info = self.client.get_with_info("info")
        self.assertEqual(len(value), MiB)
        self.assertEqual(info, stored)
        self.assertEqual(
            (info.scheme, info.width, info.length, info.client_flags,
             info.expiry, info.inline, info.degraded),
            ("ers2:4,1,5", "wide", MiB, 7, 0, False, False))
        self.assertRegex(info.version, "^[0-9a-f]{32}$")
        small = self.client.put("small", b"x")
        self.assertTrue(small.inline)

    def test_ranges(self):
        value = random_bytes(2 * MiB, 1)
        self.client.put("ranges", value)
        for offset, length in ((0, 10), (MiB - 5, 10), (2 * MiB - 3, 10),
                               (2 * MiB, 10), (5, 0)):
            expected = value[offset:offset + length]
            self.assertEqual(self.client.get_range("ranges", offset, length),
                             expected)
            into = bytearray(length)
            self.assertEqual(
                self.client.get_range_into("ranges", offset, into),
                len(expected))
            self.assertEqual(into[:len(expected)], expected)
        with self.assertRaisesRegex(ers.InvalidArgument, "beyond"):
            self.client.get_range("ranges", 2 * MiB + 1, 1)

    def test_an_update_overwrites_and_an_append_adds(self):
        value = bytearray(random_bytes(MiB, 2))
        self.client.put("changes", value)
        value[1000:1010] = b"0123456789"
        self.client.update("changes", 1000, b"0123456789")
        value += b"more"
        info = self.client.append("changes", b"more")
        self.assertEqual(info.length, len(value))
        self.assertTrue(self.client.get("changes") == value)
        with self.assertRaises(ers.InvalidArgument):
            self.client.update("changes", len(value), b"beyond")

    def test_a_transition_keeps_the_bytes(self):
        value = random_bytes(4 * MiB, 3)
        before = self.client.put("grows", value, scheme="ers2:4,1,5")
        moved = self.client.transition("grows", "wide")
        self.assertEqual((moved.path, moved.object.width), ("plan", "wide"))
        self.assertEqual(moved.data_reads + moved.parity_reads, 8)
        self.assertEqual(moved.object.cas, before.cas)
        self.assertTrue(self.client.get("grows") == value)
        with self.assertRaises(ers.AlreadyThere):
            self.client.transition("grows", "wide")
        self.assertEqual(
            self.client.transition("grows", "rs:2,1").object.scheme, "rs:2,1")
        with self.assertRaisesRegex(ers.InvalidArgument, "broad"):
            self.client.transition("grows", "broad")

    def test_a_chain_has_its_widths_by_number(self):
        chain = self.open(scheme="ers:2-3-4,1")
        self.assertEqual(chain.put("chain", bytes(MiB), width="3").width, "3")
        self.assertEqual(chain.transition("chain", "4").object.width, "4")
        self.assertEqual(chain.transition("chain", "2").object.width, "2")
        with self.assertRaisesRegex(ers.InvalidArgument, "'5'"):
            chain.put("chain", b"", width="5")
        self.assertEqual(chain.get_with_info("chain")[1].width, "2")

    def test_a_put_with_a_cas_that_has_passed_is_refused(self):
        old = self.client.put("cas", b"one").cas
        new = self.client.put("cas", b"two", expected_cas=old).cas
        with self.assertRaises(ers.Conflict):
            self.client.put("cas", b"three", expected_cas=old)
        self.assertEqual(self.client.get_with_info("cas")[1].cas, new)

    def test_a_put_may_ask_that_there_is_none(self):
        self.client.put("first", b"one", only_if_absent=True)
        read = []
        source = (read.append(part) or part for part in [b"two"])
        for call, value in ((self.client.put, b"two"),
                            (self.client.put_from, source)):
            with self.assertRaises(ers.Conflict):
                call("first", value, only_if_absent=True)
        self.assertEqual(read, [])  # it is not read in vain
        self.assertEqual(self.client.get("first"), b"one")
        with self.assertRaisesRegex(ers.InvalidArgument, "one of them"):
            self.client.put("first", b"", only_if_absent=True, expected_cas=5)
        self.client.delete("first")
        self.client.put_from("first", source, only_if_absent=True)
        self.assertEqual(self.client.get("first"), b"two")

    def test_an_expiry_in_the_past_is_the_end(self):
        self.client.put("gone", b"x", expiry=int(time.time()) - 10)
        with self.assertRaises(ers.NotFound):
            self.client.get("gone")

    def test_delete(self):
        self.client.put("short", b"x")
        self.client.delete("short")
        with self.assertRaises(ers.NotFound):
            self.client.delete("short")

    def test_export_leaves_a_plain_item(self):
        self.client.put("plain", bytes(100 * KiB), client_flags=3)
        self.client.export("plain", check_only=True)
        self.assertEqual(len(self.client.get("plain")), 100 * KiB)
        self.assertEqual(self.client.export("plain").length, 100 * KiB)
        with self.assertRaises(ers.NotManaged):
            self.client.get("plain")

    def test_stat_of_a_value_without_blocks_of_its_own(self):
        for value in (b"", b"in the manifest"):
            self.client.put("short", value)
            detail = self.client.stat("short")
            self.assertTrue(detail.object.inline)
            self.assertEqual(detail.blocks, ())
            self.assertTrue(detail.replicas)

    def test_stat_names_blocks_and_servers(self):
        self.client.put("where", bytes(MiB), scheme="ers2:4,1,5")
        detail = self.client.stat("where")
        servers = self.servers.split(",")
        self.assertEqual(detail.object.length, MiB)
        self.assertEqual(len(detail.blocks), 25)
        self.assertEqual(sum(block.parity for block in detail.blocks), 5)
        for block in detail.blocks:
            self.assertTrue(block.present)
            self.assertIn(block.server, servers)
        self.assertEqual(len(detail.replicas), 2)

    def test_servers(self):
        self.client.put("used", b"x")
        info = self.client.servers()
        self.assertGreater(info.epoch, 0)
        self.assertEqual(info.max_failures, 1)
        self.assertEqual(sorted(server.name for server in info.servers),
                         sorted(self.servers.split(",")))
        for server in info.servers:
            self.assertEqual((server.state, server.reachable),
                             ("in_sync", True))

    def test_keys_are_text_or_bytes(self):
        self.client.put("\u00e9t\u00e9", b"summer")
        self.assertEqual(self.client.get("\u00e9t\u00e9".encode()), b"summer")
        for key in (None, 7, bytearray(b"key")):
            with self.assertRaisesRegex(TypeError, "key must be"):
                self.client.get(key)


class VisitTest(PackageCase):

    def test_every_object_is_seen_until_it_is_enough(self):
        for number in range(20):
            self.client.put(f"key{number}", bytes(number))
        seen = {}
        self.client.visit(lambda key, info: seen.update({key: info.length}))
        self.assertEqual(seen, {f"key{number}".encode(): number
                                for number in range(20)})
        few = []

        def stop(key, _info):
            few.append(key)
            return len(few) < 3
        self.client.visit(stop)
        self.assertEqual(len(few), 3)


class DeadServerTest(PackageCase):

    def test_a_value_survives_a_dead_server_and_says_so(self):
        value = random_bytes(MiB, 4)
        self.client.put("lives", value, scheme="ers2:4,1,5")
        first = next(block.server for block in self.client.stat("lives").blocks
                     if not block.parity)
        number = self.servers.split(",").index(first) + 1
        lines = []
        logging = self.open(log=lambda *line: lines.append(line))
        self.tool("kill", str(number))
        got, info = self.client.get_with_info("lives")
        self.assertTrue(got == value)
        self.assertTrue(info.degraded)
        into = bytearray(MiB)
        self.assertTrue(self.open().get_into("lives", into).degraded)
        self.assertTrue(into == value)
        logging.put("later", value)  # takes notice of the view
        self.assertTrue(lines)
        for level, text in lines:
            self.assertIn(level, (10, 20, 30, 40))  # of the logging module
            self.assertIsInstance(text, str)
            self.assertTrue(text)


class ErrorsTest(PackageCase):

    def test_each_class_has_the_librarys_name_and_one_base(self):
        with open(f"{TOP}/libers/include/ers/ers.h",
                  encoding="utf-8") as file:
            codes = re.findall(r"^  ERS_(\w+) = \d+,?$",
                               file.read().split("typedef enum ers_status")[1]
                               .split("}")[0], re.M)
        names = {code.lower().replace("_", "-") for code in codes} - {"ok"}
        kinds = ers.Error.__subclasses__()
        self.assertEqual({kind.status for kind in kinds}, names)
        for kind in kinds:
            self.assertIs(getattr(ers, kind.__name__), kind)
        self.assertTrue(issubclass(ers.NotFound, LookupError))
        self.assertTrue(issubclass(ers.InvalidArgument, ValueError))

    def test_an_error_has_the_librarys_words(self):
        with self.assertRaises(ers.NotFound) as caught:
            self.client.get("never-stored")
        self.assertIn("never-stored", str(caught.exception))
        with self.assertRaisesRegex(ers.InvalidArgument, "key"):
            self.client.put("with blank", b"")
        with self.assertRaisesRegex(ers.InvalidArgument, "'nope'"):
            self.client.put("key", b"", scheme="nope")

    def test_options_are_checked_without_a_server(self):
        for text, servers, options in (
                ("port", "nowhere", {}),
                ("hedge_percent", "127.0.0.1:1", {"hedge_percent": 200}),
                ("through: .*port", "127.0.0.1:1", {"through": "nowhere"}),
                ("through_token", "127.0.0.1:1", {"through_token": "a\nb"}),
                ("scheme", "127.0.0.1:1", {"scheme": "rs:1"}),
                ("inline_below", "127.0.0.1:1", {"inline_below": 2 * MiB}),
                ("column_below", "127.0.0.1:1", {"column_below": 2 * MiB})):
            with self.assertRaisesRegex(ers.InvalidArgument, text):
                ers.Client(servers, **options)
        with self.assertRaisesRegex(ValueError, "parallel is 0"):
            ers.Client("127.0.0.1:1", parallel=0)

    def test_silent_servers_are_named(self):
        lonely = self.open(servers=["127.0.0.1:1", "127.0.0.1:2"],
                           operation_timeout=0.3, scheme="rep:2")
        with self.assertRaisesRegex(ers.Unavailable, r"127\.0\.0\.1:[12]"):
            lonely.get("key")

    def test_a_silent_proxy_is_named(self):
        lonely = self.open(through="127.0.0.1:1", through_token="secret",
                           operation_timeout=0.3)
        with self.assertRaisesRegex(ers.Unavailable,
                                    r"proxy at 127\.0\.0\.1:1 cannot be"):
            lonely.get("key")

    def test_a_negative_offset_is_refused(self):
        self.client.put("offset", b"x")
        with self.assertRaisesRegex(ers.InvalidArgument, "offset is -1"):
            self.client.get_range("offset", -1, 1)
        with self.assertRaisesRegex(ers.InvalidArgument, "length is -1"):
            self.client.get_range("offset", 0, -1)
        with self.assertRaisesRegex(ers.InvalidArgument, "offset is -1"):
            self.client.get_range_into("offset", -1, bytearray(1))
        with self.assertRaisesRegex(ers.InvalidArgument, "offset is -1"):
            self.client.update("offset", -1, b"x")


class VersionTest(unittest.TestCase):

    def test_package_library_and_project_have_one_version(self):
        with open(f"{TOP}/CMakeLists.txt", encoding="utf-8") as file:
            project = re.search(r"libers VERSION ([\d.]+)", file.read())[1]
        with open(f"{TOP}/python/pyproject.toml", encoding="utf-8") as file:
            package = re.search(r'^version = "(.*)"$', file.read(), re.M)[1]
        self.assertEqual((ers.__version__, package), (project, project))


if __name__ == "__main__":
    unittest.main()

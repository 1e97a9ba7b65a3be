"""Values from and to files, functions and iterators."""

import io
import os

import ers
import numpy
from package_case import MiB, PackageCase, random_bytes, unittest


class OutTest(PackageCase):

    def test_parts_come_in_order_behind_begin(self):
        value = random_bytes(20 * MiB, 1)
        self.client.put("out", value)
        seen = []
        info = self.client.get_to("out", seen.append,
                                  lambda first: seen.append(first.length))
        self.assertEqual(seen[0], len(value))
        self.assertGreater(len(seen), 2)
        self.assertTrue(b"".join(seen[1:]) == value)
        self.assertEqual(info.length, len(value))

    def test_a_file_takes_the_value(self):
        value = random_bytes(MiB, 2)
        self.client.put("file", value)
        with open(self.path("out"), "wb") as file:
            self.client.get_to("file", file)
        self.assertTrue(self.read("out") == value)

    def test_what_a_sink_raises_ends_the_call_and_is_raised(self):
        self.client.put("out", bytes(20 * MiB))
        parts = []

        def sink(part):
            parts.append(part)
            raise OSError("the disk is full")
        with self.assertRaisesRegex(OSError, "the disk is full") as caught:
            self.client.get_to("out", sink)
        self.assertEqual(len(parts), 1)
        # The library was told, and has read no further.
        self.assertIsInstance(caught.exception.__context__,
                              ers.InvalidArgument)

        def begin(_info):
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            self.client.get_to("out", parts.append, begin)
        self.assertEqual(len(parts), 1)
        with self.assertRaises(ers.NotFound):
            self.client.get_to("none", parts.append)


class InTest(PackageCase):

    def test_a_file_is_stored_from_where_it_is(self):
        value = random_bytes(20 * MiB, 3)
        path = self.file("in", value)
        with open(path, "rb") as file:
            file.seek(5)
            self.assertEqual(self.client.put_from("in", file).length,
                             len(value) - 5)
        self.assertTrue(self.client.get("in") == value[5:])
        info = self.client.append_from("in", io.BytesIO(b"the end"))
        self.assertEqual(info.length, len(value) + 2)
        self.assertTrue(self.client.get("in").endswith(b"the end"))

    def test_buffers_of_any_size_are_one_value(self):
        arrays = [numpy.random.default_rng(n).random(n)
                  for n in (0, 1, 100, 1_000_000, 0, 70_000)]
        parts = [*arrays, b"", bytearray(b"end")]
        expected = b"".join(memoryview(part).tobytes() for part in parts)
        self.client.put_from("parts", parts, scheme="rs:2,1", client_flags=5)
        got, info = self.client.get_with_info("parts")
        self.assertTrue(got == expected)
        self.assertEqual((info.scheme, info.client_flags), ("rs:2,1", 5))
        self.client.put_from("parts", (part for part in ()))
        self.assertEqual(self.client.get("parts"), b"")

    def test_a_source_may_use_the_memory_of_a_part_again(self):
        def lines():
            buffer = bytearray()
            for number in range(1000):
                buffer.clear()  # BufferError while something has it
                buffer += b"%d " % number * 500
                yield buffer
        expected = b"".join(map(bytes, lines()))
        self.client.put_from("again", lines())
        self.assertTrue(self.client.get("again") == expected)

    def test_what_a_source_raises_is_raised_and_the_old_value_stands(self):
        self.client.put("stands", b"old")

        def broken():
            yield bytes(10 * MiB)
            raise OSError("the cable is cut")
        for call in (self.client.put_from, self.client.append_from):
            with self.assertRaisesRegex(OSError, "the cable is cut"):
                call("stands", broken())
            with self.assertRaisesRegex(TypeError, "not str"):
                call("stands", io.StringIO("text"))
            with self.assertRaisesRegex(TypeError, "not int"):
                call("stands", b"bytes are no parts")
            with self.assertRaises(TypeError):
                call("stands", 7)
        self.assertEqual(self.client.get("stands"), b"old")


class FileTest(PackageCase):

    def test_a_value_is_a_file_to_read(self):
        value = random_bytes(3 * MiB, 4)
        self.client.put("file", value)
        with self.client.open("file") as file:
            self.assertEqual(file.read(10), value[:10])
            self.assertEqual(file.seek(-5, os.SEEK_END), len(value) - 5)
            self.assertEqual(file.read(), value[-5:])
            self.assertEqual(file.read(), b"")
            file.seek(2 * MiB)
            file.seek(-7, os.SEEK_CUR)
            self.assertEqual(file.read(20), value[2 * MiB - 7:2 * MiB + 13])
            file.seek(0)
            self.assertTrue(file.read() == value)
            with self.assertRaises(ValueError):
                file.seek(-1)
        with self.assertRaises(ers.NotFound):
            self.client.open("none")

    def test_numpy_loads_from_it(self):
        stored = io.BytesIO()
        numpy.savez(stored, a=numpy.arange(100_000), b=numpy.eye(50))
        self.client.put("arrays", stored.getbuffer())
        with self.client.open("arrays") as file, numpy.load(file) as arrays:
            self.assertTrue((arrays["a"] == numpy.arange(100_000)).all())
            self.assertTrue((arrays["b"] == numpy.eye(50)).all())

    def test_a_change_in_between_is_an_error_and_a_transition_is_none(self):
        value = random_bytes(2 * MiB, 5)
        self.client.put("changes", value, scheme="ers2:4,1,5")
        with self.client.open("changes", 1000) as file:
            self.assertEqual(file.read(10), value[:10])
            self.client.transition("changes", "wide")
            file.seek(MiB)
            self.assertEqual(file.read(10), value[MiB:MiB + 10])
            self.client.update("changes", 0, b"other")
            file.seek(0)
            with self.assertRaisesRegex(ers.Conflict, "open it again"):
                file.read(10)


if __name__ == "__main__":
    unittest.main()

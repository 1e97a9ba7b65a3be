"""Buffers are read and written where they are, held no longer than a call, and
refused where they cannot be."""

import array
import gc
import sys
import weakref

import ers
import numpy
from package_case import (MiB, PackageCase, open_files, random_bytes,
                          unittest)


def peak_kib():
    """The most memory that this process has had since `forget_peak`."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file
                    if line.startswith("VmHWM:"))


def forget_peak():
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


class KindsTest(PackageCase):

    def test_any_contiguous_buffer_is_a_value(self):
        words = numpy.arange(300_000, dtype=numpy.float32).reshape(300, 1000)
        for value in (words.tobytes(), bytearray(words.tobytes()),
                      memoryview(words), words, array.array("f", words.flat),
                      numpy.asfortranarray(words).T.copy().T.T):
            self.client.put("kind", value)
            self.assertTrue(self.client.get("kind")
                            == memoryview(value).tobytes(), type(value))
        self.client.put("kind", words[10:20])
        self.assertTrue(self.client.get("kind") == words[10:20].tobytes())

    def test_a_value_is_read_into_any_buffer_that_may_be_written(self):
        words = numpy.random.default_rng(1).random((512, 256))
        self.client.put("into", words)
        array_of_words = numpy.zeros_like(words)
        bytes_of_words = bytearray(words.nbytes)
        for into in (array_of_words, bytes_of_words,
                     memoryview(bytearray(words.nbytes)),
                     array.array("d", bytes(words.nbytes))):
            info = self.client.get_into("into", into)
            self.assertEqual(info.length, words.nbytes)
            self.assertTrue(memoryview(into).tobytes() == words.tobytes())
        self.assertTrue((array_of_words == words).all())

    def test_a_longer_buffer_keeps_its_rest_and_a_shorter_one_is_refused(self):
        value = random_bytes(MiB, 1)
        self.client.put("fits", value)
        longer = bytearray(b"." * (MiB + 10))
        self.assertEqual(self.client.get_into("fits", longer).length, MiB)
        self.assertTrue(longer == value + b"." * 10)
        with self.assertRaisesRegex(ers.TooLarge, f"{MiB} bytes.*'fits'"):
            self.client.get_into("fits", bytearray(MiB - 1))
        self.client.put("inline", b"0123456789")
        with self.assertRaisesRegex(ers.TooLarge, "10 bytes.*'inline'"):
            self.client.get_into("inline", bytearray(9))

    def test_what_is_not_contiguous_is_refused(self):
        matrix = numpy.zeros((10, 10))
        for call in (lambda b: self.client.put("k", b),
                     lambda b: self.client.update("k", 0, b),
                     lambda b: self.client.append("k", b),
                     lambda b: self.client.put_from("k", [b]),
                     lambda b: self.client.get_into("k", b),
                     lambda b: self.client.get_range_into("k", 0, b)):
            for strided in (matrix[:, 1], matrix.T,
                            memoryview(bytearray(10))[::2]):
                with self.assertRaisesRegex(BufferError, "contiguous"):
                    call(strided)
        with self.assertRaises(ers.NotFound):
            self.client.get("k")

    def test_what_may_not_be_written_to_is_refused(self):
        frozen = numpy.zeros(10)
        frozen.flags.writeable = False
        self.client.put("read-only", b"x")
        for into in (b"bytes", memoryview(b"bytes"), frozen,
                     memoryview(bytearray(5)).toreadonly()):
            with self.assertRaisesRegex(BufferError, "into must be"):
                self.client.get_into("read-only", into)
            with self.assertRaisesRegex(BufferError, "into must be"):
                self.client.get_range_into("read-only", 0, into)

    def test_what_is_no_buffer_is_refused_by_its_type(self):
        for call, kind in ((lambda: self.client.put("k", "text"), "str"),
                           (lambda: self.client.put("k", 7), "int"),
                           (lambda: self.client.append("k", None), "NoneType"),
                           (lambda: self.client.get_into("k", [1]), "list")):
            with self.assertRaisesRegex(TypeError, f"must be .*not {kind}"):
                call()


class LifetimeTest(PackageCase):

    def calls(self):
        """(name, call on a buffer of 1 MiB, what it raises)"""
        missing = ers.NotFound
        client = self.client
        return (
            ("put", lambda b: client.put("life", b), None),
            ("update", lambda b: client.update("life", 0, b), None),
            ("append", lambda b: client.append("tail", b), None),
            ("get_into", lambda b: client.get_into("life", b), None),
            ("get_range_into", lambda b: client.get_range_into("life", 9, b),
             None),
            ("put_from", lambda b: client.put_from("parts", [b, b]), None),
            ("update of none", lambda b: client.update("none", 0, b), missing),
            ("append to none", lambda b: client.append("none", b), missing),
            ("get_into of none", lambda b: client.get_into("none", b), missing),
            ("get_into too short", lambda b: client.get_into("long", b),
             ers.TooLarge),
            ("put of a bad key", lambda b: client.put("a b", b),
             ers.InvalidArgument),
            ("put_from of a bad part",
             lambda b: client.put_from("parts", [b, "text"]), TypeError))

    def test_a_buffer_is_free_again_behind_every_call(self):
        self.client.put("long", bytes(2 * MiB))
        for name, call, raised in self.calls():
            self.client.put("life", bytes(MiB))
            self.client.put("tail", b"")
            buffer = bytearray(MiB)
            before = sys.getrefcount(buffer)
            if raised:
                with self.assertRaises(raised):
                    call(buffer)
            else:
                call(buffer)
            self.assertEqual(sys.getrefcount(buffer), before, name)
            buffer.append(1)  # refused where it is still lent

    def test_many_calls_leave_nothing_behind(self):
        self.client.put("long", bytes(2 * MiB))
        self.client.put("life", bytes(MiB))
        calls = [call for name, call, _ in self.calls() if name != "append"]
        buffer = bytearray(MiB)

        def rounds(count):
            for _ in range(count):
                for call in calls:
                    try:
                        call(buffer)
                    except (ers.Error, TypeError):
                        pass
                self.client.get("life")
                self.client.get_to("life", lambda part: None)
                self.client.stat("life")
                self.client.servers()
            gc.collect()
            return len(gc.get_objects()), open_files()
        rounds(3)
        before = rounds(3)
        self.assertEqual(rounds(10), before)

    def test_a_client_that_is_not_used_any_more_closes_its_connections(self):
        before = open_files()
        client = ers.Client(self.servers)
        client.put("open", bytes(MiB))
        self.assertGreater(open_files(), before)
        gone = weakref.ref(client)
        del client
        self.assertIsNone(gone())
        self.assertEqual(open_files(), before)

    def test_new_bytes_are_the_callers_alone(self):
        self.client.put("own", random_bytes(MiB, 5))
        value = self.client.get("own")
        self.assertEqual(sys.getrefcount(value), 2)
        self.assertEqual(hash(value), hash(random_bytes(MiB, 5)))


class NoCopyTest(PackageCase):

    BYTES = 64 * MiB
    # What the library holds of a value on its way is some groups of 8 MiB.
    OWN_KIB = 24 << 10

    def grown_kib(self, call):
        """By how much it was more at a time within a call than before."""
        call()  # the library's own buffers
        forget_peak()
        before = peak_kib()
        call()
        return peak_kib() - before

    def test_large_values_are_copied_nowhere(self):
        value = numpy.frombuffer(random_bytes(self.BYTES, 6), numpy.uint8)
        into = numpy.ones(self.BYTES, numpy.uint8)
        self.client.put("large", value)
        self.assertLess(self.grown_kib(
            lambda: self.client.put("large", value)), self.OWN_KIB)
        self.assertLess(self.grown_kib(
            lambda: self.client.get_into("large", into)), self.OWN_KIB)
        self.assertTrue((into == value).all())
        # The new bytes themselves, and no others.
        self.assertLess(self.grown_kib(lambda: self.client.get("large")),
                        self.OWN_KIB + (self.BYTES >> 10))


if __name__ == "__main__":
    unittest.main()

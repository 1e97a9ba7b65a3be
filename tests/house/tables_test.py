"""What a table declares is used: the compiler is content with a command that
nothing adds, a counter that nothing counts and a setting that nothing reads."""

import os
import re
import unittest

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


def text_of(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as file:
        return file.read()


def code_below(folder, but=()):
    """All of it as one text, without these files and folders."""
    texts = []
    for place, folders, files in os.walk(os.path.join(TOP, folder)):
        at = os.path.relpath(place, TOP)
        folders[:] = [name for name in folders
                      if os.path.join(at, name) not in but]
        texts += [text_of(at, name) for name in files
                  if name.endswith((".cc", ".h"))
                  and os.path.join(at, name) not in but]
    return "\n".join(texts)


class TablesTest(unittest.TestCase):

    def assert_each_in(self, names, code):
        names = list(names)
        self.assertTrue(names)
        self.assertEqual([name for name in names
                          if not re.search(rf"\b{name}\b", code)], [])

    def test_each_command_of_ersctl_is_added(self):
        self.assert_each_in(
            re.findall(r"^void (Add\w+)\(",
                       text_of("ctl", "commands", "commands.h"), re.M),
            text_of("ctl", "main.cc"))

    def test_each_counter_of_the_proxy_is_counted(self):
        self.assert_each_in(
            ("Counter::" + name for name in re.findall(
                r"^ +X\((k\w+),", text_of("proxy", "metrics", "counters.h"),
                re.M)),
            code_below("proxy"))

    def test_each_counter_of_the_store_is_counted(self):
        table = os.path.join("libers", "src", "store", "support",
                             "session_counters.h")
        self.assert_each_in(
            re.findall(r"^ +Count (\w+);", text_of(table), re.M),
            code_below(os.path.join("libers", "src"), but=(table,)))

    def test_each_setting_of_the_daemon_is_read(self):
        config = os.path.join("proxy", "config")
        fields = re.search(r"^struct ServerOptions {$(.*?)^};$",
                           text_of(config, "options.h"), re.M | re.S)[1]
        self.assert_each_in(
            (r"(?:\.|->)" + name for name in re.findall(
                r"^  [\w:<> ,]+ (\w+)(?: = [^;]+|{[^;]*})?;", fields, re.M)),
            code_below("proxy", but=(config,)))


if __name__ == "__main__":
    unittest.main()

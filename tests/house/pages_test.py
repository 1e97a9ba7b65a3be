"""The pages keep their rules, and each rule finds what breaks it."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
# pylint: disable=wrong-import-position
import pages


class PagesTest(unittest.TestCase):

    def test_the_pages_keep_their_rules(self):
        self.assertEqual(list(pages.check(pages.TOP)), [])

    def test_every_generated_page_is_there(self):
        for path in pages.GENERATED:
            self.assertTrue(os.path.exists(os.path.join(pages.TOP, path)),
                            path)


class PlantedTest(unittest.TestCase):
    """A tree with one fault each."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = folder.name

    def write(self, path, text):
        whole = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as file:
            file.write(text)

    def faults(self, text, path="docs/page.md"):
        self.write(path, text)
        return list(pages.check(self.top))

    def assert_only(self, text, *expected, path="docs/page.md"):
        found = self.faults(text, path)
        self.assertEqual(len(found), len(expected), found)
        for fault, words in zip(found, expected):
            self.assertTrue(fault.startswith(path), fault)
            self.assertIn(words, fault)

    def test_a_good_page_has_none(self):
        self.assert_only("# Page\n\nText with [a link](#page).\n\n"
                         "```sh\nls -l\n```\n\n- an item\n\n"
                         "  which goes on\n\n    and on\n")

    def test_long_lines(self):
        word = "word " * 23
        self.assert_only(f"# Page\n\n{word}more\n")
        self.assert_only(f"# Page\n\n{word}more words\n", "125 characters")
        # A link's target, a table and what cannot be broken may be longer.
        link = f"[here](page.md#page) {word[:98]}"
        self.assert_only(f"# Page\n\n{link}\n")
        self.assert_only(f"# Page\n\n| {word}{word}|\n| --- |\n")
        self.assert_only(f"# Page\n\n```text\n{'x' * 200}\n```\n")
        self.assert_only(f"# Page\n\n```sh\nls {word}more\n```\n",
                         "122 characters")
        self.assert_only(f"# Page\n\n```console\n$ ls\n{word}more words\n```\n")

    def test_blanks_at_the_end(self):
        self.assert_only("# Page\n\ntext \n", "blanks")

    def test_long_paragraphs(self):
        lines = "word word word word word\n" * 24
        self.assert_only(f"# Page\n\n{lines}")
        self.assert_only(f"# Page\n\n{lines}more\n", "121 words")
        self.assert_only(f"# Page\n\n- {lines}more\n- another\n",
                         "122 words")
        self.assert_only(f"# Page\n\n{lines}\n{lines}\n- {lines[:-6]}\n")
        quoted = lines.replace("word\n", "word\n> ")
        self.assert_only(f"# Page\n\n> {quoted}more\n", "121 words")
        cell = " ".join(lines.split())
        self.assert_only(f"# Page\n\n| {cell} |\n")
        self.assert_only(f"# Page\n\n| {cell} more |\n", "121 words")

    def test_code_without_a_language(self):
        self.assert_only("# Page\n\n```\nls\n```\n", "without a language")
        self.assert_only("# Page\n\n    ls\n", "by indentation")
        self.assert_only("# Page\n\n```mermaid\nA->>B: one; two\n```\n",
                         "semicolon")

    def test_links(self):
        self.assert_only("# Page\n\n[a](other.md)\n", "no docs/other.md")
        self.assert_only("# Page\n\n[a](#other)\n", "no such heading")
        self.assert_only("# Page\n\n## Some `code` here, too\n\n"
                         "[a](page.md#some-code-here-too)\n"
                         "[b](https://example.org/none)\n")
        self.assert_only("# Page\n\n```text\n[a](other.md)\n```\n")
        self.assert_only("# Page\n\n`[a](other.md)` is a link\n")

    def test_a_changed_file_that_a_page_shows(self):
        self.write("examples/one.py", "print(1)\n")
        shown = "# Page\n\n<!-- file: examples/one.py -->\n```py\n%s\n```\n"
        self.assert_only(shown % "print(1)")
        self.assert_only(shown % "print(2)", "not what examples/one.py has")
        self.assert_only((shown % "print(1)").replace("one", "two"),
                         "no examples/two.py")

    def test_a_term_that_is_defined_twice(self):
        self.assert_only("# Words\n\n| term | meaning |\n| --- | --- |\n"
                         "| block | a |\n| stripe, row | b |\n| Row | c |\n",
                         "row is defined in line 6, too",
                         path="docs/internals/GLOSSARY.md")

    def test_invariants(self):
        path = "docs/internals/view.md"
        one, two, three = (f"> **Invariant V{i}.** So it is.\n"
                           for i in (1, 2, 3))
        self.assert_only(f"# View\n\n{one}", path=path)
        self.assert_only(f"# View\n\n{one}>\n{one}", "V1 is at", path=path)
        self.assert_only(f"# View\n\n{one}>\n{three}", "V3, and no V2",
                         path=path)
        self.write("tests/sim/a_test.cc", "// Invariants V1 and V2.\n")
        self.assert_only(f"# View\n\n{one}>\n{two}", path=path)
        found = self.faults(f"# View\n\n{one}", path)
        self.assertEqual(found, [
            "tests/sim/a_test.cc:1: there is no invariant V2"])
        self.assert_only(f"# View\n\n{one}>\n{two}>\n{three}",
                         "no test cites V3", path=path)

    def test_log_lines_that_nothing_logs(self):
        path = "docs/guides/runbook.md"
        page = ("# Runbook\n\n`none` here\n\n## Log lines\n\n| line | means |\n"
                "| --- | --- |\n| `view <N>: <server> is %s` | `none` |\n")
        self.write("proxy/a.cc", 'Log("view {}: {} is "\n    "down ({})");\n')
        self.assert_only(page % "down", path=path)
        self.assert_only(page % "up", 'no program logs "is up"', path=path)

    def test_settings_that_are_not_listed(self):
        path = "docs/reference/settings.md"
        self.write("proxy/config/ersproxy.yaml.sample",
                   "# words: of a comment\nlisten:\n  - a:1\n#rules:\n"
                   "#  - prefix: a\nlimits:\n  # a: b\n  most_x: 3\n")
        page = "# Settings\n\n`listen` `rules` `prefix` `limits.%s`\n"
        self.assert_only(page % "most_x", path=path)
        self.assert_only(page % "most_y", "most_x of proxy/config", path=path)

    def test_commands_that_are_not_listed(self):
        path = "docs/reference/ersctl.md"
        self.write("ctl/a.cc", 'app.add_subcommand(\n    "foo", "Foos")\n'
                   'Add(app, chosen, "bar", "Bars")\n')
        page = "# ersctl\n\n| command | does |\n| --- | --- |\n| `foo %s` | a |\n"
        self.assert_only(page % "X" + "| `bar` | b |\n", path=path)
        self.assert_only(page % "X", "lacks the command 'bar' of ctl/a.cc",
                         path=path)

    def test_retired_words(self):
        self.write("docs/page.md", "# Page\n\nThe old word.\n")
        self.write("docs/free.md", "# Free\n\nThe old word.\n")
        self.write("proxy/a.cc", "int old = 1;\n")
        words = pages.retired("# comment\n@ docs/*.md !docs/free.md\n"
                              "\\bold\\b\tnew\n@ proxy/*.cc\n\\bold\\b\tyoung\n")
        self.assertEqual(list(pages.check_words(self.top, words)), [
            'docs/page.md:3: "old": say new', 'proxy/a.cc:1: "old": say young'])
        # The list of this tree applies wherever its paths are.
        self.assert_only("# Page\n\nThe server is filled.\n", "say backfill")


if __name__ == "__main__":
    unittest.main()

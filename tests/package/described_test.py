"""Manual pages and completions of shells, as the build made them, have every
command and option that --help lists.

  described_test.py FOLDER PROGRAM...
"""

import os
import re
import shutil
import subprocess
import sys
import unittest

FOLDER, *PROGRAMS = sys.argv[1:]
DEADLINE_S = 60
CAPTURE = os.path.join(os.path.dirname(__file__), "offered.zsh")
# The daemon's page is written by hand: tests/proxy/manual_test.py reads it.
BY_HAND = ("ersproxy",)

# Runs a completion as the shell does, for the words behind it.
BASH = r"""
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
spec=$(complete -p "$1")
function=${spec##*-F }
${function%% *}
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
"""


def output(*command):
    result = subprocess.run(command, stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, check=False,
                            timeout=DEADLINE_S)
    if result.returncode != 0:
        raise AssertionError(f"{command} ended with {result.returncode}:\n"
                             f"{result.stdout}{result.stderr}")
    return result.stdout


def options(text):
    """{name: the first line of what it does} of what --help lists."""
    found = {}
    for names, rest in re.findall(
            r"^  (-[\w-]+(?:,-[\w-]+)*)(.*(?:\n {20,}.*)*)", text, re.M):
        words = re.split(r" {2,}|\n", rest)
        said = next((word.strip() for word in words[1:] if word.strip()), "")
        for name in names.split(","):
            found[name] = said
    return found


def commands(text):
    part = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
    return re.findall(r"^  (\S+)", part[1], re.M) if part else []


def tree(program, *path):
    """{("job", "start"): (its options, its commands)} of all --help."""
    text = output(program, *path, "--help")
    found = {path: (options(text), commands(text))}
    for command in commands(text):
        found.update(tree(program, *path, command))
    return found


class DescribedTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.trees = {program: tree(program) for program in PROGRAMS}

    def each(self):
        """(program's name, path, options, commands) of every --help."""
        for program, found in self.trees.items():
            for path, (its_options, its_commands) in found.items():
                yield (os.path.basename(program), path, its_options,
                       its_commands)

    def test_help_is_understood(self):
        names = {os.path.basename(program) for program in self.trees}
        self.assertEqual(names, {"ersproxy", "ersctl", "ers-analyze",
                                 "ers-bench"})
        for name, path, its_options, _ in self.each():
            self.assertIn("--help", its_options, (name, path))
        ersctl = next(found for program, found in self.trees.items()
                      if program.endswith("ersctl"))
        self.assertIn(("job", "start"), ersctl)
        self.assertEqual(ersctl[()][0]["--json"],
                         "Results and errors as JSON")

    def test_pages_have_all_that_help_lists(self):
        for program, found in self.trees.items():
            name = os.path.basename(program)
            if name in BY_HAND:
                continue
            with open(os.path.join(FOLDER, name + ".1"),
                      encoding="utf-8") as file:
                page = file.read().replace("\\-", "-")
            parts = re.split(r"^\.SS ", page, flags=re.M)
            sections = {(): parts[0]}
            for part in parts[1:]:
                path = part.split("[OPTIONS]")[0].split()
                sections[tuple(path[1:])] = part
            self.assertEqual(set(sections), set(found), name)
            for path, (its_options, _) in found.items():
                listed = re.findall(r"^\.TP\n\\fB(-.*?)\\fR.*\n(.*)",
                                    sections[path], re.M)
                written = {each: text for names, text in listed
                           for each in names.split(", ")}
                self.assertEqual(set(written), set(its_options), path)
                for option, said in its_options.items():
                    self.assertTrue(written[option].startswith(said),
                                    (path, option, written[option], said))

    def test_pages_are_troff_without_a_warning(self):
        if not shutil.which("groff"):
            print("not run: there is no groff")
            return
        for program in PROGRAMS:
            name = os.path.basename(program)
            if name in BY_HAND:
                continue
            said = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww", "-Z",
                 os.path.join(FOLDER, name + ".1")],
                capture_output=True, text=True, check=True,
                timeout=DEADLINE_S)
            self.assertEqual(said.stderr, "")

    def bash(self, *words):
        return output("bash", "-c", BASH, "bash",
                      os.path.join(FOLDER, words[0]), *words).split()

    def test_bash_completes_commands_and_options(self):
        for name, path, its_options, its_commands in self.each():
            self.assertEqual(self.bash(name, *path, ""), its_commands)
            offered = self.bash(name, *path, "-")
            self.assertEqual(set(its_options) - set(offered), set())

    def test_bash_completes_what_is_begun(self):
        self.assertEqual(self.bash("ersctl", "tra"), ["transition"])
        self.assertEqual(self.bash("ersctl", "job", "sta"), ["start"])
        # The value of an option is no command.
        self.assertEqual(self.bash("ersctl", "--servers", "job", "tra"),
                         ["transition"])
        self.assertEqual(self.bash("ersctl", "--servers", ""), [])
        self.assertEqual(self.bash("ersctl", "--servers", "=", "job", "tra"),
                         ["transition"])
        # Options of ersctl are taken behind its commands, too.
        self.assertIn("--servers", self.bash("ersctl", "put", "--se"))
        self.assertEqual(
            set(self.bash("ers-analyze", "count", "4", "1", "5", "--format",
                          "")), {"table", "csv", "json"})
        self.assertEqual(
            self.bash("ers-analyze", "count", "--format", "=", "c"), ["csv"])

    def test_fish_completes_commands_and_options(self):
        if not shutil.which("fish"):
            print("not run: there is no fish")
            return
        for name, path, its_options, its_commands in self.each():
            def offered(begun, name=name, path=path):
                script = (f"source {FOLDER}/{name}.fish; complete -C "
                          f"'{' '.join((name, *path, begun))}'")
                said = output("fish", "--no-config", "-c", script)
                return {line.split("\t")[0] for line in said.splitlines()}
            if its_commands:
                self.assertEqual(offered(""), set(its_commands))
            self.assertEqual(
                {option for option in its_options if option[:2] == "--"}
                - offered("--"), set())

    def zsh(self, *words):
        said = output("zsh", "-f", CAPTURE, FOLDER, " ".join(words))
        return set(re.findall(r"<offered>(\S+)", said))

    def test_zsh_completes_commands_and_options(self):
        if not shutil.which("zsh"):
            print("not run: there is no zsh")
            return
        # Each of these starts a terminal: one of every kind.
        chosen = {"ersctl": ((), ("put",), ("job",), ("job", "start")),
                  "ersproxy": ((),), "ers-analyze": (("count",),),
                  "ers-bench": ((), ("store",))}
        for name, path, its_options, its_commands in self.each():
            if path not in chosen[name]:
                continue
            self.assertEqual(set(its_options) - self.zsh(name, *path, "-"),
                             set())
            if its_commands:
                self.assertEqual(self.zsh(name, *path, ""), set(its_commands))
        self.assertEqual(self.zsh("ers-analyze", "count", "--format", ""),
                         {"table", "csv", "json"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""The rules that the pages of this repository keep: docs/internals/style.md.

As a program it prints what breaks them: python3 tests/house/pages.py
"""

import glob
import os
import re
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
LINE = 120  # characters
PARAGRAPH = 120  # words

PAGES = ("README.md", "CONTRIBUTING.md", "docs/**/*.md")
# Written by programs out of rows; each says by which.
GENERATED = ("docs/evaluation/paper.md", "docs/evaluation/cost.md",
             "docs/evaluation/ec-vs-replication.md",
             "docs/evaluation/lhrs.md", "docs/evaluation/tails.md",
             "docs/evaluation/write-cost.md",
             "docs/reference/metrics.md")
SETTINGS = "docs/reference/settings.md"
SAMPLE = "proxy/config/ersproxy.yaml.sample"
RUNBOOK = "docs/guides/runbook.md"
INVARIANTS = "docs/internals/*.md"
CITING = ("tests/**/*", "libers/**/*", "proxy/**/*", "ctl/**/*")
SOURCES = (".cc", ".h", ".c", ".py", ".go")

LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]*)\)")
FENCE = re.compile(r"^\s*```(.*)$")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s")
HEADING = re.compile(r"^#+\s+(.*)$")
FILE = re.compile(r"^<!-- file: (\S+) -->$")
DEFINED = re.compile(r"\*\*Invariant ([A-Z]\d+)\.\*\*")
CITED = re.compile(r"\bInvariants? ((?:[A-Z]\d+(?:, | and )?)+)")


def found(top, *patterns):
    """Paths of files below `top`, as seen from there; '!' takes away."""
    paths = set()
    for pattern in patterns:
        matched = {os.path.relpath(path, top) for path in glob.glob(
            os.path.join(top, pattern.lstrip("!")), recursive=True)
            if os.path.isfile(path)}
        paths = paths - matched if pattern[0] == "!" else paths | matched
    return sorted(paths)


def read(top, path):
    with open(os.path.join(top, path), encoding="utf-8") as file:
        return file.read()


def numbered(text):
    """Lines as (number, line, language of the fence around it or None)."""
    language = None
    for number, line in enumerate(text.split("\n"), 1):
        fence = FENCE.match(line)
        if fence and language is not None:
            language = None
            continue
        if fence:
            language = fence.group(1).strip()
            yield number, "```" + language, None
            continue
        yield number, line, language


def too_long(line):
    if len(line) <= LINE or line.lstrip().startswith("|"):
        return False
    without = LINK.sub(r"\1", line)
    # What has no blank cannot be broken: a record, a path.
    return len(without) > LINE and " " in without.strip()


def check_lines(path, text):
    for number, line, language in numbered(text):
        # What a program printed stands as it did.
        printed = language == "console" and not line.startswith("$ ")
        if too_long(line) and not printed:
            yield f"{path}:{number}: {len(line)} characters, of at most {LINE}"
        if line != line.rstrip():
            yield f"{path}:{number}: blanks at the line's end"


def check_code(path, text):
    before = ""
    for number, line, language in numbered(text):
        if language is not None:
            before = "code"
            # It ends a statement there, and the diagram is not drawn.
            if language == "mermaid" and ";" in line:
                yield f"{path}:{number}: a semicolon in a diagram"
            continue
        if line == "```":
            yield f"{path}:{number}: a fence without a language"
        if line.startswith("    ") and before == "" and not ITEM.match(line):
            yield f"{path}:{number}: code by indentation: put it in a fence"
        # Inside of a list what is indented goes on with the item.
        before = ("item" if ITEM.match(line) or (
            before == "item" and (not line or line.startswith(" ")))
            else line.strip())


def paragraphs(text):
    """(number of the first line, words) of each paragraph, item and cell."""
    first, words = 0, []
    for number, line, language in [*numbered(text), (0, "", None)]:
        line = re.sub(r"^> ?", "", line)
        plain = language is None and not line.startswith("```")
        row = plain and line.lstrip().startswith("|")
        if row:
            for cell in line.split("|"):
                yield number, cell.split()
        if (not plain or row or not line.strip() or HEADING.match(line)
                or ITEM.match(line)):
            if words:
                yield first, words
            words = []
        if plain and not row and line.strip() and not HEADING.match(line):
            first = first if words else number
            words = words + LINK.sub(r"\1", line).split()


def check_paragraphs(path, text):
    for number, words in paragraphs(text):
        if len(words) > PARAGRAPH:
            yield (f"{path}:{number}: a paragraph of {len(words)} words, "
                   f"of at most {PARAGRAPH}")


def anchor(heading):
    text = re.sub(r"[`*]", "", LINK.sub(lambda m: m.group(1)[1:-1], heading))
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def anchors(text):
    return {anchor(HEADING.match(line).group(1))
            for _, line, language in numbered(text)
            if language is None and HEADING.match(line)}


def check_links(top, path, text):
    for number, line, language in numbered(text):
        if language is not None:
            continue
        for _, target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            name, _, part = target.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            there = os.path.normpath(os.path.join(
                os.path.dirname(path), name)) if name else path
            if not os.path.exists(os.path.join(top, there)):
                yield f"{path}:{number}: {target}: there is no {there}"
            elif part and there.endswith(".md") and (
                    part not in anchors(read(top, there))):
                yield f"{path}:{number}: {target}: no such heading"


def check_files(top, path, text):
    """What stands behind `<!-- file: PATH -->` is that file, in a fence."""
    for number, line in enumerate(text.split("\n"), 1):
        named = FILE.match(line)
        if not named:
            continue
        there = named.group(1)
        if not os.path.exists(os.path.join(top, there)):
            yield f"{path}:{number}: there is no {there}"
        elif not re.search(
                re.escape(line) + r"\n```\w+\n" + re.escape(
                    read(top, there)) + "```\n", text):
            yield f"{path}:{number}: it is not what {there} has"


def check_glossary(path, text):
    terms = {}
    for number, line, _ in numbered(text):
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) < 2 or cells[0] in ("term", "---"):
            continue
        for term in re.split(r", ", cells[0].lower()):
            if term in terms:
                yield (f"{path}:{number}: {term} is defined in line "
                       f"{terms[term]}, too")
            terms[term] = number


def check_invariants(top):
    """Each number is defined once, and a test cites it; none is left out."""
    defined, cited = {}, set()
    for path in found(top, INVARIANTS):
        for number, line, _ in numbered(read(top, path)):
            for name in DEFINED.findall(line):
                if name in defined:
                    yield f"{path}:{number}: {name} is at {defined[name]}, too"
                defined[name] = f"{path}:{number}"
    for name, place in defined.items():
        before = f"{name[0]}{int(name[1:]) - 1}"
        if name[1:] != "1" and before not in defined:
            yield f"{place}: {name}, and no {before}"
    for path in found(top, *CITING):
        if not path.endswith(SOURCES):
            continue
        for number, line in enumerate(read(top, path).split("\n"), 1):
            for names in CITED.findall(line):
                for name in re.findall(r"[A-Z]\d+", names):
                    if path.startswith("tests/"):
                        cited.add(name)
                    if name not in defined:
                        yield f"{path}:{number}: there is no invariant {name}"
    if cited:  # there are tests here
        for name in sorted(defined.keys() - cited):
            yield f"{defined[name]}: no test cites {name}"


def literals(top):
    """What the programs may print, adjacent literals joined."""
    code = "".join(read(top, path) for path in found(top, *CITING)
                   if path.startswith(("libers/", "proxy/"))
                   and path.endswith((".cc", ".h")))
    return re.sub(r'"\s*\n\s*"', "", code)


def check_log_lines(top):
    """What the runbook quotes of the log is what is logged."""
    if not os.path.exists(os.path.join(top, RUNBOOK)):
        return
    section = re.search(r"^## Log lines\n(.*?)(?=^## |\Z)",
                        read(top, RUNBOOK), re.MULTILINE | re.DOTALL)
    printed = literals(top)
    for row in section.group(1).split("\n") if section else []:
        for quoted in re.findall(r"`([^`]*)`", (row.split("|") + [""])[1]):
            for part in re.split(r"<[^>]*>", quoted):
                if part.strip(" :") not in printed:
                    yield f"{RUNBOOK}: no program logs \"{part.strip()}\""


def check_settings(top):
    """Each key of the sample of settings is in the page that lists them."""
    if not os.path.exists(os.path.join(top, SAMPLE)):
        return
    listed = set(re.findall(r"[a-z_]+", " ".join(
        re.findall(r"`([^`]*)`", read(top, SETTINGS)))))
    for key in re.findall(r"^(?:#(?! ) *)?(?:  )*(?:- )?([a-z_]+):(?: |$)",
                          read(top, SAMPLE), re.MULTILINE):
        if key not in listed:
            yield f"{SETTINGS}: {key} of {SAMPLE} is not there"


def retired(text):
    """[(patterns of paths, regular expression, what to say)] of a list.

    Lines: `@ PATTERN...` is where the words below it may not stand, `#` a
    comment, and else a regular expression, a tab, and what to say in its place.
    """
    words, paths = [], ()
    for line in text.split("\n"):
        if line.startswith("@"):
            paths = tuple(line[1:].split())
        elif line.strip() and not line.startswith("#"):
            expression, _, instead = line.partition("\t")
            words.append((paths, re.compile(expression), instead.strip()))
    return words


def check_words(top, words):
    """Retired words, in the files that each of them is retired in."""
    for paths in dict.fromkeys(word[0] for word in words):
        here = [word for word in words if word[0] == paths]
        for path in found(top, *paths):
            for number, line in enumerate(read(top, path).split("\n"), 1):
                for _, expression, instead in here:
                    hit = expression.search(line)
                    if hit:
                        yield (f"{path}:{number}: \"{hit.group(0)}\": say "
                               f"{instead}")


def check_commands(top):
    """Commands of ersctl that its page does not list."""
    page = os.path.join("docs", "reference", "ersctl.md")
    if not os.path.exists(os.path.join(top, page)):
        return
    listed = set(re.findall(r"^\| `([a-z]+)", read(top, page), re.M))
    for path in found(top, "ctl/**/*.cc"):
        for name in re.findall(r"\bapp(?:\.add_subcommand\(|, chosen,)\s*"
                               r"\"([a-z]+)\"", read(top, path)):
            if name not in listed:
                yield f"{page}: lacks the command '{name}' of {path}"


def check(top):
    """All faults of the pages below `top`."""
    for path in found(top, *PAGES):
        text = read(top, path)
        if path not in GENERATED:
            yield from check_lines(path, text)
            yield from check_paragraphs(path, text)
        yield from check_code(path, text)
        yield from check_links(top, path, text)
        yield from check_files(top, path, text)
        if os.path.basename(path) == "GLOSSARY.md":
            yield from check_glossary(path, text)
    if os.path.exists(os.path.join(top, "CHANGELOG.md")):
        yield from check_links(top, "CHANGELOG.md",
                               read(top, "CHANGELOG.md"))
    yield from check_invariants(top)
    yield from check_log_lines(top)
    yield from check_settings(top)
    yield from check_commands(top)
    with open(os.path.join(TOP, "tests", "house", "retired_words"),
              encoding="utf-8") as file:
        yield from check_words(top, retired(file.read()))


if __name__ == "__main__":
    faults = list(check(TOP))
    print(*faults, sep="\n", end="\n" if faults else "")
    sys.exit(1 if faults else 0)

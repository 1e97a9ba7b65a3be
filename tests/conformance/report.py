"""Answers and differences as a person reads them."""

import difflib

LONGEST = 160
MOST_LINES = 30
CONTEXT_LINES = 2


def shorten(line):
    if len(line) <= LONGEST:
        return line
    return f"{line[:LONGEST // 2]} ...({len(line)})... {line[-40:]}"


def lines(text):
    """An answer's or a request's text, a line each."""
    parts = text.replace("\\r\\n", "\\r\\n\n").split("\n")
    return [shorten(part) for part in parts if part] or ["(nothing)"]


def difference(reference, target):
    """Where they differ: - is the reference, + the target."""
    marked = difflib.unified_diff(
        lines(reference.text()), lines(target.text()), lineterm="",
        n=CONTEXT_LINES)
    return "\n".join("    " + line for line in marked
                     if not line.startswith(("---", "+++", "@@")))


def indented(text):
    shown = lines(text)
    left_out = len(shown) - MOST_LINES
    if left_out > 1:
        shown[MOST_LINES // 2:-MOST_LINES // 2] = [f"...({left_out} lines)..."]
    return "\n".join("    " + line for line in shown)

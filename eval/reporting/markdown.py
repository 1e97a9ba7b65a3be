"""Tables of Markdown."""


def table(columns, lines):
    """Nothing where there are no lines."""
    if not lines:
        return ""
    text = [columns, ["---"] * len(columns), *lines]
    return "".join(
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in line)
        + " |\n" for line in text) + "\n"

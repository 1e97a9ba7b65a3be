"""CAS values by order of first appearance: which are equal is what counts."""


class Symbols:
    """Of one run of one case at one server. 0 means no CAS and stays 0."""

    def __init__(self):
        self._names = {}
        self.unknown = set()  # names asked for before they appeared

    def name(self, value):
        """cas1 for the first value ever asked for, and so on."""
        if value == 0:
            return b"0"
        name = self._names.setdefault(value, f"cas{len(self._names) + 1}")
        return b"{%s}" % name.encode()

    def value(self, name):
        """Of a name in use; a number never seen, 2^63, else: a server that
        gave too few CAS values differs in that answer already."""
        for value, known in self._names.items():
            if known == name:
                return value
        self.unknown.add(name)
        return 1 << 63

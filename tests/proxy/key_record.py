"""What one key may be read as, by what its writer was answered."""

STORED = b"STORED"


def body(key, version, length):
    unit = f"{key}.{version}.".encode()
    return (unit * (length // len(unit) + 1))[:length]


class KeyRecord:
    """One key. Only one thread at a time writes and reads it."""

    def __init__(self, key, length):
        self.key, self.length = key, length
        self.version = 0       # the last one that was sent
        self.acked = None      # the last one that is known to be there
        self.unknown = set()   # those that may be there
        self.missable = False  # may it have been lost?

    def next_body(self):
        self.version += 1
        return body(self.key, self.version, self.length)

    def wrote(self, said, firm):
        """The answer; None: there was none. firm: no loss is to come."""
        if said == STORED:
            self.acked = self.version
            self.unknown.clear()
            if firm:
                self.missable = False
        elif said is None or b"cut off" in said:
            self.unknown.add(self.version)

    def saw(self, value, firm):
        """What is wrong with it; "" if nothing is."""
        version = self._version_of(value)
        if version is None:
            if not self.missable and self.acked is not None:
                return (f"{self.key} is a miss in place of version "
                        f"{self.acked}")
            self.acked = None
            return ""
        if version != self.acked and version not in self.unknown:
            return (f"{self.key} is {version or value[:60]} in place of "
                    f"{self.acked} (or {sorted(self.unknown)})")
        self.acked = version
        self.unknown = {one for one in self.unknown if one > version}
        if firm:
            self.missable = False
        return ""

    def _version_of(self, value):
        """0: no value that was ever sent."""
        if value is None:
            return None
        words = value[:60].split(b".")
        if len(words) < 3 or not words[1].isdigit():
            return 0
        version = int(words[1])
        right = value == body(self.key, version, self.length)
        return version if right else 0

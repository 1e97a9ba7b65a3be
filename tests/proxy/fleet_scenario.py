"""What happens to a fleet of memcacheds and the proxies before it, drawn from
a seed: the same seed is the same scenario."""

import dataclasses
import random

STYLES = ("restart", "restart", "rolling", "frozen", "mixed", "gone")


@dataclasses.dataclass
class Scenario:
    """A slot's server is killed, frozen, started (empty) or thawed; "give-up":
    for all that never return. A proxy is named by its number."""
    seed: int
    servers: int
    max_failures: int
    states: list  # of each proxy: has it a state file?
    steps: list   # (verb, slot, proxy number or seconds)

    def __str__(self):
        proxies = ", ".join("with a state file" if state else "without one"
                            for state in self.states)
        steps = "; ".join(" ".join(str(word) for word in step
                                   if word is not None)
                          for step in self.steps)
        return (f"ERS_SEED={self.seed}: {self.servers} servers, f="
                f"{self.max_failures}, proxies {proxies}: {steps}")


def _losses(rng, slots, style, spare):
    """[(verb, slot)] with each slot's end before its return."""
    verbs = {slot: {"frozen": "freeze", "mixed": rng.choice(
        ("freeze", "kill"))}.get(style, "kill") for slot in slots}
    gone = set(rng.sample(slots, rng.randint(1, min(spare, len(slots))))
               if style == "gone" else ())
    ends = [(verbs[slot], slot) for slot in slots]
    back = [("thaw" if verbs[slot] == "freeze" else "start", slot)
            for slot in rng.sample(slots, len(slots)) if slot not in gone]
    if style == "rolling":
        steps = []
        for end in ends:
            steps.append(end)
            # Some that are out return before the next one goes.
            while rng.random() < 0.5 and (
                    ready := [step for step in back if step not in steps
                              and any(step[1] == one[1] for one in steps)]):
                steps.append(ready[0])
        steps += [step for step in back if step not in steps]
    else:
        steps = ends + back
    return steps + ([("give-up", None)] if gone else [])


def _with_proxies(rng, steps, proxies):
    """Some are restarted in between, some come only after all is over."""
    late = []
    for proxy in range(proxies):
        fate = rng.choice(("runs", "runs", "restarts", "is late"))
        if fate == "runs":
            continue
        at = rng.randrange(len(steps) + 1)
        steps.insert(at, (rng.choice(("kill-proxy", "end-proxy")), proxy))
        if fate == "is late":
            late.append(("start-proxy", proxy))
        else:
            steps.insert(rng.randint(at + 1, len(steps)),
                         ("start-proxy", proxy))
    return steps + late


def draw(seed, spare):
    """At most `spare` servers never return."""
    rng = random.Random(seed)
    servers = rng.randint(5, 8)
    max_failures = rng.choice((1, 2))
    states = [rng.random() < 0.5 for _ in range(rng.randint(1, 3))]
    steps = []
    for wave in range(rng.choice((1, 1, 2))):
        count = rng.choice((servers, rng.randint(max_failures + 1, servers),
                            rng.randint(1, servers)))
        slots = rng.sample(range(1, servers + 1), count)
        style = rng.choice(STYLES[:5] if wave else STYLES)
        part = _with_proxies(rng, _losses(rng, slots, style, spare),
                             len(states))
        for step in part:
            steps.append(step)
            if rng.random() < 0.3:
                steps.append(("pause", rng.choice((0.1, 0.5, 1.5, 3))))
        steps.append((rng.choice(("serve", "serve", "in_sync")), None))
    return Scenario(seed, servers, max_failures, states, steps)

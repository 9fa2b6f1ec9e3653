# SPDX-License-Identifier: Apache-2.0
"""What a measurement says: ratios against a baseline of the same run, with their spread."""

import dataclasses
import statistics


@dataclasses.dataclass
class Row:
    """One line of the cost table. `values` are one figure of each pair: with us to without."""

    case: str
    goal: str
    values: list
    unit: str = "x"  # x: a ratio; else what `values` count
    most: float = None  # the goal as a number; None: a peer, or nothing is asked
    expected: int = None  # records that there should be
    recorded: int = None
    dropped: int = None
    note: str = ""
    drops: dict = dataclasses.field(default_factory=dict)  # by reason

    def add_drops(self, by_reason):
        for reason, count in by_reason.items():
            self.drops[reason] = self.drops.get(reason, 0) + count
        self.dropped = (self.dropped or 0) + sum(by_reason.values())

    def spread(self):
        """(lower quartile, median, upper quartile)."""
        if len(self.values) < 2:
            return (self.values[0],) * 3 if self.values else (None,) * 3
        low, middle, high = statistics.quantiles(self.values, n=4)
        return low, middle, high

    def verdict(self):
        if self.most is None or not self.values:
            return ""
        if self.recorded is not None and self.dropped and self.dropped > 0.001 * (self.recorded + self.dropped):
            return "MISSED (drops)"
        return "reached" if self.spread()[1] <= self.most else "MISSED"

    def text(self):
        low, middle, high = self.spread()
        if middle is None:
            measured = "nothing measured"
        elif self.unit == "x":
            measured = "%.3f (%.3f to %.3f)" % (middle, low, high)
        else:
            measured = "%.4g %s (%.4g to %.4g)" % (middle, self.unit, low, high)
        records = "" if self.recorded is None else "%d of %d recorded, %d dropped" % (
            self.recorded, self.expected or 0, self.dropped or 0)
        if self.drops:
            records += " (%s)" % ", ".join("%d %s" % (count, reason) for reason, count in self.drops.items())
        parts = ["%-58s" % self.case, "%-10s" % self.goal, "%-30s" % measured, "n=%-3d" % len(self.values),
                 "%-8s" % self.verdict(), records, self.note]
        return "  ".join(part for part in parts if part).rstrip()

    def as_json(self):
        low, middle, high = self.spread()
        return {"case": self.case, "goal": self.goal, "unit": self.unit, "median": middle,
                "lower_quartile": low, "upper_quartile": high, "pairs": len(self.values), "values": self.values,
                "verdict": self.verdict(), "expected": self.expected, "recorded": self.recorded,
                "dropped": self.dropped, "drops_by_reason": self.drops, "note": self.note}


class Steps:
    """When the steps of one run began, and what lies in a stretch of time."""

    def __init__(self, began_ns, breaks=()):
        self.began = began_ns
        self.broken = set(breaks)  # the step before was followed by something else

    def inside(self, start_ns, end_ns):
        """Durations of the steps that lie wholly in a stretch."""
        from bisect import bisect_left
        first = bisect_left(self.began, start_ns)
        last = bisect_left(self.began, end_ns)
        return [self.began[i + 1] - self.began[i] for i in range(first, min(last, len(self.began)) - 1)
                if i + 1 not in self.broken]

    def mean(self, start_ns, end_ns):
        """Their mean; None for less than three."""
        steps = self.inside(start_ns, end_ns)
        return sum(steps) / len(steps) if len(steps) >= 3 else None

    def longest(self, start_ns, end_ns):
        """Of the steps that touch a stretch."""
        from bisect import bisect_left, bisect_right
        first = max(0, bisect_right(self.began, start_ns) - 1)
        last = min(bisect_left(self.began, end_ns), len(self.began) - 1)
        return max((self.began[i + 1] - self.began[i] for i in range(first, last) if i + 1 not in self.broken),
                   default=0)


def against_neighbours(steps, windows, quiet):
    """[(mean inside, mean of the quiet stretches before and behind)] of each window that has both.

    windows: (start, end) in ns. quiet: the stretches in which nothing runs, one more than windows."""
    pairs = []
    for i, (start, end) in enumerate(windows):
        within = steps.mean(start, end)
        around = [steps.mean(*stretch) for stretch in quiet[i:i + 2]]
        if within is not None and None not in around:
            pairs.append((within, sum(around) / 2))
    return pairs

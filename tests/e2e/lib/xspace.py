# SPDX-License-Identifier: Apache-2.0
"""An XSpace read without the code that wrote it: planes, lines, names of events, times."""

from proto_bytes import fields


def _map(entries):
    """{id: name} of a map of metadata."""
    found = {}
    for entry in entries:
        inner = dict(fields(entry))
        meta = fields(inner.get(2, b""))
        found[inner.get(1, 0)] = next((v.decode("utf-8", "replace") for n, v in meta if n == 2), "")
    return found


class Plane:
    def __init__(self, data):
        parts = fields(data)
        self.name = next((value.decode() for number, value in parts if number == 2), "")
        names = _map(value for number, value in parts if number == 4)
        self.stats = _map(value for number, value in parts if number == 5)
        self.facts = {}  # of the plane, by the stat's name
        self.lines = []  # (name, [(event's name, offset in ps, duration in ps)])
        for number, value in parts:
            if number == 6:
                stat = fields(value)
                key = next(v for n, v in stat if n == 1)
                self.facts[self.stats.get(key)] = next((v for n, v in stat if n != 1), None)
            elif number == 3:
                line = fields(value)
                title = next((v.decode() for n, v in line if n == 2), "")
                events = []
                for inner in (dict(fields(v)) for n, v in line if n == 4):
                    events.append((names.get(inner.get(1), "?"), inner.get(2, 0), inner.get(3, 0)))
                self.lines.append((title, events))

    def events(self):
        return [event for _, events in self.lines for event in events]


class XSpace:
    def __init__(self, data):
        parts = fields(data)
        self.planes = {plane.name: plane for plane in (Plane(v) for n, v in parts if n == 1)}
        self.hostnames = [v.decode() for n, v in parts if n == 4]

    def gpus(self):
        return sorted(name for name in self.planes if name.startswith("/device:GPU:"))

    def names(self, plane="/host:CPU"):
        """Names of all events of a plane."""
        return {event[0] for event in self.planes[plane].events()} if plane in self.planes else set()

    def started_ns(self):
        """When recording began, since the epoch."""
        return self.planes["Task Environment"].facts["profile_start_time"]

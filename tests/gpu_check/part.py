# SPDX-License-Identifier: Apache-2.0
"""What a part of the check is, and the rows that it answers with."""

import dataclasses
import typing

OK, FAILED, NOT_ASKED = "ok", "FAILED", "not asked"
SIMULATED = "on the simulated GPU"


@dataclasses.dataclass
class Row:
    """One line of the table. An expectation of "" judges nothing: the row tells a figure."""
    name: str
    result: str = ""
    expected: str = ""
    verdict: str = OK
    why: str = ""
    part: str = ""
    figures: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Part:
    """`run(context)` yields rows, each as soon as it is known. `needs`: names that Context.lacks() knows."""
    name: str
    about: str
    limit_s: int
    needs: tuple
    run: typing.Callable


def info_row(name, result, **figures):
    return Row(name, result, figures=figures)


def checked_row(name, good, result, expected, why="", **figures):
    """A row that is ok or FAILED; `why` is for the reader of a failure."""
    return Row(name, result, expected, OK if good else FAILED, "" if good else why, figures=figures)


def not_asked(name, why):
    return Row(name, verdict=NOT_ASKED, why=why)

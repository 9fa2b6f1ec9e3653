# SPDX-License-Identifier: Apache-2.0
"""Differences that must be, by name, each with its reason: as few as possible."""

import re

# (program, mode, test or output): regular expressions; why it must be.
INHERENT = ()


def why(program, mode, name):
    """The reason why this may differ, or None."""
    return next((reason for a, b, c, reason in INHERENT
                 if re.fullmatch(a, program) and re.fullmatch(b, mode) and re.fullmatch(c, name)), None)

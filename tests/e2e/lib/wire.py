# SPDX-License-Identifier: Apache-2.0
"""The control protocol's numbers (docs/wire-format.md) for programs that speak it themselves."""

import os
import re

_VERSION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "include",
                        "gpuprof", "wire", "version.hpp")

MAGIC = 0x4C544347
with open(_VERSION, encoding="utf-8") as file:
    MAJOR = int(re.search(r"kWireMajor = (\d+);", file.read())[1])

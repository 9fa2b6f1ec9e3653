#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what a fake library lacks of the real one: a refusal for each function, and a version script.

usage: generate_refusals.py --name NAME --soname SONAME --real FILE|'' --names FILE|'' --prefixes P,P
                            --refusals OUT.cpp --map OUT.map OBJECT...

The function names of the real library are read from its dynamic symbols (--real) or from a list, one
name a line (--names); what the objects define themselves is left out. Only names are read: nothing of
the real file is copied. Without either, the version script exports what the objects define with one of
the prefixes.
"""

import argparse
import re
import subprocess
import sys

HEAD = """// Generated when the simulated GPU is built. Do not edit.
extern "C" __attribute__((visibility("hidden"), used)) int gpusim_refuse(const char* name);
extern "C" __attribute__((visibility("hidden"), used)) const char* const gpusim_library_name = "%s";
#if defined(__x86_64__)
#define GPUSIM_REFUSE(name)                                                                       \\
  asm(".text\\n.p2align 4\\n.globl " #name "\\n.type " #name ",@function\\n" #name ":\\n"             \\
      "leaq .Lgpusim_" #name "(%%rip), %%rdi\\n.cfi_startproc\\njmp gpusim_refuse\\n.cfi_endproc\\n" \\
      ".size " #name ",.-" #name "\\n.section .rodata.str1.1,\\"aMS\\",@progbits,1\\n"               \\
      ".Lgpusim_" #name ": .asciz \\"" #name "\\"\\n.text\\n")
#elif defined(__aarch64__)
#define GPUSIM_REFUSE(name)                                                                       \\
  asm(".text\\n.p2align 4\\n.globl " #name "\\n.type " #name ",%%function\\n" #name ":\\n"             \\
      "adrp x0, .Lgpusim_" #name "\\nadd x0, x0, :lo12:.Lgpusim_" #name "\\nb gpusim_refuse\\n"     \\
      ".size " #name ",.-" #name "\\n.section .rodata.str1.1,\\"aMS\\",@progbits,1\\n"               \\
      ".Lgpusim_" #name ": .asciz \\"" #name "\\"\\n.text\\n")
#else
#error "the simulated GPU is not written for this processor"
#endif
"""


def symbols(options: list[str], files: list[str]) -> list[list[str]]:
    listing = subprocess.run(["nm", "--defined-only", *options, *files], check=True, capture_output=True, text=True)
    return [line.split() for line in listing.stdout.splitlines() if re.match(r"^[0-9a-f]+ \S \S+$", line)]


def real_names(path: str) -> tuple[set[str], str]:
    """Functions that the real library exports, and its version node ('' where it has none)."""
    names, node = set(), ""
    for _, kind, symbol in symbols(["-D"], [path]):
        name, _, version = symbol.partition("@")
        if kind in "TWi":
            names.add(name)
            node = version.lstrip("@") or node
    return names, node


def main() -> int:
    parser = argparse.ArgumentParser()
    for option in ("name", "soname", "real", "names", "prefixes", "refusals", "map"):
        parser.add_argument(f"--{option}", default="")
    parser.add_argument("objects", nargs="+")
    options = parser.parse_args()
    prefixes = tuple(options.prefixes.split(","))
    own = {name for _, kind, name in symbols([], options.objects) if kind in "TW" and name.startswith(prefixes)}
    names: set[str] = set()
    node = options.soname
    if options.real:
        names, node = real_names(options.real)
    elif options.names:
        with open(options.names, encoding="utf-8") as listing:
            names = {line.strip() for line in listing if line.strip()}
        node = ""
    with open(options.refusals, "w", encoding="utf-8") as out:
        out.write(HEAD % options.name)
        out.writelines(f"GPUSIM_REFUSE({name});\n" for name in sorted(names - own))
    with open(options.map, "w", encoding="utf-8") as out:
        out.write(f"{node} {{\n  global:\n")
        out.writelines(f"    {name};\n" for name in sorted(names | own | {"gpuprof_simulated_gpu"}))
        out.write("  local: *;\n};\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

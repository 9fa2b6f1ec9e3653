#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the parts of the libcuda fake that follow from the CUDA headers.

usage: generate_driver.py --headers FOLDER --names OUT.txt --twins OUT.cpp --versions OUT.cpp SOURCE...

names     every function of the driver: those that CUPTI numbers and cuda.h declares
twins     the per-thread-default-stream twin (_ptsz, _ptds) of each function that a SOURCE defines
versions  which function a name means for which CUDA version, for cuGetProcAddress

Only names, numbers and parameter types are read; no header text is copied into the sources.
"""

import argparse
import pathlib
import re
import sys

NOTE = "// Generated when the simulated GPU is built. Do not edit.\n"


def driver_names(headers: pathlib.Path) -> set[str]:
    numbered = re.findall(r"CUPTI_DRIVER_TRACE_CBID_(cu\w+) *=", (headers / "cupti_driver_cbid.h").read_text())
    others = [headers / f"cuda{part}.h" for part in ("GL", "EGL", "VDPAU", "Profiler")]
    text = "".join(path.read_text() for path in [headers / "cuda.h", *others] if path.exists())
    known = set(re.findall(r"\bcu[A-Z]\w+", text))
    declared = set(re.findall(r"^CUresult CUDAAPI (cu\w+)\(", text, re.M))
    return {name for name in numbered if re.sub(r"_pt(sz|ds)$", "", name) in known} | declared


def parameters(headers: pathlib.Path) -> dict[str, list[str]]:
    """Parameter declarations of each function, from CUPTI's parameter structures."""
    text = (headers / "generated_cuda_meta.h").read_text()
    structs = re.findall(r"typedef struct (cu\w+)_params_st \{(.*?)\} \1_params;", text, re.S)
    return {name: [line.strip() for line in body.split(";") if line.strip()] for name, body in structs}


def write_twins(headers: pathlib.Path, names: set[str], sources: list[str], out: pathlib.Path) -> None:
    defined: set[str] = set()
    for source in sources:
        defined |= set(re.findall(r"^CUresult CUDAAPI (cu\w+)\(", pathlib.Path(source).read_text(), re.M))
    fields = parameters(headers)
    lines = [NOTE, '#include "cuda/api.hpp"\n\nextern "C" {\n']
    for twin in sorted(name for name in names if re.search(r"_pt(sz|ds)$", name)):
        base = re.sub(r"_pt(sz|ds)$", "", twin)
        if base not in defined or twin not in fields:
            continue
        declared = ", ".join(fields[twin])
        passed = ", ".join(re.search(r"(\w+)(\[\w*\])?$", field).group(1) for field in fields[twin])
        lines.append(f"#undef {base}\nCUresult CUDAAPI {base}({declared});\n")
        lines.append(
            f"CUresult CUDAAPI {twin}({declared}) {{\n"
            f'  gpusim::report_next_as(CUPTI_DRIVER_TRACE_CBID_{twin}, "{twin}");\n  return {base}({passed});\n}}\n'
        )
    out.write_text("".join([*lines, "}\n"]))


def write_versions(headers: pathlib.Path, out: pathlib.Path) -> None:
    versions: dict[str, set[int]] = {}
    for name, version in re.findall(r"PFN_(cu\w+?)_v(\d+)\)", (headers / "cudaTypedefs.h").read_text()):
        versions.setdefault(name, set()).add(int(version))
    rows = []
    for name in sorted(versions):
        for index, version in enumerate(sorted(versions[name])):
            suffix = f"_v{index + 1}" if index else ""
            rows.append(f'    {{"{name}", {version}, "{name}{suffix}"}},\n')
    head = '#include "cuda/versions.hpp"\n\nnamespace gpusim {\nconst FunctionVersion kFunctionVersions[] = {\n'
    count = "const int kFunctionVersionCount = sizeof kFunctionVersions / sizeof kFunctionVersions[0];\n"
    out.write_text(NOTE + head + "".join(rows) + "};\n" + count + "}  // namespace gpusim\n")


def main() -> int:
    parser = argparse.ArgumentParser()
    for option in ("headers", "names", "twins", "versions"):
        parser.add_argument(f"--{option}", required=True, type=pathlib.Path)
    parser.add_argument("sources", nargs="+")
    options = parser.parse_args()
    names = driver_names(options.headers)
    options.names.write_text("".join(f"{name}\n" for name in sorted(names)))
    write_twins(options.headers, names, options.sources, options.twins)
    write_versions(options.headers, options.versions)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the computing functions of the simulated cuBLAS from the declarations of the installed header.

usage: generate_calls.py HEADER OUT.cpp

Each function of FAMILIES hands its arguments, by name, to gpusim::run(). Only declarations are read; no
header text is copied into the project. A function that no row matches is refused at run time.
"""

import re
import sys

# Name without `cublas`, `_v2` and `_64` -> routine. Every row matches whole names.
T = "[SDCZ]"
FAMILIES = [
    (r"[SDCZH]gemm(3m)?(Batched|StridedBatched)?|[SC]gemm(3m)?Ex|Gemm(Batched|StridedBatched)?Ex", "Gemm"),
    (r"[SD]gemmGroupedBatched|GemmGroupedBatchedEx", "Gemm"),
    (r"(S|D|C|Z|HSH|HSS|TST|TSS)gemv(Batched|StridedBatched)?", "Gemv"),
    (rf"{T}(ger[uc]?|syr2?|her2?|spr2?|hpr2?)", "Ger"),
    (rf"{T}(symv|hemv|spmv|hpmv|trmv|trsv|tpmv|tpsv)", "Triangular"),
    (rf"{T}(gbmv|sbmv|hbmv|tbmv|tbsv)", "Banded"),
    (rf"{T}axpy|AxpyEx", "Axpy"),
    (rf"{T}copy|CopyEx", "Copy"),
    (rf"{T}scal|Csscal|Zdscal|ScalEx", "Scal"),
    (rf"{T}swap|SwapEx", "Swap"),
    (rf"({T}|Cs|Zd)rotm?|RotEx|RotmEx", "Rot"),
    (rf"{T}dot[uc]?|Dotc?Ex", "Dot"),
    (r"(S|D|Sc|Dz)nrm2|Nrm2Ex", "Nrm2"),
    (r"(S|D|Sc|Dz)asum|AsumEx", "Asum"),
    (rf"I{T.lower()}amax|IamaxEx", "Amax"),
    (rf"I{T.lower()}amin|IaminEx", "Amin"),
    (rf"{T}(syrk|herk|syr2k|her2k|syrkx|herkx)|C(syrk|herk)(3m)?Ex", "Syrk"),
    (rf"{T}(symm|hemm)", "Symm"),
    (rf"{T}trmm", "Trmm"),
    (rf"{T}trsm(Batched)?", "Trsm"),
    (rf"{T}geam", "Geam"),
    (rf"{T}dgmm", "Dgmm"),
    (rf"{T}(tpttr|trttp)", "Pack"),
    (rf"{T}getrfBatched", "Getrf"),
    (rf"{T}getrsBatched", "Getrs"),
    (rf"{T}(getri|matinv)Batched", "Getri"),
    (rf"{T}geqrfBatched", "Geqrf"),
    (rf"{T}gelsBatched", "Gels"),
]
TYPES = {
    "float": "CUDA_R_32F",
    "double": "CUDA_R_64F",
    "cuComplex": "CUDA_C_32F",
    "cuDoubleComplex": "CUDA_C_64F",
    "__half": "CUDA_R_16F",
    "__nv_bfloat16": "CUDA_R_16BF",
}
# Field of RoutineCall -> argument names that fill it.
FIELDS = {
    "handle": ["handle"],
    "m": ["m"],
    "n": ["n"],
    "k": ["k", "nrhs"],
    "batch": ["batchCount", "batchSize"],
    "transa": ["transa", "trans"],
    "transb": ["transb"],
    "side": ["side"],
    "compute": ["computeType"],
}
# Element type of an operand -> (type argument, operands whose declared type says it).
OPERANDS = {
    "a": (["Atype", "xType"], ["A", "Aarray", "x", "xarray", "AP"]),
    "b": (["Btype"], ["B", "Barray"]),
    "c": (["Ctype", "yType"], ["C", "Carray", "y", "yarray"]),
}
HOST_INFO = ("Geqrf", "Gels", "Getrs")

HEAD = """// Generated when the simulated GPU is built. Do not edit.
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "cublas/routine.hpp"
extern "C" {
"""


def declarations(text: str) -> list[tuple[str, str, dict[str, str]]]:
    """(name, parameters as declared, {argument: type without const})."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    found = []
    for name, declared in re.findall(r"^cublasStatus_t\s+CUBLASWINAPI\s+(\w+)\s*\((.*?)\)\s*;", text, re.S | re.M):
        arguments = {}
        for parameter in declared.split(","):
            match = re.match(r"(.*?)(\w+)\s*(\[\])?$", parameter.strip(), re.S)
            if match:
                arguments[match[2]] = re.sub(r"\bconst\b|\s+", "", match[1]) + ("*" if match[3] else "")
        found.append((name, declared, arguments))
    return found


def element_type(operand: str, arguments: dict[str, str]) -> str:
    by_argument, by_operand = OPERANDS[operand]
    for name in by_argument:
        if name in arguments:
            return name
    for name in by_operand:
        base = arguments.get(name, "").rstrip("*")
        if base in TYPES:
            return TYPES[base]
    return ""


def assignments(routine: str, arguments: dict[str, str]) -> list[str]:
    lines = [f"call.{field} = {name};" for field, names in FIELDS.items() for name in names if name in arguments]
    first = element_type("a", arguments)
    for operand in OPERANDS:
        chosen = element_type(operand, arguments) or first
        if chosen:
            lines.append(f"call.{operand} = {chosen};")
    if "result" in arguments:
        void = arguments["result"] == "void*"
        size = "gpusim::type_bytes(resultType)" if void else "sizeof(*result)"
        lines.append(f"call.result = result; call.result_bytes = {size};")
    if "info" in arguments and routine in HOST_INFO:
        lines.append("call.info = info;")
    return lines


def body(name: str, routine: str, arguments: dict[str, str]) -> str:
    lines = [f'gpusim::RoutineCall call{{"{name}"}};', *assignments(routine, arguments)]
    run = f"gpusim::run(gpusim::Routine::k{routine}, call)"
    if "group_count" not in arguments:
        return "\n  ".join([*lines, f"return {run};"])
    missing = " || ".join(f"{name} == nullptr" for name in arguments
                          if name.endswith("_array") and name != "alpha_array" and name != "beta_array")
    lines += ["if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;",
              f"if (group_count < 0 || (group_count > 0 && (group_size == nullptr || {missing})))",
              "  return CUBLAS_STATUS_INVALID_VALUE;"]
    each = [f"call.{field} = {field}_array[i];" for field in ("transa", "transb", "m", "n", "k")]
    loop = ["for (std::int64_t i = 0; i < group_count; ++i) {", *each, "call.batch = group_size[i];",
            f"if (const cublasStatus_t s = {run}; s != CUBLAS_STATUS_SUCCESS) return s;", "}"]
    return "\n  ".join([*lines, *loop, "return CUBLAS_STATUS_SUCCESS;"])


def main() -> int:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as header:
        functions = declarations(header.read())
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(HEAD)
        for name, declared, arguments in functions:
            stem = re.sub(r"(_v2)?(_64)?$", "", name.removeprefix("cublas"))
            routine = next((r for pattern, r in FAMILIES if re.fullmatch(pattern, stem)), None)
            if routine is not None and "handle" in arguments:
                out.write(f"cublasStatus_t {name}({declared}) {{\n  {body(name, routine, arguments)}\n}}\n")
        out.write("}  // extern C\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

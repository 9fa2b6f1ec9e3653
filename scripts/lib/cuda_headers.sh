# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
#
# Unpacks the CUDA headers of PyPI wheels, and the libcupti that tests look at, for machines without
# a toolkit. Sourced by scripts/setup.

# toolkit_has_headers: the same question as cmake/CudaHeaders.cmake asks, cheaply.
toolkit_has_headers() {
  local home
  for home in "${CUDAToolkit_ROOT:-}" "${CUDA_PATH:-}" "${CUDA_HOME:-}" \
    "$(dirname "$(dirname "$(command -v nvcc 2>/dev/null || echo /)")")" /usr/local/cuda; do
    if [ -n "$home" ] && [ -e "$home/include/cuda.h" ] && [ -e "$home/include/nvtx3/nvToolsExt.h" ] &&
      { [ -e "$home/include/cupti.h" ] || [ -e "$home/extras/CUPTI/include/cupti.h" ]; } &&
      [ -x "$home/bin/nvcc" ] && grep -qE 'define CUDA_VERSION 1[3-9]' "$home/include/cuda.h"; then
      return 0
    fi
  done
  return 1
}

# setup_cuda_headers [force]
setup_cuda_headers() {
  local list prefix stage wheels
  [ "${1:-}" = force ] || ! toolkit_has_headers || return 0
  list="$root/requirements/cuda-headers.txt"
  prefix="$cache_dir/cuda-headers-$(recipe_hash "$list")"
  [ -e "$prefix/include/cupti.h" ] && compgen -G "$prefix/lib/libcupti.so.*" >/dev/null && return 0
  step "download CUDA headers from PyPI wheels (13 MB)"
  wheels=$(mktemp -d)
  "$(pip_python)" -m pip --disable-pip-version-check download --quiet --no-deps --only-binary :all: \
    --require-hashes --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 \
    --platform manylinux2014_x86_64 --platform manylinux1_x86_64 --python-version 3.11 \
    --dest "$wheels" -r "$list" ||
    die "could not download the CUDA headers named in requirements/cuda-headers.txt"
  stage="$prefix.part.$$"
  "$(real_python)" - "$wheels" "$stage" <<'PY'
import os, pathlib, sys, zipfile
wheels, stage = map(pathlib.Path, sys.argv[1:])
for wheel in sorted(wheels.glob("*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            head, found, tail = name.partition("/include/")
            if found and tail and not name.endswith("/") and ".." not in tail:
                target = stage / "include" / tail
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))
            elif "/lib/libcupti.so." in name:
                # For tests only: the product looks CUPTI up in the program and its surroundings.
                (stage / "lib").mkdir(parents=True, exist_ok=True)
                (stage / "lib" / name.rpartition("/")[2]).write_bytes(archive.read(name))
            elif "license" in name.lower() and not name.endswith("/"):
                (stage / "licenses").mkdir(parents=True, exist_ok=True)
                (stage / "licenses" / f"{wheel.name.split('-')[0]}.txt").write_bytes(archive.read(name))
PY
  rm -rf "$prefix" "$wheels"
  mv "$stage" "$prefix"
}

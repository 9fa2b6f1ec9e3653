# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the scripts share. Sourced, never run.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache_dir="${XDG_CACHE_HOME:-$HOME/.cache}/gpuprof"
jobs=${GPUPROF_JOBS:-2}

say() { printf '%s\n' "$*" >&2; }
step() { printf '==> %s\n' "$*" >&2; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# The comment block at the top of a script is its --help.
usage() { sed -n '/^# SPDX/,/^[^#]/{/^# SPDX/d;/^#/!d;s/^# \{0,1\}//;p}' "$0"; }

sha256() { sha256sum "$1" | cut -d' ' -f1; }

# recipe_hash FILE...: twelve digits that change with any of the files. One file: its own
# digest; several: the digest of the digests. cmake/Libunwind.cmake computes the same.
recipe_hash() {
  if [ $# -eq 1 ]; then
    sha256 "$1" | cut -c1-12
  else
    sha256sum "$@" | cut -d' ' -f1 | tr -d '\n' | sha256sum | cut -c1-12
  fi
}

# A Python that the pins in requirements/ hold for and that is a real program: a version manager's
# shim would put its own paths into an environment. Prints sys.executable.
real_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3 /usr/bin/python3; do
    [ -n "$candidate" ] || continue
    "$candidate" -c '
import os, sys
sys.exit(1) if not (3, 10) <= sys.version_info < (3, 14) else print(os.path.realpath(sys.executable))' 2>/dev/null &&
      return 0
  done
  return 1
}

# Where the default compiler is older than GCC 12, a newer one beside it is used.
pick_compiler() {
  local version
  [ -z "${CXX:-}" ] || return 0
  [ "$(g++ -dumpversion | cut -d. -f1)" -lt 12 ] || return 0
  for version in 14 13 12; do
    if command -v "g++-$version" >/dev/null; then
      export CC="gcc-$version" CXX="g++-$version"
      return 0
    fi
  done
}

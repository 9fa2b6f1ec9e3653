# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
#
# Python environments under .venvs/, each pinned by one file in requirements/.

# An interpreter with pip, to download wheels with: any that has it, else a small environment.
pip_python() {
  local python
  python=$(real_python)
  if "$python" -m pip --version >/dev/null 2>&1; then
    echo "$python"
  else
    [ -x "$cache_dir/pip/bin/python" ] || "$python" -m venv "$cache_dir/pip" >&2
    echo "$cache_dir/pip/bin/python"
  fi
}

# venv NAME SIZE [PIP-OPTION...]: .venvs/NAME from requirements/NAME.txt; nothing if up to date.
venv() {
  local name=$1 size=$2 python stamp have
  shift 2
  python=$(real_python) || die "no Python 3.10 to 3.13 found: set PYTHON"
  stamp="$(sha256 "$root/requirements/$name.txt") $python"
  have=$(cat "$root/.venvs/$name/.stamp" 2>/dev/null || true)
  [ "$stamp" = "$have" ] && return 0
  step "make .venvs/$name from PyPI ($size installed)"
  rm -rf "${root:?}/.venvs/$name"
  "$python" -m venv "$root/.venvs/$name" >&2
  "$root/.venvs/$name/bin/python" -m pip --disable-pip-version-check install --quiet "$@" \
    -r "$root/requirements/$name.txt" >&2 || die "pip could not install requirements/$name.txt"
  echo "$stamp" >"$root/.venvs/$name/.stamp"
}

setup_viewers() {
  venv view "262 MB"
  venv hta "287 MB" --no-deps
  venv xprof "280 MB" --no-deps
  venv formats "80 MB" --no-deps
}

# Its packages are added to an interpreter with PyTorch of the same version.
setup_programs() {
  if "$(real_python)" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    venv programs "133 MB"
  else
    say "the Jupyter kernel of requirements/programs.txt needs Python 3.11: tests with it will say SKIPPED"
  fi
}

# TensorFlow and JAX, of which no release is for all of the Python versions.
setup_frameworks() {
  if "$(real_python)" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    venv frameworks "2 GB" --no-deps
  else
    say "requirements/frameworks.txt needs Python 3.11: the test with Keras and JAX will say SKIPPED"
  fi
}

# Where real programs are run with and without gpuprof.
setup_real() { venv real "120 MB"; }

# The interpreter that has PyTorch, or nothing.
torch_python() {
  local python
  for python in "${GPUPROF_TORCH_PYTHON:-}" "${PYTHON:-}" python3 "$root/.venvs/torch/bin/python"; do
    [ -n "$python" ] || continue
    if "$python" -c 'import torch' >/dev/null 2>&1; then
      "$python" -c 'import sys; print(sys.executable)'
      return 0
    fi
  done
  return 1
}

setup_torch() {
  torch_python >/dev/null || venv torch "5.4 GB"
}

# The interpreter whose PyTorch is one for CUDA 13, which the simulated GPU can stand in for; or nothing.
# PyTorch is looked up, not imported: that would take seconds at every build.
cuda_torch_python() {
  local python candidates=("${PYTHON:-python3}" python3 "$root/.venvs/torch/bin/python")
  [ -z "${GPUPROF_TORCH_PYTHON:-}" ] || candidates=("$GPUPROF_TORCH_PYTHON")
  for python in "${candidates[@]}"; do
    "$python" -c '
import importlib.util, os, re, sys
sys.path[:] = [folder for folder in sys.path if folder]
found = importlib.util.find_spec("torch")
version = os.path.join(os.path.dirname(found.origin), "version.py")
sys.exit(1) if not re.search(r"^cuda\b.*\x2713\.", open(version).read(), re.M) else print(sys.executable)' 2>/dev/null &&
      return 0
  done
  return 1
}

setup_cuda_torch() {
  cuda_torch_python >/dev/null || venv torch "5.4 GB"
}

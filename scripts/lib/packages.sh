# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
#
# Installs the distribution's packages. Sourced by scripts/setup; docs/dependencies.md says why each.

packages=(
  g++ gcc make cmake ninja-build ccache git pkg-config binutils ca-certificates clang-format-14
  libboost-dev libcli11-dev libspdlog-dev libfmt-dev rapidjson-dev
  libdw-dev libelf-dev libiberty-dev libisal-dev zlib1g-dev libzstd-dev libgtest-dev libgmock-dev
  libprotobuf-dev protobuf-compiler libgrpc++-dev protobuf-compiler-grpc libsqlite3-dev node-d3
  python3 python3-venv python3-dev
)
# Optional: scripts/setup --clang.
clang_packages=(clang clang-tidy llvm)

installed() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    env "$@"
  else
    command -v sudo >/dev/null || die "installing packages needs root or sudo"
    sudo env "$@"
  fi
}

# Optional: scripts/setup --aarch64. Ubuntu 22.04 comes with GCC 11, but has 12 as well.
aarch64_package() {
  if [ "$(apt-cache depends g++ 2>/dev/null | grep -c 'g++-11')" -gt 0 ]; then
    echo g++-12-aarch64-linux-gnu
  else
    echo g++-aarch64-linux-gnu
  fi
}

# Optional: scripts/setup --browser. Ubuntu's package of that name installs a snap, which needs snapd.
browser_package() {
  if [ -n "${CHROMIUM:-}" ]; then return 0; fi
  if grep -qx 'ID=debian' /etc/os-release; then
    echo chromium
  else
    say "no Chromium as a package here: name one in \$CHROMIUM; tests with it will say SKIPPED"
  fi
}

# Optional: scripts/setup --real. CPython's own tests, for the distribution's version (28 MB installed).
testsuite_package() { echo "libpython$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')-testsuite"; }

# The JavaScript program, if it is new enough for Perfetto's reader; or nothing.
recent_node() {
  local name
  for name in node nodejs; do
    "$name" -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' 2>/dev/null && echo "$name" && return 0
  done
  return 1
}

# Part of scripts/setup --viewers: 12 MB to download. Ubuntu 22.04 has version 12 alone.
node_package() {
  if recent_node >/dev/null; then return 0; fi
  if [ "$(apt-cache policy nodejs 2>/dev/null | sed -n 's/^ *Candidate: \([0-9]*\).*/\1/p')" -ge 18 ] 2>/dev/null; then
    echo nodejs
  else
    say "no Node of version 18 or later as a package here: checks with Perfetto's reader will say SKIPPED"
  fi
}

# On some releases libFuzzer and Clang's sanitizers are in a package named after its version.
setup_clang_runtime() {
  local version
  [ ! -e "$(clang -print-file-name=libclang_rt.fuzzer-x86_64.a)" ] || return 0
  version=$(clang -dumpversion | cut -d. -f1)
  step "install libclang-rt-$version-dev"
  as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    "libclang-rt-$version-dev" >&2 || die "apt-get could not install libclang-rt-$version-dev"
}

# setup_packages [EXTRA...]
setup_packages() {
  command -v apt-get >/dev/null ||
    die "only Debian and Ubuntu are set up by this script; install by hand: ${packages[*]}"
  local missing=() name
  for name in "${packages[@]}" "$@"; do
    installed "$name" || missing+=("$name")
  done
  # Ubuntu 22.04 comes with GCC 11, but has 12 as well (pick_compiler in common.sh uses it).
  if ! installed g++-12 && ! installed g++-13 && ! installed g++-14 &&
    apt-cache depends g++ 2>/dev/null | grep -q 'g++-11'; then
    missing+=(g++-12)
  fi
  [ ${#missing[@]} -gt 0 ] || return 0
  step "install ${#missing[@]} packages: ${missing[*]}"
  as_root apt-get update -q >&2
  apt-get install --simulate --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
    say "    (apt-get cannot find all of them; on Ubuntu enable the universe component)"
  apt-get install --no-install-recommends --print-uris -qq "${missing[@]}" 2>/dev/null |
    awk '{n += $3} END {printf "    to download: %.0f MB\n", n / 1e6}' >&2
  as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    "${missing[@]}" >&2 || die "apt-get could not install: ${missing[*]}"
}

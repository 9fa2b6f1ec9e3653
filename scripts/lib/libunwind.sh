# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
#
# Fetches and builds libunwind for libgpuprof_inject.so. Sourced by scripts/setup.

libunwind_name=libunwind_1.8.1.orig.tar.gz
libunwind_sha256=ddf0e32dd5fafe5283198d37e4bf9decf7ba1770b6e7e006c33e6df79e6a6157
libunwind_pool=pool/main/libu/libunwind

# fetch URL FILE: through apt's own downloader where there is one (it knows the machine's proxies
# and credentials), else Python. The caller checks the digest.
fetch() {
  if [ -x /usr/lib/apt/apt-helper ] && /usr/lib/apt/apt-helper download-file "$1" "$2" >/dev/null 2>&1; then
    return 0
  fi
  "$(real_python)" - "$1" "$2" 2>/dev/null <<'PY'
import shutil, sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=60) as source, open(sys.argv[2], "wb") as out:
    shutil.copyfileobj(source, out)
PY
}

# Addresses to try: LIBUNWIND_TARBALL alone if set, else every archive apt is configured with.
libunwind_urls() {
  if [ -n "${LIBUNWIND_TARBALL:-}" ]; then
    printf '%s\n' "$LIBUNWIND_TARBALL"
  else
    apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | sort -u |
      sed "s|\$|$libunwind_pool/$libunwind_name|"
  fi
}

setup_libunwind() {
  local recipe prefix kept url
  recipe=$(recipe_hash "$root"/cmake/libunwind/{build.sh,address_validator.c,trace.c,gpuprof_unwind.h})
  prefix="$cache_dir/libunwind-1.8.1-$recipe"
  [ -e "$prefix/lib/libunwind.a" ] && return 0
  mkdir -p "$cache_dir"
  kept="$cache_dir/$libunwind_name"
  if ! echo "$libunwind_sha256  $kept" | sha256sum --status -c 2>/dev/null; then
    step "download $libunwind_name (1 MB)"
    while read -r url; do
      rm -f "$kept.part"
      if [ -f "$url" ]; then cp "$url" "$kept.part"; else fetch "$url" "$kept.part" || continue; fi
      if echo "$libunwind_sha256  $kept.part" | sha256sum --status -c 2>/dev/null; then
        mv "$kept.part" "$kept"
        break
      fi
      say "    $url does not have the expected SHA-256"
    done < <(libunwind_urls)
    rm -f "$kept.part"
  fi
  [ -f "$kept" ] || die "could not get $libunwind_name (SHA-256 $libunwind_sha256): \
set LIBUNWIND_TARBALL to a path or an address of it."
  step "build libunwind 1.8.1 into $prefix"
  "$root/cmake/libunwind/build.sh" "$kept" "$prefix"
}

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the static libunwind that goes into libgpuprof_inject.so. Called by scripts/setup.
# usage: build.sh TARBALL PREFIX
#
# Why each switch: the library runs in signal handlers of programs that are not ours.
#   no C++ exceptions, no weak backtrace  the program's own unwinder and backtrace() stay in place
#   per-thread cache off                  it needs 26 KiB of static TLS: dlopen (attach) then fails
#   initial-exec TLS                      the first access must not allocate
#   no pipe (address_validator.c)         no descriptors in the program
#   .hidden in the two assembler files    the archive adds no exported symbol
#   no abort on an odd .eh_frame_hdr      the frame is lost, not the program
#   SIGSEGV and SIGBUS never masked       the tables of a module closed meanwhile may be unmapped: with
#                                         these signals masked the kernel ends the program at once,
#                                         without asking the fault guard
#   gpuprof_sigprocmask for SIGPROCMASK   no call in our handler, where all signals are blocked: a filter
#                                         of the program's may end it for one
#   our own walk (trace.c)                no cache per thread, no pthread key, no lock
# The tarball ships its configure script; maintainer mode is off, so autotools are not needed.
set -euo pipefail

tarball=$(realpath "$1")
prefix=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tar -xzf "$tarball" -C "$work" --strip-components=1
cp "$here/address_validator.c" "$work/src/mi/Laddress_validator.c"
sed -i 's/^\( *\)abort ();/\1return -UNW_ENOINFO;/' "$work/src/dwarf/Gfind_proc_info-lsb.c"
cp "$here/trace.c" "$work/src/x86_64/Gtrace.c"
cp "$here/gpuprof_unwind.h" "$work/include/"
sed -i 's/^ *sigfillset (&unwi_full_mask);/&\n    sigdelset (\&unwi_full_mask, SIGSEGV);\n    sigdelset (\&unwi_full_mask, SIGBUS);/' \
  "$work/src/x86_64/Gglobal.c"
sed -i 's/^#define AS_ARG_UCONTEXT_MASK.*/#define AS_ARG_UCONTEXT_MASK ~0x3UL\n#define AS_ARG_COPY_MASK 0x2UL/' \
  "$work/include/tdep-x86_64/libunwind_i.h"
sed -i 's/^# define SIGPROCMASK(how, new_mask, old_mask) \\$/int gpuprof_sigprocmask (int, const sigset_t *, sigset_t *);\n# define SIGPROCMASK(how, new_mask, old_mask) gpuprof_sigprocmask ((how), (new_mask), (old_mask))\n# define UNUSED_SIGPROCMASK(how, new_mask, old_mask) \\/' \
  "$work/include/libunwind_i.h"
grep -q gpuprof_sigprocmask "$work/include/libunwind_i.h" || { echo "include/libunwind_i.h: not patched" >&2; exit 1; }
sed -i -e 's|^ */\* validate address \*/|      if (unlikely ((uintptr_t) arg \& AS_ARG_COPY_MASK))\n        return gpuprof_access_copy (addr, val, arg);\n&|' \
  -e 's/^static struct unw_addr_space local_addr_space;/&\nHIDDEN int gpuprof_access_copy (unw_word_t, unw_word_t *, void *);/' \
  "$work/src/x86_64/Ginit.c"
for patched in Gglobal.c:sigdelset Ginit.c:gpuprof_access_copy; do
  grep -q "${patched#*:}" "$work/src/x86_64/${patched%:*}" || { echo "${patched%:*}: not patched" >&2; exit 1; }
done
grep -q AS_ARG_COPY_MASK "$work/include/tdep-x86_64/libunwind_i.h" || { echo "libunwind_i.h: not patched" >&2; exit 1; }
echo '.hidden _Ux86_64_getcontext, _Ux86_64_getcontext_trace' >>"$work/src/x86_64/getcontext.S"
echo '.hidden _Ux86_64_setcontext' >>"$work/src/x86_64/setcontext.S"

mkdir "$work/build"
cd "$work/build"
../configure --silent \
  --disable-shared --enable-static --with-pic --disable-maintainer-mode \
  --disable-dependency-tracking --disable-cxx-exceptions --disable-weak-backtrace \
  --disable-unwind-header --disable-per-thread-cache --disable-tests --disable-documentation \
  --disable-setjmp --disable-coredump --disable-ptrace --disable-nto --disable-debug-frame \
  --disable-minidebuginfo --disable-zlibdebuginfo \
  CFLAGS="-O2 -g1 -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-exceptions \
-fasynchronous-unwind-tables -fno-stack-protector -U_FORTIFY_SOURCE -ffile-prefix-map=$work=libunwind" >configure.log 2>&1 || { cat configure.log >&2; exit 1; }
make -s -C src -j2 V=0 libunwind.la >make.log 2>&1 || { cat make.log >&2; exit 1; }

stage="$prefix.part.$$"
rm -rf "$stage"
mkdir -p "$stage/include" "$stage/lib"
cp include/libunwind.h include/libunwind-common.h "$stage/include/"
cp ../include/libunwind-x86_64.h ../include/libunwind-dynamic.h "$stage/include/"
cp ../include/gpuprof_unwind.h "$stage/include/"
cp src/.libs/libunwind.a "$stage/lib/"
cp ../COPYING "$stage/"
rm -rf "$prefix"
mv "$stage" "$prefix"

// SPDX-License-Identifier: Apache-2.0
//
// Replaces libunwind's src/mi/Laddress_validator.c: may this address be read?
//
// The original writes the byte into a pipe that it keeps open. In someone else's process that
// takes two low descriptor numbers and, once the program has closed and reused them, reads from
// and writes to the program's own files. Here the kernel is asked through rt_sigprocmask with an
// invalid `how`: it copies the set in first (EFAULT if unreadable) and then refuses (EINVAL),
// so nothing is changed, nothing is opened and no lock is taken. In our signal handler, where a
// filter of the program's may end it for the call, gpuprof_can_read tries.
//
// Context:  signal | callback
// Promises: keeps errno; at most one system call per page and call
#include "libunwind_i.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpuprof_unwind.h"

// One page a thread: stack reads come in runs from the same page, which stays mapped while its
// thread walks it. 8 bytes of initial-exec TLS.
static _Thread_local unw_word_t t_last_good_page;

// Who links us may have another one.
__attribute__((weak)) int gpuprof_can_read(uintptr_t address) {
  (void)address;
  return -1;
}

__attribute__((weak)) int gpuprof_sigprocmask(int how, const sigset_t* set, sigset_t* old) {
  return pthread_sigmask(how, set, old);
}

static bool readable(unw_word_t page_addr) {
  int tried = gpuprof_can_read(page_addr);
  if (tried >= 0) return tried;
  int saved = errno;
  long ret = syscall(SYS_rt_sigprocmask, ~0, page_addr, NULL, 8);
  bool ok = !(ret == -1 && errno == EFAULT);
  errno = saved;
  return ok;
}

bool unw_address_is_valid(unw_word_t addr, size_t len) {
  if (len == 0) return true;
  unw_word_t page = unw_page_start(addr);
  if (page == 0 || addr > UNW_WORD_MAX - len - unw_page_size) return false;
  unw_word_t end = unw_page_start(addr + (len - 1)) + unw_page_size;
  for (; page < end; page += unw_page_size) {
    if (page == t_last_good_page) continue;
    if (!readable(page)) return false;
    t_last_good_page = page;
  }
  return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * Allows itself a few system calls only and computes on: any other ends it. It says so to the
 * kernel itself, where no library sees it. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

#define ALLOW(number) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static long call(long number, long first, long second, long third) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(first), "S"(second), "d"(third)
                   : "rcx", "r11", "memory");
  return result;
#else
  return syscall(number, first, second, third);
#endif
}

int main(void) {
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_write),
      ALLOW(SYS_exit_group),
      ALLOW(SYS_rt_sigreturn),
      ALLOW(SYS_clock_gettime),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program) != 0) return 2;
  work(1.0);
  if (write(1, "computed\n", 9) != 9) return 1;
  for (;;) call(SYS_exit_group, 6, 0, 0);
}

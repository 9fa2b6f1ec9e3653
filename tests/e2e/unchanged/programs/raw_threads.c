/* SPDX-License-Identifier: Apache-2.0
 * Threads without the C library: the main one ends by a bare exit, the kernel ends the process with
 * the last. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static char stack[65536] __attribute__((aligned(16)));

static int work(void* unused) {
  (void)unused;
  volatile double sum = 0;
  for (int i = 0; i < 50 * 1000 * 1000; ++i) sum += i;
  syscall(SYS_write, 1, "done\n", 5);
  for (;;) syscall(SYS_exit, 0);
}

int main(void) {
  clone(work, stack + sizeof stack,
        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL);
  for (;;) syscall(SYS_exit, 0);
}

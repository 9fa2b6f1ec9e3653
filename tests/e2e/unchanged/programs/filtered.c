/* SPDX-License-Identifier: Apache-2.0
 * Works for a while, then restricts its system calls to a few, sets every signal to its default
 * where that is one of them, and works on: whoever makes another one in it ends it.
 *
 * usage: filtered prctl | seccomp | all-threads | strict [starved] */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "starved.h"

#define ALLOW(number) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Some 0.2 s and more on any machine, without any clock: the strict mode forbids the counter, too.
 */
static void work(void) {
  static volatile unsigned long sum;
  for (unsigned long i = 0; i < 600000000; ++i) sum += i;
}

static long restrict_calls(const char* how) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_read),
      ALLOW(SYS_write),
      ALLOW(SYS_exit_group),
      ALLOW(SYS_rt_sigreturn),
      ALLOW(SYS_rt_sigaction),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (strcmp(how, "strict") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  if (strcmp(how, "prctl") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  /* As libseccomp asks what there is: this restricts nothing. */
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != -1 || errno != EFAULT) return -2;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                 strcmp(how, "seccomp") == 0 ? 0 : SECCOMP_FILTER_FLAG_TSYNC, &program);
}

int main(int count, char** arguments) {
  char line[64];
  const char* how = count > 1 ? arguments[1] : "prctl";
  work();
  if (count > 2) starve_the_others();
  const long result = restrict_calls(how);
  if (strcmp(how, "strict") != 0)
    for (int number = 1; number <= SIGRTMAX; ++number) signal(number, SIG_DFL);
  work();
  const int bytes = snprintf(line, sizeof line, "%s: %ld\n", how, result);
  if (write(1, line, (size_t)bytes) != bytes) return 1;
  if (strcmp(how, "strict") == 0) syscall(SYS_exit, 6); /* all that it allows */
  _exit(6);
}

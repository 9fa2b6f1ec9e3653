/* SPDX-License-Identifier: Apache-2.0
 * Works for a while, then restricts its system calls to a few, sets every signal to its default
 * where that is one of them, and works on: whoever makes another one in it ends it.
 *
 * usage: filtered prctl | bare-prctl | seccomp | all-threads | strict [starved]
 *        filtered each-thread       (six threads, each itself, at the same time) */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
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
  for (unsigned long i = 0; i < 150000000; ++i) sum += i;
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
  if (strcmp(how, "bare-prctl") == 0)
    return syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  if (strcmp(how, "prctl") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  /* As libseccomp asks what there is: this restricts nothing. */
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != -1 || errno != EFAULT) return -2;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                 strcmp(how, "all-threads") == 0 ? SECCOMP_FILTER_FLAG_TSYNC : 0, &program);
}

enum { kThreads = 6 };
static int g_ready, g_done, g_pipe[2];

static void* restrict_itself(void* how) {
  char byte;
  work();
  __atomic_add_fetch(&g_ready, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&g_ready, __ATOMIC_SEQ_CST) < kThreads) {
  }
  const long result = restrict_calls(how);
  work();
  if (result == 0) __atomic_add_fetch(&g_done, 1, __ATOMIC_SEQ_CST);
  /* Its end would be a call that is not allowed. */
  while (read(g_pipe[0], &byte, 1) != 1) {
  }
  return NULL;
}

static int each_thread(const char* how) {
  pthread_t thread;
  if (pipe(g_pipe) != 0) return 2;
  for (int i = 0; i < kThreads; ++i)
    if (pthread_create(&thread, NULL, restrict_itself, (void*)how) != 0) return 3;
  while (__atomic_load_n(&g_done, __ATOMIC_SEQ_CST) < kThreads) usleep(1000);
  printf("%d threads\n", g_done);
  fflush(stdout);
  _exit(6);
}

int main(int count, char** arguments) {
  char line[64];
  const char* how = count > 1 ? arguments[1] : "prctl";
  if (strcmp(how, "each-thread") == 0) return each_thread(how);
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

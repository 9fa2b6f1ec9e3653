/* SPDX-License-Identifier: Apache-2.0
 * Three threads compute with every signal blocked and unblock them only to wait. A wait may come
 * back early once in the life of a thread (docs/stacks.md), never again and again. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../work.h"

static volatile sig_atomic_t alarms;

static void on_alarm(int number) {
  (void)number;
  ++alarms;
}

static const char* few(int count, int allowed) { return count <= allowed ? "few" : "many"; }

static int polls(void) {
  const struct timespec wait = {0, 50000000};
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  work(0.06);
  return ppoll(NULL, 0, &wait, &alarm_only) < 0;
}

/* glibc's own leaves the sampling signal out where gpuprof is preloaded. */
static int takes(void) {
  const struct timespec wait = {0, 50000000};
  const unsigned long long all = ~(1ULL << (SIGALRM - 1));
  work(0.06);
  return syscall(SYS_rt_sigtimedwait, &all, NULL, &wait, sizeof all) > 0;
}

static void* many_times(void* one) {
  int (*const wait)(void) = *(int (**)(void))one;
  long count = 0;
  int i;
  /* A signal that was taken without a handler tells nobody: the next look does, which comes late on
   * a busy machine. */
  const int from = wait == takes ? 13 : 0;
  for (i = 0; i < 25; ++i) {
    const int early = wait();
    if (i >= from) count += early;
  }
  return (void*)count;
}

static int suspends(void) {
  const struct itimerval soon = {{0, 0}, {0, 50000}};
  const sig_atomic_t before = alarms;
  sigset_t none;
  int early = 0;
  sigemptyset(&none);
  work(0.06);
  setitimer(ITIMER_REAL, &soon, NULL);
  while (alarms == before) {
    sigsuspend(&none);
    if (alarms == before) ++early;
  }
  return early;
}

int main(void) {
  int (*calls[])(void) = {polls, takes, suspends};
  struct sigaction action = {.sa_handler = on_alarm};
  pthread_t threads[2];
  void* counts[3];
  sigset_t all;
  int i;
  work(0.2);
  sigaction(SIGALRM, &action, NULL);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  for (i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, many_times, &calls[i]);
  counts[2] = many_times(&calls[2]);
  for (i = 0; i < 2; ++i) pthread_join(threads[i], &counts[i]);
  printf("ppoll: %s, rt_sigtimedwait: %s, sigsuspend: %s\n", few((int)(long)counts[0], 1),
         few((int)(long)counts[1], 1), few((int)(long)counts[2], 1));
  return 0;
}

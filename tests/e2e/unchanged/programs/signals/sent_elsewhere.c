/* SPDX-License-Identifier: Apache-2.0
 * Signals sent to a process whose first thread is not the one that asks for them.
 * usage: sent_elsewhere pending | taken | thread | many [MS] | unguarded | served
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "work_ms.h"

#define SIGNAL (SIGRTMAX - 3)
#define TIMES 1500
#define THREADS 6 /* more than there are processors: some are preempted while they read */

static volatile int got, over;

static void count(int number) {
  (void)number;
  ++got;
}

static sigset_t change_all(int how) {
  sigset_t set;
  sigfillset(&set);
  sigprocmask(how, &set, NULL);
  return set;
}

static void take(int number) {
  const struct timespec none = {0, 0};
  siginfo_t info;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  while (sigtimedwait(&set, &info, &none) == number)
    printf("%d from me: %d, %d\n", info.si_code, info.si_pid == getpid(), info.si_value.sival_int);
}

static int waits(int number) {
  sigset_t waiting;
  sigpending(&waiting);
  return sigismember(&waiting, number);
}

static void* ask(void* argument) {
  const int taken = argument != NULL;
  change_all(SIG_BLOCK);
  kill(getpid(), SIGNAL);
  if (taken) {
    signal(SIGNAL, count);
    change_all(SIG_UNBLOCK);
    printf("handled %d\n", got);
  } else {
    printf("waits %d %d\n", waits(SIGNAL), waits(SIGNAL));
    take(SIGNAL);
  }
  return NULL;
}

static void* keep(void* argument) {
  union sigval value;
  int i;
  (void)argument;
  change_all(SIG_BLOCK);
  for (i = 0; i < 5; ++i) {
    value.sival_int = i;
    pthread_sigqueue(pthread_self(), SIGNAL, value);
    printf("waits %d\n", waits(SIGNAL));
  }
  take(SIGNAL);
  return NULL;
}

static void* compute(void* argument) {
  (void)argument;
  while (!over) work(1);
  return NULL;
}

/* All threads block it; those that are sampled, and who looks at the sleepers, read memory. */
static void by_the_thousand(int least_ms) {
  const struct timespec long_enough = {60, 0};
  struct timespec begin, now;
  pthread_t threads[THREADS];
  sigset_t set;
  int i, missed = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGSEGV);
  sigprocmask(SIG_BLOCK, &set, NULL);
  for (i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, compute, NULL);
  clock_gettime(CLOCK_MONOTONIC, &begin);
  now = begin;
  for (i = 0; (i < TIMES || (now.tv_sec - begin.tv_sec) * 1000 < least_ms) && missed < 3; ++i) {
    const struct timespec pause = {0, 100000};
    kill(getpid(), SIGSEGV);
    if (sigtimedwait(&set, NULL, &long_enough) != SIGSEGV) ++missed;
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
  }
  over = 1;
  for (i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  printf("missed %d\n", missed);
}

/* Until it is asked to end. */
static void serve(void) {
  sigset_t set;
  int taken = 0, number;
  sigemptyset(&set);
  sigaddset(&set, SIGSEGV);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, NULL);
  printf("ready\n");
  fflush(stdout);
  while (sigwait(&set, &number) == 0 && number != SIGTERM) ++taken;
  printf("taken %d\n", taken > 0);
}

static void in_thread(void* (*body)(void*), int first_blocks, void* argument) {
  pthread_t thread;
  work(300);
  if (first_blocks) change_all(SIG_BLOCK);
  pthread_create(&thread, NULL, body, argument);
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "pending") == 0) in_thread(ask, 1, NULL);
  if (strcmp(what, "taken") == 0) in_thread(ask, 1, argv);
  if (strcmp(what, "thread") == 0) in_thread(keep, 0, NULL);
  if (strcmp(what, "served") == 0) serve();
  if (strcmp(what, "unguarded") == 0) signal(SIGBUS, SIG_IGN);
  if (strcmp(what, "unguarded") == 0 || strcmp(what, "many") == 0)
    by_the_thousand(argc > 2 ? atoi(argv[2]) : 0);
  return 0;
}

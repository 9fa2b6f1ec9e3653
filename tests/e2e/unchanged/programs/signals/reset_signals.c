/* SPDX-License-Identifier: Apache-2.0
 * Sets every signal to its default, as daemons do, takes all for itself, and lets children do the
 * same: a signal that is not the program's would end it, or be counted.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int strange;

static void on_signal(int number) { strange = number; }

/* CPU time of this thread. */
static void compute(double seconds) {
  struct timespec begun, now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while ((double)(now.tv_sec - begun.tv_sec) + 1e-9 * (double)(now.tv_nsec - begun.tv_nsec) <
         seconds);
}

static void reset_all(int first, int last, int step) {
  for (int number = first; number != last; number += step) signal(number, SIG_DFL);
}

static void take_all(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) sigaction(number, &action, NULL);
}

static int child_resets(int take) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    if (take) take_all();
    reset_all(1, SIGRTMAX + 1, 1);
    compute(0.03);
    _exit(7);
  }
  waitpid(child, &status, 0);
  return status;
}

int main(void) {
  struct sigaction at_start;
  sigaction(SIGSEGV, NULL, &at_start);
  printf("faults at the start: %s\n", at_start.sa_handler == SIG_DFL ? "default" : "handled");
  fflush(stdout);
  compute(0.1);
  reset_all(1, SIGRTMAX + 1, 1);
  compute(0.1);
  reset_all(SIGRTMAX, 0, -1);
  compute(0.1);
  for (int i = 0; i < 5; ++i) printf("child: %x %x\n", child_resets(0), child_resets(1));
  take_all();
  compute(0.2);
  printf("strange: %d\n", strange);
  return 0;
}

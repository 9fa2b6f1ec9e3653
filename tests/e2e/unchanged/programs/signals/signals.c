/* SPDX-License-Identifier: Apache-2.0
 * Dispositions, masks and interval timers are the program's own. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;
static void on_tick(int s) {
  (void)s;
  ++ticks;
}

int main(void) {
  int changed = 0;
  for (int s = 1; s < SIGRTMIN; ++s) {
    struct sigaction a;
    /* Faults inside our unwinder are caught; everything else is the program's. */
    if (s == SIGSEGV || s == SIGBUS) continue;
    if (sigaction(s, NULL, &a) == 0 && a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN)
      printf("handler on %d\n", s), ++changed;
  }
  sigset_t mask;
  sigprocmask(SIG_BLOCK, NULL, &mask);
  for (int s = 1; s <= SIGRTMAX; ++s)
    if (sigismember(&mask, s) == 1) printf("blocked %d\n", s), ++changed;
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = on_tick;
  sigaction(SIGPROF, &a, NULL);
  struct itimerval every = {{0, 10000}, {0, 10000}};
  setitimer(ITIMER_PROF, &every, NULL);
  while (ticks < 10) {
  }
  memset(&every, 0, sizeof every);
  setitimer(ITIMER_PROF, &every, NULL);
  printf("ticks ok, changed %d\n", changed);
  return changed;
}

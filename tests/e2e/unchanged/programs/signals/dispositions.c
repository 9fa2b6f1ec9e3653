/* SPDX-License-Identifier: Apache-2.0
 * What a program is notified of its signals, and what one of them does that it never handled. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "work_cpu.h"

static void show(void) {
  int number;
  for (number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction action;
    /* Of faults a profiler may have a handler. */
    if (number == SIGSEGV || number == SIGBUS || sigaction(number, NULL, &action) != 0) continue;
    if (action.sa_handler != SIG_DFL || action.sa_flags != 0)
      printf("%d: %s, flags %x\n", number, action.sa_handler == SIG_IGN ? "ignored" : "handled",
             (unsigned)action.sa_flags);
  }
}

int main(void) {
  int number;
  show();
  work(0.4);
  show();
  for (number = SIGRTMIN; number <= SIGRTMAX; ++number)
    if (signal(number, SIG_IGN) != SIG_DFL) printf("%d was handled\n", number);
  work(0.2);
  show();
  printf("SIGIO ends it\n");
  fflush(stdout);
  kill(getpid(), SIGIO);
  work(0.2);
  return 1;
}

/* SPDX-License-Identifier: Apache-2.0
 * A program whose limit of pending signals is reached while it computes. With an argument it
 * handles SIGIO and says whether one came. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "work_cpu.h"

static volatile int came;

static void handle(int number) {
  (void)number;
  ++came;
}

int main(int argc, char** argv) {
  const struct rlimit none = {0, 0};
  (void)argv;
  if (argc > 1) signal(SIGIO, handle);
  work(0.4);
  setrlimit(RLIMIT_SIGPENDING, &none);
  work(0.6);
  printf("end, %d SIGIO\n", came);
  return 5;
}

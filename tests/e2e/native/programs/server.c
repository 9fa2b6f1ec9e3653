/* SPDX-License-Identifier: Apache-2.0
 * Forks workers without an exec, as servers do, and waits for them. usage: server N SECONDS */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void hot_worker(double seconds) {
  struct timespec now;
  do {
    int i;
    for (i = 0; i < 100000; ++i) sink += (unsigned long)i;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec < seconds);
}

int main(int count, char** words) {
  const int workers = count > 1 ? atoi(words[1]) : 2;
  int i, status = 0, all = 0;
  for (i = 0; i < workers; ++i)
    if (fork() == 0) {
      hot_worker(count > 2 ? atof(words[2]) : 1.0);
      _exit(i + 1);
    }
  while (wait(&status) > 0) all += WEXITSTATUS(status);
  printf("%d\n", all);
  return 0;
}

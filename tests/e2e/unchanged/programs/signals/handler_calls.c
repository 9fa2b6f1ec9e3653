/* SPDX-License-Identifier: Apache-2.0 */
/* One thread that allocates without a pause; its signal handler forks, or ends the program by exit,
 * whose handlers allocate. The C library locks the heap for neither in a program of one thread.
 *   handler_calls fork|fork-on|exit
 * fork-on: until SIGTERM, then twenty times more. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../work.h"

enum { kBlocks = 64, kForks = 150, kTicks = 60, kStuckSeconds = 200 };

static void* volatile blocks[kBlocks];
static volatile sig_atomic_t ticks, failed, enough = kForks;

static void turn_over(int rounds) {
  static unsigned state = 1;
  for (int i = 0; i < rounds; ++i) {
    state = state * 1103515245 + 12345;
    const unsigned at = state >> 16 & (kBlocks - 1);
    free(blocks[at]);
    /* Larger than what each thread keeps for itself. */
    blocks[at] = malloc(2000 + (state >> 20) % 90000);
  }
}

static void allocate(void) {
  for (int i = 1; i < 40; ++i) {
    blocks[0] = malloc((size_t)i * 3000);
    free(blocks[0]);
  }
  blocks[0] = NULL;
}

static void on_tick(int number) {
  (void)number;
  const int saved = errno;
  const pid_t child = fork();
  if (child == 0) _exit(5);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 5) ++failed;
  ++ticks;
  errno = saved;
}

static void on_last_tick(int number) {
  (void)number;
  if (++ticks == kTicks) exit(6);
}

/* One that waits for itself is ended. */
static void end_if_stuck(void) {
  struct sigevent end;
  const struct itimerspec then = {{0, 0}, {kStuckSeconds, 0}};
  timer_t timer;
  memset(&end, 0, sizeof end);
  end.sigev_notify = SIGEV_SIGNAL;
  end.sigev_signo = SIGKILL;
  if (timer_create(CLOCK_MONOTONIC, &end, &timer) == 0) timer_settime(timer, 0, &then, NULL);
}

static void on_term(int number) {
  (void)number;
  enough = ticks + 20;
}

static int forks(void) {
  struct itimerval every = {{0, 2000}, {0, 2000}};
  signal(SIGALRM, on_tick);
  setitimer(ITIMER_REAL, &every, NULL);
  while (enough < 0 || ticks < enough) turn_over(1000);
  memset(&every, 0, sizeof every);
  setitimer(ITIMER_REAL, &every, NULL);
  printf("forked, %d failed\n", (int)failed);
  return 3;
}

/* Again and again in a child, which ends in the middle of an allocation. */
static int ends(void) {
  for (int i = 0; i < 12; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      close(STDERR_FILENO);
      end_if_stuck();
      struct itimerval every = {{0, 1000}, {0, 1000}};
      signal(SIGALRM, on_last_tick);
      setitimer(ITIMER_REAL, &every, NULL);
      for (;;) turn_over(1000);
    }
    int status = 0;
    /* What it interrupts may be half done: then the heap's own checks end it, now and then. */
    if (waitpid(child, &status, 0) != child ||
        (WIFEXITED(status) ? WEXITSTATUS(status) != 6 : WTERMSIG(status) != SIGABRT)) {
      printf("status %x\n", (unsigned)status);
      return 4;
    }
  }
  puts("ended");
  return 3;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "fork";
  const int goes_on = strcmp(what, "fork-on") == 0;
  end_if_stuck();
  atexit(allocate);
  work(0.1);
  if (strcmp(what, "exit") == 0) return ends();
  if (goes_on) {
    enough = -1;
    signal(SIGTERM, on_term);
    puts("ready");
    fflush(stdout);
  }
  return forks();
}

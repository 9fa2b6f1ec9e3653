/* SPDX-License-Identifier: Apache-2.0
 * A program that uses the realtime signal by which others take samples, or the one beside it, in
 * ways that few do. usage: signal_corners nested | file | handled | child | order | timer | fault
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "handle.h"

#define SIGNAL (SIGRTMAX - 3)

static volatile int got, inner;

static void work(int ms) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static void count(int number) {
  if (number == SIGNAL - 1) inner = 1;
  ++got;
}

static void wait_inside(int number) {
  int i;
  (void)number;
  kill(getpid(), SIGNAL - 1);
  for (i = 0; i < 200 && !inner; ++i) work(1);
}

static sigset_t block(int only) {
  sigset_t set;
  sigfillset(&set);
  if (only) sigemptyset(&set), sigaddset(&set, SIGNAL);
  sigprocmask(SIG_BLOCK, &set, NULL);
  return set;
}

static void send_and_handle(void) {
  const sigset_t set = block(0);
  kill(getpid(), SIGNAL);
  handle(SIGNAL, count, 0);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  work(50);
  printf("handled %d\n", got);
  fflush(stdout);
}

static void nested(void) {
  handle(SIGNAL - 1, count, 0);
  handle(SIGUSR1, wait_inside, SA_ONSTACK);
  work(300);
  raise(SIGUSR1);
  printf("inner %d\n", inner);
}

static void from_a_file(void) {
  const struct timespec second = {1, 0};
  const sigset_t set = block(1);
  siginfo_t info;
  int ends[2], i;
  work(300);
  if (pipe(ends) != 0) return;
  fcntl(ends[0], F_SETSIG, SIGNAL);
  fcntl(ends[0], F_SETOWN, getpid());
  fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
  for (i = 0; i < 3; ++i) {
    if (write(ends[1], "x", 1) != 1) return;
    printf("%d\n", sigtimedwait(&set, &info, &second) == SIGNAL && info.si_fd == ends[0]);
  }
}

static void in_order(void) {
  const sigset_t set = block(1);
  struct signalfd_siginfo info;
  int i, fd;
  work(300);
  for (i = 1; i < 6; ++i) sigqueue(getpid(), SIGNAL, (union sigval){.sival_int = i});
  work(200);
  fd = signalfd(-1, &set, SFD_NONBLOCK);
  while (read(fd, &info, sizeof info) == sizeof info) printf("%d ", info.ssi_int);
  printf("\n");
}

/* Ends by its default action. */
static void by_timer(void) {
  const struct itimerspec soon = {{0, 0}, {0, 1000000}};
  struct sigevent event;
  timer_t timer;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGNAL;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &soon, NULL);
  work(100);
  printf("survived\n");
}

static void say(int result) {
  printf("%d %s\n", result, strerror(errno));
  errno = 0;
}

static void bad_memory(void) {
  const struct timespec none = {0, 0};
  const sigset_t set = block(0);
  kill(getpid(), SIGUSR1);
  say(sigtimedwait(&set, (siginfo_t*)8, &none));
  say(sigtimedwait((sigset_t*)8, NULL, &none));
  say(sigtimedwait(&set, NULL, (struct timespec*)8));
  say(sigwaitinfo((sigset_t*)8, NULL));
  say(signalfd(-1, (sigset_t*)8, 0));
  errno = EDOM;
  say(signalfd(-1, &set, 0) > 0);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  work(200);
  if (strcmp(what, "nested") == 0) nested();
  if (strcmp(what, "file") == 0) from_a_file();
  if (strcmp(what, "handled") == 0) send_and_handle();
  if (strcmp(what, "order") == 0) in_order();
  if (strcmp(what, "timer") == 0) by_timer();
  if (strcmp(what, "fault") == 0) bad_memory();
  if (strcmp(what, "child") == 0) {
    if (fork() == 0) {
      send_and_handle();
      _exit(0);
    }
    wait(NULL);
  }
  return 0;
}
